package approver_test

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"log/slog"
	"net/http/httptest"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"
	certificatesv1 "k8s.io/api/certificates/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"

	"github.com/aws-operator/aws-operator/internal/local/controlplane/controlplanetest"
	"github.com/aws-operator/aws-operator/internal/nodeup/approver"
	"github.com/aws-operator/aws-operator/internal/nodeup/proof"
	"github.com/aws-operator/aws-operator/internal/patience"
	"github.com/aws-operator/aws-operator/internal/simulator/resource"
	"github.com/aws-operator/aws-operator/internal/simulator/sts"
	"github.com/aws-operator/aws-operator/internal/simulator/wire"
)

const (
	account    = "123456789012"
	region     = "eu-central-1"
	stsHost    = "sts.eu-central-1.amazonaws.com"
	role       = "demo-WorkerRole-X"
	own        = "i-0000000000000000a"
	ownNode    = "ip-10-0-1-2.eu-central-1.compute.internal"
	victim     = "i-0000000000000000b"
	victimNode = "ip-10-0-1-3.eu-central-1.compute.internal"
)

// instances are EC2's.
type instances struct {
	all   []types.Instance
	fails atomic.Bool
}

func (i *instances) DescribeInstances(
	_ context.Context, in *ec2.DescribeInstancesInput, _ ...func(*ec2.Options),
) (*ec2.DescribeInstancesOutput, error) {
	if i.fails.Load() {
		return nil, errors.New("RequestLimitExceeded")
	}
	out := &ec2.DescribeInstancesOutput{}
	for _, one := range i.all {
		if slices.Contains(in.Filters[0].Values, *one.InstanceId) {
			out.Reservations = append(out.Reservations, types.Reservation{Instances: []types.Instance{one}})
		}
	}
	return out, nil
}

func worker(id, name string, state types.InstanceStateName, tags map[string]string) types.Instance {
	made := types.Instance{InstanceId: &id, PrivateDnsName: &name, State: &types.InstanceState{Name: state}}
	for key, value := range tags {
		made.Tags = append(made.Tags, types.Tag{Key: aws.String(key), Value: aws.String(value)})
	}
	return made
}

var (
	ofCluster = map[string]string{"kubernetes.io/cluster/demo": "owned", "aws:autoscaling:groupName": "demo-workers-ASG"}
	ofOther   = map[string]string{"kubernetes.io/cluster/other": "owned", "aws:autoscaling:groupName": "other-workers-ASG"}
	ofNoGroup = map[string]string{"kubernetes.io/cluster/demo": "owned"}
	ofPool    = map[string]string{
		"kubernetes.io/cluster/demo": "owned", "karpenter.sh/nodepool": "spot", "aws:ec2launchtemplate:id": "lt-1",
	}
	ofBadPool = map[string]string{
		"kubernetes.io/cluster/demo": "owned", "karpenter.sh/nodepool": "spot,x in (y)", "aws:ec2launchtemplate:id": "lt-1",
	}
	ofNoTemplate = map[string]string{"kubernetes.io/cluster/demo": "owned", "karpenter.sh/nodepool": "spot"}
)

// suite is an API server, STS and EC2, and an approver for them.
type suite struct {
	api       *kubernetes.Clientset
	config    *rest.Config
	keys      *wire.Keys
	instances *instances
	approver  *approver.Approver
	log       *bytes.Buffer
}

