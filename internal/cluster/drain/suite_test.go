package drain_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/autoscaling"
	astypes "github.com/aws/aws-sdk-go-v2/service/autoscaling/types"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/aws-operator/aws-operator/internal/awsapi"
	"github.com/aws-operator/aws-operator/internal/cluster/drain"
	"github.com/aws-operator/aws-operator/internal/cluster/workload"
	"github.com/aws-operator/aws-operator/internal/local/controlplane/controlplanetest"
	"github.com/aws-operator/aws-operator/internal/patience"
	"github.com/aws-operator/aws-operator/internal/simulator"
	"github.com/aws-operator/aws-operator/internal/simulator/simulatortest"
)

func TestMain(m *testing.M) { controlplanetest.Main(m) }

const region = "eu-central-1"

// suite is an Auto Scaling group whose hook holds instances, a real API server that has their
// Nodes, and an operator's drains.
type suite struct {
	t         *testing.T
	kube      kubernetes.Interface
	namespace string
	cluster   types.NamespacedName
	groups    *autoscaling.Client
	clients   *awsapi.Clients
	clock     *clocktesting.FakeClock
	template  string
	subnet    string

	drains *drain.Drains
	stop   func()
	// identify looks up instances of nodes; nil trusts nodes.
	identify workload.Identify

	// refuses makes the API refuse patches, and refused counts those.
	refuses atomic.Bool
	refused atomic.Int32

	mu      sync.Mutex
	notices []drain.Notice
}

// refusing is the API as the drains reach it.
type refusing struct {
	next http.RoundTripper
	w    *suite
}

var errRefused = errors.New("the API is overloaded")

func (r *refusing) RoundTrip(request *http.Request) (*http.Response, error) {
	if request.Method == http.MethodPatch && r.w.refuses.Load() {
		r.w.refused.Add(1)
		return nil, errRefused
	}
	return r.next.RoundTrip(request)
}

func newSuite(t *testing.T) *suite {
	t.Helper()
	server := controlplanetest.Shared(t)
	w := &suite{t: t, clock: clocktesting.NewFakeClock(time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC))}
	w.kube = kubernetes.NewForConfigOrDie(server.RESTConfig())
	w.namespace = controlplanetest.Namespace(t, server)
	w.cluster = types.NamespacedName{Namespace: w.namespace, Name: "c"}
	_, endpoint := simulatortest.Start(t, simulator.Options{Region: region})
	keys := credentials.NewStaticCredentialsProvider("123456789012", "secret", "")
	var err error
	w.clients, err = awsapi.New(t.Context(), awsapi.Options{
		Region: region, EndpointURL: endpoint, Credentials: keys,
		Budgets: map[string]awsapi.Budget{awsapi.AnyService: awsapi.Unlimited},
	})
	if err != nil {
		t.Fatal(err)
	}
	w.groups = autoscaling.New(autoscaling.Options{Region: region, BaseEndpoint: aws.String(endpoint), Credentials: keys})
	w.furnish(ec2.New(ec2.Options{Region: region, BaseEndpoint: aws.String(endpoint), Credentials: keys}))
	w.start()
	return w
}

// furnish makes what Auto Scaling groups need.
func (w *suite) furnish(client *ec2.Client) {
	w.t.Helper()
	ctx := w.t.Context()
	vpc, err := client.CreateVpc(ctx, &ec2.CreateVpcInput{CidrBlock: aws.String("10.0.0.0/16")})
	if err != nil {
		w.t.Fatal(err)
	}
	subnet, err := client.CreateSubnet(
		ctx, &ec2.CreateSubnetInput{VpcId: vpc.Vpc.VpcId, CidrBlock: aws.String("10.0.0.0/18"), AvailabilityZone: aws.String(region + "a")},
	)
	if err != nil {
		w.t.Fatal(err)
	}
	images, err := client.DescribeImages(
		ctx, &ec2.DescribeImagesInput{Filters: []ec2types.Filter{{Name: aws.String("architecture"), Values: []string{"x86_64"}}}},
	)
	if err != nil || len(images.Images) == 0 {
		w.t.Fatalf("no image: %v", err)
	}
	template, err := client.CreateLaunchTemplate(ctx, &ec2.CreateLaunchTemplateInput{
		LaunchTemplateName: aws.String("workers"), LaunchTemplateData: &ec2types.RequestLaunchTemplateData{
			ImageId: images.Images[0].ImageId, InstanceType: ec2types.InstanceTypeM6iLarge,
		},
	})
	if err != nil {
		w.t.Fatal(err)
	}
	w.subnet, w.template = *subnet.Subnet.SubnetId, *template.LaunchTemplate.LaunchTemplateId
}

