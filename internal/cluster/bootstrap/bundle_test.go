package bootstrap_test

import (
	"bytes"
	"maps"
	"strings"
	"testing"

	"github.com/aws-operator/aws-operator/api/cluster/v1alpha1"
	"github.com/aws-operator/aws-operator/internal/cluster/bootstrap"
	"github.com/aws-operator/aws-operator/internal/cluster/bootstrap/bundle"
	"github.com/aws-operator/aws-operator/internal/cluster/model"
	"github.com/aws-operator/aws-operator/internal/cluster/release"
	"github.com/aws-operator/aws-operator/internal/golden"
)

// TestGolden shows what machines boot from. Bundles of a set that is published stay as they are, or
// clusters that run would roll.
func TestGolden(t *testing.T) {
	for suffix, set := range map[string]string{"": release.Set110, "-1.2.0": release.Set120} {
		f := newFixture()
		f.release.Spec.ResourceSet = set
		c, g := f.mustResolve(t)
		slot, err := bootstrap.ControlPlane(c, 1, outputs)
		if err != nil {
			t.Fatal(err)
		}
		worker, err := bootstrap.Worker(c, g, outputs, []byte(caCertificate))
		if err != nil {
			t.Fatal(err)
		}
		golden.Equal(t, "control-plane"+suffix+".json", slot.JSON())
		golden.Equal(t, "control-plane"+suffix+".kubeadm.yaml", []byte(slot.Kubeadm.Config))
		golden.Equal(t, "worker"+suffix+".json", worker.JSON())
		golden.Equal(t, "worker"+suffix+".kubeadm.yaml", []byte(worker.Kubeadm.Config))
	}
}

func TestSameClusterGivesSameBytes(t *testing.T) {
	for range 20 { // Maps are walked in another order each time.
		c, _ := newFixture().mustResolve(t)
		one, err := bootstrap.ControlPlane(c, 0, outputs)
		if err != nil {
			t.Fatal(err)
		}
		c, _ = newFixture().mustResolve(t)
		other, err := bootstrap.ControlPlane(c, 0, outputs)
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(one.JSON(), other.JSON()) {
			t.Fatalf("one:\n%s\nother:\n%s", one.JSON(), other.JSON())
		}
	}
}

func TestBundleIsReadBack(t *testing.T) {
	c, g := newFixture().mustResolve(t)
	b, err := bootstrap.Worker(c, g, outputs, []byte(caCertificate))
	if err != nil {
		t.Fatal(err)
	}
	read, err := bootstrap.Parse(b.JSON())
	if err != nil {
		t.Fatal(err)
	}
	if read.Hash() != b.Hash() {
		t.Errorf("read back, the bundle has the hash %s; it had %s", read.Hash(), b.Hash())
	}
}

func TestParseRefuses(t *testing.T) {
	for reason, document := range map[string]string{
		"no document":                       "what",
		"another version's form":            `{"version": 99}`,
		"a field that it would not heed":    `{"version": 1, "firewall": true}`,
		"something behind the document":     `{"version": 1} {}`,
		"a value of another kind than said": `{"version": 1, "cluster": 3}`,
	} {
		if _, err := bootstrap.Parse([]byte(document)); err == nil {
			t.Errorf("%s is read", reason)
		}
	}
}

func TestBundleHoldsNoSecret(t *testing.T) {
	c, g := newFixture().mustResolve(t)
	slot, err := bootstrap.ControlPlane(c, 0, outputs)
	if err != nil {
		t.Fatal(err)
	}
	worker, err := bootstrap.Worker(c, g, outputs, []byte(caCertificate))
	if err != nil {
		t.Fatal(err)
	}
	for _, b := range []*bootstrap.Bundle{slot, worker} {
		if bytes.Contains(b.JSON(), []byte("PRIVATE KEY")) {
			t.Errorf("the bundle of a %s holds a private key", b.Role)
		}
	}
	if !strings.Contains(worker.Kubeadm.Config, bundle.Placeholder(bundle.BootstrapToken)) {
		t.Error("the worker's token is not left open")
	}
}

func TestMissingOutputs(t *testing.T) {
	f := newFixture()
	f.release.Spec.ResourceSet = release.Set120
	c, g := f.mustResolve(t)
	for name := range outputs {
		without := maps.Clone(outputs)
		delete(without, name)
		if _, err := bootstrap.ControlPlane(c, 0, without); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("without %s a slot's bundle gives %v", name, err)
		}
	}
	if _, err := bootstrap.Worker(c, g, nil, []byte(caCertificate)); err == nil {
		t.Error("a worker's bundle is made without the API's address")
	}
	if _, err := bootstrap.ControlPlane(c, 3, outputs); err == nil {
		t.Error("a fourth slot of three has a bundle")
	}
	if _, err := bootstrap.Worker(c, g, outputs, []byte("no certificate")); err == nil {
		t.Error("a worker's bundle is made without the CA")
	}
}

