package access_test

import (
	"testing"

	"github.com/aws-operator/aws-operator/internal/simulator/access"
)

func TestARNsOfResources(t *testing.T) {
	for name, test := range map[string]struct{ service, operation, resource, want string }{
		"a name": {"sqs", "SendMessage", "q", "arn:aws:sqs:r:1:q"},
		"a URL":  {"sqs", "SendMessage", "http://127.0.0.1:1/210987654321/q", "arn:aws:sqs:r:210987654321:q"},
		"an ARN": {"sns", "Publish", "arn:aws:sns:x:2:t", "arn:aws:sns:x:2:t"},
		"a path": {"ssm", "GetParameter", "/a/b", "arn:aws:ssm:r:1:parameter/a/b"},
		// https://github.com/aws-samples/sample-OpenClaw-on-AWS-with-Bedrock/issues/65 has the denial.
		"a public parameter": {"ssm", "GetParameters", "/aws/service/canonical/id", "arn:aws:ssm:r::parameter/aws/service/canonical/id"},
		"without an account": {"ec2", "DeleteSnapshot", "snap-1", "arn:aws:ec2:r::snapshot/snap-1"},
		"a provider":         {"iam", "CreateOpenIDConnectProvider", "https://issuer.example", "arn:aws:iam::1:oidc-provider/issuer.example"},
		// https://docs.aws.amazon.com/eks/latest/userguide/enable-iam-roles-for-service-accounts.html
		"a provider with a path": {
			"iam", "CreateOpenIDConnectProvider", "https://oidc.eks.r.amazonaws.com/id/EXAMPLE", "arn:aws:iam::1:oidc-provider/oidc.eks.r.amazonaws.com/id/EXAMPLE",
		},
		"a stack": {"cloudformation", "CreateStack", "s", "arn:aws:cloudformation:r:1:stack/s/*"},
	} {
		t.Run(name, func(t *testing.T) {
			p := access.Permissions(test.service, test.operation)[0]
			if got := p.Resource.ARN("aws", "r", "1", test.resource); got != test.want {
				t.Errorf("got %s, want %s", got, test.want)
			}
		})
	}
}

func TestPermissionsOfOperations(t *testing.T) {
	for operation, want := range map[string][]string{
		"SendMessageBatch": {"sqs:SendMessage"}, "CreateQueue": {"sqs:CreateQueue", "sqs:TagQueue"}, "Unknown": {"sqs:Unknown"},
	} {
		permissions := access.Permissions("sqs", operation)
		if len(permissions) != len(want) {
			t.Errorf("%s needs %+v, want %s", operation, permissions, want)
			continue
		}
		for i, p := range permissions {
			if p.Action != want[i] {
				t.Errorf("%s needs %s, want %s", operation, p.Action, want[i])
			}
		}
	}
	if got := access.Permissions("sts", "GetCallerIdentity"); len(got) != 0 {
		t.Errorf("GetCallerIdentity needs %+v", got)
	}
}

func TestEncodedMessagesCanBeDecoded(t *testing.T) {
	text, err := access.Decode(access.Encode(&access.Request{Action: "a:B"}, "because"))
	if err != nil || text == "" {
		t.Errorf("got %q, %v", text, err)
	}
	if _, err := access.Decode("bm9uZQ"); err == nil {
		t.Error("a message that is none was decoded")
	}
}
