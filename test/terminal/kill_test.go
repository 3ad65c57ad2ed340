package terminal

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/autoscaling"
	"github.com/aws/aws-sdk-go-v2/service/autoscaling/types"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/aws-operator/aws-operator/api/cluster/v1alpha1"
	"github.com/aws-operator/aws-operator/internal/kubeapi"
	"github.com/aws-operator/aws-operator/internal/machines/fake"
)

// witness observes every change in a cluster: which machines were its nodes, and which ended with
// pods on them.
type witness struct {
	mu        sync.Mutex
	machines  map[string]string // by provider ID, whether they are slots or workers
	pods      map[string]string // the nodes of pods that do not belong to a machine
	undrained []string
}

func (w *witness) observe(_ string, e kubeapi.Event) {
	w.mu.Lock()
	defer w.mu.Unlock()
	name := e.Object.GetName()
	switch e.Kind {
	case "Pod":
		if node, _, _ := unstructured.NestedString(e.Object.Object, "spec", "nodeName"); e.Type != watch.Deleted &&
			e.Object.GetNamespace() == metav1.NamespaceDefault {
			w.pods[name] = node
		} else {
			delete(w.pods, name)
		}
	case "Node":
		if id, _, _ := unstructured.NestedString(e.Object.Object, "spec", "providerID"); id != "" {
			w.machines[id] = "worker"
			if _, slot := e.Object.GetLabels()["node-role.kubernetes.io/control-plane"]; slot {
				w.machines[id] = "slot"
			}
		}
		for pod, node := range w.pods {
			if e.Type == watch.Deleted && node == name {
				w.undrained = append(w.undrained, pod+" on "+node)
			}
		}
	}
}

// count counts all machines so far, and reports an error for those that were not drained.
func (w *witness) count(t *testing.T, slots, workers int) {
	t.Helper()
	w.mu.Lock()
	defer w.mu.Unlock()
	seen := map[string]int{}
	for _, kind := range w.machines {
		seen[kind]++
	}
	if seen["slot"] != slots || seen["worker"] != workers {
		t.Errorf("up to now there were %d slots and %d workers, not %d and %d", seen["slot"], seen["worker"], slots, workers)
	}
	if len(w.undrained) > 0 || len(w.pods) > 0 {
		t.Errorf("machines ended with pods on them: %v; remaining pods: %v", w.undrained, w.pods)
	}
}

// A killed rolling update is continued by the same command: every machine is replaced once, also in
// a run with --force, and none before it is drained.
func TestKilledRollingUpdateReplacesEveryMachineOnce(t *testing.T) {
	t.Parallel()
	w := &witness{machines: map[string]string{}, pods: map[string]string{}}
	p := newUser(t, fake.Options{Observe: w.observe})
	p.env = append(p.env, "AWS_OPERATOR_STATE="+p.path("state"))
	p.manifests("demo.yaml", func(_ *v1alpha1.Cluster, g *v1alpha1.InstanceGroup) {
		g.Spec.RollingUpdate.Engine = v1alpha1.RollOperator
	})
	p.run(0, "apply", "-f", "demo.yaml", "--yes", "--nodeup-dir", p.path("nodeup"), "--poll", "200ms")
	p.run(0, "export", "kubeconfig", "demo", "--out", p.path("kubeconfig"))

	p.podsOnWorkers(2)
	p.moveOn("demo-workers")
	p.killedAt([]string{"rolling-update", "cluster", "demo", "--yes"},
		"Growing the group by 1 instance", "to be drained", "to be drained")
	w.count(t, 1, 4)
	out, _ := p.run(0, "rolling-update", "cluster", "demo", "--yes")
	p.says(out, "No instance needs to be replaced by rolling-update.\n")

	p.podsOnWorkers(2)
	p.older(time.Second)
	p.killedAt([]string{"rolling-update", "cluster", "demo", "--force", "--yes"},
		"control-plane-0: 1 of 1 instance", "workers: 2 of 2 instances", "to be drained", "released from its lifecycle hook")
	w.count(t, 2, 6)
	out, _ = p.run(0, "rolling-update", "cluster", "demo")
	p.says(out, "No instance needs to be replaced.\n")
	p.saysNot(out, "--force")
}

