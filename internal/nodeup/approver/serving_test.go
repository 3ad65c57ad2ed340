package approver_test

import (
	"context"
	"crypto"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"net"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"
	certificatesv1 "k8s.io/api/certificates/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/aws-operator/aws-operator/internal/patience"
)

// servers are EC2's instances, found by all filters. Values may end in an asterisk.
type servers struct {
	all   []types.Instance
	fails atomic.Bool
	calls atomic.Int32
}

func (s *servers) DescribeInstances(
	_ context.Context, in *ec2.DescribeInstancesInput, _ ...func(*ec2.Options),
) (*ec2.DescribeInstancesOutput, error) {
	s.calls.Add(1)
	if s.fails.Load() {
		return nil, errors.New("RequestLimitExceeded")
	}
	out := &ec2.DescribeInstancesOutput{}
	for i := range s.all {
		if matches(&s.all[i], in.Filters) {
			out.Reservations = append(out.Reservations, types.Reservation{Instances: []types.Instance{s.all[i]}})
		}
	}
	return out, nil
}

func matches(i *types.Instance, filters []types.Filter) bool {
	for _, f := range filters {
		var got string
		switch name := *f.Name; name {
		case "private-dns-name":
			got = aws.ToString(i.PrivateDnsName)
		case "instance-state-name":
			got = string(i.State.Name)
		default:
			for _, tag := range i.Tags {
				if "tag:"+*tag.Key == name {
					got = *tag.Value
				}
			}
		}
		if !slices.ContainsFunc(f.Values, func(want string) bool {
			prefix, isPrefix := strings.CutSuffix(want, "*")
			return got == want || isPrefix && strings.HasPrefix(got, prefix)
		}) {
			return false
		}
	}
	return true
}

// card is a network interface with addresses of both families.
func card(status types.NetworkInterfaceStatus, addresses ...string) types.InstanceNetworkInterface {
	made := types.InstanceNetworkInterface{Status: status}
	for _, address := range addresses {
		if strings.Contains(address, ":") {
			made.Ipv6Addresses = append(made.Ipv6Addresses, types.InstanceIpv6Address{Ipv6Address: aws.String(address)})
			continue
		}
		made.PrivateIpAddresses = append(made.PrivateIpAddresses, types.InstancePrivateIpAddress{PrivateIpAddress: aws.String(address)})
	}
	return made
}

const (
	domain     = ".eu-central-1.compute.internal"
	publicName = "ec2-192-0-2-7.eu-central-1.compute.amazonaws.com"
	slotNode   = "ip-10-0-1-9" + domain
)

// inUse is an instance of the cluster at an address, 10.0.x.y for the name ip-10-0-x-y.
func inUse(id, name string, state types.InstanceStateName, tags map[string]string) types.Instance {
	made := worker(id, name, state, tags)
	address := strings.ReplaceAll(strings.TrimPrefix(strings.Split(name, ".")[0], "ip-"), "-", ".")
	made.PrivateIpAddress = &address
	made.NetworkInterfaces = []types.InstanceNetworkInterface{card(types.NetworkInterfaceStatusInUse, address)}
	return made
}

// serving returns a suite whose EC2 has the instances of a cluster.
func serving(t *testing.T) (*suite, *servers) {
	t.Helper()
	w := start(t)
	const running = types.InstanceStateNameRunning
	with := inUse(own, ownNode, running, ofCluster)
	with.PublicIpAddress, with.PublicDnsName = aws.String("192.0.2.7"), aws.String(publicName)
	with.NetworkInterfaces = append(with.NetworkInterfaces,
		card(types.NetworkInterfaceStatusInUse, "10.0.2.5", "10.0.2.6", "2001:db8::5"),
		card(types.NetworkInterfaceStatusDetaching, "10.0.2.7"))
	ec2 := &servers{all: []types.Instance{
		with,
		inUse(victim, victimNode, running, ofCluster),
		inUse("i-slot", slotNode, running, map[string]string{
			"kubernetes.io/cluster/demo": "owned", "aws:autoscaling:groupName": "demo-control-plane-0-ASG",
		}),
		inUse("i-terminated", "ip-10-0-3-1"+domain, types.InstanceStateNameTerminated, ofCluster),
		inUse("i-stopped", "ip-10-0-3-2"+domain, types.InstanceStateNameStopped, ofCluster),
		inUse("i-other", "ip-10-0-3-3"+domain, running, ofOther),
		inUse("i-other-beside", ownNode, running, ofOther),
		inUse("i-alone", "ip-10-0-3-4"+domain, running, ofNoGroup),
		inUse("i-claimed", "ip-10-0-3-5"+domain, running, ofPool),
		inUse("i-first", "ip-10-0-3-6"+domain, running, ofCluster),
		inUse("i-second", "ip-10-0-3-6"+domain, running, ofCluster),
	}}
	w.approver.Instances = ec2
	w.letAsk(t, "system:nodes", "system:bootstrappers", "system:serviceaccounts")
	return w, ec2
}

