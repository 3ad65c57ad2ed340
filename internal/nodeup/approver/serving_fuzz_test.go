package approver

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/json"
	"encoding/pem"
	"errors"
	"net"
	"slices"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"
)

// FuzzServingRequest judges any request for a serving certificate without a panic. A request that is not
// denied is one of a kubelet for its own identity, and the only addresses that an instance confirms are its
// own.
func FuzzServingRequest(f *testing.F) {
	const node = "ip-10-0-1-2.eu-central-1.compute.internal"
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		f.Fatal(err)
	}
	for _, asked := range []x509.CertificateRequest{
		{DNSNames: []string{node}, IPAddresses: []net.IP{net.IPv4(10, 0, 1, 2)}},
		{DNSNames: []string{"kubernetes.default.svc"}, IPAddresses: []net.IP{net.IPv6loopback, net.IPv4(10, 0, 1, 3)}},
		{EmailAddresses: []string{"root@example.com"}},
	} {
		asked.Subject = pkix.Name{CommonName: userPrefix + node, Organization: []string{organization}}
		der, err := x509.CreateCertificateRequest(rand.Reader, &asked, key)
		if err != nil {
			f.Fatal(err)
		}
		object, err := json.Marshal(map[string]any{"spec": map[string]any{
			"request":    pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE REQUEST", Bytes: der}),
			"signerName": ServingSigner, "username": userPrefix + node, "groups": []string{organization},
			"usages": []string{"server auth", "digital signature"},
		}})
		if err != nil {
			f.Fatal(err)
		}
		f.Add(object)
	}
	f.Add([]byte(`{"spec":{"username":"system:node:a","groups":["system:nodes"],"request":"LS0tLS1CRUdJTg=="}}`))
	f.Add([]byte(`{"spec":{"username":"system:node:*","groups":["system:nodes",null]}}`))
	f.Fuzz(func(t *testing.T, object []byte) {
		var request signingRequest
		if err := json.Unmarshal(object, &request); err != nil {
			return
		}
		asks, err := askedToServe(&request)
		if err != nil {
			if _, denied := errors.AsType[*denial](err); !denied || asks != nil {
				t.Errorf("the error %v is no denial, or it gives %+v", err, asks)
			}
			return
		}
		isKubelet := nodeName.MatchString(asks.node) && slices.Contains(request.Spec.Groups, organization)
		if userPrefix+asks.node != request.Spec.Username || !isKubelet || len(asks.names)+len(asks.addresses) == 0 {
			t.Errorf("%+v is asked for by %q of %q", asks, request.Spec.Username, request.Spec.Groups)
		}
		for _, address := range asks.addresses {
			if !address.IsValid() || address.Is4In6() {
				t.Errorf("the address %v is compared", address)
			}
		}
	})
}

// Interfaces that EC2 describes in part confirm what they have.
func TestIdentitiesOfIncompleteInstances(t *testing.T) {
	names, addresses := identities(&types.Instance{
		PrivateIpAddress: aws.String("10.0.1.2"), PublicIpAddress: aws.String("none"),
		NetworkInterfaces: []types.InstanceNetworkInterface{
			{}, {Status: types.NetworkInterfaceStatusInUse, PrivateIpAddresses: []types.InstancePrivateIpAddress{{}, {PrivateIpAddress: aws.String("10.0.1.3")}}},
		},
	}, "a")
	if sorted(names) != "a" || sorted(addresses) != "10.0.1.2, 10.0.1.3" {
		t.Errorf("got %v and %v", names, addresses)
	}
}
