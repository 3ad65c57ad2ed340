package e2e

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/client-go/kubernetes"

	"github.com/aws-operator/aws-operator/api/cluster/v1alpha1"
	"github.com/aws-operator/aws-operator/internal/local/controlplane/controlplanetest"
	"github.com/aws-operator/aws-operator/internal/local/environment"
	"github.com/aws-operator/aws-operator/internal/local/kubebuild"
	"github.com/aws-operator/aws-operator/internal/machines/process"
)

const (
	// previousRelease is the release of machines that boot from previousImage, with the previous
	// minor version.
	previousRelease = "v1.35.4-processes"
	previousImage   = "ami-0135413541354135a"
	// unanswered is the maximum time without an answer of the API during an upgrade.
	unanswered = 5 * time.Second
	// replicas is the number of pods of the application that must not be affected.
	replicas = 6
)

const upgrading = `
apiVersion: cluster-operator.aws/v1alpha1
kind: Cluster
metadata: {name: real}
spec:
  release: ` + previousRelease + `
  region: eu-central-1
  network: {cidr: 10.0.0.0/16, zones: [eu-central-1a, eu-central-1b, eu-central-1c], topology: Private, nat: Single}
  controlPlane: {replicas: 3, instanceType: m6i.large}
---
apiVersion: cluster-operator.aws/v1alpha1
kind: InstanceGroup
metadata: {name: real-workers}
spec: {cluster: real, minSize: 5, maxSize: 6, instanceTypes: [m6i.large]}
`

// A real cluster is upgraded by a minor version of Kubernetes: the API always answers, an
// application's budget holds, etcd keeps its quorum, and finally every node has the new version.
func TestUpgradeOfProcessMachines(t *testing.T) {
	requireOperations(t)
	kube, err := kubebuild.Ensure(t.Context(), kubebuild.Options{Version: kubebuild.Previous, Progress: os.Stderr})
	if err != nil {
		t.Fatal(err)
	}
	c, host := newProcessCloud(t, map[string]string{previousImage: kube})
	c.addPreviousRelease(host, kube)

	objects := c.apply(upgrading)
	c.awaitReady(objects...)
	c.checkVersions(kubebuild.Previous.Kubernetes, 5)
	workload := c.workload("real")
	runApplication(c, workload)
	write(t, workload, "written", "before")

	api, budget, quorum := c.watchAPI(workload), watchBudget(t, workload), watchQuorum(c, host)
	start := time.Now()
	objects = c.apply(strings.ReplaceAll(upgrading, previousRelease, processRelease))
	var version string
	c.await(func() string { return "the workers to follow the control plane: their version is " + version }, func() bool {
		version, _, _ = unstructured.NestedString(c.get(objects[1]).Object, "status", "version")
		return version == kubebuild.Present.Kubernetes
	})
	c.awaitReady(objects...)
	// CloudFormation does not wait until the last nodes are drained, nor until their drain begins.
	c.await(func() string { return "the last drained nodes to be deleted" }, func() bool {
		return !slices.ContainsFunc(c.nodes("real"), func(node corev1.Node) bool {
			return node.Spec.Unschedulable || node.Status.NodeInfo.KubeletVersion != kubebuild.Present.Kubernetes
		})
	})
	t.Logf("three slots and five workers were upgraded in %s", time.Since(start).Round(time.Second))
	api.end("the cluster was upgraded", unanswered)
	budget.end()
	quorum.end()
	c.checkVersions(kubebuild.Present.Kubernetes, 5)
	c.remove(objects...)
}

