package e2e

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/autoscaling"
	astypes "github.com/aws/aws-sdk-go-v2/service/autoscaling/types"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"
	"github.com/aws/aws-sdk-go-v2/service/eventbridge"
	ebtypes "github.com/aws/aws-sdk-go-v2/service/eventbridge/types"
	"github.com/aws/aws-sdk-go-v2/service/iam"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/aws-operator/aws-operator/internal/machines/process"
	"github.com/aws-operator/aws-operator/internal/patience"
	"github.com/aws-operator/aws-operator/internal/simulator/simulatortest"
)

// karpenterCluster has one slot and a group whose nodes Karpenter creates.
const karpenterCluster = `
apiVersion: cluster-operator.aws/v1alpha1
kind: Cluster
metadata: {name: pooled}
spec:
  release: ` + processRelease + `
  region: eu-central-1
  network: {cidr: 10.0.0.0/16, zones: [eu-central-1a, eu-central-1b], topology: Public}
  controlPlane: {replicas: 1, instanceType: m6i.large}
---
apiVersion: cluster-operator.aws/v1alpha1
kind: InstanceGroup
metadata: {name: pool}
spec:
  cluster: pooled
  manager: Karpenter
  minSize: 0
  maxSize: 1
  instanceTypes: [m6i.large]
`

// The folder of the module that pins Karpenter's version.
const karpenterModule = "../karpenter"

// karpenter is the real controller of Karpenter for AWS, and the cluster that it serves.
type karpenter struct {
	*cloud

	workload kubernetes.Interface
	objects  dynamic.Interface
	log      string
	words    *strings.Replacer
	removals []func() error
}

var karpenterResources = map[string]schema.GroupVersionResource{
	"EC2NodeClass":             {Group: "karpenter.k8s.aws", Version: "v1", Resource: "ec2nodeclasses"},
	"NodePool":                 {Group: "karpenter.sh", Version: "v1", Resource: "nodepools"},
	"NodeClaim":                {Group: "karpenter.sh", Version: "v1", Resource: "nodeclaims"},
	"CustomResourceDefinition": {Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"},
}

// The real Karpenter, with the policy of the guide, gives a Deployment of 50 pods nodes: it creates
// instances, which boot, prove their identity and join. It removes them with the pods, and replaces them when
// their user data changes or EC2 will interrupt them.
// A cluster that is deleted with such nodes leaves nothing either.
func TestKarpenter(t *testing.T) {
	if os.Getenv("TEST_KARPENTER") == "" {
		t.Skip("it builds Karpenter: make test-karpenter")
	}
	if err := process.Supported(); err != nil {
		t.Skip(err)
	}
	c, _ := newProcessCloud(t, nil)
	before := c.inventory(account)
	objects := c.apply(karpenterCluster)
	c.awaitReady(objects...)
	k := c.startKarpenter(t, "pooled")
	k.awaitNodeClass(t)
	k.applyAll(t, "../../examples/karpenter/nodepool.yaml")
	k.deploy(t, 0)

	k.scale(t, 50)
	k.awaitPods(t, 50)
	instances := k.instances(t)
	t.Logf("50 pods run on %d instances of Karpenter", len(instances))
	if len(instances) < 2 || len(k.nodes(t)) != len(instances) {
		t.Errorf("%d instances and %d nodes", len(instances), len(k.nodes(t)))
	}
	k.checkNodes(t)
	k.scale(t, 0)
	patience.Until(t, "Karpenter removes its instances and nodes", func() error {
		if left, nodes := k.instances(t), k.nodes(t); len(left)+len(nodes) > 0 {
			return fmt.Errorf("instances %v and nodes %v are left\n%s", left, nodes, k.tail())
		}
		return nil
	})

	k.scale(t, 10)
	k.awaitPods(t, 10)
	k.checkDrift(t)
	k.checkInterruption(t)
	c.remove(objects...)
	k.removeAccess(t)
	if diff := cmp.Diff(before, c.inventory(account)); diff != "" {
		t.Errorf("deletion left a trace in AWS (-before +after):\n%s", diff)
	}
}

// startKarpenter builds the controller and runs it for a cluster, as a user with the policy of the guide.
func (c *cloud) startKarpenter(t *testing.T, cluster string) *karpenter {
	t.Helper()
	k := &karpenter{cloud: c, log: filepath.Join(t.TempDir(), "karpenter.log")}
	config := c.workloadConfig(t, cluster)
	k.workload, k.objects = kubernetes.NewForConfigOrDie(config), dynamic.NewForConfigOrDie(config)
	k.words = k.readTemplate(t, cluster)

	program, source := buildKarpenter(t)
	for _, file := range []string{"karpenter.sh_nodepools", "karpenter.sh_nodeclaims", "karpenter.k8s.aws_ec2nodeclasses"} {
		k.applyAll(t, filepath.Join(source, "pkg/apis/crds", file+".yaml"))
	}
	root := c.config(account)
	k.notices(t, cluster)
	policy := filepath.Join(t.TempDir(), "karpenter.json")
	text, err := os.ReadFile("../../examples/karpenter/policy.json")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(policy, []byte(k.words.Replace(string(text))), 0o600); err != nil {
		t.Fatal(err)
	}
	key := simulatortest.User(t, root, "karpenter", simulatortest.Policies(t, root, policy)...)

	command := exec.Command(program) //nolint:noctx // it lives until the end of the test
	command.Env = append(os.Environ(),
		"KUBECONFIG="+writeKubeconfig(t, config), "CLUSTER_NAME="+cluster, "CLUSTER_ENDPOINT="+config.Host, "SYSTEM_NAMESPACE=kube-system",
		"INTERRUPTION_QUEUE="+cluster+"-karpenter", "DISABLE_LEADER_ELECTION=true", "LOG_LEVEL=debug",
		"METRICS_PORT="+freePort(t), "HEALTH_PROBE_PORT="+freePort(t),
		"AWS_ENDPOINT_URL="+c.server.URL, "AWS_REGION="+region, "AWS_EC2_METADATA_DISABLED=true",
		"AWS_ACCESS_KEY_ID="+key.AccessKeyID, "AWS_SECRET_ACCESS_KEY="+key.SecretAccessKey)
	log, err := os.Create(k.log)
	if err != nil {
		t.Fatal(err)
	}
	command.Stdout, command.Stderr = log, log
	exited, err := launch(command)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = command.Process.Kill()
		<-exited
		if t.Failed() {
			t.Log(k.tail())
		}
		_ = log.Close()
	})
	return k
}