func start(t *testing.T) *suite {
	t.Helper()
	w := &suite{keys: &wire.Keys{}, log: &bytes.Buffer{}, config: controlplanetest.Shared(t).RESTConfig()}
	service := sts.New(&resource.Env{Clock: clock.RealClock{}}, w.keys)
	server := httptest.NewServer(wire.NewRouter([]*wire.Service{service.Service()}, nil, clock.RealClock{}, wire.WithKeys(w.keys)))
	t.Cleanup(server.Close)
	w.instances = &instances{all: []types.Instance{
		worker(own, ownNode, types.InstanceStateNameRunning, ofCluster),
		worker(victim, victimNode, types.InstanceStateNameRunning, ofCluster),
		worker("i-terminated", ownNode, types.InstanceStateNameTerminated, ofCluster),
		worker("i-other", ownNode, types.InstanceStateNameRunning, ofOther),
		worker("i-alone", ownNode, types.InstanceStateNameRunning, ofNoGroup),
		worker("i-claimed", ownNode, types.InstanceStateNameRunning, ofPool),
		worker("i-unclaimed", ownNode, types.InstanceStateNameRunning, ofPool),
		worker("i-bad-pool", ownNode, types.InstanceStateNameRunning, ofBadPool),
		worker("i-no-template", ownNode, types.InstanceStateNameRunning, ofNoTemplate),
	}}
	client, err := rest.HTTPClientFor(w.config)
	if err != nil {
		t.Fatal(err)
	}
	if w.api, err = kubernetes.NewForConfig(w.config); err != nil {
		t.Fatal(err)
	}
	w.approver = &approver.Approver{
		Server: w.config.Host, Client: client,
		Proofs:    &proof.Verifier{Client: server.Client(), Host: stsHost, Endpoint: server.URL},
		Instances: w.instances, WorkerRole: "arn:aws:iam::" + account + ":role/team/" + role,
		Tags: map[string]string{
			"kubernetes.io/cluster/demo": "owned",
		}, Clock: clock.RealClock{}, Log: slog.New(slog.NewTextHandler(w.log, nil)),
	}
	return w
}

// run has the approver decide about the requests of workers until the test ends.
func (w *suite) run(t *testing.T) {
	t.Helper()
	keepRunning(t, w.approver.Run)
}

// keepRunning starts an approver whenever it has ended, until the test ends.
func keepRunning(t *testing.T, run func(context.Context) error) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for ctx.Err() == nil {
			if err := run(ctx); err != nil && ctx.Err() == nil {
				t.Log(err)
			}
		}
	}()
	t.Cleanup(func() { cancel(); <-ended })
}

// request is what a worker asks for.
type request struct {
	key     *ecdsa.PrivateKey
	subject pkix.Name
	names   []string
	groups  []string
	object  certificatesv1.CertificateSigningRequest
}

// newRequest is that of the instance own, with a proof of a session.
func (w *suite) newRequest(t *testing.T, node, session string) *request {
	t.Helper()
	return w.newRequestOf(t, node, session, "arn:aws:sts::"+account+":assumed-role/"+role, account, time.Now())
}

func (w *suite) newRequestOf(t *testing.T, node, session, of, account string, now time.Time) *request {
	t.Helper()
	id, secret := w.keys.Issue("ASIA", wire.Principal{Account: account, ARN: of + "/" + session, UserID: "AROA:" + session})
	r := &request{
		key: newKey(t), subject: pkix.Name{CommonName: "system:node:" + node, Organization: []string{"system:nodes"}},
		groups: []string{"system:bootstrappers", approver.Group, "system:authenticated"},
	}
	text, err := proof.Sign(
		t.Context(), aws.Credentials{AccessKeyID: id, SecretAccessKey: secret, SessionToken: "token"}, region, stsHost, r.key.Public(), now,
	)
	if err != nil {
		t.Fatal(err)
	}
	lasts := int32(3600)
	r.object = certificatesv1.CertificateSigningRequest{
		ObjectMeta: metav1.ObjectMeta{GenerateName: "nodeup-", Annotations: map[string]string{approver.ProofAnnotation: text}},
		Spec: certificatesv1.CertificateSigningRequestSpec{
			SignerName: certificatesv1.KubeAPIServerClientKubeletSignerName, ExpirationSeconds: &lasts,
			Usages: []certificatesv1.KeyUsage{certificatesv1.UsageDigitalSignature, certificatesv1.UsageClientAuth},
		},
	}
	return r
}

