package rollout_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/autoscaling"
	astypes "github.com/aws/aws-sdk-go-v2/service/autoscaling/types"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"

	"github.com/aws-operator/aws-operator/internal/awsapi"
	"github.com/aws-operator/aws-operator/internal/cluster/drain"
	"github.com/aws-operator/aws-operator/internal/cluster/rollout"
	"github.com/aws-operator/aws-operator/internal/cluster/workload"
	"github.com/aws-operator/aws-operator/internal/kubeapi"
	"github.com/aws-operator/aws-operator/internal/patience"
	"github.com/aws-operator/aws-operator/internal/simulator"
	"github.com/aws-operator/aws-operator/internal/simulator/simulatortest"
)

const (
	region = "eu-central-1"
	asg    = "workers"
)

// suite is a group on AWS on loopback, the cluster whose nodes its machines are, with pods that
// move, and a Roller.
type suite struct {
	t        *testing.T
	clients  *awsapi.Clients
	groups   *autoscaling.Client
	ec2      *ec2.Client
	kube     *kubernetes.Clientset
	api      *kubeapi.Server
	admin    *rest.Config
	template string
	subnets  []string
	// broken versions of the launch template make machines whose nodes are never Ready.
	broken map[string]bool

	roller  *rollout.Roller
	options rollout.Options
	end     func()
	// drainClock is the clock of drains; nil means the real one.
	drainClock clock.Clock
	// least is how few Ready nodes there ever were while it rolled, leastPod how few ready pods.
	least    int
	leastPod int32
}

func newSuite(t *testing.T) *suite {
	t.Helper()
	w := &suite{t: t, broken: map[string]bool{}}
	_, endpoint := simulatortest.Start(t, simulator.Options{Region: region})
	keys := credentials.NewStaticCredentialsProvider("123456789012", "secret", "")
	var err error
	w.clients, err = awsapi.New(t.Context(), awsapi.Options{
		Region: region, EndpointURL: endpoint, Credentials: keys, Budgets: map[string]awsapi.Budget{awsapi.AnyService: awsapi.Unlimited},
	})
	must(t, err)
	config := aws.Config{Region: region, BaseEndpoint: &endpoint, Credentials: keys}
	w.groups, w.ec2 = autoscaling.NewFromConfig(config), ec2.NewFromConfig(config)
	w.furnish()
	w.serve()
	w.start()
	return w
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// furnish makes what Auto Scaling groups need.
func (w *suite) furnish() {
	w.t.Helper()
	ctx := w.t.Context()
	vpc, err := w.ec2.CreateVpc(ctx, &ec2.CreateVpcInput{CidrBlock: aws.String("10.0.0.0/16")})
	must(w.t, err)
	for zone, block := range map[string]string{"a": "10.0.0.0/18", "b": "10.0.64.0/18"} {
		subnet, err := w.ec2.CreateSubnet(
			ctx, &ec2.CreateSubnetInput{VpcId: vpc.Vpc.VpcId, CidrBlock: &block, AvailabilityZone: aws.String(region + zone)},
		)
		must(w.t, err)
		w.subnets = append(w.subnets, *subnet.Subnet.SubnetId)
	}
	made, err := w.ec2.CreateLaunchTemplate(
		ctx, &ec2.CreateLaunchTemplateInput{LaunchTemplateName: aws.String("workers"), LaunchTemplateData: w.shape()},
	)
	must(w.t, err)
	w.template = *made.LaunchTemplate.LaunchTemplateId
}

func (w *suite) shape() *ec2types.RequestLaunchTemplateData {
	w.t.Helper()
	images, err := w.ec2.DescribeImages(
		w.t.Context(), &ec2.DescribeImagesInput{Filters: []ec2types.Filter{{Name: aws.String("architecture"), Values: []string{"x86_64"}}}},
	)
	must(w.t, err)
	return &ec2types.RequestLaunchTemplateData{ImageId: images.Images[0].ImageId, InstanceType: ec2types.InstanceTypeM6iLarge}
}

// serve starts the cluster's API.
func (w *suite) serve() {
	w.t.Helper()
	authority, keyPEM, certPEM := authority(w.t)
	w.api = kubeapi.New(kubeapi.Options{Authority: authority})
	server := httptest.NewUnstartedServer(w.api)
	server.TLS = &tls.Config{ClientAuth: tls.RequestClientCert, MinVersion: tls.VersionTLS12}
	server.StartTLS()
	w.t.Cleanup(func() { w.api.Close(); server.Close() })
	w.admin = &rest.Config{Host: server.URL, QPS: -1, TLSClientConfig: rest.TLSClientConfig{
		CAData:   pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw}),
		CertData: certPEM, KeyData: keyPEM,
	}}
	w.kube = kubernetes.NewForConfigOrDie(w.admin)
}

