package e2e

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/kubernetes"

	"github.com/aws-operator/aws-operator/internal/local/controlplane/controlplanetest"
	"github.com/aws-operator/aws-operator/internal/local/environment"
	"github.com/aws-operator/aws-operator/internal/local/kubebuild"
	"github.com/aws-operator/aws-operator/internal/local/nodebuild"
	"github.com/aws-operator/aws-operator/internal/machines/process"
	"github.com/aws-operator/aws-operator/internal/patience"
)

const (
	// processRelease is the release of machines that really boot: its kubelet and kubeadm differ
	// from those of the Release in the other tests.
	processRelease = "v1.36.3-processes"
	// newestSet is the resource set of its machines.
	newestSet = "1.2.0"
	// outage is the maximum time without an answer of the API while a slot is lost: the load
	// balancer's health checks have to notice it.
	outage = 10 * time.Second
)

// booting is small with machines that really boot.
var booting = strings.ReplaceAll(strings.ReplaceAll(small, "small", "real"), "release: v1.36.3", "release: "+processRelease)

// A cluster whose machines really boot: user data, nodeup, kubeadm, etcd, Kubernetes' control
// plane. It runs pods, survives the loss of a slot and of a worker, and is deleted without a trace,
// in AWS and on this computer.
func TestProcessMachines(t *testing.T) {
	if err := process.Supported(); err != nil {
		t.Skip(err)
	}
	before := hostTraces(t)
	c, host := newProcessCloud(t, nil)
	emptyAWS := c.inventory(account)

	start := time.Now()
	objects := c.apply(booting)
	c.awaitReady(objects...)
	t.Logf("three slots and two workers were ready after %s", time.Since(start).Round(time.Second/10))
	c.checkProcessNodes(objects)
	c.checkConsoles(host.Dir())
	workload := c.workload("real")
	runDeployment(c, workload)

	write(t, workload, "written", "before")
	api := c.watchAPI(workload)
	c.replace(workload, "node-role.kubernetes.io/control-plane")
	api.end("a slot was lost and replaced", outage)
	found, err := workload.CoreV1().ConfigMaps("default").Get(t.Context(), "written", metav1.GetOptions{})
	if err != nil || found.Data["written"] != "before" {
		t.Errorf("data from before the slot was lost: %v, %v", found.Data, err)
	}
	c.replace(workload, "cluster-operator.aws/instance-group")
	c.awaitReady(objects...)
	c.checkProcessNodes(objects)

	c.remove(objects...)
	if diff := cmp.Diff(emptyAWS, c.inventory(account)); diff != "" {
		t.Errorf("deletion left a trace in AWS (-before +after):\n%s", diff)
	}
	if left := machineProcesses(t); len(left) > 0 {
		t.Errorf("deletion left processes of machines: %v", left)
	}
	patience.Until(t, "the data of volumes and snapshots is deleted", func() error { // EC2 does that after it has answered
		left, err := os.ReadDir(filepath.Join(host.Dir(), "volumes"))
		if err == nil && len(left) > 0 {
			err = fmt.Errorf("data of %v is left", left)
		}
		return err
	})
	c.close()
	if _, err := os.Stat(host.Dir()); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the machines' folder is left after they are closed: %v", err)
	}
	if diff := cmp.Diff(before, hostTraces(t)); diff != "" {
		t.Errorf("machines left a trace on their host (-before +after):\n%s", diff)
	}
}

