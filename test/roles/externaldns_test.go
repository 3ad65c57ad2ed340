package roles_test

import (
	"bytes"
	"encoding/json"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/route53"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/aws-operator/aws-operator/api/cluster/v1alpha1"
	"github.com/aws-operator/aws-operator/internal/cluster/release"
	"github.com/aws-operator/aws-operator/internal/local/controlplane/controlplanetest"
	"github.com/aws-operator/aws-operator/internal/simulator"
	"github.com/aws-operator/aws-operator/internal/simulator/simulatortest"
)

func TestMain(m *testing.M) { controlplanetest.Main(m) }

// The real ExternalDNS, with the policy of its role and the arguments of the newest release, creates the records of a
// Service in the zone of spec.iam.hostedZones, and none in another zone of the account. Without the arguments that name the
// zones, it creates none at all.
func TestExternalDNS(t *testing.T) {
	if os.Getenv("TEST_EXTERNAL_DNS") == "" {
		t.Skip("it builds ExternalDNS: make test-external-dns")
	}
	program := filepath.Join(t.TempDir(), "external-dns")
	build := exec.CommandContext(t.Context(), "go", "build", "-o", program, "sigs.k8s.io/external-dns")
	build.Dir = "../externaldns"
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	sim := simulatortest.New(t, simulator.Options{Region: "eu-central-1", Lag: simulator.NoLag})
	endpoint := simulatortest.Serve(t, sim.Handler())
	root := simulatortest.Root(endpoint, account, "eu-central-1")
	zones := route53.NewFromConfig(root)
	create := func(name string) (id string) {
		made, err := zones.CreateHostedZone(t.Context(), &route53.CreateHostedZoneInput{Name: &name, CallerReference: &name})
		if err != nil {
			t.Fatal(err)
		}
		return strings.TrimPrefix(*made.HostedZone.Id, "/hostedzone/")
	}
	records := func(zone string) (found []string) {
		out, err := zones.ListResourceRecordSets(t.Context(), &route53.ListResourceRecordSetsInput{HostedZoneId: &zone})
		if err != nil {
			t.Fatal(err)
		}
		for i := range out.ResourceRecordSets {
			if r := &out.ResourceRecordSets[i]; r.Type != "NS" && r.Type != "SOA" {
				found = append(found, string(r.Type)+" "+*r.Name)
			}
		}
		slices.Sort(found)
		return found
	}
	own, other := create("example.com"), create("example.org")
	key := simulatortest.User(t, root, "external-dns", policiesOf(t, root, externalDNS, strings.NewReplacer("Z0OFTHEUSER", own))...)

	cluster := controlplanetest.Shared(t)
	namespace := controlplanetest.Namespace(t, cluster)
	exposeService(t, kubernetes.NewForConfigOrDie(cluster.RESTConfig()), namespace, "web.example.com,web.example.org")
	kubeconfig := filepath.Join(t.TempDir(), "kubeconfig")
	if err := os.WriteFile(kubeconfig, cluster.Kubeconfig(), 0o600); err != nil {
		t.Fatal(err)
	}
	run := func(args ...string) string {
		command := exec.CommandContext(t.Context(), program, append(args,
			"--kubeconfig="+kubeconfig, "--once", "--source=service", "--provider=aws", "--registry=txt", "--policy=upsert-only", "--txt-owner-id=demo", "--metrics-address=127.0.0.1:0")...)
		command.Env = append(os.Environ(), "AWS_ENDPOINT_URL="+endpoint, "AWS_REGION=eu-central-1",
			"AWS_EC2_METADATA_DISABLED=true", "AWS_ACCESS_KEY_ID="+key.AccessKeyID, "AWS_SECRET_ACCESS_KEY="+key.SecretAccessKey)
		var out bytes.Buffer
		command.Stdout, command.Stderr = &out, &out
		if err := command.Run(); err != nil {
			return err.Error() + "\n" + out.String()
		}
		return out.String()
	}

	if said := run(); !strings.Contains(said, "AccessDenied") || len(records(own)) > 0 {
		t.Errorf("without the zone in its arguments, ExternalDNS creates %v, and says:\n%s", records(own), said)
	}
	said := run(argumentsOfExternalDNS(t, own)...)
	want := []string{"A web.example.com.", "AAAA web.example.com.", "TXT aaaa-web.example.com.", "TXT cname-web.example.com."}
	if got := records(own); !slices.Equal(got, want) {
		t.Errorf("the zone has %q, want the records %q\n%s", got, want, said)
	}
	if got := records(other); len(got) > 0 {
		t.Errorf("the zone that the cluster does not name has %q\n%s", got, said)
	}
}

// policiesOf creates the policies of a role of a cluster, and returns their ARNs.
func policiesOf(t *testing.T, root aws.Config, id string, words *strings.Replacer) (arns []string) {
	t.Helper()
	all := rolesOf(t, demo("eu-central-1", newest()))
	i := slices.IndexFunc(all, func(one *tried) bool { return one.role.id == id })
	for _, name := range slices.Sorted(maps.Keys(all[i].role.documents)) {
		arns = append(arns, simulatortest.Policy(t, root, name, words.Replace(all[i].role.documents[name])))
	}
	return arns
}

// argumentsOfExternalDNS returns the arguments that the newest release gives ExternalDNS for a hosted zone.
func argumentsOfExternalDNS(t *testing.T, zone string) []string {
	t.Helper()
	all, err := release.Builtin()
	if err != nil {
		t.Fatal(err)
	}
	newest := release.Named(all, "v1.36.4")
	cluster := &v1alpha1.Cluster{Spec: v1alpha1.ClusterSpec{
		Region: "eu-central-1", Addons: []v1alpha1.Addon{{Name: release.AddonExternalDNS}}, IAM: v1alpha1.NodeIAM{HostedZones: []string{zone}},
	}}
	cluster.Name = "demo"
	cluster.Status.Outputs = map[string]string{release.AddonRoles[release.AddonExternalDNS]: "arn:aws:iam::123456789012:role/demo"}
	addons, err := release.Addons(newest, cluster)
	if err != nil {
		t.Fatal(err)
	}
	i := slices.IndexFunc(addons, func(a v1alpha1.ReleaseAddon) bool { return a.Name == release.AddonExternalDNS })
	var values struct{ ExtraArgs []string }
	if err := json.Unmarshal(addons[i].Values.Raw, &values); err != nil {
		t.Fatal(err)
	}
	return values.ExtraArgs
}

// exposeService creates a Service with host names and a load balancer.
func exposeService(t *testing.T, clients kubernetes.Interface, namespace, hosts string) {
	t.Helper()
	service, err := clients.CoreV1().Services(namespace).Create(t.Context(), &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Name: "web", Annotations: map[string]string{"external-dns.alpha.kubernetes.io/hostname": hosts}},
		Spec:       corev1.ServiceSpec{Type: corev1.ServiceTypeLoadBalancer, Ports: []corev1.ServicePort{{Port: 80}}},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	service.Status.LoadBalancer.Ingress = []corev1.LoadBalancerIngress{{Hostname: "web-0a1b2c3d.elb.eu-central-1.amazonaws.com"}}
	if _, err := clients.CoreV1().Services(namespace).UpdateStatus(t.Context(), service, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
}
