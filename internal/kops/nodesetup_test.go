package kops_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/aws-operator/aws-operator/api/cluster/v1alpha1"
	"github.com/aws-operator/aws-operator/internal/kops"
)

// setups returns the files and units of all nodes, of slots and of the only group.
func setups(t *testing.T, made []kops.Translated) (all, slots, workers v1alpha1.NodeSetup) {
	t.Helper()
	cluster, isCluster := made[0].Object.(*v1alpha1.Cluster)
	group, isGroup := made[1].Object.(*v1alpha1.InstanceGroup)
	if !isCluster || !isGroup {
		t.Fatalf("made %+v", made)
	}
	return cluster.Spec.Nodes, cluster.Spec.ControlPlane.NodeSetup, group.Spec.NodeSetup
}

func TestFilesReachTheNodesOfTheirRoles(t *testing.T) {
	made, _, err := translate(t, kops.Options{}, with(t, minimal, `
spec:
  fileAssets:
  - {name: motd, path: /etc/motd, content: hello, mode: "0644"}
  - {name: slots, content: a, roles: [Master]}
  - {name: workers, path: /etc/workers, content: YQ, isBase64: true, roles: [Node], mode: 755}
  - {name: both, path: /etc/both, content: b, roles: [ControlPlane, Node]}
  - {name: shared, path: /etc/shared, content: of the cluster, roles: [Node]}
  sysctlParameters: [vm.max_map_count=262144]
`), with(t, master, `spec: {fileAssets: [{name: own, path: /etc/own, content: c, roles: [Master]}]}`),
		with(t, nodes, `spec: {fileAssets: [{name: shared, path: /etc/shared, content: of the group}, {name: other, path: /etc/other, content: d, roles: [Master]}]}`))
	if err != nil {
		t.Fatal(err)
	}
	all, slots, workers := setups(t, made)
	want := []v1alpha1.NodeFile{
		{Path: "/etc/motd", Content: "hello", Mode: "0644"},
		{Path: "/etc/both", Content: "b", Mode: "0440"},
		{Path: "/etc/sysctl.d/99-kops.conf", Content: "vm.max_map_count=262144\n"},
	}
	if diff := cmp.Diff(want, all.Files); diff != "" {
		t.Errorf("files of all nodes (-want +got):\n%s", diff)
	}
	want = []v1alpha1.NodeFile{
		{Path: "/etc/own", Content: "c", Mode: "0440"}, {Path: "/srv/kubernetes/assets/slots", Content: "a", Mode: "0440"},
	}
	if diff := cmp.Diff(want, slots.Files); diff != "" {
		t.Errorf("files of slots (-want +got):\n%s", diff)
	}
	want = []v1alpha1.NodeFile{
		{Path: "/etc/shared", Content: "of the group", Mode: "0440"},
		{Path: "/etc/workers", Content: "YQ==", Encoding: v1alpha1.FileBase64, Mode: "0755"},
	}
	if diff := cmp.Diff(want, workers.Files); diff != "" {
		t.Errorf("files of workers (-want +got):\n%s", diff)
	}
}

func TestHooksBecomeUnits(t *testing.T) {
	made, notes, err := translate(t, kops.Options{}, with(t, minimal, `
spec:
  hooks:
  - {name: agent, before: [kubelet.service], requires: [docker.service, kubelet.service], manifest: "Type=oneshot\nExecStart=/bin/true\n"}
  - {useRawManifest: true, manifest: "[Unit]\n[Service]\nExecStart=/bin/false\n"}
  - {name: update-engine.service, enabled: false}
  - {name: locksmithd.service, disabled: true}
  - {name: gpu, execContainer: {image: example.com/gpu}}
  - {name: report.timer, roles: [Node], useRawManifest: true, manifest: "[Timer]\nOnCalendar=daily\n"}
`), master, nodes)
	if err != nil {
		t.Fatal(err)
	}
	all, slots, workers := setups(t, made)
	want := []v1alpha1.NodeUnit{
		{Name: "agent.service", Content: `[Unit]
Description=Hook agent
Requires=containerd.service
After=containerd.service
Before=kubelet.service

[Service]
Type=oneshot
ExecStart=/bin/true

[Install]
WantedBy=multi-user.target
`},
		{Name: "kops-hook-1.service", Content: "[Unit]\n[Service]\nExecStart=/bin/false\n"},
		{Name: "update-engine.service", State: v1alpha1.UnitMasked},
		{Name: "locksmithd.service", State: v1alpha1.UnitMasked},
	}
	if diff := cmp.Diff(want, all.Units); diff != "" {
		t.Errorf("units of all nodes (-want +got):\n%s", diff)
	}
	want = []v1alpha1.NodeUnit{{Name: "report.timer", Content: "[Timer]\nOnCalendar=daily\n"}}
	if diff := cmp.Diff(want, workers.Units); diff != "" || len(slots.Units) > 0 {
		t.Errorf("units of slots: %v, of workers (-want +got):\n%s", slots.Units, diff)
	}
	noted(t, notes, "spec.hooks[4].execContainer", "nodes have no Docker")
	noted(t, notes, "spec.hooks[0].requires", "cannot require kubelet.service")
}

func TestFilesThatCannotBeAreNoted(t *testing.T) {
	for name, test := range map[string]struct{ asset, path, why string }{
		"a static pod":       {"{name: a, path: /etc/kubernetes/manifests/a.yaml, content: a}", "spec.fileAssets[0]", "the operator writes"},
		"a private key":      {`{name: a, path: /etc/key, content: "-----BEGIN RSA PRIVATE KEY-----"}`, "spec.fileAssets[0]", "Secrets Manager"},
		"a file of bastions": {"{name: a, path: /etc/a, content: a, roles: [Bastion]}", "spec.fileAssets[0].roles", "bastions have neither"},
	} {
		t.Run(name, func(t *testing.T) {
			made, notes, err := translate(t, kops.Options{}, with(t, minimal, "spec: {fileAssets: ["+test.asset+"]}"), master, nodes)
			if err != nil {
				t.Fatal(err)
			}
			if all, slots, workers := setups(t, made); len(all.Files)+len(slots.Files)+len(workers.Files) > 0 {
				t.Errorf("there are files: %v, %v, %v", all, slots, workers)
			}
			noted(t, notes, test.path, test.why)
		})
	}
	_, _, err := translate(t, kops.Options{}, with(t, minimal, `spec: {fileAssets: [{name: a, content: "%", isBase64: true}]}`), master, nodes)
	refused(t, err, "spec.fileAssets[0].content", "not base64")
	_, _, err = translate(t, kops.Options{}, with(t, minimal, `spec: {fileAssets: [{name: a, content: a, mode: "4755"}]}`), master, nodes)
	refused(t, err, "spec.fileAssets[0].mode", "octal")
}

// noted fails the test unless there is a note of that path with these words.
func noted(t *testing.T, notes []kops.Note, path, why string) {
	t.Helper()
	for _, n := range notes {
		if n.Path == path && strings.Contains(n.Why, why) {
			return
		}
	}
	t.Errorf("no note of %s says %q: %v", path, why, notes)
}