// newProcessCloud returns a cloud whose machines really boot. Images are the kube binaries of other
// machine images by their IDs.
func newProcessCloud(t *testing.T, images map[string]string) (*cloud, *process.Host) {
	t.Helper()
	programs, err := nodebuild.Ensure(t.Context(), nodebuild.Options{Progress: os.Stderr})
	if err != nil {
		t.Fatal(err)
	}
	machines, _, err := environment.NewMachines(t.Context(), environment.MachinesOptions{
		Kind: environment.ProcessMachines, Dir: filepath.Join(t.TempDir(), "machines"),
		Images: images, Programs: func(context.Context) (nodebuild.Programs, error) { return programs, nil },
		Kube: func(ctx context.Context) (string, error) {
			return kubebuild.Ensure(ctx, kubebuild.Options{Progress: os.Stderr})
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	host, _ := machines.(*process.Host)
	c := newCloud(t, cloudOptions{machines: host, nodeup: programs.NodeupDir})
	t.Cleanup(func() {
		if t.Failed() {
			showConsoles(t, host.Dir())
		}
	})
	release, err := environment.LocalRelease(host)
	if err != nil {
		t.Fatal(err)
	}
	release.Name, release.Spec.ResourceSet = processRelease, newestSet
	if err := environment.ApplyRelease(t.Context(), controlplanetest.Shared(t).RESTConfig(), release); err != nil {
		t.Fatal(err)
	}
	return c, host
}

// showConsoles logs the end of the machines' consoles.
func showConsoles(t *testing.T, dir string) {
	t.Helper()
	consoles, _ := filepath.Glob(filepath.Join(dir, "consoles", "*.log"))
	for _, path := range consoles {
		data, _ := os.ReadFile(path)
		t.Logf("%s:\n%s", filepath.Base(path), data[max(0, len(data)-1500):])
	}
}

// checkProcessNodes checks the nodes of the cluster, their roles and labels.
func (c *cloud) checkProcessNodes(objects []*unstructured.Unstructured) {
	c.t.Helper()
	var waits string
	c.await(func() string { return "the taints of new nodes to be removed: " + waits }, func() bool {
		waits = ""
		for _, node := range c.nodes("real") {
			if _, isSlot := node.Labels["node-role.kubernetes.io/control-plane"]; !isSlot && len(node.Spec.Taints) > 0 {
				waits += fmt.Sprintf("%s has %v ", node.Name, node.Spec.Taints)
			}
		}
		return waits == ""
	})
	shape, got, slots := map[string]*unstructured.Unstructured{objects[1].GetName(): objects[1]}, map[string]int{}, map[string]bool{}
	for _, node := range c.nodes("real") {
		group := c.checkNode(&node, kubebuild.KubernetesVersion, shape)
		got[group]++
		if group == "control-plane" {
			slots[node.Labels["cluster-operator.aws/slot"]] = true
		}
		for label, want := range map[string]string{
			"cluster-operator.aws/cluster": "real", corev1.LabelTopologyRegion: region, corev1.LabelInstanceTypeStable: "m6i.large",
		} {
			if node.Labels[label] != want {
				c.t.Errorf("label %s of node %s is %q, want %q", label, node.Name, node.Labels[label], want)
			}
		}
	}
	if diff := cmp.Diff(map[string]int{"control-plane": 3, "real-workers": 2}, got); diff != "" {
		c.t.Errorf("nodes by group (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(map[string]bool{"0": true, "1": true, "2": true}, slots); diff != "" {
		c.t.Errorf("nodes by slot (-want +got):\n%s", diff)
	}
}

// checkConsoles searches the machines' consoles and logs for the cluster's secrets.
func (c *cloud) checkConsoles(dir string) {
	c.t.Helper()
	needles, read := c.secrets("real"), 0
	err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || filepath.Ext(path) != ".log" {
			return err
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		read++
		for what, secret := range needles {
			if strings.Contains(string(text), secret) {
				c.t.Errorf("%s is in %s", what, path)
			}
		}
		return nil
	})
	if err != nil || read < 5 || len(needles) < 6 {
		c.t.Errorf("searched for %d secrets in %d logs: %v", len(needles), read, err)
	}
}

// runDeployment runs pods on the cluster's workers.
func runDeployment(c *cloud, workload kubernetes.Interface) {
	c.t.Helper()
	labels, replicas := map[string]string{"app": "hello"}, int32(4)
	_, err := workload.AppsV1().Deployments("default").Create(c.t.Context(), &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Name: "hello"},
		Spec: appsv1.DeploymentSpec{
			Replicas: &replicas, Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: labels},
				Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "hello", Image: "registry.k8s.io/pause:3.10.1"}}},
			},
		},
	}, metav1.CreateOptions{})
	if err != nil {
		c.t.Fatal(err)
	}
	var seen string
	c.await(func() string { return "the Deployment's pods to be Running: " + seen }, func() bool {
		pods, err := workload.CoreV1().Pods("default").List(c.t.Context(), metav1.ListOptions{LabelSelector: "app=hello"})
		if err != nil {
			seen = err.Error()
			return false
		}
		running := 0
		seen = ""
		for n := range pods.Items {
			seen += fmt.Sprintf("%s is %s on %s; ", pods.Items[n].Name, pods.Items[n].Status.Phase, pods.Items[n].Spec.NodeName)
			if pods.Items[n].Status.Phase == corev1.PodRunning {
				running++
			}
		}
		return running == int(replicas)
	})
}

func write(t *testing.T, workload kubernetes.Interface, name, value string) {
	t.Helper()
	made := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name}, Data: map[string]string{name: value}}
	if _, err := workload.CoreV1().ConfigMaps("default").Create(t.Context(), made, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
}

// apiWatch measures how long an API server does not answer, and for comparison how long the
// management cluster's takes meanwhile, which runs undisturbed on the same machine.
type apiWatch struct {
	t         *testing.T
	cancel    context.CancelFunc
	done      sync.WaitGroup
	longest   time.Duration
	reference time.Duration
}

// busy is the factor of the management cluster's slowest answer by which an outage may be longer
// than on an idle machine.
const busy = 10