// buildKarpenter builds the controller from the module, and returns the program and the folder of its
// source.
func buildKarpenter(t *testing.T) (program, source string) {
	t.Helper()
	run := func(args ...string) string {
		command := exec.CommandContext(t.Context(), "go", args...)
		command.Dir = karpenterModule
		var failed bytes.Buffer
		command.Stderr = &failed
		out, err := command.Output()
		if err != nil {
			t.Fatalf("go %s: %v\n%s", strings.Join(args, " "), err, failed.String())
		}
		return strings.TrimSpace(string(out))
	}
	program = filepath.Join(t.TempDir(), "karpenter")
	run("build", "-o", program, "github.com/aws/karpenter-provider-aws/cmd/controller")
	return program, run("list", "-m", "-f", "{{.Dir}}", "github.com/aws/karpenter-provider-aws")
}

func freePort(t *testing.T) string {
	t.Helper()
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = listener.Close() }()
	_, port, _ := net.SplitHostPort(listener.Addr().String())
	return port
}

// workloadConfig returns a configuration for an administrator of a cluster.
func (c *cloud) workloadConfig(t *testing.T, name string) *rest.Config {
	t.Helper()
	secret, err := c.core.CoreV1().Secrets(c.namespace).Get(t.Context(), name+"-kubeconfig", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	config, err := clientcmd.RESTConfigFromKubeConfig(secret.Data["value"])
	if err != nil {
		t.Fatal(err)
	}
	return config
}

func writeKubeconfig(t *testing.T, config *rest.Config) string {
	t.Helper()
	encode := base64.StdEncoding.EncodeToString
	text, err := json.Marshal(map[string]any{
		"apiVersion": "v1", "kind": "Config", "current-context": "c",
		"clusters": []any{map[string]any{"name": "c", "cluster": map[string]any{
			"server": config.Host, "certificate-authority-data": encode(config.CAData), "tls-server-name": config.ServerName,
		}}},
		"users": []any{map[string]any{"name": "c", "user": map[string]any{
			"client-certificate-data": encode(config.CertData), "client-key-data": encode(config.KeyData),
		}}},
		"contexts": []any{map[string]any{"name": "c", "context": map[string]any{"cluster": "c", "user": "c"}}},
	})
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "kubeconfig")
	if err := os.WriteFile(file, text, 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// readTemplate returns what replaces the words in capitals of the policy: values of the launch template of
// the group, which its EC2NodeClass has, too.
func (c *cloud) readTemplate(t *testing.T, cluster string) *strings.Replacer {
	t.Helper()
	groups, err := autoscaling.NewFromConfig(c.config(account)).DescribeAutoScalingGroups(
		t.Context(), &autoscaling.DescribeAutoScalingGroupsInput{Filters: []astypes.Filter{
			{Name: aws.String("tag:cluster-operator.aws/instance-group"), Values: []string{"pool"}},
		}},
	)
	if err != nil || len(groups.AutoScalingGroups) != 1 {
		t.Fatalf("groups %+v, %v", groups, err)
	}
	group := groups.AutoScalingGroups[0]
	of := group.LaunchTemplate
	if of == nil {
		of = group.MixedInstancesPolicy.LaunchTemplate.LaunchTemplateSpecification
	}
	versions, err := ec2.NewFromConfig(c.config(account)).DescribeLaunchTemplateVersions(
		t.Context(),
		&ec2.DescribeLaunchTemplateVersionsInput{LaunchTemplateId: of.LaunchTemplateId, Versions: []string{aws.ToString(of.Version)}},
	)
	if err != nil || len(versions.LaunchTemplateVersions) != 1 {
		t.Fatalf("versions %+v, %v", versions, err)
	}
	data := versions.LaunchTemplateVersions[0].LaunchTemplateData
	securityGroups := data.SecurityGroupIds
	for i := range data.NetworkInterfaces {
		securityGroups = append(securityGroups, data.NetworkInterfaces[i].Groups...)
	}
	if len(securityGroups) != 1 {
		t.Fatalf("security groups %q", securityGroups)
	}
	profile := aws.ToString(data.IamInstanceProfile.Name)
	if arn := aws.ToString(data.IamInstanceProfile.Arn); arn != "" {
		profile = path.Base(arn)
	}
	found, err := iam.NewFromConfig(c.config(account)).GetInstanceProfile(
		t.Context(), &iam.GetInstanceProfileInput{InstanceProfileName: &profile},
	)
	if err != nil {
		t.Fatal(err)
	}
	return strings.NewReplacer(
		"ACCOUNT", account, "REGION", region, "CLUSTER", cluster, "PROFILE", profile, "ROLE", *found.InstanceProfile.Roles[0].Arn,
		"IMAGE", *data.ImageId, "GROUP", securityGroups[0],
	)
}

// applyAll applies the objects of a file, with the words in capitals replaced.
func (k *karpenter) applyAll(t *testing.T, file string) {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	manifest := string(text)
	if strings.Contains(file, "examples") {
		manifest = k.words.Replace(manifest)
	}
	for _, object := range decode(t, manifest) {
		patience.Until(t, object.GetKind()+" "+object.GetName()+" is applied", func() error {
			_, err := k.objects.Resource(karpenterResources[object.GetKind()]).Apply(
				t.Context(), object.GetName(), object, metav1.ApplyOptions{FieldManager: "e2e", Force: true},
			)
			if apierrors.IsInvalid(err) {
				t.Fatal(err)
			}
			return err
		})
	}
}

// tail returns the end of Karpenter's log.
func (k *karpenter) tail() string {
	text, err := os.ReadFile(k.log)
	if err != nil {
		return err.Error()
	}
	return string(text[max(0, len(text)-20000):])
}

// deploy creates a Deployment whose pods run on nodes of Karpenter only.
func (k *karpenter) deploy(t *testing.T, replicas int32) {
	t.Helper()
	labels := map[string]string{"app": "load"}
	_, err := k.workload.AppsV1().Deployments("default").Create(t.Context(), &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Name: "load"},
		Spec: appsv1.DeploymentSpec{
			Replicas: &replicas, Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: labels},
				Spec: corev1.PodSpec{
					NodeSelector: map[string]string{"karpenter.sh/nodepool": "default"},
					Containers: []corev1.Container{{
						Name: "load", Image: "registry.k8s.io/pause:3.10.1",
						Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("1")}},
					}},
				},
			},
		},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
}