// runServing has the approver decide about the requests of kubelets until the test ends.
func (w *suite) runServing(t *testing.T) {
	t.Helper()
	keepRunning(t, w.approver.RunServing)
}

// servingRequest is what a kubelet asks for; the zero value of each field is what the kubelet of the
// instance own asks for.
type servingRequest struct {
	user   string
	groups []string
	key    crypto.Signer
	// change changes the certificate that is asked for.
	change func(*x509.CertificateRequest)
	usages []certificatesv1.KeyUsage
}

func of(node string, addresses ...string) servingRequest {
	return servingRequest{user: "system:node:" + node, change: func(c *x509.CertificateRequest) {
		c.Subject.CommonName = "system:node:" + node
		c.DNSNames, c.IPAddresses = []string{node}, nil
		for _, address := range addresses {
			c.IPAddresses = append(c.IPAddresses, net.ParseIP(address))
		}
	}}
}

func asking(change func(*x509.CertificateRequest)) servingRequest {
	return servingRequest{change: change}
}

// make makes the request with the rights of its requester.
func (r servingRequest) make(t *testing.T, w *suite) string {
	t.Helper()
	asked := &x509.CertificateRequest{
		Subject:  pkix.Name{CommonName: "system:node:" + ownNode, Organization: []string{"system:nodes"}},
		DNSNames: []string{ownNode}, IPAddresses: []net.IP{net.ParseIP("10.0.1.2")},
	}
	if r.change != nil {
		r.change(asked)
	}
	if r.key == nil {
		r.key = newKey(t)
	}
	der, err := x509.CreateCertificateRequest(rand.Reader, asked, r.key)
	if err != nil {
		t.Fatal(err)
	}
	if r.user == "" {
		r.user = "system:node:" + ownNode
	}
	if r.groups == nil {
		r.groups = []string{"system:nodes", "system:authenticated"}
	}
	if r.usages == nil {
		r.usages = []certificatesv1.KeyUsage{certificatesv1.UsageDigitalSignature, certificatesv1.UsageServerAuth}
	}
	config := rest.CopyConfig(w.config)
	config.Impersonate = rest.ImpersonationConfig{UserName: r.user, Groups: r.groups}
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	object := &certificatesv1.CertificateSigningRequest{
		ObjectMeta: metav1.ObjectMeta{GenerateName: "csr-"},
		Spec: certificatesv1.CertificateSigningRequestSpec{
			SignerName: certificatesv1.KubeletServingSignerName, Usages: r.usages,
			Request: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE REQUEST", Bytes: der}),
		},
	}
	var made *certificatesv1.CertificateSigningRequest
	patience.Until(t, "the requester may make requests", func() error {
		made, err = client.CertificatesV1().CertificateSigningRequests().Create(t.Context(), object, metav1.CreateOptions{})
		return err
	})
	t.Cleanup(func() {
		_ = w.api.CertificatesV1().CertificateSigningRequests().Delete(context.Background(), made.Name, metav1.DeleteOptions{})
	})
	return made.Name
}