// addPreviousRelease creates the release of the previous minor version, and its machine image.
func (c *cloud) addPreviousRelease(host *process.Host, kube string) {
	c.t.Helper()
	release, err := environment.LocalRelease(host)
	if err != nil {
		c.t.Fatal(err)
	}
	architecture := v1alpha1.Architecture(runtime.GOARCH)
	release.Name, release.Spec.Kubernetes = previousRelease, kubebuild.Previous.Kubernetes
	release.Spec.Images[architecture] = v1alpha1.MachineImage{ByRegion: map[string]string{region: previousImage}, User: "ubuntu"}
	i := slices.IndexFunc(release.Spec.Artifacts, func(a v1alpha1.Artifact) bool { return a.Name == "kubeadm" })
	source := release.Spec.Artifacts[i].Sources[architecture]
	source.SHA256 = fileHash(c.t, kube)
	release.Spec.Artifacts[i].Sources[architecture] = source
	if err := environment.ApplyRelease(c.t.Context(), controlplanetest.Shared(c.t).RESTConfig(), release); err != nil {
		c.t.Fatal(err)
	}
	image := types.Image{ImageId: aws.String(previousImage), Name: aws.String("kubernetes-" + kubebuild.Previous.Kubernetes)}
	if runtime.GOARCH == "arm64" {
		image.Architecture = types.ArchitectureValuesArm64
	}
	c.simulator.Instances().AddImage(region, image)
}

func fileHash(t *testing.T, path string) string {
	t.Helper()
	file, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = file.Close() }()
	sum := sha256.New()
	if _, err := io.Copy(sum, file); err != nil {
		t.Fatal(err)
	}
	return hex.EncodeToString(sum.Sum(nil))
}

// checkVersions checks the versions of the kubelets and the API servers.
func (c *cloud) checkVersions(want string, workers int) {
	c.t.Helper()
	nodes, names := c.nodes("real"), map[string]bool{}
	if len(nodes) < 3+workers {
		c.t.Errorf("there are %d nodes, want three slots and %d workers", len(nodes), workers)
	}
	for i := range nodes {
		names[nodes[i].Name] = true
		if got := nodes[i].Status.NodeInfo.KubeletVersion; got != want {
			c.t.Errorf("node %s has version %s, want %s", nodes[i].Name, got, want)
		}
		if nodes[i].Spec.Unschedulable {
			c.t.Errorf("node %s is still cordoned", nodes[i].Name)
		}
	}
	pods, err := c.workload("real").
		CoreV1().
		Pods("kube-system").
		List(c.t.Context(), metav1.ListOptions{LabelSelector: "component=kube-apiserver"})
	if err != nil {
		c.t.Fatal(err)
	}
	servers := slices.DeleteFunc(
		pods.Items, func(pod corev1.Pod) bool { return !names[pod.Spec.NodeName] },
	) // the pod garbage collector deletes those of former nodes
	if len(servers) != 3 {
		c.t.Errorf("there are %d API servers, want 3", len(servers))
	}
	for i := range servers {
		if image := servers[i].Spec.Containers[0].Image; !strings.HasSuffix(image, ":"+want) {
			c.t.Errorf("%s runs %s, want %s", servers[i].Name, image, want)
		}
	}
}

// runApplication runs an application with a budget of one unavailable pod.
func runApplication(c *cloud, workload kubernetes.Interface) {
	c.t.Helper()
	labels := map[string]string{"app": "shop"}
	selector := &metav1.LabelSelector{MatchLabels: labels}
	one := intstr.FromInt32(1)
	count := int32(replicas)
	deployment := &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Name: "shop"},
		Spec: appsv1.DeploymentSpec{
			Replicas: &count, Selector: selector,
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: labels},
				Spec: corev1.PodSpec{
					TerminationGracePeriodSeconds: new(int64(1)),
					Containers:                    []corev1.Container{{Name: "shop", Image: "registry.k8s.io/pause:3.10.1"}},
				},
			},
		},
	}
	if _, err := workload.AppsV1().Deployments("default").Create(c.t.Context(), deployment, metav1.CreateOptions{}); err != nil {
		c.t.Fatal(err)
	}
	budget := &policyv1.PodDisruptionBudget{
		ObjectMeta: metav1.ObjectMeta{Name: "shop"},
		Spec:       policyv1.PodDisruptionBudgetSpec{MaxUnavailable: &one, Selector: selector},
	}
	if _, err := workload.PolicyV1().PodDisruptionBudgets("default").Create(c.t.Context(), budget, metav1.CreateOptions{}); err != nil {
		c.t.Fatal(err)
	}
	seen := 0
	c.await(func() string { return fmt.Sprintf("the application to be ready: %d of %d pods", seen, replicas) }, func() bool {
		seen = readyPods(c.t.Context(), workload)
		return seen == replicas
	})
}