// start runs an operator until w.stop is called or the test ends.
func (w *suite) start() {
	w.t.Helper()
	config := controlplanetest.Shared(w.t).RESTConfig()
	connections := workload.New(workload.Options{Config: func(types.NamespacedName, []byte) (*rest.Config, error) {
		config := rest.CopyConfig(config)
		config.Wrap(func(next http.RoundTripper) http.RoundTripper { return &refusing{next, w} })
		return config, nil
	}})
	connections.IdentifyWith(w.identify)
	w.drains = drain.New(drain.Options{Clients: w.clients, Workload: connections, Clock: w.clock, Tell: func(n drain.Notice) {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.notices = append(w.notices, n)
	}})
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() { _ = connections.Start(ctx) })
	running.Go(func() { _ = w.drains.Start(ctx) })
	w.stop = sync.OnceFunc(func() {
		cancel()
		running.Wait()
	})
	w.t.Cleanup(w.stop)
	if _, err := connections.Connect(w.cluster, []byte("one")); err != nil {
		w.t.Fatal(err)
	}
}

// group makes an Auto Scaling group of a size with our hook, and a Node for each of its instances,
// and returns the instances. With keep, Auto Scaling keeps machines whose lifecycle action is
// abandoned.
func (w *suite) group(name string, size int32, keep bool) []string {
	w.t.Helper()
	in := &autoscaling.CreateAutoScalingGroupInput{
		AutoScalingGroupName: aws.String(name), MinSize: aws.Int32(0), MaxSize: aws.Int32(size), DesiredCapacity: aws.Int32(size),
		VPCZoneIdentifier: aws.String(w.subnet),
		LaunchTemplate:    &astypes.LaunchTemplateSpecification{LaunchTemplateId: &w.template, Version: aws.String("$Latest")},
		LifecycleHookSpecificationList: []astypes.LifecycleHookSpecification{{
			LifecycleHookName: aws.String("drain"), LifecycleTransition: aws.String("autoscaling:EC2_INSTANCE_TERMINATING"),
			HeartbeatTimeout: aws.Int32(600), DefaultResult: aws.String("CONTINUE"),
		}},
	}
	if keep {
		in.InstanceLifecyclePolicy = &astypes.InstanceLifecyclePolicy{
			RetentionTriggers: &astypes.RetentionTriggers{TerminateHookAbandon: astypes.RetentionActionRetain},
		}
	}
	if _, err := w.groups.CreateAutoScalingGroup(w.t.Context(), in); err != nil {
		w.t.Fatal(err)
	}
	var instances []string
	w.eventually("the group's instances are in service", func() error {
		instances = instances[:0]
		for instance, state := range w.states(name) {
			if state == "InService" {
				instances = append(instances, instance)
			}
		}
		if len(instances) != int(size) {
			return errNotYet
		}
		return nil
	})
	slices.Sort(instances)
	for _, instance := range instances {
		w.node(instance, name)
	}
	return instances
}

// states returns the lifecycle states of a group's instances.
func (w *suite) states(group string) map[string]string {
	w.t.Helper()
	out, err := w.groups.DescribeAutoScalingGroups(
		w.t.Context(), &autoscaling.DescribeAutoScalingGroupsInput{AutoScalingGroupNames: []string{group}},
	)
	if err != nil || len(out.AutoScalingGroups) != 1 {
		w.t.Fatalf("group %s: %v", group, err)
	}
	states := map[string]string{}
	for _, one := range out.AutoScalingGroups[0].Instances {
		states[*one.InstanceId] = string(one.LifecycleState)
	}
	return states
}