func newKey(t *testing.T) *ecdsa.PrivateKey {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

// client returns a client with the rights of a bootstrap token.
func (w *suite) client(t *testing.T, groups []string) *kubernetes.Clientset {
	t.Helper()
	config := rest.CopyConfig(w.config)
	config.Impersonate = rest.ImpersonationConfig{UserName: "system:bootstrap:abcdef", Groups: groups}
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	return client
}

// make makes the request with the rights that its token has.
func (r *request) make(t *testing.T, w *suite) string {
	t.Helper()
	der, err := x509.CreateCertificateRequest(rand.Reader, &x509.CertificateRequest{Subject: r.subject, DNSNames: r.names}, r.key)
	if err != nil {
		t.Fatal(err)
	}
	r.object.Spec.Request = pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE REQUEST", Bytes: der})
	client := w.client(t, r.groups)
	var made *certificatesv1.CertificateSigningRequest
	patience.UntilTrue(t, "the token may make requests", func() bool {
		made, err = client.CertificatesV1().CertificateSigningRequests().Create(t.Context(), &r.object, metav1.CreateOptions{})
		return err == nil
	})
	t.Cleanup(func() {
		_ = w.api.CertificatesV1().CertificateSigningRequests().Delete(context.Background(), made.Name, metav1.DeleteOptions{})
	})
	return made.Name
}

// decision waits until a request is decided, and returns the decision and its message.
func (w *suite) decision(t *testing.T, name string) (kind, message string) {
	t.Helper()
	patience.UntilTrue(t, "the request is decided", func() bool {
		got, err := w.api.CertificatesV1().CertificateSigningRequests().Get(t.Context(), name, metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if len(got.Status.Conditions) == 0 {
			return false
		}
		kind, message = string(got.Status.Conditions[0].Type), got.Status.Conditions[0].Message
		return true
	})
	return kind, message
}

func (w *suite) node(t *testing.T, name, instance string) {
	t.Helper()
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: corev1.NodeSpec{ProviderID: "aws:///eu-central-1a/" + instance}}
	if _, err := w.api.CoreV1().Nodes().Create(t.Context(), node, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = w.api.CoreV1().Nodes().Delete(context.Background(), name, metav1.DeleteOptions{}) })
}

// A Node has the role of a worker within minutes after its instance was confirmed; no other Node gets
// it.
func TestConfirmedWorkersGetTheirRole(t *testing.T) {
	w := start(t)
	w.node(t, ownNode, own)
	w.node(t, victimNode, victim)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	ended := make(chan error, 1)
	go func() { ended <- w.approver.Run(ctx) }()
	name := w.newRequest(t, ownNode, own).make(t, w)
	if kind, message := w.decision(t, name); kind != "Approved" {
		t.Fatalf("the request is %s: %s", kind, message)
	}
	cancel() // The next run begins with a list, as one does after each watch of some minutes.
	<-ended
	w.run(t)
	patience.UntilTrue(t, "the Node has its role", func() bool { return w.hasRole(t, ownNode) })
	if w.hasRole(t, victimNode) {
		t.Errorf("Node %s, which asked for nothing, has the role", victimNode)
	}
}

