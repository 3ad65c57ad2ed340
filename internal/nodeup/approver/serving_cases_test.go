package approver_test

import (
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"net"
	"net/url"
	"strings"
	"testing"

	certificatesv1 "k8s.io/api/certificates/v1"
)

// servingCase is a request, and a part of the message of its decision.
type servingCase struct {
	request servingRequest
	want    string
}

func newRSAKey(t *testing.T) *rsa.PrivateKey {
	t.Helper()
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

// ofTheInstance are requests that are approved, with what the message says.
func ofTheInstance(t *testing.T) map[string]servingCase {
	t.Helper()
	const worker = "those of instance " + own + " of Auto Scaling group demo-workers-ASG"
	return map[string]servingCase{
		"the address that a kubelet has at first": {servingRequest{}, worker},
		"all addresses that the cloud controller manager gives a Node": {asking(func(c *x509.CertificateRequest) {
			c.DNSNames = []string{publicName, ownNode}
			c.IPAddresses = []net.IP{
				net.ParseIP("10.0.1.2"), net.ParseIP("10.0.2.5"), net.ParseIP("10.0.2.6"),
				net.ParseIP("192.0.2.7"), net.ParseIP("2001:db8::5"),
			}
		}), worker},
		"a name alone":                           {asking(func(c *x509.CertificateRequest) { c.IPAddresses = nil }), worker},
		"a Node's name in the domain of the VPC": {of("ip-10-0-1-2.example.com", "10.0.1.2"), worker},
		"the slot of a control plane":            {of(slotNode, "10.0.1.9"), "instance i-slot of Auto Scaling group demo-control-plane-0-ASG"},
		"a key of RSA": {servingRequest{key: newRSAKey(t), usages: []certificatesv1.KeyUsage{
			certificatesv1.UsageKeyEncipherment, certificatesv1.UsageDigitalSignature, certificatesv1.UsageServerAuth,
		}}, worker},
	}
}

// ofAttackers are requests that are denied, with a part of the reason. Most come from a client with the
// credentials of the kubelet of the instance own.
func ofAttackers() map[string]servingCase {
	name := func(names ...string) servingRequest {
		return asking(func(c *x509.CertificateRequest) { c.DNSNames = append(c.DNSNames, names...) })
	}
	address := func(text string) servingRequest {
		return asking(func(c *x509.CertificateRequest) { c.IPAddresses = append(c.IPAddresses, net.ParseIP(text)) })
	}
	usages := func(usages ...certificatesv1.KeyUsage) servingRequest { return servingRequest{usages: usages} }
	const (
		signature, server = certificatesv1.UsageDigitalSignature, certificatesv1.UsageServerAuth
		noName            = "EC2 does not report the DNS name"
		noAddress         = "EC2 does not report the IP address"
		noOne             = "0 running instances of the cluster have the private DNS name"
	)
	return map[string]servingCase{
		"another worker's address":             {address("10.0.1.3"), noAddress + " 10.0.1.3 of instance " + own},
		"a slot's address":                     {address("10.0.1.9"), noAddress},
		"the address of a detached interface":  {address("10.0.2.7"), noAddress},
		"the Service of the API server":        {address("172.20.0.1"), noAddress},
		"the loopback address":                 {address("127.0.0.1"), noAddress},
		"another worker's address as IPv6":     {address("::ffff:10.0.1.3"), noAddress},
		"no address":                           {address("0.0.0.0"), noAddress},
		"the name of the API server":           {name("kubernetes.default.svc"), noName + ` "kubernetes.default.svc"`},
		"another worker's name":                {name(victimNode), noName},
		"a slot's name":                        {name(slotNode), noName},
		"all names of the domain":              {name("*" + domain), noName},
		"the machine itself":                   {name("localhost"), noName},
		"its name with upper case":             {name("IP-10-0-1-2" + domain), noName},
		"its name with a dot":                  {name(ownNode + "."), noName},
		"the name of the load balancer":        {name("demo-API.elb.eu-central-1.amazonaws.com"), noName},
		"another worker's name and address":    {servingRequest{change: of(victimNode, "10.0.1.3").change}, "is not that of the requester"},
		"another worker's name as common name": {asking(func(c *x509.CertificateRequest) { c.Subject.CommonName = "system:node:" + victimNode }), "common name"},
		"a common name of an administrator":    {asking(func(c *x509.CertificateRequest) { c.Subject.CommonName = "kubernetes-admin" }), "common name"},
		"the group of administrators beside": {asking(func(c *x509.CertificateRequest) {
			c.Subject.Organization = append(c.Subject.Organization, "system:masters")
		}), "subject"},
		"the group of administrators":            {asking(func(c *x509.CertificateRequest) { c.Subject.Organization = []string{"system:masters"} }), "subject"},
		"no group":                               {asking(func(c *x509.CertificateRequest) { c.Subject.Organization = nil }), "subject"},
		"another part of the subject":            {asking(func(c *x509.CertificateRequest) { c.Subject.OrganizationalUnit = []string{"system:masters"} }), "subject"},
		"neither names nor addresses":            {asking(func(c *x509.CertificateRequest) { c.DNSNames, c.IPAddresses = nil, nil }), "neither DNS names nor IP addresses"},
		"an email address":                       {asking(func(c *x509.CertificateRequest) { c.EmailAddresses = []string{"root@example.com"} }), "email addresses or URIs"},
		"a URI":                                  {asking(func(c *x509.CertificateRequest) { c.URIs = []*url.URL{{Scheme: "spiffe", Host: "demo"}} }), "email addresses or URIs"},
		"a client's certificate":                 {usages(signature, certificatesv1.UsageClientAuth), "usages"},
		"a client's and a server's certificate":  {usages(signature, server, certificatesv1.UsageClientAuth), "usages"},
		"the certificate of a CA":                {usages(signature, server, certificatesv1.UsageCertSign), "usages"},
		"a key that encrypts without RSA":        {usages(signature, server, certificatesv1.UsageKeyEncipherment), "usages"},
		"a server's certificate without its use": {usages(signature), "usages"},
		"a client with a bootstrap token": {servingRequest{
			user: "system:bootstrap:abcdef", groups: []string{"system:bootstrappers", "system:authenticated"},
		}, `"system:bootstrap:abcdef" is not a kubelet`},
		"a pod": {servingRequest{
			user: "system:serviceaccount:default:default", groups: []string{"system:serviceaccounts", "system:authenticated"},
		}, "is not a kubelet"},
		"a user that is called as a kubelet":          {servingRequest{groups: []string{"system:bootstrappers"}}, "is not a kubelet"},
		"a user of the kubelets' group":               {servingRequest{user: "someone"}, `"someone" is not a kubelet`},
		"a kubelet without a name":                    {servingRequest{user: "system:node:"}, "is not a kubelet"},
		"a kubelet that would match all":              {servingRequest{user: "system:node:*"}, "is not a kubelet"},
		"a kubelet with a long name":                  {servingRequest{user: "system:node:" + strings.Repeat("a", 254)}, "is not a kubelet"},
		"a kubelet whose name begins as another's":    {of("ip-10-0-1"+domain, "10.0.1.2"), noOne},
		"a kubelet that no instance has":              {of("ip-10-0-9-9"+domain, "10.0.9.9"), noOne},
		"the kubelet of a terminated instance":        {of("ip-10-0-3-1"+domain, "10.0.3.1"), noOne},
		"the kubelet of a stopped instance":           {of("ip-10-0-3-2"+domain, "10.0.3.2"), noOne},
		"an instance of another cluster":              {of("ip-10-0-3-3"+domain, "10.0.3.3"), noOne},
		"an instance that is not of a group":          {of("ip-10-0-3-4"+domain, "10.0.3.4"), "in no Auto Scaling group"},
		"an instance that no NodeClaim names":         {of("ip-10-0-3-5"+domain, "10.0.3.5"), "no NodeClaim of Karpenter names it"},
		"a name that two instances of a cluster have": {of("ip-10-0-3-6"+domain, "10.0.3.6"), "2 running instances of the cluster"},
	}
}
