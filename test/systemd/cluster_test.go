//go:build linux

package systemd

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/yaml"

	"github.com/aws-operator/aws-operator/internal/cluster/diagnosis"
	"github.com/aws-operator/aws-operator/internal/local/environment"
	"github.com/aws-operator/aws-operator/internal/local/kubebuild"
	"github.com/aws-operator/aws-operator/internal/machines/process"
	"github.com/aws-operator/aws-operator/internal/patience"
)

const manifest = `
apiVersion: cluster-operator.aws/v1alpha1
kind: Cluster
metadata: {name: real, namespace: default}
spec:
  release: v1.36.3-systemd
  region: eu-central-1
  network: {cidr: 10.10.0.0/16, zones: [eu-central-1a], topology: Public}
  controlPlane: {replicas: 1, instanceType: t3.medium}
`

var (
	releases = schema.GroupVersionResource{Group: "cluster-operator.aws", Version: "v1alpha1", Resource: "releases"}
	clusters = releases.GroupVersion().WithResource("clusters")
)

// units are those that nodeup writes on a slot whose release has no container runtime.
var units = []string{"nodeup.service", "kubelet.service", "nodeup-token.service", "var-lib-etcd.mount"}

// The control plane of a Cluster comes up on an instance whose cloud-init runs the user data and whose
// systemd runs nodeup's units, and again after a reboot, at which cloud-init does not run user data.
func TestSlotBootsAndReboots(t *testing.T) {
	c := start(t)
	slot := c.slot(t)
	showConsole(t, c.host, slot)
	c.checkAPI(t)

	status := awaitCloudInit(t, c.host, slot)
	if !strings.Contains(status, "status: done") || !strings.Contains(status, "DataSourceEc2") {
		t.Errorf("cloud-init reports:\n%s", status)
	}
	console, err := c.host.Console(slot)
	if err != nil {
		t.Fatal(err)
	}
	if boot := diagnosis.Read(console, true); !boot.Joined {
		t.Errorf("the diagnosis of the console, as cloud-init writes to it, is %+v", boot)
	}
	// systemd-analyze reports what systemd would ignore or refuse, and it fails for nothing else.
	for _, unit := range units {
		if said := must(t, c.host, slot, "systemd-analyze", "verify", "--recursive-errors=no", "/etc/systemd/system/"+unit); said != "" {
			t.Errorf("systemd-analyze verify %s: %s", unit, said)
		}
	}
	c.checkUnits(t, slot)

	reboot(t, c.ec2, c.host, slot)
	c.checkAPI(t)
	c.checkUnits(t, slot)
	journal := must(t, c.host, slot, "journalctl", "--boot", "--no-pager", "--output=cat", "--unit=nodeup.service")
	if !strings.Contains(journal, "msg=done") {
		t.Errorf("nodeup.service did not run to its end after the reboot:\n%s", journal)
	}
	if scripts := must(
		t,
		c.host,
		slot,
		"journalctl",
		"--boot",
		"--no-pager",
		"--output=cat",
		"--unit=cloud-final.service",
	); strings.Contains(
		scripts,
		"msg=",
	) {
		t.Errorf("cloud-init ran the user data again after the reboot:\n%s", scripts)
	}
}

// cluster is a Cluster in an environment whose instances run the distribution.
type cluster struct {
	env  *environment.Environment
	host *process.Host
	ec2  *ec2.Client
}

func start(t *testing.T) *cluster {
	t.Helper()
	path := tree(t)
	root, err := kubebuild.FindRoot()
	if err != nil {
		t.Fatal(err)
	}
	env, err := environment.Up(t.Context(), environment.Options{
		Dir: t.TempDir(), Operator: filepath.Join(root, "bin", "aws-operator"), Machines: environment.ProcessMachines, Tree: path,
		Out: os.Stderr, Progress: os.Stderr,
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := env.Stop(context.WithoutCancel(t.Context())); err != nil {
			t.Error(err)
		}
	})
	host, _ := env.Machines().(*process.Host)
	c := &cluster{env: env, host: host, ec2: ec2.NewFromConfig(aws.Config{
		Region:       region,
		BaseEndpoint: aws.String(env.State().AWS),
		Credentials:  credentials.NewStaticCredentialsProvider(account, "secret", ""),
	})}
	c.apply(t)
	return c
}

