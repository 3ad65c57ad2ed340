package nodeup_test

import (
	"bytes"
	"cmp"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/ssm"
	ssmtypes "github.com/aws/aws-sdk-go-v2/service/ssm/types"
	"github.com/go-logr/logr"
	certificatesv1 "k8s.io/api/certificates/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/utils/clock"

	"github.com/aws-operator/aws-operator/api/cluster/v1alpha1"
	"github.com/aws-operator/aws-operator/internal/awsapi"
	"github.com/aws-operator/aws-operator/internal/cfn/stack"
	"github.com/aws-operator/aws-operator/internal/cluster/bootstrap"
	"github.com/aws-operator/aws-operator/internal/cluster/bootstrap/bundle"
	"github.com/aws-operator/aws-operator/internal/cluster/model"
	"github.com/aws-operator/aws-operator/internal/cluster/pki"
	"github.com/aws-operator/aws-operator/internal/cluster/release"
	"github.com/aws-operator/aws-operator/internal/cluster/render"
	"github.com/aws-operator/aws-operator/internal/machines/process"
	"github.com/aws-operator/aws-operator/internal/nodeup/approver"
	"github.com/aws-operator/aws-operator/internal/patience"
	"github.com/aws-operator/aws-operator/internal/simulator"
	"github.com/aws-operator/aws-operator/internal/simulator/access"
	"github.com/aws-operator/aws-operator/internal/simulator/fault"
	"github.com/aws-operator/aws-operator/internal/simulator/simulatortest"
)

// suite is a simulated region whose instances boot.
type suite struct {
	t         *testing.T
	host      *process.Host
	engine    *stack.Engine
	objects   *s3.Client
	tokens    *ssm.Client
	instances *ec2.Client
	nodeup    []byte
	faults    *fault.Injector
	resolver  awsapi.Resolver
	cluster   *model.Cluster
	outputs   map[string]string
}

// TestMachinesBootForReal makes a cluster's stacks on the simulator. The instances boot from the
// user data that EC2 hands them: nodeup, kubeadm, etcd and the API server are the real ones, the
// kubelet is simulated. It shows that three slots that start at once and a worker become nodes of
// their bundles, and that a slot whose instance is terminated comes back on its etcd volume.
func TestMachinesBootForReal(t *testing.T) {
	if testing.Short() {
		t.Skip("it takes a minute")
	}
	l := newSuite(t, release.Set110, 3)
	started := time.Now()
	cas, api := l.newCAs()
	bundles := l.startSlots()
	for slot, b := range bundles {
		l.await("each slot is a node", func() error {
			return hasNode(t.Context(), api, fmt.Sprintf("%s=%d", model.LabelSlot, slot), b.Hash())
		})
	}
	for slot := range bundles {
		l.await("each slot's API server says through the proxy, without credentials, that it is ready", func() error {
			names, err := l.namesOf(api, slot)
			if err != nil {
				return err
			}
			for _, name := range names {
				path := "/api/v1/namespaces/kube-system/pods/https:kube-apiserver-" + name + ":6443/proxy/readyz"
				if answer, err := api.CoreV1().RESTClient().Get().AbsPath(path).DoRaw(t.Context()); err != nil || string(answer) != "ok" {
					return fmt.Errorf("%s: %q, %w", name, answer, err)
				}
			}
			return nil
		})
	}
	t.Logf("%d slots are nodes after %s", len(bundles), time.Since(started).Round(time.Millisecond))
	l.joinWorker(api, cas.CACertificate())
	t.Logf("the worker is a node after %s", time.Since(started).Round(time.Millisecond))

	kept := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "kept"}}
	l.await("a ConfigMap is written", func() error {
		_, err := api.CoreV1().ConfigMaps("default").Create(t.Context(), kept, metav1.CreateOptions{})
		return ignoreExists(err)
	})
	before := l.nodesOf(api, 0)
	l.terminate(before[0])
	l.await("the slot's next machine is a node", func() error {
		for _, node := range l.nodesOf(api, 0) {
			if node != before[0] {
				return nil
			}
		}
		return fmt.Errorf("there is none but %v", before)
	})
	l.await("what was written before is there", func() error {
		_, err := api.CoreV1().ConfigMaps("default").Get(t.Context(), kept.Name, metav1.GetOptions{})
		return err
	})
	l.await("the slot's next machine has booted", func() error {
		if text := l.consoles(); strings.Count(text, "this machine is a node of its cluster") != len(bundles)+2 {
			return fmt.Errorf("not all machines are through")
		}
		return nil
	})
}