// authority makes one, whose own certificate is that of an administrator.
func authority(t *testing.T) (pool *x509.CertPool, keyPEM, certPEM []byte) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	must(t, err)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "admin"}, NotBefore: time.Unix(0, 0), NotAfter: time.Unix(1<<32, 0),
		IsCA: true, BasicConstraintsValid: true, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	must(t, err)
	cert, err := x509.ParseCertificate(der)
	must(t, err)
	pkcs8, err := x509.MarshalPKCS8PrivateKey(key)
	must(t, err)
	pool = x509.NewCertPool()
	pool.AddCert(cert)
	return pool, pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: pkcs8}), pem.EncodeToMemory(
		&pem.Block{Type: "CERTIFICATE", Bytes: der},
	)
}

var clusterKey = types.NamespacedName{Namespace: "default", Name: "demo"}

// start starts a Roller that remembers nothing, in place of the one before.
func (w *suite) start() {
	w.t.Helper()
	if w.end != nil {
		w.end()
	}
	connections := workload.New(
		workload.Options{Config: func(types.NamespacedName, []byte) (*rest.Config, error) { return rest.CopyConfig(w.admin), nil }},
	)
	drains := drain.New(drain.Options{Clients: w.clients, Workload: connections, Clock: w.drainClock})
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() { _ = connections.Start(ctx) })
	running.Go(func() { _ = drains.Start(ctx) })
	w.end = sync.OnceFunc(func() { cancel(); running.Wait() })
	w.t.Cleanup(w.end)
	connection, err := connections.Connect(clusterKey, []byte("one"))
	must(w.t, err)
	w.options = rollout.Options{
		AutoScaling: w.clients.AutoScaling,
		EC2:         func(t awsapi.Target) rollout.EC2 { return w.clients.EC2(t) },
		Workload:    func(types.NamespacedName) rollout.Workload { return connection },
		Drains:      drains,
	}
	w.roller = rollout.New(w.options)
}

// group makes a group and waits until its nodes are Ready.
func (w *suite) group(least, desired, most int32) {
	w.t.Helper()
	_, err := w.groups.CreateAutoScalingGroup(w.t.Context(), &autoscaling.CreateAutoScalingGroupInput{
		AutoScalingGroupName: aws.String(asg), MinSize: &least, MaxSize: &most, DesiredCapacity: &desired,
		VPCZoneIdentifier: aws.String(strings.Join(w.subnets, ",")),
		LaunchTemplate:    &astypes.LaunchTemplateSpecification{LaunchTemplateId: &w.template, Version: aws.String("1")},
		Tags: []astypes.Tag{{
			ResourceId: aws.String(asg), ResourceType: aws.String("auto-scaling-group"),
			Key:   aws.String("k8s.io/cluster-autoscaler/enabled"),
			Value: aws.String("true"), PropagateAtLaunch: aws.Bool(true),
		}},
	})
	must(w.t, err)
	w.eventually("all nodes are Ready", func() bool { w.live(); return len(w.ready("1")) == int(desired) })
	w.least, w.leastPod = int(desired), 1<<30
}