func (k *karpenter) scale(t *testing.T, replicas int) {
	t.Helper()
	patch := fmt.Appendf(nil, `{"spec":{"replicas":%d}}`, replicas)
	_, err := k.workload.AppsV1().Deployments("default").Patch(
		t.Context(), "load", "application/merge-patch+json", patch, metav1.PatchOptions{},
	)
	if err != nil {
		t.Fatal(err)
	}
}

// awaitPods waits until a number of pods run.
func (k *karpenter) awaitPods(t *testing.T, count int) {
	t.Helper()
	patience.Until(t, fmt.Sprintf("%d pods run", count), func() error {
		pods, err := k.workload.CoreV1().Pods("default").List(t.Context(), metav1.ListOptions{LabelSelector: "app=load"})
		if err != nil {
			return err
		}
		running := 0
		for i := range pods.Items {
			if pods.Items[i].Status.Phase == corev1.PodRunning && pods.Items[i].DeletionTimestamp == nil {
				running++
			}
		}
		if running != count {
			return fmt.Errorf("%d of %d run\n%s", running, count, k.tail())
		}
		return nil
	})
}

// instances returns the IDs of Karpenter's instances that are not terminated.
func (k *karpenter) instances(t *testing.T) (ids []string) {
	t.Helper()
	out, err := ec2.NewFromConfig(k.config(account)).DescribeInstances(t.Context(), &ec2.DescribeInstancesInput{Filters: []types.Filter{
		{Name: aws.String("tag-key"), Values: []string{"karpenter.sh/nodepool"}},
		{Name: aws.String("instance-state-name"), Values: []string{"pending", "running", "shutting-down", "stopping", "stopped"}},
	}})
	if err != nil {
		t.Fatal(err)
	}
	for _, reservation := range out.Reservations {
		for i := range reservation.Instances {
			ids = append(ids, *reservation.Instances[i].InstanceId)
		}
	}
	return ids
}

