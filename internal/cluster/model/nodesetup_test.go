package model_test

import (
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"pgregory.net/rapid"

	"github.com/aws-operator/aws-operator/api/cluster/v1alpha1"
	"github.com/aws-operator/aws-operator/internal/admit"
	"github.com/aws-operator/aws-operator/internal/cluster/model"
)

// The rules of files and units are here for objects that no API server has seen, and in the CRD: both accept the same.
func TestRulesOfFilesAndUnitsAreThoseOfTheAPI(t *testing.T) {
	pieces := []string{
		"/", "/etc", "/kubernetes", "/var", "/lib", "/kubelet", "/containerd", "/certs.d", "/config.toml", "/usr", "/local", "/systemd",
		"/system", "/proc", "/run", "/..", "/.", "/.ssh", "/a b", "etc", "/sysctl.d", "/90-nodeup.conf", "/x", "/ä",
	}
	names := []string{
		"a", "@", "b", ".service", ".timer", ".swap", "nodeup", "cloud-", "-", `\x2d`, "kubelet", "containerd", "var-lib-etcd", ".mount", "*", "/",
	}
	draw := func(rt *rapid.T, of []string, label string) string {
		return strings.Join(rapid.SliceOfN(rapid.SampledFrom(of), 1, 4).Draw(rt, label), "")
	}
	rapid.Check(t, func(rt *rapid.T) {
		setup := v1alpha1.NodeSetup{
			Files: []v1alpha1.NodeFile{{
				Path: draw(rt, pieces, "path"), Content: rapid.SampledFrom([]string{"", "a", "-----BEGIN PRIVATE KEY-----"}).Draw(rt, "content"),
				Mode:  rapid.SampledFrom([]string{"", "0644", "644", "0999", "04755"}).Draw(rt, "mode"),
				Owner: rapid.SampledFrom([]string{"", "root", "0", "Root"}).Draw(rt, "owner"),
			}},
			Units: []v1alpha1.NodeUnit{{
				Name: draw(rt, names, "unit"), Content: rapid.SampledFrom([]string{"", "[Service]"}).Draw(rt, "service"),
				State: rapid.SampledFrom([]v1alpha1.UnitState{"", "Started", "Installed", "Masked", "Stopped"}).Draw(rt, "state"),
			}},
		}
		if name := rapid.SampledFrom([]string{"", "a.conf", ".conf", "a/b.conf", "a"}).Draw(rt, "drop-in"); name != "" {
			setup.Units[0].DropIns = []v1alpha1.UnitDropIn{{Name: name, Content: "[Unit]"}}
		}
		group := &v1alpha1.InstanceGroup{
			TypeMeta:   metav1.TypeMeta{APIVersion: v1alpha1.GroupVersion.String(), Kind: "InstanceGroup"},
			ObjectMeta: metav1.ObjectMeta{Name: "workers", Namespace: "default"},
			Spec: v1alpha1.InstanceGroupSpec{
				Cluster: "demo", MinSize: 1, MaxSize: 1, InstanceTypes: []string{"m6i.large"}, Architecture: v1alpha1.AMD64, NodeSetup: setup,
			},
		}
		said := admit.Check(t.Context(), group, nil)
		if problems := model.CheckNodeSetup(&setup); (said == nil) != (len(problems) == 0) {
			rt.Errorf("the API says: %v\nthe model: %v", said, problems)
		}
	})
}

// Files and units are in no template, so that CloudFormation resolves nothing in them.
func TestFilesMayLookLikeDynamicReferences(t *testing.T) {
	const text = "{{resolve:ssm:/a}} {"
	in := input(t, newVPC, "")
	in.Cluster.Spec.Nodes.Files = []v1alpha1.NodeFile{{Path: "/etc/template", Content: text}}
	in.Cluster.Spec.ControlPlane.Units = []v1alpha1.NodeUnit{{Name: "a.service", Content: "[Service]\nExecStart=/bin/echo " + text}}
	c, err := model.Resolve(in)
	if err != nil {
		t.Fatal(err)
	}
	if len(c.ControlPlaneSetup.Files) != 1 || len(c.ControlPlaneSetup.Units) != 1 {
		t.Errorf("slots have %+v", c.ControlPlaneSetup)
	}
}