// watchAPI writes a ConfigMap periodically, which needs an API server and a majority of etcd's
// members, and measures how long that fails.
func (c *cloud) watchAPI(workload kubernetes.Interface) *apiWatch {
	c.t.Helper()
	ctx, cancel := context.WithCancel(c.t.Context())
	w := &apiWatch{t: c.t, cancel: cancel}
	written := func(times int) *corev1.ConfigMap {
		return &corev1.ConfigMap{
			ObjectMeta: metav1.ObjectMeta{Name: "written"},
			Data:       map[string]string{"written": "before", "times": strconv.Itoa(times)},
		}
	}
	w.done.Go(func() {
		longestUnanswered(ctx, &w.longest, func(ctx context.Context, times int) error {
			_, err := workload.CoreV1().ConfigMaps("default").Update(ctx, written(times), metav1.UpdateOptions{})
			return err
		})
	})
	management := kubernetes.NewForConfigOrDie(controlplanetest.Shared(c.t).RESTConfig()).CoreV1().ConfigMaps(c.namespace)
	if _, err := management.Create(ctx, written(0), metav1.CreateOptions{}); err != nil && !apierrors.IsAlreadyExists(err) {
		c.t.Fatal(err)
	}
	w.done.Go(func() {
		longestUnanswered(ctx, &w.reference, func(ctx context.Context, times int) error {
			_, err := management.Update(ctx, written(times), metav1.UpdateOptions{})
			return err
		})
	})
	return w
}

// longestUnanswered makes calls until the context ends, and measures the longest time between two
// answers.
func longestUnanswered(ctx context.Context, longest *time.Duration, call func(context.Context, int) error) {
	ticker := time.NewTicker(100 * time.Millisecond)
	defer ticker.Stop()
	last := time.Now()
	for times := 1; ctx.Err() == nil; times++ {
		limited, end := context.WithTimeout(ctx, 2*time.Second)
		err := call(limited, times)
		end()
		now := time.Now()
		*longest = max(*longest, now.Sub(last))
		if err == nil || apierrors.IsConflict(err) {
			last = now
		}
		select {
		case <-ctx.Done():
		case <-ticker.C:
		}
	}
}

// end reports an error if the longest time without an answer exceeds the limit. The limit is for an
// idle machine; end adds an allowance for the management cluster's answers in the same time.
func (w *apiWatch) end(what string, limit time.Duration) {
	w.t.Helper()
	w.cancel()
	w.done.Wait()
	w.t.Logf("while %s the longest time without an answered write was %s, in the management cluster %s",
		what, w.longest.Round(time.Millisecond), w.reference.Round(time.Millisecond))
	if limit += busy * w.reference; w.longest > limit {
		w.t.Errorf("while %s the API did not answer for %s, want at most %s", what, w.longest, limit)
	}
}

// machineProcesses lists the child processes that belong to a machine: those in other namespaces
// than this process.
func machineProcesses(t *testing.T) []string {
	t.Helper()
	own, err := os.Readlink("/proc/self/ns/pid")
	if err != nil {
		t.Fatal(err)
	}
	entries, err := os.ReadDir("/proc")
	if err != nil {
		t.Fatal(err)
	}
	parents, foreign := map[string]string{}, map[string]string{}
	for _, entry := range entries {
		pid := entry.Name()
		if _, err := strconv.Atoi(pid); err != nil {
			continue
		}
		stat, _ := os.ReadFile("/proc/" + pid + "/stat")
		_, rest, _ := strings.Cut(string(stat), ") ")
		if fields := strings.Fields(rest); len(fields) > 1 {
			parents[pid] = fields[1]
		}
		if space, err := os.Readlink("/proc/" + pid + "/ns/pid"); err == nil && space != own {
			command, _ := os.ReadFile("/proc/" + pid + "/cmdline")
			foreign[pid] = strings.ReplaceAll(string(command), "\x00", " ")
		}
	}
	self := strconv.Itoa(os.Getpid())
	var found []string
	for pid, command := range foreign {
		for ancestor := pid; ancestor != ""; ancestor = parents[ancestor] {
			if ancestor == self {
				found = append(found, pid+" "+command)
			}
		}
	}
	return found
}

// hostTraces lists what machines could leave on this computer: interfaces, mounts and processes.
func hostTraces(t *testing.T) []string {
	t.Helper()
	traces := machineProcesses(t)
	links, err := net.Interfaces()
	if err != nil {
		t.Fatal(err)
	}
	for _, link := range links {
		traces = append(traces, "interface "+link.Name)
	}
	mounts, err := os.ReadFile("/proc/self/mounts")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(mounts)) {
		if fields := strings.Fields(line); len(fields) > 1 {
			traces = append(traces, "mount "+fields[1])
		}
	}
	slices.Sort(traces)
	return traces
}
