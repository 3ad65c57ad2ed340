package containers

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	apitypes "k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"

	"github.com/aws-operator/aws-operator/internal/local/containerbuild"
	"github.com/aws-operator/aws-operator/internal/local/environment"
	"github.com/aws-operator/aws-operator/internal/local/kubebuild"
	"github.com/aws-operator/aws-operator/internal/local/nodebuild"
	"github.com/aws-operator/aws-operator/internal/patience"
)

const (
	presentRelease  = "v1.36.3-containers"
	previousRelease = "v1.35.4-containers"
	previousImage   = "ami-0135413541354135c"
)

const upgrading = `
apiVersion: cluster-operator.aws/v1alpha1
kind: Cluster
metadata: {name: minors, namespace: default}
spec:
  release: ` + previousRelease + `
  region: eu-central-1
  network: {cidr: 10.30.0.0/16, zones: [eu-central-1a], topology: Public}
  controlPlane: {replicas: 1, instanceType: t3.medium}
---
apiVersion: cluster-operator.aws/v1alpha1
kind: InstanceGroup
metadata: {name: minors-workers, namespace: default}
spec:
  cluster: minors
  minSize: 2
  maxSize: 3
  instanceTypes: [t3.medium]
  rollingUpdate: {drainTimeout: 3m}
`

// A cluster of the previous minor version, with that version's kubelet, kube-proxy and control plane
// in containers, is upgraded to the present one. Pods keep serving through load balancers, also while
// the only slot is replaced.
func TestUpgradeOfContainerMachines(t *testing.T) {
	skip(t)
	kube, former := previous(t)
	env, client := startWith(t, environment.Options{
		Images: map[string]string{previousImage: kube}, Kubelets: map[string]string{previousImage: former.Kubelet},
		Layouts: []string{former.Images},
	})
	addPreviousRelease(t, env, client, kube)
	began := time.Now()
	objects := apply(t, client, upgrading)
	for _, object := range objects {
		await(t, client, object)
	}
	t.Logf("one slot and two workers of %s were Ready after %s", kubebuild.Previous.Kubernetes, time.Since(began).Round(time.Second))
	w, c := connect(t, env, "minors"), clouds(t, env)
	w.checkVersions(t, kubebuild.Previous.Kubernetes)
	w.runShop(t)

	phase := &atomic.Pointer[string]{}
	set := func(text string) { phase.Store(&text) }
	set("nothing changes")
	var loads []*load
	for name := range balancers {
		loads = append(loads, c.shopLoad(w.balancerOf(t, c, name), name, true, phase))
	}
	for _, l := range loads {
		l.start(t)
	}
	before := w.nodes(t)
	began = time.Now()
	patch := []byte(`{"spec": {"release": "` + presentRelease + `"}}`)
	_, err := client.Resource(kinds["Cluster"]).Namespace("default").
		Patch(t.Context(), "minors", apitypes.MergePatchType, patch, metav1.PatchOptions{})
	if err != nil {
		t.Fatal(err)
	}
	patience.Until(t, "all nodes are of the present version", func() error {
		nodes, err := w.client.CoreV1().Nodes().List(t.Context(), metav1.ListOptions{})
		if err != nil {
			return err // the only API server is being replaced
		}
		if text := describe(nodes.Items, before); text != *phase.Load() {
			t.Logf("after %s: %s", time.Since(began).Round(time.Second), text)
			set(text)
		}
		return replaced(nodes.Items, before)
	})
	for _, object := range objects {
		await(t, client, object)
	}
	t.Logf("one slot and two workers were upgraded in %s", time.Since(began).Round(time.Second))
	for _, l := range loads {
		l.end(t)
	}
	w.checkVersions(t, kubebuild.Present.Kubernetes)
	for name := range balancers {
		if err := w.client.CoreV1().Services("default").Delete(t.Context(), name, metav1.DeleteOptions{}); err != nil {
			t.Error(err)
		}
	}
	for _, object := range slices.Backward(objects) {
		remove(t, client, object)
	}
}