// killedAt repeats a command until nothing is left to do, and kills it when it prints the first of the
// words, then the next. From the second on, a kill may come too late: then a further run with --force
// would be a new one.
func (p *user) killedAt(command []string, words ...string) {
	p.t.Helper()
	for n, at := range words {
		c := p.start(command...)
		c.says(at)
		c.kill()
		p.t.Log(c.output())
		if n < 1 {
			if c.command.ProcessState.ExitCode() == 0 {
				p.t.Fatalf("it was killed only %d times", n)
			}
			continue
		}
		out, _ := p.run(0, "rolling-update", "cluster", "demo")
		switch nothing := strings.Contains(out, "No instance needs to be replaced."); {
		case nothing && strings.Contains(out, "is not complete"): // killed after the last machine, before the run ended
			p.run(0, command...)
			return
		case nothing:
			return
		}
	}
	p.run(0, command...)
}

// older waits until all machines were launched at least this long ago: EC2's launch times are in
// whole seconds.
func (p *user) older(than time.Duration) {
	p.t.Helper()
	eventually(p.t, "machines are older", func() error {
		out, err := ec2.NewFromConfig(p.aws()).DescribeInstances(p.t.Context(), &ec2.DescribeInstancesInput{})
		if err != nil {
			return err
		}
		for i := range out.Reservations {
			for _, one := range out.Reservations[i].Instances {
				if since := time.Since(aws.ToTime(one.LaunchTime)); since < than {
					return fmt.Errorf("%s was launched %s ago", aws.ToString(one.InstanceId), since)
				}
			}
		}
		return nil
	})
}

// podsOnWorkers runs a pod on every worker, of which there are count.
func (p *user) podsOnWorkers(count int) {
	p.t.Helper()
	config, err := clientcmd.BuildConfigFromFlags("", p.path("kubeconfig"))
	if err != nil {
		p.t.Fatal(err)
	}
	core := kubernetes.NewForConfigOrDie(config).CoreV1()
	nodes, err := core.Nodes().List(p.t.Context(), metav1.ListOptions{LabelSelector: "!node-role.kubernetes.io/control-plane"})
	if err != nil || len(nodes.Items) != count {
		p.t.Fatalf("there are %d workers: %v", len(nodes.Items), err)
	}
	for i := range nodes.Items {
		pod := &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{GenerateName: "shop-", Namespace: metav1.NamespaceDefault},
			Spec:       corev1.PodSpec{NodeName: nodes.Items[i].Name, Containers: []corev1.Container{{Name: "shop", Image: "shop:1"}}},
		}
		if _, err := core.Pods(metav1.NamespaceDefault).Create(p.t.Context(), pod, metav1.CreateOptions{}); err != nil {
			p.t.Fatal(err)
		}
	}
}

// moveOn makes the group of a stack launch from another version of its launch template, as
// Terraform does, without replacing machines.
func (p *user) moveOn(stack string) {
	p.t.Helper()
	scaling := autoscaling.NewFromConfig(p.aws())
	out, err := scaling.DescribeAutoScalingGroups(p.t.Context(), &autoscaling.DescribeAutoScalingGroupsInput{})
	if err != nil {
		p.t.Fatal(err)
	}
	at := slices.IndexFunc(out.AutoScalingGroups, func(g types.AutoScalingGroup) bool {
		return strings.HasPrefix(aws.ToString(g.AutoScalingGroupName), stack+"-")
	})
	if at < 0 {
		p.t.Fatalf("stack %s has no group", stack)
	}
	group := &out.AutoScalingGroups[at]
	made, err := ec2.NewFromConfig(p.aws()).CreateLaunchTemplateVersion(p.t.Context(), &ec2.CreateLaunchTemplateVersionInput{
		LaunchTemplateId: group.LaunchTemplate.LaunchTemplateId, SourceVersion: group.LaunchTemplate.Version,
		LaunchTemplateData: &ec2types.RequestLaunchTemplateData{InstanceType: ec2types.InstanceTypeM6iXlarge},
	})
	if err != nil {
		p.t.Fatal(err)
	}
	_, err = scaling.UpdateAutoScalingGroup(p.t.Context(), &autoscaling.UpdateAutoScalingGroupInput{
		AutoScalingGroupName: group.AutoScalingGroupName, LaunchTemplate: &types.LaunchTemplateSpecification{
			LaunchTemplateId: group.LaunchTemplate.LaunchTemplateId,
			Version:          aws.String(fmt.Sprint(aws.ToInt64(made.LaunchTemplateVersion.VersionNumber))),
		},
	})
	if err != nil {
		p.t.Fatal(err)
	}
}