// TestTokenOfAWorkerIsNotSufficientForAnotherNode boots a slot and a worker that proves which
// instance it is, and then does with the worker's token, and with all that it shows to others, what
// an attacker on it could do.
func TestTokenOfAWorkerIsNotSufficientForAnotherNode(t *testing.T) {
	if testing.Short() {
		t.Skip("it takes a minute")
	}
	l := newSuite(t, release.Set120, 1)
	cas, api := l.newCAs()
	l.startSlots()
	l.joinWorker(api, cas.CACertificate())
	l.await("the worker has joined", func() error {
		if !strings.Contains(l.consoles(), "did=\"joined as ") {
			return errors.New("no console says so")
		}
		return nil
	})

	slot, proof := "", ""
	l.await("a certificate request has a proof", func() error {
		names, err := l.namesOf(api, 0)
		if err != nil {
			return err
		}
		asked, err := api.CertificatesV1().CertificateSigningRequests().List(t.Context(), metav1.ListOptions{})
		if err != nil {
			return err
		}
		for i := range asked.Items {
			proof = cmp.Or(proof, asked.Items[i].Annotations[approver.ProofAnnotation])
		}
		if proof == "" {
			return errors.New("none of them has one")
		}
		slot = names[0]
		return nil
	})
	token := l.get(model.KeyToken)
	for name, annotations := range map[string]map[string]string{"no proof": nil, "the worker's proof": {approver.ProofAnnotation: proof}} {
		refused := l.ask(cas.CACertificate(), token, slot, annotations)
		l.await("the request with "+name+" is denied", func() error {
			got, err := api.CertificatesV1().CertificateSigningRequests().Get(t.Context(), refused, metav1.GetOptions{})
			if err != nil {
				return err
			}
			if len(got.Status.Certificate) > 0 {
				t.Fatalf("with %s a token is enough for a certificate of %s", name, slot)
			}
			if len(got.Status.Conditions) != 1 || got.Status.Conditions[0].Type != certificatesv1.CertificateDenied {
				return fmt.Errorf("it is %+v", got.Status.Conditions)
			}
			t.Logf("with %s: %s", name, got.Status.Conditions[0].Message)
			return nil
		})
	}
}

// ask asks for the certificate of a Node with a bootstrap token and returns the request's name.
func (l *suite) ask(ca []byte, token, node string, annotations map[string]string) string {
	l.t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		l.t.Fatal(err)
	}
	der, err := x509.CreateCertificateRequest(rand.Reader, &x509.CertificateRequest{
		Subject: pkix.Name{CommonName: "system:node:" + node, Organization: []string{"system:nodes"}},
	}, key)
	if err != nil {
		l.t.Fatal(err)
	}
	server, serverName := l.server()
	api := kubernetes.NewForConfigOrDie(&rest.Config{
		Host: server, BearerToken: token, TLSClientConfig: rest.TLSClientConfig{CAData: ca, ServerName: serverName},
	})
	lasts := int32(3600)
	request := &certificatesv1.CertificateSigningRequest{
		ObjectMeta: metav1.ObjectMeta{GenerateName: "attack-", Annotations: annotations},
		Spec: certificatesv1.CertificateSigningRequestSpec{
			Request:    pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE REQUEST", Bytes: der}),
			SignerName: certificatesv1.KubeAPIServerClientKubeletSignerName, ExpirationSeconds: &lasts,
			Usages: []certificatesv1.KeyUsage{certificatesv1.UsageDigitalSignature, certificatesv1.UsageClientAuth},
		},
	}
	name := ""
	l.await("the request is written", func() error {
		made, err := api.CertificatesV1().CertificateSigningRequests().Create(l.t.Context(), request, metav1.CreateOptions{})
		if err != nil {
			return err
		}
		name = made.Name
		return nil
	})
	return name
}

// get reads an object of the cluster's bucket.
func (l *suite) get(key string) string {
	l.t.Helper()
	bucket := l.outputs[model.OutputBucket]
	found, err := l.objects.GetObject(l.t.Context(), &s3.GetObjectInput{Bucket: &bucket, Key: &key})
	if err != nil {
		l.t.Fatal(err)
	}
	defer found.Body.Close()
	content, err := io.ReadAll(found.Body)
	if err != nil {
		l.t.Fatal(err)
	}
	return string(content)
}

// startSlots makes the slots' stacks, one right after another: none waits for another's machine.
func (l *suite) startSlots() []*bootstrap.Bundle {
	l.t.Helper()
	var bundles []*bootstrap.Bundle
	for _, slot := range l.cluster.Slots {
		b, err := bootstrap.ControlPlane(l.cluster, slot.Index, l.outputs)
		if err != nil {
			l.t.Fatal(err)
		}
		l.make(render.Slot(l.cluster, slot.Index, l.outputs, l.userData(b)))
		bundles = append(bundles, b)
	}
	return bundles
}