// previous builds the programs of the previous minor version.
func previous(t *testing.T) (kube string, former containerbuild.Former) {
	t.Helper()
	programs, err := nodebuild.Ensure(t.Context(), nodebuild.Options{Progress: os.Stderr})
	if err != nil {
		t.Fatal(err)
	}
	if kube, err = kubebuild.Ensure(t.Context(), kubebuild.Options{Version: kubebuild.Previous, Progress: os.Stderr}); err != nil {
		t.Fatal(err)
	}
	options := containerbuild.Options{Machine: programs.Machine, Kube: kube, Progress: os.Stderr}
	if former, err = containerbuild.EnsureFormer(t.Context(), options, kubebuild.Previous); err != nil {
		t.Fatal(err)
	}
	return kube, former
}

// addPreviousRelease creates the release of the previous minor version, and its machine image. Addons,
// etcd, CoreDNS and pause are those of the present one.
func addPreviousRelease(t *testing.T, env *environment.Environment, client dynamic.Interface, kube string) {
	t.Helper()
	release, err := client.Resource(releases).Get(t.Context(), presentRelease, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	spec := release.Object["spec"].(map[string]any)
	spec["kubernetes"] = kubebuild.Previous.Kubernetes
	spec["images"] = map[string]any{runtime.GOARCH: map[string]any{
		"byRegion": map[string]any{"eu-central-1": previousImage}, "user": "ubuntu",
	}}
	for _, each := range spec["artifacts"].([]any) {
		if artifact := each.(map[string]any); artifact["name"] == "kubeadm" {
			artifact["sources"].(map[string]any)[runtime.GOARCH].(map[string]any)["sha256"] = hash(t, kube)
		}
	}
	_, err = client.Resource(releases).Create(t.Context(), &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": release.GetAPIVersion(), "kind": release.GetKind(), "spec": spec, "metadata": map[string]any{"name": previousRelease},
	}}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	image := types.Image{ImageId: aws.String(previousImage), Name: aws.String("kubernetes-" + kubebuild.Previous.Kubernetes)}
	if runtime.GOARCH == "arm64" {
		image.Architecture = types.ArchitectureValuesArm64
	}
	env.AddImage("eu-central-1", image)
}

func hash(t *testing.T, path string) string {
	t.Helper()
	file, err := os.Open(filepath.Clean(path))
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

// checkVersions checks the version of all kubelets, and of the pods of the control plane and of
// kube-proxy.
func (w *workload) checkVersions(t *testing.T, want string) {
	t.Helper()
	nodes, err := w.client.CoreV1().Nodes().List(t.Context(), metav1.ListOptions{})
	if err != nil || len(nodes.Items) != 3 {
		t.Fatalf("the cluster has %d nodes, %v", len(nodes.Items), err)
	}
	names := map[string]bool{}
	for i := range nodes.Items {
		names[nodes.Items[i].Name] = true
		if got := nodes.Items[i].Status.NodeInfo.KubeletVersion; got != want {
			t.Errorf("the kubelet of %s has version %s, want %s", nodes.Items[i].Name, got, want)
		}
	}
	for selector, count := range map[string]int{
		"component=kube-apiserver": 1, "component=kube-controller-manager": 1, "component=kube-scheduler": 1, "k8s-app=kube-proxy": 3,
	} {
		patience.Until(t, "the pods "+selector+" have version "+want, func() error {
			pods, err := w.client.CoreV1().Pods("kube-system").List(t.Context(), metav1.ListOptions{LabelSelector: selector})
			if err != nil {
				return err
			}
			pods.Items = slices.DeleteFunc(pods.Items, func(pod corev1.Pod) bool { return !names[pod.Spec.NodeName] })
			for i := range pods.Items {
				image := pods.Items[i].Spec.Containers[0].Image
				if !strings.HasSuffix(image, ":"+want) || pods.Items[i].Status.Phase != corev1.PodRunning {
					return fmt.Errorf("%s is %s with %s", pods.Items[i].Name, pods.Items[i].Status.Phase, image)
				}
			}
			if len(pods.Items) != count {
				return fmt.Errorf("there are %d, want %d", len(pods.Items), count)
			}
			return nil
		})
	}
}