// readyPods counts the application's ready pods, -1 if the API did not answer.
func readyPods(ctx context.Context, workload kubernetes.Interface) int {
	pods, err := workload.CoreV1().Pods("default").List(ctx, metav1.ListOptions{LabelSelector: "app=shop"})
	if err != nil {
		return -1
	}
	ready := 0
	for i := range pods.Items {
		for _, condition := range pods.Items[i].Status.Conditions {
			if condition.Type == corev1.PodReady && condition.Status == corev1.ConditionTrue && pods.Items[i].DeletionTimestamp == nil {
				ready++
			}
		}
	}
	return ready
}

// sampler samples something ten times a second and records what is wrong.
type sampler struct {
	t       *testing.T
	cancel  context.CancelFunc
	done    sync.WaitGroup
	samples int
	wrong   []string
}

// sample starts to sample. Observe returns what is wrong, or "", and false if it could not be
// observed.
func sample(t *testing.T, observe func(context.Context) (string, bool)) *sampler {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	s := &sampler{t: t, cancel: cancel}
	s.done.Go(func() {
		ticker := time.NewTicker(100 * time.Millisecond)
		defer ticker.Stop()
		for ctx.Err() == nil {
			wrong, seen := observe(ctx)
			if ctx.Err() == nil && seen {
				s.samples++
				if wrong != "" {
					s.wrong = append(s.wrong, time.Now().Format("15:04:05.0")+" "+wrong)
				}
			}
			select {
			case <-ctx.Done():
			case <-ticker.C:
			}
		}
	})
	return s
}

// end fails the test with what was wrong.
func (s *sampler) end() {
	s.t.Helper()
	s.cancel()
	s.done.Wait()
	if s.samples < 50 {
		s.t.Errorf("only %d samples were taken", s.samples)
	}
	if len(s.wrong) > 0 {
		s.t.Errorf("%d of %d samples were wrong:\n%s", len(s.wrong), s.samples, strings.Join(s.wrong[:min(20, len(s.wrong))], "\n"))
	}
}

// watchBudget checks that no more pods are unavailable than the budget allows.
func watchBudget(t *testing.T, workload kubernetes.Interface) *sampler {
	t.Helper()
	return sample(t, func(ctx context.Context) (string, bool) {
		ctx, end := context.WithTimeout(ctx, time.Second)
		defer end()
		ready := readyPods(ctx, workload)
		if ready >= 0 && ready < replicas-1 {
			return fmt.Sprintf("%d of %d pods were ready", ready, replicas), true
		}
		return "", ready >= 0
	})
}

// watchQuorum checks that at least two of etcd's three members are up.
func watchQuorum(c *cloud, host *process.Host) *sampler {
	c.t.Helper()
	var slots []string
	var listed time.Time
	return sample(c.t, func(ctx context.Context) (string, bool) {
		if time.Since(listed) > time.Second {
			slots, listed = c.slots(ctx), time.Now()
		}
		up := 0
		for _, instance := range slots {
			if listens(ctx, host, instance) {
				up++
			}
		}
		if up < 2 {
			return fmt.Sprintf("%d of etcd's members were up, on %v", up, slots), ctx.Err() == nil
		}
		return "", true
	})
}

// peerPort is the peer port of etcd's members.
const peerPort = 2380

func listens(ctx context.Context, host *process.Host, instance string) bool {
	ctx, end := context.WithTimeout(ctx, 500*time.Millisecond)
	defer end()
	connection, err := host.Dial(ctx, instance, peerPort)
	if err != nil {
		return false
	}
	_ = connection.Close()
	return true
}

// slots returns the running instances of the control plane.
func (c *cloud) slots(ctx context.Context) []string {
	client := ec2.NewFromConfig(c.config(account))
	out, err := client.DescribeInstances(ctx, &ec2.DescribeInstancesInput{Filters: []types.Filter{
		{Name: aws.String("tag-key"), Values: []string{"cluster-operator.aws/slot"}},
		{Name: aws.String("instance-state-name"), Values: []string{"running"}},
	}})
	if err != nil {
		return nil
	}
	var slots []string
	for i := range out.Reservations {
		for j := range out.Reservations[i].Instances {
			slots = append(slots, aws.ToString(out.Reservations[i].Instances[j].InstanceId))
		}
	}
	return slots
}
