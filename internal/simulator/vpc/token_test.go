package vpc_test

import (
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
)

// https://docs.aws.amazon.com/ec2/latest/devguide/ec2-api-idempotency.html
func TestRetryCreatesNothingTwice(t *testing.T) {
	n := start(t)
	v := n.vpc("10.0.0.0/16")
	n.gateway(v)
	in := &ec2.CreateNatGatewayInput{SubnetId: n.subnet(v, "10.0.0.0/24", "a"), AllocationId: n.address(), ClientToken: aws.String("t")}
	first := must(n, n.CreateNatGateway, in).NatGateway.NatGatewayId
	if again := must(n, n.CreateNatGateway, in).NatGateway.NatGatewayId; *again != *first {
		t.Errorf("made %s and %s", *first, *again)
	}
	in.AllocationId = n.address()
	refused(n, "the token with another address", n.CreateNatGateway, in, "IdempotentParameterMismatch")
}