// edit gives the group another shape, and returns its version.
func (w *suite) edit() string {
	w.t.Helper()
	made, err := w.ec2.CreateLaunchTemplateVersion(
		w.t.Context(), &ec2.CreateLaunchTemplateVersionInput{LaunchTemplateId: &w.template, LaunchTemplateData: w.shape()},
	)
	must(w.t, err)
	version := aws.String("$Latest")
	_, err = w.groups.UpdateAutoScalingGroup(w.t.Context(), &autoscaling.UpdateAutoScalingGroupInput{
		AutoScalingGroupName: aws.String(asg),
		LaunchTemplate:       &astypes.LaunchTemplateSpecification{LaunchTemplateId: &w.template, Version: version},
	})
	must(w.t, err)
	return string('0' + rune(*made.LaunchTemplateVersion.VersionNumber))
}

func (w *suite) describe() *astypes.AutoScalingGroup {
	w.t.Helper()
	out, err := w.groups.DescribeAutoScalingGroups(
		w.t.Context(), &autoscaling.DescribeAutoScalingGroupsInput{AutoScalingGroupNames: []string{asg}},
	)
	must(w.t, err)
	return &out.AutoScalingGroups[0]
}

// live does what machines do: they become nodes, and nodes go with their machines.
func (w *suite) live() {
	w.t.Helper()
	nodes, err := w.kube.CoreV1().Nodes().List(w.t.Context(), metav1.ListOptions{})
	must(w.t, err)
	there := map[string]bool{}
	for i := range nodes.Items {
		there[nodes.Items[i].Name] = true
	}
	alive := map[string]bool{}
	for _, i := range w.describe().Instances {
		alive[*i.InstanceId] = true
		if i.LifecycleState != astypes.LifecycleStateInService || there[*i.InstanceId] {
			continue
		}
		status := corev1.ConditionTrue
		if w.broken[*i.LaunchTemplate.Version] {
			status = corev1.ConditionFalse
		}
		must(w.t, w.api.Put(&corev1.Node{
			ObjectMeta: metav1.ObjectMeta{
				Name:   *i.InstanceId,
				Labels: map[string]string{"version": *i.LaunchTemplate.Version, "cluster-operator.aws/instance-group": asg},
			},
			Spec: corev1.NodeSpec{ProviderID: "aws:///" + region + "a/" + *i.InstanceId},
			Status: corev1.NodeStatus{
				Conditions: []corev1.NodeCondition{{Type: corev1.NodeReady, Status: status, LastTransitionTime: metav1.Now()}},
			},
		}))
	}
	for i := range nodes.Items {
		if node := &nodes.Items[i]; !alive[node.Name] && !strings.HasPrefix(node.Name, "other") {
			must(w.t, w.kube.CoreV1().Nodes().Delete(w.t.Context(), node.Name, metav1.DeleteOptions{}))
		}
	}
	w.watch()
}

// watch notes how few there ever are.
func (w *suite) watch() {
	w.t.Helper()
	w.least = min(w.least, len(w.ready("")))
	deployments, err := w.kube.AppsV1().Deployments("default").List(w.t.Context(), metav1.ListOptions{})
	must(w.t, err)
	for i := range deployments.Items {
		w.leastPod = min(w.leastPod, deployments.Items[i].Status.ReadyReplicas)
	}
}

// ready returns the nodes of a version that serve, of all versions without one.
func (w *suite) ready(version string) (names []string) {
	w.t.Helper()
	list, err := w.kube.CoreV1().Nodes().List(w.t.Context(), metav1.ListOptions{})
	must(w.t, err)
	for i := range list.Items {
		node := &list.Items[i]
		if node.Status.Conditions[0].Status == corev1.ConditionTrue && !node.Spec.Unschedulable &&
			(version == "" || node.Labels["version"] == version) {
			names = append(names, node.Name)
		}
	}
	slices.Sort(names)
	return names
}