// terminates waits until Auto Scaling has terminated an instance.
func (w *suite) terminates(group, instance string) {
	w.t.Helper()
	w.eventually("Auto Scaling lets "+instance+" go", func() error {
		if state, ok := w.states(group)[instance]; ok && state != "Terminating:Proceed" {
			return fmt.Errorf("it is %s", state)
		}
		return nil
	})
}

// terminate has Auto Scaling end an instance, whose group then is smaller, and waits until the hook
// holds it.
func (w *suite) terminate(group, instance string) {
	w.t.Helper()
	_, err := w.groups.TerminateInstanceInAutoScalingGroup(w.t.Context(), &autoscaling.TerminateInstanceInAutoScalingGroupInput{
		InstanceId: &instance, ShouldDecrementDesiredCapacity: aws.Bool(true),
	})
	if err != nil {
		w.t.Fatal(err)
	}
	w.eventually("the hook holds "+instance, func() error {
		if state := w.states(group)[instance]; state != "Terminating:Wait" {
			return fmt.Errorf("it is %q", state)
		}
		return nil
	})
}

// order is what the operator orders for an instance of a group that the hook holds.
func (w *suite) order(group, instance string) drain.Order {
	return drain.Order{
		Cluster: w.cluster, Group: group, Slot: drain.NoSlot, Instance: instance, AutoScalingGroup: group, Hook: "drain",
		Since:       w.clock.Now(),
		HookTimeout: 10 * time.Minute, Reason: drain.Rolling, Timeout: 10 * time.Minute,
	}
}

// nodeName is the name of an instance's node.
func (w *suite) nodeName(instance string) string { return "node-" + instance }

func (w *suite) node(instance, group string) {
	w.t.Helper()
	nodes := w.kube.CoreV1().Nodes()
	node, err := nodes.Create(w.t.Context(), &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: w.nodeName(instance), Labels: map[string]string{"cluster-operator.aws/instance-group": group}},
		Spec:       corev1.NodeSpec{ProviderID: "aws:///eu-central-1a/" + instance},
	}, metav1.CreateOptions{})
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() { _ = nodes.Delete(context.Background(), node.Name, metav1.DeleteOptions{}) })
	node.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}}
	if _, err := nodes.UpdateStatus(w.t.Context(), node, metav1.UpdateOptions{}); err != nil {
		w.t.Fatal(err)
	}
}

// pod runs a pod on an instance's node, which ends as soon as it is evicted.
func (w *suite) pod(name, instance string, change ...func(*corev1.Pod)) {
	w.t.Helper()
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: w.namespace, Labels: map[string]string{"app": name}},
		Spec: corev1.PodSpec{
			NodeName: w.nodeName(instance), TerminationGracePeriodSeconds: aws.Int64(0),
			Containers: []corev1.Container{{Name: "a", Image: "b"}},
		},
	}
	for _, one := range change {
		one(pod)
	}
	made, err := w.kube.CoreV1().Pods(w.namespace).Create(w.t.Context(), pod, metav1.CreateOptions{})
	if err != nil {
		w.t.Fatal(err)
	}
	made.Status.Phase = corev1.PodRunning
	made.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}
	if _, err := w.kube.CoreV1().Pods(w.namespace).UpdateStatus(w.t.Context(), made, metav1.UpdateOptions{}); err != nil {
		w.t.Fatal(err)
	}
}