// nodes returns the names of Karpenter's nodes.
func (k *karpenter) nodes(t *testing.T) (names []string) {
	t.Helper()
	list, err := k.workload.CoreV1().Nodes().List(t.Context(), metav1.ListOptions{LabelSelector: "karpenter.sh/nodepool"})
	if err != nil {
		t.Fatal(err)
	}
	for i := range list.Items {
		names = append(names, list.Items[i].Name)
	}
	return names
}

// checkNodes checks that slots confirmed the nodes, and that the operator does not count them as unknown.
func (k *karpenter) checkNodes(t *testing.T) {
	t.Helper()
	requests, err := k.workload.CertificatesV1().CertificateSigningRequests().List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	confirmed := 0
	for i := range requests.Items {
		for _, condition := range requests.Items[i].Status.Conditions {
			if condition.Type == "Approved" && strings.Contains(condition.Message, "of NodePool default") {
				confirmed++
			}
		}
	}
	if nodes := k.nodes(t); confirmed < len(nodes) {
		t.Errorf("slots confirmed %d of %d nodes", confirmed, len(nodes))
	}
	events, err := k.core.EventsV1().Events(k.namespace).List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for i := range events.Items {
		if events.Items[i].Reason == "NodeNotConfirmed" {
			t.Errorf("the operator reports %s", events.Items[i].Note)
		}
	}
}

// removeAccess removes what the test created for Karpenter: its user, its policy, its queue and the rule.
func (k *karpenter) removeAccess(t *testing.T) {
	t.Helper()
	client, ctx := iam.NewFromConfig(k.config(account)), t.Context()
	name := aws.String("karpenter")
	keys, err := client.ListAccessKeys(ctx, &iam.ListAccessKeysInput{UserName: name})
	if err != nil {
		t.Fatal(err)
	}
	var failed []error
	for _, key := range keys.AccessKeyMetadata {
		_, err := client.DeleteAccessKey(ctx, &iam.DeleteAccessKeyInput{UserName: name, AccessKeyId: key.AccessKeyId})
		failed = append(failed, err)
	}
	arn := aws.String("arn:aws:iam::" + account + ":policy/karpenter")
	_, err1 := client.DetachUserPolicy(ctx, &iam.DetachUserPolicyInput{UserName: name, PolicyArn: arn})
	_, err2 := client.DeleteUser(ctx, &iam.DeleteUserInput{UserName: name})
	_, err3 := client.DeletePolicy(ctx, &iam.DeletePolicyInput{PolicyArn: arn})
	for _, remove := range k.removals {
		failed = append(failed, remove())
	}
	if err := errors.Join(append(failed, err1, err2, err3)...); err != nil {
		t.Fatal(err)
	}
}

