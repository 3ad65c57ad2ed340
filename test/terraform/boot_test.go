package terraform

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/yaml"

	"github.com/aws-operator/aws-operator/internal/cli/deletion"
	"github.com/aws-operator/aws-operator/internal/cli/export"
	"github.com/aws-operator/aws-operator/internal/cli/replace"
	"github.com/aws-operator/aws-operator/internal/cli/update"
	"github.com/aws-operator/aws-operator/internal/cli/validate"
	"github.com/aws-operator/aws-operator/internal/local/environment"
	"github.com/aws-operator/aws-operator/internal/local/kubebuild"
	"github.com/aws-operator/aws-operator/internal/local/nodebuild"
	"github.com/aws-operator/aws-operator/internal/machines/process"
)

// booting is a cluster of one slot and one worker. Its release is for machines that really boot:
// their image contains kubelet and kubeadm.
const booting = `apiVersion: cluster-operator.aws/v1alpha1
kind: Cluster
metadata: {name: real}
spec:
  release: v1.36.3-processes
  region: ` + region + `
  network: {cidr: 10.0.0.0/16, zones: [eu-central-1a], topology: Public}
  controlPlane: {replicas: 1, instanceType: m6i.large}
---
apiVersion: cluster-operator.aws/v1alpha1
kind: InstanceGroup
metadata: {name: real-workers}
spec: {cluster: real, minSize: 1, maxSize: 2, instanceTypes: [m6i.large], labels: {example.com/made-by: terraform}}
---
`

// TestMachinesCreatedByTerraformBoot really boots machines from what Terraform alone created in the
// account: user data, nodeup, kubeadm, etcd, Kubernetes' control plane. No operator provides a
// token.
func TestMachinesCreatedByTerraformBoot(t *testing.T) {
	if err := process.Supported(); err != nil {
		t.Skip(err)
	}
	c, host, binaries := newBootingCloud(t)
	c.use()
	dir := t.TempDir()
	manifest, kept := filepath.Join(dir, "cluster.yml"), filepath.Join(dir, "state")
	write(t, manifest, booting+processRelease(t, host))
	c.command(replace.Command(), "-f", manifest, "--state", kept)
	c.command(update.Command(), "cluster", "real", "--state", kept, "--target", "terraform", "--out", dir, "--nodeup-dir", binaries)
	cluster := c.in(dir)
	started := time.Now()
	cluster.apply()
	applied := time.Now()
	c.command(validate.Command(), "cluster", "real", "--state", kept, "--wait", "4m", "--interval", "1s")
	t.Logf(
		"terraform apply took %s, and the machines %s more to be a cluster",
		applied.Sub(started).Round(time.Second),
		time.Since(applied).Round(time.Second),
	)

	kubeconfig := filepath.Join(dir, "kubeconfig")
	c.command(export.Command(), "kubeconfig", "real", "--state", kept, "--out", kubeconfig)
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	checkBooted(t, kubernetes.NewForConfigOrDie(config))
	cluster.unchanged()
	c.command(deletion.Command(), "cluster", "real", "--state", kept, "--yes")
	cluster.destroy()
}

// newBootingCloud returns a cloud whose machines really boot.
func newBootingCloud(t *testing.T) (c *cloud, host *process.Host, binaries string) {
	t.Helper()
	built, err := nodebuild.Ensure(t.Context(), nodebuild.Options{Progress: os.Stderr})
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(t.TempDir(), "machines")
	machines, _, err := environment.NewMachines(t.Context(), environment.MachinesOptions{
		Kind: environment.ProcessMachines, Dir: dir, Programs: func(context.Context) (nodebuild.Programs, error) { return built, nil },
		Kube: func(ctx context.Context) (string, error) {
			return kubebuild.Ensure(ctx, kubebuild.Options{Progress: os.Stderr})
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	c = newCloudOf(t, machines, &console{})
	t.Cleanup(func() {
		if !t.Failed() {
			return
		}
		consoles, _ := filepath.Glob(filepath.Join(dir, "consoles", "*.log"))
		for _, file := range consoles {
			said, _ := os.ReadFile(file)
			t.Logf("%s:\n%s", filepath.Base(file), said[max(0, len(said)-1500):])
		}
	})
	host, _ = machines.(*process.Host)
	return c, host, built.NodeupDir
}

// processRelease returns the manifest of a release whose kubelet and kubeadm are those of the
// machines.
func processRelease(t *testing.T, host *process.Host) string {
	t.Helper()
	release, err := environment.LocalRelease(host)
	if err != nil {
		t.Fatal(err)
	}
	release.APIVersion, release.Kind, release.Name = "cluster-operator.aws/v1alpha1", "Release", "v1.36.3-processes"
	text, err := yaml.Marshal(release)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// checkBooted checks the cluster's own API server.
func checkBooted(t *testing.T, api kubernetes.Interface) {
	t.Helper()
	version, err := api.Discovery().ServerVersion()
	if err != nil || version.GitVersion != kubebuild.KubernetesVersion {
		t.Errorf("the API server is of version %v: %v", version, err)
	}
	nodes, err := api.CoreV1().Nodes().List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for i := range nodes.Items {
		node := &nodes.Items[i]
		ready := slices.ContainsFunc(node.Status.Conditions, func(c corev1.NodeCondition) bool {
			return c.Type == corev1.NodeReady && c.Status == corev1.ConditionTrue
		})
		_, slot := node.Labels["node-role.kubernetes.io/control-plane"]
		got = append(
			got,
			fmt.Sprintf(
				"slot %t, ready %t, %s, made by %q", slot, ready, node.Status.NodeInfo.KubeletVersion, node.Labels["example.com/made-by"],
			),
		)
	}
	slices.Sort(got)
	want := []string{
		"slot false, ready true, " + kubebuild.KubernetesVersion + `, made by "terraform"`,
		"slot true, ready true, " + kubebuild.KubernetesVersion + `, made by ""`,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("nodes (-want +got):\n%s", diff)
	}
	made := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "written"}, Data: map[string]string{"is": "kept"}}
	if _, err := api.CoreV1().ConfigMaps("default").Create(t.Context(), made, metav1.CreateOptions{}); err != nil {
		t.Errorf("etcd stores nothing: %v", err)
	}
}