// budget forbids or allows the eviction of a pod.
func (w *suite) budget(name, app string, allowed int32) {
	w.t.Helper()
	budgets := w.kube.PolicyV1().PodDisruptionBudgets(w.namespace)
	budget, err := budgets.Get(w.t.Context(), name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		budget, err = budgets.Create(w.t.Context(), &policyv1.PodDisruptionBudget{
			ObjectMeta: metav1.ObjectMeta{Name: name},
			Spec:       policyv1.PodDisruptionBudgetSpec{Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": app}}},
		}, metav1.CreateOptions{})
	}
	if err != nil {
		w.t.Fatal(err)
	}
	// What the controller would write.
	budget.Status = policyv1.PodDisruptionBudgetStatus{
		ObservedGeneration: budget.Generation, DisruptionsAllowed: allowed, CurrentHealthy: 1, DesiredHealthy: 1 - allowed, ExpectedPods: 1,
	}
	if _, err := budgets.UpdateStatus(w.t.Context(), budget, metav1.UpdateOptions{}); err != nil {
		w.t.Fatal(err)
	}
}

// restore allows a disruption again if an eviction used it up and then failed, for example because the API
// server was too busy to delete the pod in time. The disruption controller does that after two minutes.
// https://github.com/kubernetes/kubernetes/blob/master/pkg/controller/disruption/disruption.go (DeletionTimeout)
func (w *suite) restore(name string) {
	w.t.Helper()
	budgets := w.kube.PolicyV1().PodDisruptionBudgets(w.namespace)
	budget, err := budgets.Get(w.t.Context(), name, metav1.GetOptions{})
	if err == nil && budget.Status.DisruptionsAllowed == 0 {
		budget.Status.DisruptionsAllowed = 1
		_, err = budgets.UpdateStatus(w.t.Context(), budget, metav1.UpdateOptions{})
	}
	if err != nil && !apierrors.IsConflict(err) {
		w.t.Fatal(err)
	}
}

// pods returns the names of the pods that are left, sorted.
func (w *suite) pods() []string {
	w.t.Helper()
	list, err := w.kube.CoreV1().Pods(w.namespace).List(w.t.Context(), metav1.ListOptions{})
	if err != nil {
		w.t.Fatal(err)
	}
	var names []string
	for i := range list.Items {
		names = append(names, list.Items[i].Name)
	}
	slices.Sort(names)
	return names
}

// read returns an instance's node.
func (w *suite) read(instance string) *corev1.Node {
	w.t.Helper()
	node, err := w.kube.CoreV1().Nodes().Get(w.t.Context(), w.nodeName(instance), metav1.GetOptions{})
	if err != nil {
		w.t.Fatal(err)
	}
	return node
}

var errNotYet = errors.New("not yet")

// eventually waits until check has nothing to complain about.
func (w *suite) eventually(what string, check func() error) {
	w.t.Helper()
	patience.Until(w.t, what, check)
}

// reaches waits until a drain has a state, and returns how far it is.
func (w *suite) reaches(instance string, state drain.State) drain.Progress {
	w.t.Helper()
	var found drain.Progress
	w.eventually("the drain of "+instance+" is "+string(state), func() error {
		var ok bool
		if found, ok = w.drains.Get(instance); !ok || found.State != state {
			return fmt.Errorf("it is %s: %s", found.State, found.Message)
		}
		return nil
	})
	return found
}

// blocked waits until a drain names just these budgets.
func (w *suite) blocked(instance string, budgets ...string) {
	w.t.Helper()
	for i := range budgets {
		budgets[i] = w.namespace + "/" + budgets[i]
	}
	w.eventually("the drain of "+instance+" is blocked", func() error {
		found, _ := w.drains.Get(instance)
		if !slices.Equal(found.BlockedBy, budgets) {
			return fmt.Errorf("by %v, want %v: %s", found.BlockedBy, budgets, found.Message)
		}
		return nil
	})
}

// reported waits for a notice of an event, and returns it.
func (w *suite) reported(what string) drain.Notice {
	w.t.Helper()
	var found drain.Notice
	w.eventually("the notice "+what, func() error {
		w.mu.Lock()
		defer w.mu.Unlock()
		var heard []string
		for _, notice := range w.notices {
			if heard = append(heard, notice.What); notice.What == what {
				found = notice
				return nil
			}
		}
		return errors.New("they heard " + strings.Join(heard, ", "))
	})
	return found
}