// apply creates the Cluster, with a Release of the newest resource set, and waits until it is Ready.
func (c *cluster) apply(t *testing.T) {
	t.Helper()
	client := dynamic.NewForConfigOrDie(c.env.RESTConfig())
	release, err := client.Resource(releases).Get(t.Context(), kubebuild.KubernetesVersion, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	release = &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": release.GetAPIVersion(), "kind": release.GetKind(), "spec": release.Object["spec"],
		"metadata": map[string]any{"name": "v1.36.3-systemd"},
	}}
	if err := unstructured.SetNestedField(release.Object, "1.2.0", "spec", "resourceSet"); err != nil {
		t.Fatal(err)
	}
	if _, err := client.Resource(releases).Create(t.Context(), release, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	object := &unstructured.Unstructured{}
	if err := yaml.Unmarshal([]byte(manifest), &object.Object); err != nil {
		t.Fatal(err)
	}
	objects := client.Resource(clusters).Namespace("default")
	if _, err := objects.Create(t.Context(), object, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	patience.Until(t, "the Cluster to be Ready", func() error {
		found, err := objects.Get(t.Context(), "real", metav1.GetOptions{})
		if err != nil {
			return err
		}
		conditions, _, _ := unstructured.NestedSlice(found.Object, "status", "conditions")
		for _, condition := range conditions {
			if fields, ok := condition.(map[string]any); ok && fields["type"] == "Ready" && fields["status"] == "True" {
				return nil
			}
		}
		return fmt.Errorf("its conditions are %v", conditions)
	})
}

// slot returns the only instance.
func (c *cluster) slot(t *testing.T) string {
	t.Helper()
	out, err := c.ec2.DescribeInstances(t.Context(), &ec2.DescribeInstancesInput{
		Filters: []types.Filter{{Name: aws.String("instance-state-name"), Values: []string{"running"}}},
	})
	if err != nil || len(out.Reservations) != 1 || len(out.Reservations[0].Instances) != 1 {
		t.Fatalf("the slot is not the only instance: %v, %v", out, err)
	}
	return *out.Reservations[0].Instances[0].InstanceId
}

// checkAPI waits until the control plane is ready and its Node, too.
func (c *cluster) checkAPI(t *testing.T) {
	t.Helper()
	secret, err := kubernetes.NewForConfigOrDie(c.env.RESTConfig()).CoreV1().Secrets("default").
		Get(t.Context(), "real-kubeconfig", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	config, err := clientcmd.RESTConfigFromKubeConfig(secret.Data["value"])
	if err != nil {
		t.Fatal(err)
	}
	client := kubernetes.NewForConfigOrDie(config)
	patience.Until(t, "the API and the node to be ready", func() error {
		if text, err := client.Discovery().RESTClient().Get().AbsPath("/readyz").DoRaw(t.Context()); err != nil {
			return fmt.Errorf("%w: %s", err, text)
		}
		nodes, err := client.CoreV1().Nodes().List(t.Context(), metav1.ListOptions{})
		if err != nil {
			return err
		}
		for _, node := range nodes.Items {
			if slices.ContainsFunc(node.Status.Conditions, func(c corev1.NodeCondition) bool {
				return c.Type == corev1.NodeReady && c.Status == corev1.ConditionTrue
			}) {
				return nil
			}
		}
		return fmt.Errorf("of %d nodes none is Ready", len(nodes.Items))
	})
}

// checkUnits checks that nodeup's units run, in order, and that no unit of the instance has failed.
func (c *cluster) checkUnits(t *testing.T, slot string) {
	t.Helper()
	if state := settled(t, c.host, slot); state != "running" {
		t.Errorf("the system is %s", state)
	}
	for _, unit := range []string{"kubelet.service", "nodeup-token.service", "var-lib-etcd.mount"} {
		if state, err := run(t.Context(), c.host, slot, "systemctl", "is-active", unit); err != nil {
			t.Errorf("%s is %s", unit, state)
		}
	}
	// nodeup mounts the volume and starts the kubelet if their units have failed, which only the journal shows then.
	journal := must(
		t,
		c.host,
		slot,
		"journalctl",
		"--boot",
		"--no-pager",
		"--output=cat",
		"--unit=var-lib-etcd.mount",
		"--unit=kubelet.service",
	)
	for _, failure := range []string{"Failed with result", "Dependency failed"} {
		if strings.Contains(journal, failure) {
			t.Errorf("a unit has failed in this boot: %s", journal[:min(len(journal), 1000)])
		}
	}
	for _, unit := range []string{"nodeup.service", "kubelet.service"} {
		if state, err := run(t.Context(), c.host, slot, "systemctl", "is-enabled", unit); err != nil {
			t.Errorf("%s is %s", unit, state)
		}
	}
	mount := must(t, c.host, slot, "systemctl", "show", "--value", "--property=ActiveEnterTimestampMonotonic", "var-lib-etcd.mount")
	kubelet := must(t, c.host, slot, "systemctl", "show", "--value", "--property=ExecMainStartTimestampMonotonic", "kubelet.service")
	if len(mount) > len(kubelet) || len(mount) == len(kubelet) && mount > kubelet {
		t.Errorf("etcd's volume was mounted at %s µs, after the kubelet's start at %s µs", mount, kubelet)
	}
}