// A kubelet gets a serving certificate only for names and addresses that EC2 reports of its instance. All
// requests are decided with one call of EC2.
func TestKubeletsServeOnlyAsTheirInstance(t *testing.T) {
	w, ec2 := serving(t)
	type made struct{ kind, name, want string }
	all := map[string]made{}
	for name, one := range ofTheInstance(t) {
		all[name] = made{"Approved", one.request.make(t, w), one.want}
	}
	for name, one := range ofAttackers() {
		all[name] = made{"Denied", one.request.make(t, w), one.want}
	}
	w.runServing(t)
	for name, one := range all {
		t.Run(name, func(t *testing.T) {
			kind, message := w.decision(t, one.name)
			if kind != one.kind || !strings.Contains(message, one.want) || len(message) > 1000 {
				t.Errorf("%s: %s; want it %s: %s", kind, message, one.kind, one.want)
			}
		})
	}
	if calls := ec2.calls.Load(); calls != 1 {
		t.Errorf("%d requests took %d calls of EC2", len(all), calls)
	}
}

// A node of Karpenter serves as its instance, if the cluster's own Karpenter has launched it.
func TestKubeletsOfKarpenterServe(t *testing.T) {
	w, _ := serving(t)
	w.installNodeClaims(t)
	w.claim(t, "spot", "i-claimed")
	w.runServing(t)
	name := of("ip-10-0-3-5"+domain, "10.0.3.5").make(t, w)
	if kind, message := w.decision(t, name); kind != "Approved" || !strings.Contains(message, "instance i-claimed of NodePool spot") {
		t.Errorf("%s: %s", kind, message)
	}
}

// Client certificates are for others to decide about, also those that nodes renew.
func TestOnlyServingCertificatesAreDecidedAbout(t *testing.T) {
	w, _ := serving(t)
	w.runServing(t)
	other := w.newRequest(t, victimNode, own)
	other.groups = []string{"system:nodes"}
	name := other.make(t, w)
	w.decision(t, servingRequest{}.make(t, w)) // made after it
	got, err := w.api.CertificatesV1().CertificateSigningRequests().Get(t.Context(), name, metav1.GetOptions{})
	if err != nil || len(got.Status.Conditions) > 0 {
		t.Errorf("%v %v", got.Status.Conditions, err)
	}
}

// A request is not denied because EC2 does not answer, and what needs no answer is decided.
func TestServingRequestWaitsUntilEC2Responds(t *testing.T) {
	w, ec2 := serving(t)
	ec2.fails.Store(true)
	waits, hopeless := servingRequest{}.make(t, w), servingRequest{user: "someone"}.make(t, w)
	if err := w.approver.RunServing(patience.Context(t)); err == nil || !strings.Contains(err.Error(), "RequestLimitExceeded") {
		t.Errorf("got %v", err)
	}
	if kind, message := w.decision(t, hopeless); kind != "Denied" {
		t.Errorf("%s: %s", kind, message)
	}
	got, err := w.api.CertificatesV1().CertificateSigningRequests().Get(t.Context(), waits, metav1.GetOptions{})
	if err != nil || len(got.Status.Conditions) > 0 {
		t.Errorf("%v %v", got.Status.Conditions, err)
	}
	ec2.fails.Store(false)
	w.runServing(t)
	if kind, message := w.decision(t, waits); kind != "Approved" {
		t.Errorf("%s: %s", kind, message)
	}
}

// Several slots decide about the same requests; each request has one decision.
func TestSlotsDecideOnce(t *testing.T) {
	w, _ := serving(t)
	w.runServing(t)
	w.runServing(t)
	w.runServing(t)
	for range 5 {
		name := servingRequest{}.make(t, w)
		w.decision(t, name)
		got, err := w.api.CertificatesV1().CertificateSigningRequests().Get(t.Context(), name, metav1.GetOptions{})
		if err != nil || len(got.Status.Conditions) != 1 {
			t.Errorf("%v %v", got.Status.Conditions, err)
		}
	}
}

// A node that requests certificates all the time costs one call of EC2 a second.
func TestCallsOfEC2AreFew(t *testing.T) {
	w, ec2 := serving(t)
	w.runServing(t)
	w.decision(t, servingRequest{}.make(t, w))
	before := ec2.calls.Load()
	names := make([]string, 40)
	for i := range names {
		names[i] = servingRequest{}.make(t, w)
	}
	for _, name := range names {
		w.decision(t, name)
	}
	if calls := ec2.calls.Load() - before; int(calls) > len(names)/2 {
		t.Errorf("%d requests took %d calls", len(names), calls)
	}
}