func (l *suite) joinWorker(api kubernetes.Interface, ca []byte) {
	l.t.Helper()
	if l.cluster.TokenKey == "" {
		token, err := pki.NewToken()
		if err != nil {
			l.t.Fatal(err)
		}
		l.admit(api, token)
	}
	group, err := model.ResolveGroup(l.cluster, &v1alpha1.InstanceGroup{
		ObjectMeta: metav1.ObjectMeta{Name: "demo-workers", Namespace: "team"},
		Spec:       v1alpha1.InstanceGroupSpec{Cluster: "demo", MinSize: 1, MaxSize: 1, InstanceTypes: []string{"m6i.large"}},
	})
	if err != nil {
		l.t.Fatal(err)
	}
	b, err := bootstrap.Worker(l.cluster, group, l.outputs, ca)
	if err != nil {
		l.t.Fatal(err)
	}
	l.make(render.Group(l.cluster, group, l.outputs, l.userData(b)))
	l.await("the worker is a node", func() error {
		return hasNode(l.t.Context(), api, model.LabelInstanceGroup+"=demo-workers", b.Hash())
	})
}

// namesOf returns the names of a slot's nodes, of which there must be at least one.
func (l *suite) namesOf(api kubernetes.Interface, slot int) ([]string, error) {
	list, err := api.CoreV1().Nodes().List(l.t.Context(), metav1.ListOptions{LabelSelector: fmt.Sprintf("%s=%d", model.LabelSlot, slot)})
	if err != nil {
		return nil, err
	}
	var names []string
	for i := range list.Items {
		names = append(names, list.Items[i].Name)
	}
	if len(names) == 0 {
		return nil, fmt.Errorf("slot %d has no node yet", slot)
	}
	return names, nil
}

// ignoreExists makes a creation repeatable: a request whose connection ends early may have been done.
func ignoreExists(err error) error {
	if apierrors.IsAlreadyExists(err) {
		return nil
	}
	return err
}

// nodesOf returns the provider IDs of a slot's nodes.
func (l *suite) nodesOf(api kubernetes.Interface, slot int) []string {
	found, err := api.CoreV1().Nodes().List(l.t.Context(), metav1.ListOptions{LabelSelector: fmt.Sprintf("%s=%d", model.LabelSlot, slot)})
	if err != nil {
		return nil // The API may be between two leaders.
	}
	var ids []string
	for _, node := range found.Items {
		ids = append(ids, node.Spec.ProviderID)
	}
	return ids
}

func (l *suite) terminate(providerID string) {
	l.t.Helper()
	id := providerID[strings.LastIndexByte(providerID, '/')+1:]
	if _, err := l.instances.TerminateInstances(l.t.Context(), &ec2.TerminateInstancesInput{InstanceIds: []string{id}}); err != nil {
		l.t.Fatal(err)
	}
}

// hasNode says what is missing until there is a node of those labels that was made from the bundle.
func hasNode(ctx context.Context, api kubernetes.Interface, labels, hash string) error {
	found, err := api.CoreV1().Nodes().List(ctx, metav1.ListOptions{LabelSelector: labels})
	if err != nil {
		return err
	}
	for _, node := range found.Items {
		if node.Labels[bundle.Label] == bundle.LabelValue(hash) {
			return nil
		}
	}
	return fmt.Errorf("there are %d nodes of %s, and none of the bundle %s", len(found.Items), labels, hash)
}

