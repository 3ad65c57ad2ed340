package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/yaml"

	"github.com/aws-operator/aws-operator/internal/local/environment"
)

const (
	// manifest is the cluster that is judged: one slot and two workers, which conformance requires.
	manifest    = "examples/clusters/minimal-public.yaml"
	clusterName = "minimal"
	nodeCount   = 3
	namespace   = "default"
	// startTime is how long the cluster may take. A busy computer needs minutes.
	startTime = 15 * time.Minute
)

var kinds = map[string]schema.GroupVersionResource{
	"Cluster":       {Group: "cluster-operator.aws", Version: "v1alpha1", Resource: "clusters"},
	"InstanceGroup": {Group: "cluster-operator.aws", Version: "v1alpha1", Resource: "instancegroups"},
}

// cluster is a running cluster with the environment that it is in.
type cluster struct {
	env        *environment.Environment
	dir        string
	kubeconfig string
}

// start starts an environment and a cluster in it whose nodes and system pods are Ready.
func start(ctx context.Context, o options, images string) (*cluster, error) {
	dir, err := os.MkdirTemp("", "conformance-")
	if err != nil {
		return nil, err
	}
	env, err := environment.Up(ctx, environment.Options{
		Dir: filepath.Join(dir, "environment"), Operator: filepath.Join(o.root, "bin", "aws-operator"),
		Machines: environment.ContainerMachines, Layouts: []string{images}, WithoutRestore: true,
		Out: os.Stderr, Progress: os.Stderr, Clock: o.clock,
	})
	if err != nil {
		return nil, err
	}
	c := &cluster{env: env, dir: dir, kubeconfig: filepath.Join(dir, "kubeconfig")}
	ready, cancel := context.WithTimeout(ctx, startTime)
	defer cancel()
	if err := c.create(ready, filepath.Join(o.root, manifest)); err != nil {
		return nil, errors.Join(err, c.env.Stop(context.WithoutCancel(ctx))) // the logs of machines stay
	}
	return c, nil
}

func (c *cluster) stop(ctx context.Context) error {
	return errors.Join(c.env.Stop(ctx), os.RemoveAll(c.dir))
}

// create applies the manifest and waits for the cluster.
func (c *cluster) create(ctx context.Context, path string) error {
	text, err := os.ReadFile(path) //nolint:gosec // an example of the repository
	if err != nil {
		return err
	}
	client, err := dynamic.NewForConfig(c.env.RESTConfig())
	if err != nil {
		return err
	}
	for document := range strings.SplitSeq(string(text), "---\n") {
		object := &unstructured.Unstructured{}
		if err := yaml.Unmarshal([]byte(document), &object.Object); err != nil {
			return fmt.Errorf("read %s: %w", path, err)
		}
		all := client.Resource(kinds[object.GetKind()]).Namespace(namespace)
		if _, err := all.Create(ctx, object, metav1.CreateOptions{}); err != nil {
			return fmt.Errorf("create the %s: %w", object.GetKind(), err)
		}
	}
	management, err := kubernetes.NewForConfig(c.env.RESTConfig())
	if err != nil {
		return err
	}
	if err := c.writeKubeconfig(ctx, management); err != nil {
		return err
	}
	workload, err := workloadClient(c.kubeconfig)
	if err != nil {
		return err
	}
	return await(ctx, "the nodes and system pods are Ready", func(ctx context.Context) error { return isReady(ctx, workload) })
}

func (c *cluster) writeKubeconfig(ctx context.Context, management kubernetes.Interface) error {
	return await(ctx, "the cluster's kubeconfig exists", func(ctx context.Context) error {
		secret, err := management.CoreV1().Secrets(namespace).Get(ctx, clusterName+"-kubeconfig", metav1.GetOptions{})
		if err != nil {
			return err
		}
		return os.WriteFile(c.kubeconfig, secret.Data["value"], 0o600)
	})
}

// workloadClient returns a client of the cluster.
func workloadClient(kubeconfig string) (kubernetes.Interface, error) {
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return nil, fmt.Errorf("read the cluster's kubeconfig: %w", err)
	}
	return kubernetes.NewForConfig(config)
}

// isReady returns why the suite would not begin, or nil.
func isReady(ctx context.Context, client kubernetes.Interface) error {
	return errors.Join(nodesAreReady(ctx, client), systemIsReady(ctx, client))
}

func nodesAreReady(ctx context.Context, client kubernetes.Interface) error {
	nodes, err := client.CoreV1().Nodes().List(ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	if len(nodes.Items) != nodeCount {
		return fmt.Errorf("there are %d nodes", len(nodes.Items))
	}
	for i := range nodes.Items {
		for _, condition := range nodes.Items[i].Status.Conditions {
			if condition.Type == corev1.NodeReady && condition.Status != corev1.ConditionTrue {
				return fmt.Errorf("the node %s is not Ready: %s", nodes.Items[i].Name, condition.Message)
			}
		}
		for _, taint := range nodes.Items[i].Spec.Taints {
			if taint.Key != "node-role.kubernetes.io/control-plane" {
				return fmt.Errorf("the node %s has the taint %s", nodes.Items[i].Name, taint.Key)
			}
		}
	}
	return nil
}

func systemIsReady(ctx context.Context, client kubernetes.Interface) error {
	pods, err := client.CoreV1().Pods(metav1.NamespaceSystem).List(ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	for i := range pods.Items {
		for _, condition := range pods.Items[i].Status.Conditions {
			if condition.Type == corev1.PodReady && condition.Status != corev1.ConditionTrue {
				return fmt.Errorf("the pod %s is not Ready", pods.Items[i].Name)
			}
		}
	}
	dns, err := client.AppsV1().Deployments(metav1.NamespaceSystem).Get(ctx, "coredns", metav1.GetOptions{})
	if err != nil {
		return err
	}
	if dns.Status.AvailableReplicas == 0 {
		return errors.New("no pod of CoreDNS is available")
	}
	return nil
}

// await waits for a condition, and returns the last reason why it does not hold.
func await(ctx context.Context, what string, holds func(context.Context) error) error {
	var last error
	err := wait.PollUntilContextCancel(ctx, time.Second, true, func(ctx context.Context) (bool, error) {
		if err := holds(ctx); err != nil {
			if ctx.Err() == nil {
				last = err
			}
			return false, nil
		}
		return true, nil
	})
	if err != nil {
		return fmt.Errorf("wait until %s: %w", what, errors.Join(err, last))
	}
	return nil
}

// clusterVersions returns the versions that the cluster reports: of its API server, and of the first
// node's programs.
func clusterVersions(ctx context.Context, kubeconfig string) ([]string, error) {
	client, err := workloadClient(kubeconfig)
	if err != nil {
		return nil, err
	}
	server, err := client.Discovery().ServerVersion()
	if err != nil {
		return nil, fmt.Errorf("get the API server's version: %w", err)
	}
	nodes, err := client.CoreV1().Nodes().List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, fmt.Errorf("list the nodes: %w", err)
	}
	if len(nodes.Items) == 0 {
		return nil, errors.New("the cluster has no nodes")
	}
	info := nodes.Items[0].Status.NodeInfo
	return []string{
		"kube-apiserver " + server.GitVersion, "kubelet " + info.KubeletVersion, strings.Replace(info.ContainerRuntimeVersion, "://", " ", 1),
		"Linux " + info.KernelVersion, fmt.Sprintf("%d nodes", len(nodes.Items)),
	}, nil
}