// checkDrift checks that Karpenter replaces its nodes when the group changes, and that the new ones have the
// change.
func (k *karpenter) checkDrift(t *testing.T) {
	t.Helper()
	before := k.instances(t)
	k.apply(strings.Replace(karpenterCluster, "  manager: Karpenter", "  manager: Karpenter\n  labels: {pool: changed}", 1))
	patience.Until(t, "Karpenter replaces the nodes of the former group", func() error {
		for _, id := range k.instances(t) {
			if slices.Contains(before, id) {
				return fmt.Errorf("%s is left\n%s", id, k.tail())
			}
		}
		return nil
	})
	k.awaitPods(t, 10)
	patience.Until(t, "all nodes have the label", func() error { // those of terminated instances may be left for a moment
		nodes, err := k.workload.CoreV1().Nodes().List(t.Context(), metav1.ListOptions{LabelSelector: "karpenter.sh/nodepool"})
		if err != nil {
			return err
		}
		for i := range nodes.Items {
			if labels := nodes.Items[i].Labels; labels["pool"] != "changed" {
				return fmt.Errorf("node %s has the labels %v", nodes.Items[i].Name, labels)
			}
		}
		return nil
	})
}

// awaitNodeClass waits until the operator has applied the EC2NodeClass of the group.
func (k *karpenter) awaitNodeClass(t *testing.T) {
	t.Helper()
	patience.Until(t, "the operator applies the EC2NodeClass", func() error {
		class, err := k.objects.Resource(karpenterResources["EC2NodeClass"]).Get(t.Context(), "pool", metav1.GetOptions{})
		if err != nil {
			return err
		}
		conditions, _, _ := unstructured.NestedSlice(class.Object, "status", "conditions")
		for _, one := range conditions {
			if is, ok := one.(map[string]any); ok && is["type"] == "Ready" && is["status"] == "True" {
				return nil
			}
		}
		return fmt.Errorf("Karpenter does not accept it: %v\n%s", conditions, k.tail())
	})
}

// checkInterruption checks that Karpenter replaces a spot instance that EC2 will interrupt in two minutes: it
// reads the notice from its queue, to which a rule of EventBridge sends it.
func (k *karpenter) checkInterruption(t *testing.T) {
	t.Helper()
	victim := k.instances(t)[0]
	if err := k.simulator.Instances().InterruptSpot(account, region, victim, "terminate"); err != nil {
		t.Fatal(err)
	}
	patience.Until(t, "Karpenter drains the instance before EC2 interrupts it", func() error {
		text, err := os.ReadFile(k.log)
		if err != nil {
			return err
		}
		if !strings.Contains(string(text), "initiating delete from interruption message") {
			return fmt.Errorf("it has not read the notice:\n%s", k.tail())
		}
		return nil
	})
	patience.Until(t, "the instance is terminated", func() error {
		if slices.Contains(k.instances(t), victim) {
			return fmt.Errorf("%s is not terminated\n%s", victim, k.tail())
		}
		return nil
	})
	k.awaitPods(t, 10)
}

// notices creates the queue from which Karpenter reads notices, and the rule that fills it.
func (k *karpenter) notices(t *testing.T, cluster string) {
	t.Helper()
	root, ctx := k.config(account), t.Context()
	queues, events := sqs.NewFromConfig(root), eventbridge.NewFromConfig(root)
	name := aws.String(cluster + "-karpenter")
	arn := "arn:aws:sqs:" + region + ":" + account + ":" + *name
	queue, err := queues.CreateQueue(ctx, &sqs.CreateQueueInput{QueueName: name, Attributes: map[string]string{
		"Policy": `{"Version":"2012-10-17","Statement":[{"Effect":"Allow","Principal":{"Service":"events.amazonaws.com"},` +
			`"Action":"sqs:SendMessage","Resource":"` + arn + `"}]}`,
	}})
	if err != nil {
		t.Fatal(err)
	}
	_, err = events.PutRule(ctx, &eventbridge.PutRuleInput{
		Name: name, EventPattern: aws.String(`{"source":["aws.ec2"],"detail-type":["EC2 Spot Instance Interruption Warning"]}`),
	})
	if err == nil {
		_, err = events.PutTargets(ctx, &eventbridge.PutTargetsInput{
			Rule: name, Targets: []ebtypes.Target{{Id: aws.String("queue"), Arn: &arn}},
		})
	}
	if err != nil {
		t.Fatal(err)
	}
	k.removals = append(k.removals, func() error {
		_, err1 := events.RemoveTargets(context.Background(), &eventbridge.RemoveTargetsInput{Rule: name, Ids: []string{"queue"}})
		_, err2 := events.DeleteRule(context.Background(), &eventbridge.DeleteRuleInput{Name: name})
		_, err3 := queues.DeleteQueue(context.Background(), &sqs.DeleteQueueInput{QueueUrl: queue.QueueUrl})
		return errors.Join(err1, err2, err3)
	})
}