func newSuite(t *testing.T, resourceSet string, slots int32, change ...func(*v1alpha1.ClusterSpec)) *suite {
	t.Helper()
	if err := process.Supported(); err != nil {
		t.Skip(err)
	}
	kube, err := filepath.Abs("../../bin/kube")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(kube); err != nil {
		t.Skip("bin/kube is not built: make build")
	}
	l := &suite{t: t}
	l.host, err = process.New(
		process.Options{Dir: filepath.Join(t.TempDir(), "machines"), Machine: build(t, "machine"), Kube: kube, Log: logr.Discard()},
	)
	if err != nil {
		t.Fatal(err)
	}
	if l.nodeup, err = os.ReadFile(build(t, "nodeup")); err != nil {
		t.Fatal(err)
	}
	const region = "eu-central-1"
	l.faults = &fault.Injector{}
	o := simulator.Options{Region: region, Machines: l.host, Patience: time.Second, Faults: l.faults}
	if resourceSet == release.Set110 {
		// S3 refuses the request of its boot script, which does not sign x-amz-content-sha256.
		// https://docs.aws.amazon.com/AmazonS3/latest/API/sig-v4-header-based-auth.html
		o.IAM = access.Off
	}
	simulated := simulatortest.New(t, o)
	l.resolver = simulated.Lookup
	server := httptest.NewServer(simulated.Handler())
	t.Cleanup(server.Close)
	keys := credentials.NewStaticCredentialsProvider("123456789012", "secret", "")
	clients, err := awsapi.New(t.Context(), awsapi.Options{Region: region, EndpointURL: server.URL, Credentials: keys})
	if err != nil {
		t.Fatal(err)
	}
	l.engine = stack.New(stack.Options{Clients: clients, PollInterval: 20 * time.Millisecond})
	own, err := config.LoadDefaultConfig(
		t.Context(), config.WithRegion(region), config.WithCredentialsProvider(keys), config.WithBaseEndpoint(server.URL),
	)
	if err != nil {
		t.Fatal(err)
	}
	l.objects = s3.NewFromConfig(own, func(o *s3.Options) { o.UsePathStyle = true })
	l.tokens, l.instances = ssm.NewFromConfig(own), ec2.NewFromConfig(own)
	l.makeBase(resourceSet, slots, change)
	return l
}

// makeBase makes the base stack of a cluster.
func (l *suite) makeBase(resourceSet string, slots int32, change []func(*v1alpha1.ClusterSpec)) {
	l.t.Helper()
	cluster := &v1alpha1.Cluster{
		ObjectMeta: metav1.ObjectMeta{Name: "demo", Namespace: "team"},
		Spec: v1alpha1.ClusterSpec{
			Release: "v1.36.3", Region: "eu-central-1",
			Network: v1alpha1.Network{
				CIDR:     "10.0.0.0/16",
				Zones:    []string{"eu-central-1a", "eu-central-1b", "eu-central-1c"},
				Topology: v1alpha1.TopologyPublic,
			},
			ControlPlane: v1alpha1.ControlPlane{Replicas: slots, InstanceType: "m6i.large"},
		},
	}
	for _, one := range change {
		one(&cluster.Spec)
	}
	const images = "/aws/service/canonical/ubuntu/server/24.04/stable/20260101/amd64/hvm/ebs-gp3/ami-id"
	var err error
	l.cluster, err = model.Resolve(model.Input{
		Operator: "test", AccountID: "123456789012", Partition: "aws", DNSSuffix: "amazonaws.com",
		Release: &v1alpha1.Release{
			ObjectMeta: metav1.ObjectMeta{Name: "v1.36.3"},
			Spec: v1alpha1.ReleaseSpec{
				Kubernetes: "v1.36.3", ResourceSet: resourceSet,
				Images: map[v1alpha1.Architecture]v1alpha1.MachineImage{v1alpha1.AMD64: {Parameter: images}},
			},
		},
		Cluster: cluster,
	})
	if err != nil {
		l.t.Fatal(err)
	}
	l.outputs = l.make(render.Base(l.cluster))
}

// make makes a stack and returns its outputs.
func (l *suite) make(s *render.Stack, err error) map[string]string {
	l.t.Helper()
	if err != nil {
		l.t.Fatal(err)
	}
	desired := stack.Desired{
		Name: s.Name, Template: s.Template, Parameters: s.Parameters, Tags: s.Tags, OwnerTags: s.OwnerTags,
		Capabilities: s.Capabilities, MaxAttempts: 1,
	}
	var record stack.Record
	var outputs map[string]string
	l.await("the stack "+s.Name, func() error {
		result, err := l.engine.Ensure(l.t.Context(), awsapi.Target{}, desired, record)
		record = result.Record
		if err != nil || result.State != stack.Ready {
			return fmt.Errorf("it is %v: %s %w", result.State, result.Message, err)
		}
		outputs = result.Outputs
		return nil
	})
	return outputs
}

func (l *suite) put(key string, content []byte) {
	l.t.Helper()
	bucket := l.outputs[model.OutputBucket]
	if _, err := l.objects.PutObject(l.t.Context(), &s3.PutObjectInput{
		Bucket: &bucket, Key: &key, Body: bytes.NewReader(content),
	}); err != nil {
		l.t.Fatal(err)
	}
}

// userData stores a bundle and nodeup, and returns what boots them.
func (l *suite) userData(b *bootstrap.Bundle) string {
	l.t.Helper()
	hash := bundle.HashOf(l.nodeup)
	l.put(bundle.NodeupKey(hash, b.Architecture), l.nodeup)
	l.put(bundle.Key(b.Hash()), b.JSON())
	return l.script(b, hash)
}

