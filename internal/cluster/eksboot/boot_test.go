package eksboot_test

import (
	"encoding/base64"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/aws-operator/aws-operator/api/cluster/v1alpha1"
	"github.com/aws-operator/aws-operator/internal/cluster/eksboot"
	"github.com/aws-operator/aws-operator/internal/cluster/model"
	"github.com/aws-operator/aws-operator/internal/golden"
)

const ca = "-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----\n"

// aCluster returns a cluster, the outputs of its base stack, and a group.
func aCluster() (*model.Cluster, map[string]string, *model.Group) {
	c := &model.Cluster{Name: "demo", Release: &v1alpha1.Release{Spec: v1alpha1.ReleaseSpec{Kubernetes: "v1.36.3"}}}
	c.Spec.Network.ServiceCIDR = "172.20.0.0/16"
	g := &model.Group{
		Name: "web", Image: model.Image{Parameter: "/aws/service/eks/optimized-ami/1.36/amazon-linux-2023/x86_64/standard/recommended/image_id"},
		Labels: map[string]string{"tier": "web", model.LabelInstanceGroup: "web", model.LabelCluster: "demo"},
	}
	g.Spec.Taints = []corev1.Taint{{Key: "only", Value: "web", Effect: corev1.TaintEffectNoSchedule}, {Key: "quiet", Effect: corev1.TaintEffectNoExecute}}
	return c, map[string]string{
		model.OutputEndpoint:             "https://0123456789ABCDEF0123456789ABCDEF.gr7.eu-central-1.eks.amazonaws.com",
		model.OutputCertificateAuthority: base64.StdEncoding.EncodeToString([]byte(ca)),
	}, g
}

func made(tb testing.TB, c *model.Cluster, g *model.Group, outputs map[string]string) *eksboot.Boot {
	tb.Helper()
	boot, err := eksboot.Of(c, g, outputs)
	if err != nil {
		tb.Fatal(err)
	}
	return boot
}

func TestUserDataOfAmazonLinux(t *testing.T) {
	c, outputs, g := aCluster()
	golden.Equal(t, "amazon-linux.txt", []byte(made(t, c, g, outputs).UserData))
}

func TestUserDataOfBottlerocket(t *testing.T) {
	c, outputs, g := aCluster()
	g.Spec.EKS = &v1alpha1.EKSNodes{ImageFamily: v1alpha1.EKSBottlerocket}
	g.Spec.Taints = append(g.Spec.Taints, corev1.Taint{Key: "only", Value: "web", Effect: corev1.TaintEffectNoExecute})
	golden.Equal(t, "bottlerocket.txt", []byte(made(t, c, g, outputs).UserData))
}

// What replaces nodes changes the hash, and the label with it. The address of the API does not.
func TestHashIsThatOfWhatNodesAreMadeFrom(t *testing.T) {
	c, outputs, g := aCluster()
	before := made(t, c, g, outputs).Hash
	outputs[model.OutputEndpoint] = "https://tf-output-endpoint.invalid"
	if made(t, c, g, outputs).Hash != before {
		t.Error("the address of the API changes the hash")
	}
	for name, change := range map[string]func(*model.Cluster, *model.Group){
		"a label":    func(_ *model.Cluster, g *model.Group) { g.Labels["tier"] = "api" },
		"a taint":    func(_ *model.Cluster, g *model.Group) { g.Spec.Taints = g.Spec.Taints[:1] },
		"a roll":     func(_ *model.Cluster, g *model.Group) { g.Spec.Roll = "now" },
		"an image":   func(_ *model.Cluster, g *model.Group) { g.Image = model.Image{ID: "ami-1"} },
		"a version":  func(c *model.Cluster, _ *model.Group) { c.Release.Spec.Kubernetes = "v1.37.0" },
		"a new name": func(c *model.Cluster, _ *model.Group) { c.Name = "other" },
	} {
		c, outputs, g := aCluster()
		change(c, g)
		if boot := made(t, c, g, outputs); boot.Hash == before || !strings.Contains(boot.UserData, boot.Hash[:model.BundleLabelLength]) {
			t.Errorf("%s: the hash is %s, before it was %s", name, boot.Hash, before)
		}
	}
	delete(outputs, model.OutputEndpoint)
	if _, err := eksboot.Of(c, g, outputs); err == nil {
		t.Error("user data without the address of the API has no error")
	}
}

// The real nodeadm accepts the NodeConfig. The version of the module, of 2024, reads no MIME documents from files; a newer
// one that NODEADM names gets the whole user data, and refuses it without one of the cluster's fields.
func TestNodeadmAcceptsUserData(t *testing.T) {
	if os.Getenv("TEST_NODEADM") == "" {
		t.Skip("it builds nodeadm: make test-nodeadm")
	}
	program, document := os.Getenv("NODEADM"), func(userData string) string { return userData }
	if program == "" {
		document = func(userData string) string { return partOf(t, userData) }
		program = filepath.Join(t.TempDir(), "nodeadm")
		build := exec.CommandContext(t.Context(), "go", "build", "-o", program, "github.com/awslabs/amazon-eks-ami/nodeadm/cmd/nodeadm")
		build.Dir = "../../../test/nodeadm"
		if out, err := build.CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
	}
	check := func(userData string) error {
		t.Helper()
		file := filepath.Join(t.TempDir(), "user-data")
		if err := os.WriteFile(file, []byte(document(userData)), 0o600); err != nil {
			t.Fatal(err)
		}
		out, err := exec.CommandContext(t.Context(), program, "config", "check", "--config-source", "file://"+file).CombinedOutput()
		t.Logf("%s", out)
		return err
	}
	c, outputs, g := aCluster()
	userData := made(t, c, g, outputs).UserData
	if err := check(userData); err != nil {
		t.Errorf("nodeadm refuses the user data: %v", err)
	}
	if err := check(strings.Replace(userData, "kind: NodeConfig", "kind: Pod", 1)); err == nil {
		t.Error("nodeadm accepts another kind")
	}
	if os.Getenv("NODEADM") == "" {
		return // the check of the module's version ignores missing fields
	}
	for _, without := range []string{"apiServerEndpoint", "certificateAuthority", "cidr", "name"} {
		if err := check(strings.Replace(userData, "    "+without+":", "    x-"+without+":", 1)); err == nil {
			t.Errorf("nodeadm accepts user data without %s", without)
		}
	}
}