func TestArgumentsThatAreNotAPersons(t *testing.T) {
	for reason, alter := range map[string]func(*fixture){
		"etcd's membership is fixed": func(f *fixture) {
			f.cluster.Spec.ControlPlane.ExtraArgs.Etcd = map[string]string{"initial-cluster": "me=https://me:2380"}
		},
		"who may ask is decided by the cluster's CA": func(f *fixture) {
			f.cluster.Spec.ControlPlane.ExtraArgs.APIServer = map[string]string{"client-ca-file": "/mine"}
		},
		"clouds are the cloud controller manager's": func(f *fixture) {
			f.cluster.Spec.ControlPlane.ExtraArgs.ControllerManager = map[string]string{"cloud-provider": "aws"}
		},
		"one scheduler at a time": func(f *fixture) {
			f.cluster.Spec.ControlPlane.ExtraArgs.Scheduler = map[string]string{"leader-elect": "false"}
		},
	} {
		f := newFixture()
		alter(&f)
		c, _ := f.mustResolve(t)
		if _, err := bootstrap.ControlPlane(c, 0, outputs); err == nil || !strings.Contains(err.Error(), "set by the operator") {
			t.Errorf("%s: %v", reason, err)
		}
	}
	f := newFixture()
	f.group.Spec.KubeletExtraArgs = map[string]string{"node-labels": "node-role.kubernetes.io/master="}
	c, g := f.mustResolve(t)
	if _, err := bootstrap.Worker(c, g, outputs, []byte(caCertificate)); err == nil || !strings.Contains(err.Error(), "kubeletExtraArgs") {
		t.Errorf("a group sets its kubelets' labels by an argument: %v", err)
	}
}

func TestKubeletMaySet(t *testing.T) {
	for label, may := range map[string]bool{
		"plain":                                 true,
		"example.com/tier":                      true,
		model.LabelInstanceGroup:                true,
		bundle.Label:                            true,
		"topology.kubernetes.io/zone":           true,
		"node.kubernetes.io/instance-type":      true,
		"node.kubernetes.io/anything":           true,
		"team.node.kubernetes.io/anything":      true,
		"kubelet.kubernetes.io/anything":        true,
		model.LabelControlPlane:                 false,
		"node-restriction.kubernetes.io/secret": false,
		"kubernetes.io/role":                    false,
		"example.k8s.io/x":                      false,
	} {
		if got := bootstrap.KubeletMaySet(label); got != may {
			t.Errorf("a kubelet may set %s: %t", label, got)
		}
	}
}

func TestAddonsOfKubeadm(t *testing.T) {
	for reason, c := range map[string]struct {
		change func(*fixture)
		want   string
	}{
		"no addon replaces them": {func(*fixture) {}, "coredns kube-proxy"},
		"the release has a CNI that replaces kube-proxy, and declares it": {func(f *fixture) {
			f.release.Spec.Addons = append(f.release.Spec.Addons, v1alpha1.ReleaseAddon{Name: "kube-proxy"})
		}, "coredns"},
		"the cluster leaves one out": {func(f *fixture) {
			f.cluster.Spec.Addons = []v1alpha1.Addon{{Name: "coredns", Disabled: true}}
		}, "kube-proxy"},
	} {
		f := newFixture()
		c.change(&f)
		resolved, _, err := f.resolve()
		if err != nil {
			t.Errorf("%s: %v", reason, err)
			continue
		}
		b, err := bootstrap.ControlPlane(resolved, 0, outputs)
		if err != nil {
			t.Fatal(err)
		}
		if got := strings.Join(b.Kubeadm.Addons, " "); got != c.want {
			t.Errorf("%s: kubeadm installs %q; want %q", reason, got, c.want)
		}
	}
}

func TestArtifactOfTheArchitecture(t *testing.T) {
	f := newFixture()
	f.group.Spec.Architecture = v1alpha1.ARM64
	f.group.Spec.InstanceTypes = []string{"m7g.large"}
	c, g := f.mustResolve(t)
	b, err := bootstrap.Worker(c, g, outputs, []byte(caCertificate))
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range b.Artifacts {
		if !strings.Contains(a.URL, "arm64") {
			t.Errorf("a machine of arm64 installs %s", a.URL)
		}
	}
	delete(f.release.Spec.Artifacts[0].Sources, v1alpha1.ARM64)
	if _, _, err := f.resolve(); err == nil || !strings.Contains(err.Error(), "containerd") {
		t.Errorf("an artifact that there is not for arm64 gives %v", err)
	}
}

// TestBundlesHoldTheLoadBalancersNameInLowerCase: kubeadm accepts a host as controlPlaneEndpoint,
// and as a name in a certificate, only if it is an RFC 1123 subdomain, and the names that
// CloudFormation gives load balancers are none. DNS does not tell cases apart.
func TestBundlesHoldTheLoadBalancersNameInLowerCase(t *testing.T) {
	given := outputs[model.OutputAPIAddress]
	lower := maps.Clone(outputs)
	lower[model.OutputAPIAddress] = strings.ToLower(given)
	c, g := newFixture().mustResolve(t)
	for name, bundleOf := range map[string]func(outputs map[string]string) (*bootstrap.Bundle, error){
		"slot": func(outputs map[string]string) (*bootstrap.Bundle, error) {
			return bootstrap.ControlPlane(c, 0, outputs)
		},
		"worker": func(outputs map[string]string) (*bootstrap.Bundle, error) {
			return bootstrap.Worker(c, g, outputs, []byte(caCertificate))
		},
	} {
		mixed, err := bundleOf(outputs)
		if err != nil {
			t.Fatal(err)
		}
		same, err := bundleOf(lower)
		if err != nil {
			t.Fatal(err)
		}
		if document := string(mixed.JSON()); strings.Contains(document, given) || !strings.Contains(document, strings.ToLower(given)) {
			t.Errorf("%s: the bundle does not hold the name in lower case:\n%s", name, document)
		}
		if !bytes.Equal(mixed.JSON(), same.JSON()) {
			t.Errorf("%s: the case of the name makes another bundle", name)
		}
	}
}