// script returns the user data that fetches nodeup by its hash, and then the bundle.
func (l *suite) script(b *bootstrap.Bundle, nodeup string) string {
	l.t.Helper()
	text, err := bootstrap.UserData(bootstrap.UserDataInput{
		Region: l.cluster.Region, DNSSuffix: l.cluster.DNSSuffix, Bucket: l.outputs[model.OutputBucket],
		Architecture: b.Architecture, NodeupSHA256: nodeup, BundleSHA256: b.Hash(), Signed: l.cluster.Features.SignedBootRequest,
	})
	if err != nil {
		l.t.Fatal(err)
	}
	return text
}

// server returns how the API's load balancer is dialed, and the name that its certificate is for.
func (l *suite) server() (server, name string) {
	l.t.Helper()
	host, name, err := l.resolver.Dial(l.t.Context(), model.APIAddress(l.outputs))
	if err != nil {
		l.t.Fatal(err)
	}
	return "https://" + net.JoinHostPort(host, strconv.Itoa(model.PortAPI)), name
}

// newCAs puts new CAs into the bucket, and returns them with a client of the cluster that they make.
func (l *suite) newCAs() (*pki.CAs, kubernetes.Interface) {
	l.t.Helper()
	cas, err := pki.New(clock.RealClock{})
	if err != nil {
		l.t.Fatal(err)
	}
	for key, content := range cas.Files() {
		l.put(key, content)
	}
	return cas, l.connect(cas)
}

// connect returns a client of the cluster, through its load balancer.
func (l *suite) connect(cas *pki.CAs) kubernetes.Interface {
	l.t.Helper()
	server, name := l.server()
	kubeconfig, err := cas.Kubeconfig(clock.RealClock{}, pki.KubeconfigInput{
		Cluster: "demo", Server: server, ServerName: name, CommonName: "operator",
		Organisations: []string{pki.GroupMasters}, Validity: time.Hour,
	})
	if err != nil {
		l.t.Fatal(err)
	}
	restConfig, err := clientcmd.RESTConfigFromKubeConfig(kubeconfig)
	if err != nil {
		l.t.Fatal(err)
	}
	return kubernetes.NewForConfigOrDie(restConfig)
}

// admit does what the operator does for workers: the token in the cluster and in the parameter.
func (l *suite) admit(api kubernetes.Interface, token pki.Token) {
	l.t.Helper()
	secret := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Name: "bootstrap-token-" + token.ID()},
		Type:       corev1.SecretTypeBootstrapToken,
		StringData: map[string]string{
			"token-id": token.ID(), "token-secret": token.Secret(),
			"usage-bootstrap-authentication": "true", "usage-bootstrap-signing": "true",
			"auth-extra-groups": "system:bootstrappers:kubeadm:default-node-token",
		},
	}
	l.await("the bootstrap token is written", func() error {
		_, err := api.CoreV1().Secrets("kube-system").Create(l.t.Context(), secret, metav1.CreateOptions{})
		return ignoreExists(err)
	})
	_, err := l.tokens.PutParameter(l.t.Context(), &ssm.PutParameterInput{
		Name: &l.cluster.TokenParameter, Value: aws.String(token.Value()), Type: ssmtypes.ParameterTypeSecureString,
		KeyId: aws.String(l.outputs[model.OutputKey]),
	})
	if err != nil {
		l.t.Fatal(err)
	}
}

// await looks until something is so, and shows the consoles when it does not come to be.
func (l *suite) await(what string, look func() error) {
	l.t.Helper()
	ctx := patience.Context(l.t)
	ticker := time.NewTicker(100 * time.Millisecond)
	defer ticker.Stop()
	for {
		err := look()
		if err == nil {
			return
		}
		select {
		case <-ctx.Done():
			l.t.Fatalf("%s: %v\n%s", what, err, l.consoles())
		case <-ticker.C:
		}
	}
}

func (l *suite) consoles() string {
	const length = 6000
	paths, _ := filepath.Glob(filepath.Join(l.host.Dir(), "consoles", "*.log"))
	var all strings.Builder
	for _, path := range paths {
		text, _ := os.ReadFile(path)
		fmt.Fprintf(&all, "%s:\n%s\n", path, text[max(0, len(text)-length):])
	}
	return all.String()
}

// build builds one of the project's programs.
func build(t *testing.T, program string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), program)
	cmd := exec.CommandContext(t.Context(), "go", "build", "-trimpath", "-ldflags", "-s -w", "-o", path, "../../cmd/"+program)
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("build %s: %v\n%s", program, err, out)
	}
	return path
}