func (w *suite) hasRole(t *testing.T, name string) bool {
	t.Helper()
	node, err := w.api.CoreV1().Nodes().Get(t.Context(), name, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	_, has := node.Labels["node-role.kubernetes.io/worker"]
	return has
}

func TestOnlyTheInstanceOfANodeGetsItsCertificate(t *testing.T) {
	tests := map[string]struct {
		request func(*testing.T, *suite) *request
		want    string // Approved, or a part of the denial
	}{
		"its own name": {func(t *testing.T, w *suite) *request {
			t.Helper()
			return w.newRequest(t, ownNode, own)
		}, "Approved"},
		"its own name in the domain of the VPC": {func(t *testing.T, w *suite) *request {
			t.Helper()
			return w.newRequest(t, "ip-10-0-1-2.example.com", own)
		}, "Approved"},
		"its own Node, which is there already": {func(t *testing.T, w *suite) *request {
			t.Helper()
			w.node(t, ownNode, own)
			return w.newRequest(t, ownNode, own)
		}, "Approved"},
		"the Node of a terminated instance that had its address": {func(t *testing.T, w *suite) *request {
			t.Helper()
			w.node(t, ownNode, "i-terminated")
			return w.newRequest(t, ownNode, own)
		}, "Approved"},
		"another worker's name": {func(t *testing.T, w *suite) *request {
			t.Helper()
			return w.newRequest(t, victimNode, own)
		}, "for Node " + victimNode + ", but the proof is for instance " + own},
		"a slot's name": {func(t *testing.T, w *suite) *request {
			t.Helper()
			return w.newRequest(t, "ip-10-0-9-9.eu-central-1.compute.internal", own)
		}, "but the proof is for instance " + own},
		"the Node of another instance that runs": {func(t *testing.T, w *suite) *request {
			t.Helper()
			w.node(t, ownNode, victim)
			return w.newRequest(t, ownNode, own)
		}, "belongs to instance " + victim},
		"no proof": {func(t *testing.T, w *suite) *request {
			t.Helper()
			r := w.newRequest(t, victimNode, own)
			r.object.Annotations = nil
			return r
		}, "no proof"},
		"the proof that another instance made for its key": {func(t *testing.T, w *suite) *request {
			t.Helper()
			r := w.newRequest(t, victimNode, victim)
			r.key = newKey(t)
			return r
		}, "SignatureDoesNotMatch"},
		"an old proof": {func(t *testing.T, w *suite) *request {
			t.Helper()
			return w.newRequestOf(t, ownNode, own, "arn:aws:sts::"+account+":assumed-role/"+role, account, time.Now().Add(-6*time.Minute))
		}, "is valid for 5m0s"},
		"a proof of another role": {func(t *testing.T, w *suite) *request {
			t.Helper()
			return w.newRequestOf(t, ownNode, own, "arn:aws:sts::"+account+":assumed-role/admin", account, time.Now())
		}, "not for the workers' role"},
		"a proof of another account": {func(t *testing.T, w *suite) *request {
			t.Helper()
			return w.newRequestOf(t, ownNode, own, "arn:aws:sts::999999999999:assumed-role/"+role, "999999999999", time.Now())
		}, "not for the workers' role"},
		"a proof of a session that is no instance's": {func(t *testing.T, w *suite) *request {
			t.Helper()
			return w.newRequest(t, ownNode, "role-session")
		}, "not a running EC2 instance"},
		"a terminated instance": {func(t *testing.T, w *suite) *request {
			t.Helper()
			return w.newRequest(t, ownNode, "i-terminated")
		}, "not a running EC2 instance"},
		"an instance of another cluster": {func(t *testing.T, w *suite) *request {
			t.Helper()
			return w.newRequest(t, ownNode, "i-other")
		}, "not one of the cluster's"},
		"an instance of no Auto Scaling group": {func(t *testing.T, w *suite) *request {
			t.Helper()
			return w.newRequest(t, ownNode, "i-alone")
		}, "in no Auto Scaling group"},
		"a user that is no node": {func(t *testing.T, w *suite) *request {
			t.Helper()
			r := w.newRequest(t, ownNode, own)
			r.subject.CommonName = "kubernetes-admin"
			return r
		}, "common name"},
		"the group of administrators": {func(t *testing.T, w *suite) *request {
			t.Helper()
			r := w.newRequest(t, ownNode, own)
			r.subject.Organization = []string{"system:nodes", "system:masters"}
			return r
		}, "organizations"},
		"a name for a server": {func(t *testing.T, w *suite) *request {
			t.Helper()
			r := w.newRequest(t, ownNode, own)
			r.names = []string{"kubernetes.default"}
			return r
		}, "subject alternative names"},
		"a server's certificate": {func(t *testing.T, w *suite) *request {
			t.Helper()
			r := w.newRequest(t, ownNode, own)
			r.object.Spec.Usages = append(r.object.Spec.Usages, certificatesv1.UsageServerAuth)
			return r
		}, "usages"},
		"a certificate for a year": {func(t *testing.T, w *suite) *request {
			t.Helper()
			r := w.newRequest(t, ownNode, own)
			r.object.Spec.ExpirationSeconds = nil
			return r
		}, "longer than 1h0m0s"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			w := start(t)
			r := test.request(t, w)
			w.run(t)
			kind, message := w.decision(t, r.make(t, w))
			if test.want == "Approved" {
				if kind != "Approved" || !strings.Contains(message, "instance "+own+" of Auto Scaling group demo-workers-ASG") {
					t.Errorf("%s: %s", kind, message)
				}
				return
			}
			if kind != "Denied" || !strings.Contains(message, test.want) {
				t.Errorf("%s: %s; want it denied: %s", kind, message, test.want)
			}
		})
	}
}