// app runs a Deployment of which one pod may be missing.
func (w *suite) app(replicas int32) {
	w.t.Helper()
	labels := map[string]string{"app": "web"}
	_, err := w.kube.AppsV1().Deployments("default").Create(w.t.Context(), &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Name: "web"},
		Spec: appsv1.DeploymentSpec{
			Replicas: &replicas, Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: labels},
				Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "a", Image: "b"}}},
			},
		},
	}, metav1.CreateOptions{})
	must(w.t, err)
	one := intstr.FromInt32(1)
	_, err = w.kube.PolicyV1().PodDisruptionBudgets("default").Create(w.t.Context(), &policyv1.PodDisruptionBudget{
		ObjectMeta: metav1.ObjectMeta{Name: "web"},
		Spec:       policyv1.PodDisruptionBudgetSpec{MaxUnavailable: &one, Selector: &metav1.LabelSelector{MatchLabels: labels}},
	}, metav1.CreateOptions{})
	must(w.t, err)
	w.eventually("the app runs", func() bool {
		found, err := w.kube.AppsV1().Deployments("default").Get(w.t.Context(), "web", metav1.GetOptions{})
		return err == nil && found.Status.ReadyReplicas == replicas
	})
}

// eventually waits until a condition holds.
func (w *suite) eventually(what string, holds func() bool) {
	w.t.Helper()
	patience.UntilTrue(w.t, what, holds)
}

// roll steps until the roll is in a state, and returns the last step.
func (w *suite) roll(group *rollout.Group, state rollout.State) rollout.Result {
	w.t.Helper()
	var last rollout.Result
	w.eventually("the roll is "+string(state), func() bool {
		w.live()
		var err error
		last, err = w.roller.Step(w.t.Context(), group)
		must(w.t, err)
		for _, did := range last.Did {
			w.t.Log(did)
		}
		w.watch()
		if last.State == rollout.Stopped && state != rollout.Stopped {
			w.t.Fatalf("it stopped: %s", last.Why)
		}
		return last.State == state
	})
	return last
}

// restored complains unless the group is as before the roll, of a version.
func (w *suite) restored(desired int32, version string) {
	w.t.Helper()
	w.eventually("the last instances are terminated", func() bool { w.live(); return len(w.describe().Instances) == int(desired) })
	group := w.describe()
	if *group.DesiredCapacity != desired || len(w.ready(version)) != int(desired) {
		w.t.Errorf("%d machines are asked for and %d are new; want %d", *group.DesiredCapacity, len(w.ready(version)), desired)
	}
	if len(group.SuspendedProcesses) > 0 {
		w.t.Errorf("processes are suspended: %v", group.SuspendedProcesses)
	}
	if len(group.Tags) != 1 || *group.Tags[0].Key != "k8s.io/cluster-autoscaler/enabled" || *group.Tags[0].Value != "true" ||
		!*group.Tags[0].PropagateAtLaunch {
		w.t.Errorf("tags: %v", rollout.TagsOf(group))
	}
}

func aGroup(settings *rollout.Settings) *rollout.Group {
	return &rollout.Group{
		Name:             asg,
		AutoScalingGroup: asg,
		Role:             rollout.RoleWorker,
		Slot:             rollout.NoSlot,
		Cluster:          clusterKey,
		Settings:         *settings,
	}
}

// limit lets the Roller change AWS a number of times, then refuses.
func (w *suite) limit(left *int) {
	inner := w.options
	inner.AutoScaling = func(t awsapi.Target) awsapi.AutoScaling { return failing{w.clients.AutoScaling(t), left} }
	w.roller = rollout.New(inner)
}

// forbid creates a budget that allows no eviction of the app's pods, and returns its name.
func (w *suite) forbid() string {
	w.t.Helper()
	none := intstr.FromInt32(0)
	made, err := w.kube.PolicyV1().PodDisruptionBudgets("default").Get(w.t.Context(), "web", metav1.GetOptions{})
	must(w.t, err)
	made.Spec.MaxUnavailable = &none
	_, err = w.kube.PolicyV1().PodDisruptionBudgets("default").Update(w.t.Context(), made, metav1.UpdateOptions{})
	must(w.t, err)
	return made.Name
}