// Those by which kubelets renew their certificates, and those of administrators, are for others to
// decide about.
func TestRequestsOfOthersAreLeftAlone(t *testing.T) {
	w := start(t)
	w.run(t)
	others := map[string]*request{
		"kubeadm's tokens": {groups: []string{"system:bootstrappers:kubeadm:default-node-token"}},
		"kubelets":         {groups: []string{"system:nodes"}},
	}
	w.letAsk(t, "system:bootstrappers:kubeadm:default-node-token", "system:nodes")
	names := map[string]string{}
	for name, of := range others {
		r := w.newRequest(t, victimNode, own)
		r.groups = of.groups
		names[name] = r.make(t, w)
	}
	signer := w.newRequest(t, victimNode, own)
	signer.object.Spec.SignerName = "example.com/other"
	names["another signer"] = signer.make(t, w)
	w.decision(t, w.newRequest(t, ownNode, own).make(t, w)) // made after them
	for name, of := range names {
		got, err := w.api.CertificatesV1().CertificateSigningRequests().Get(t.Context(), of, metav1.GetOptions{})
		if err != nil || len(got.Status.Conditions) > 0 {
			t.Errorf("%s: %v %v", name, got.Status.Conditions, err)
		}
	}
}

// letAsk lets groups make requests, as kubeadm does.
func (w *suite) letAsk(t *testing.T, groups ...string) {
	t.Helper()
	bound := &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: "others"},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "system:node-bootstrapper"},
	}
	for _, group := range groups {
		bound.Subjects = append(bound.Subjects, rbacv1.Subject{APIGroup: rbacv1.GroupName, Kind: rbacv1.GroupKind, Name: group})
	}
	if _, err := w.api.RbacV1().ClusterRoleBindings().Create(t.Context(), bound, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = w.api.RbacV1().ClusterRoleBindings().Delete(context.Background(), bound.Name, metav1.DeleteOptions{})
	})
}

// A request is not denied because STS or EC2 do not answer.
func TestRequestWaitsUntilEC2Responds(t *testing.T) {
	w := start(t)
	w.instances.fails.Store(true)
	if err := w.approver.Run(timedOut(t)); err == nil {
		t.Error("a run that was cut short says nothing")
	}
	name := w.newRequest(t, ownNode, own).make(t, w)
	if err := w.approver.Run(patience.Context(t)); err == nil || !strings.Contains(err.Error(), "RequestLimitExceeded") {
		t.Errorf("got %v", err)
	}
	w.instances.fails.Store(false)
	w.run(t)
	if kind, message := w.decision(t, name); kind != "Approved" {
		t.Errorf("%s: %s", kind, message)
	}
}

// timedOut returns a context that ends once the group of workers is bound.
func timedOut(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	t.Cleanup(cancel)
	return ctx
}

// The token of workers may do nothing but ask.
func TestTokenOfWorkersHasNoOtherPermissions(t *testing.T) {
	w := start(t)
	w.run(t)
	w.newRequest(t, ownNode, own).make(t, w) // The binding is there.
	client := w.client(t, []string{"system:bootstrappers", approver.Group})
	for name, call := range map[string]func() error{
		"list Nodes": func() error {
			_, err := client.CoreV1().Nodes().List(t.Context(), metav1.ListOptions{})
			return err
		},
		"read Secrets": func() error {
			_, err := client.CoreV1().Secrets("kube-system").List(t.Context(), metav1.ListOptions{})
			return err
		},
		"approve": func() error {
			_, err := client.CertificatesV1().CertificateSigningRequests().UpdateApproval(t.Context(), "x", &certificatesv1.CertificateSigningRequest{ObjectMeta: metav1.ObjectMeta{Name: "x"}}, metav1.UpdateOptions{})
			return err
		},
	} {
		if err := call(); err == nil || !strings.Contains(err.Error(), "forbidden") {
			t.Errorf("%s: %v", name, err)
		}
	}
}
