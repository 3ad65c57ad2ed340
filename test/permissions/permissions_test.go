package permissions_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"
	"github.com/aws/aws-sdk-go-v2/service/iam"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/aws-operator/aws-operator/internal/awsevents"
	"github.com/aws-operator/aws-operator/internal/grant"
	"github.com/aws-operator/aws-operator/internal/local/controlplane/controlplanetest"
	"github.com/aws-operator/aws-operator/internal/machines/fake"
	"github.com/aws-operator/aws-operator/internal/operator"
	"github.com/aws-operator/aws-operator/internal/operator/operatortest"
	"github.com/aws-operator/aws-operator/internal/permissions"
	"github.com/aws-operator/aws-operator/internal/service/render"
	"github.com/aws-operator/aws-operator/internal/simulator"
	"github.com/aws-operator/aws-operator/internal/simulator/access"
	"github.com/aws-operator/aws-operator/internal/simulator/simulatortest"
	"github.com/aws-operator/aws-operator/test/policies"
)

func TestMain(m *testing.M) { controlplanetest.Main(m) }

const (
	account = "123456789012"
	region  = "eu-central-2"
	// operatorName is the user that the operator is.
	operatorName = "operator"
	signal       = "cloudformation:SignalResource"
	// patience is how long the test waits for a roll on a busy host.
	patience = 10 * time.Minute
)

// The least policies for everything that the test creates are sufficient: an operator whose
// credentials allow nothing else creates objects of all kinds and a cluster, changes them, rolls
// nodes, moves the cluster to another release and deletes everything. Every action in them is
// checked: without the permission to signal, the roll stops and the status names the action, until
// the policy allows it. Without any one of their statements, AWS denies a call.
func TestOperatorsPoliciesAreSufficient(t *testing.T) {
	w := newLimited(t)
	w.allow(strings.NewReplacer(`"`+signal+`",`, ""))
	var services []*unstructured.Unstructured
	for _, file := range serviceExamples {
		services = append(services, w.apply("../../examples/"+file, "", "")...)
	}
	services = append(services, w.applyText(w.queueByHand())...)
	services = append(services, w.applyText([]byte(granting))...)
	objects := w.apply("../../examples/quickstart/cluster.yaml", "v1.36.3", "v1.35.7")
	cluster, group, table := objects[0], objects[1], services[0]
	adopted := w.applyText(w.adopted())
	tenants := w.applyText([]byte(identity))[1:]
	for _, object := range slices.Concat(services, objects[:1], adopted, tenants) {
		w.await(object, "Ready", settled)
	}
	w.await(group, "Ready", rolled)

	w.patch(table, `{"spec": {"readCapacityUnits": 10}}`)
	w.await(table, "updated", settled)
	for _, service := range services {
		w.patch(service, `{"metadata": {"annotations": {"service-operator.aws/check-drift": "now"}}}`)
	}
	for _, service := range services {
		w.await(service, "checked for drift", inSync)
	}
	w.patch(group, `{"spec": {"instanceTypes": ["t3a.medium"]}}`)
	w.await(group, "denied a signal", func(now *unstructured.Unstructured) bool {
		status, err := json.Marshal(now.Object["status"])
		return err == nil &&
			strings.Contains(
				string(status), "lacks the permission "+signal+" on arn:aws:cloudformation:eu-central-2:123456789012:stack/demo-workers/",
			)
	})
	w.allow(strings.NewReplacer())
	w.await(group, "rolled", rolled)
	w.patch(cluster, `{"spec": {"release": "v1.36.3"}}`)
	for _, object := range objects {
		w.await(object, "upgraded", func(now *unstructured.Unstructured) bool {
			version, _, _ := unstructured.NestedString(now.Object, "status", "version")
			return version == "v1.36.3" && rolled(now)
		})
	}
	for _, object := range objects {
		w.patch(object, `{"metadata": {"annotations": {"cluster-operator.aws/check-drift": "now"}}}`)
	}
	for _, object := range objects {
		w.await(object, "checked for drift", inSync)
	}
	w.leaveVolume(cluster.GetName())
	w.remove(slices.Concat(services, []*unstructured.Unstructured{group, cluster}, adopted, tenants)...)
	check(t, w.requests, chosen(t))
}

// serviceExamples are the manifests with all built-in kinds.
var serviceExamples = []string{
	"quickstart/dynamodb.yaml", "quickstart/messaging.yaml", "s3bucket.yaml", "ecrrepository.yaml", "elasticache.yaml",
	"encryptionkey.yaml", "awssecret.yaml", "rdsinstance.yaml", "datastream.yaml", "elasticfilesystem.yaml", "auroracluster.yaml", "opensearchdomain.yaml",
	"eventbridgerule.yaml", "dynamodb-scaling.yaml", "lambda.yaml", "stepfunction.yaml", "cloudfrontdistribution.yaml",
	"sqsqueue-options.yaml", "snstopic.yaml",
}

// tenantRole is a role that an AWSIdentity names; it is the one in config/iam.
const tenantRole = "cluster-operator"

// identity is an AWSIdentity, and a queue that uses it.
const identity = `
apiVersion: aws-operator.aws/v1alpha1
kind: AWSIdentity
metadata: {name: tenant}
spec:
  roleARN: arn:aws:iam::` + account + `:role/` + tenantRole + `
  sessionTags: {team: a}
  allowedNamespaces: {names: [default]}
---
apiVersion: service-operator.aws/v1alpha1
kind: SQSQueue
metadata: {name: of-the-tenant, annotations: {aws-operator/identity: tenant}}
spec: {}
`

// eksCluster is the cluster in which pods run, with EKS Pod Identity.
const eksCluster = "arn:aws:eks:" + region + ":" + account + ":cluster/management"

// granting is a queue that a service account may use.
const granting = `
apiVersion: service-operator.aws/v1alpha1
kind: SQSQueue
metadata: {name: granting}
spec: {grants: [{serviceAccount: web, access: Send}]}
`

// chosen returns the least policies for what the test creates, after edits of the choice.
func chosen(t *testing.T, edits ...func(*permissions.Choice)) []permissions.Document {
	t.Helper()
	choice := permissions.Choice{
		Kinds: permissions.Kinds(), Clusters: true, Grants: true, EKSCluster: eksCluster, ClusterNames: []string{"demo", "adopted"},
		Partition: "aws", Suffix: "amazonaws.com",
		Region: region, Account: account, Operator: operator.DefaultClusterName, Events: awsevents.StackName(operator.DefaultClusterName),
		Roles: []string{"arn:aws:iam::" + account + ":role/" + tenantRole},
	}
	for _, edit := range edits {
		edit(&choice)
	}
	documents, err := choice.Documents()
	if err != nil {
		t.Fatal(err)
	}
	return documents
}

// limited is an operator with limited credentials.
type limited struct {
	t      *testing.T
	iam    *iam.Client
	root   aws.Config
	client client.Client
	// requests are those of the operator, and those that CloudFormation makes for it.
	requests *policies.Recorder
	// versions are the versions of the operator's policies, by their ARNs.
	versions map[string]int
}

func newLimited(t *testing.T) *limited {
	t.Helper()
	admin := controlplanetest.SharedWithControllers(t).RESTConfig()
	operatortest.Releases(t, admin, "v1.35.7", "v1.36.3")
	w := &limited{t: t, requests: policies.NewRecorder(operatorName), versions: map[string]int{}}
	var err error
	if w.client, err = client.New(admin, client.Options{}); err != nil {
		t.Fatal(err)
	}
	sim, endpoint := simulatortest.Start(t, simulator.Options{
		Machines: fake.New(fake.Options{}), Region: region, Patience: time.Second, IAM: access.Enforce,
		Decided: w.requests.Add,
	})
	w.root = simulatortest.Root(endpoint, account, region)
	ofServices := simulatortest.Policies(t, w.root, "../../config/iam/*-services*.json")
	simulatortest.Role(t, w.root, tenantRole, account, "", ofServices...)
	w.iam = iam.NewFromConfig(w.root)
	simulatortest.EKSCluster(t, w.root, "management")
	key := simulatortest.User(t, w.root, operatorName)
	operatortest.Run(t, sim, key, operator.Options{
		RESTConfig: admin, Region: region, EndpointURL: endpoint, EKSCluster: eksCluster,
		Limits: render.Limits{
			Adoption: []grant.Grant{{Namespace: "*", Pattern: "AWS::SQS::Queue/*"}},
			Foreign:  []grant.Grant{{Namespace: "*", Pattern: "arn:aws:events:" + region + ":" + account + ":event-bus/default"}},
		},
	})
	return w
}

// allow gives the operator the least policies for what the test creates, edited.
func (w *limited) allow(edit *strings.Replacer) {
	w.t.Helper()
	for _, d := range chosen(w.t) {
		w.attach(d.Name, edit.Replace(string(d.JSON())))
	}
}

// leaveVolume creates a volume as a controller of the cluster does, which the operator deletes with
// the cluster.
func (w *limited) leaveVolume(cluster string) {
	w.t.Helper()
	_, err := ec2.NewFromConfig(w.root).CreateVolume(w.t.Context(), &ec2.CreateVolumeInput{
		AvailabilityZone: aws.String(region + "a"), Size: aws.Int32(1), TagSpecifications: []ec2types.TagSpecification{{
			ResourceType: ec2types.ResourceTypeVolume,
			Tags:         []ec2types.Tag{{Key: aws.String("kubernetes.io/cluster/" + cluster), Value: aws.String("owned")}},
		}},
	})
	if err != nil {
		w.t.Fatal(err)
	}
}

// attach attaches a managed policy to the operator's user, or changes its document.
func (w *limited) attach(name, document string) {
	w.t.Helper()
	arn := "arn:aws:iam::" + account + ":policy/" + name
	var err error
	if w.versions[arn]++; w.versions[arn] > 1 {
		_, err = w.iam.CreatePolicyVersion(w.t.Context(), &iam.CreatePolicyVersionInput{
			PolicyArn: &arn, PolicyDocument: &document, SetAsDefault: true,
		})
	} else if _, err = w.iam.CreatePolicy(w.t.Context(), &iam.CreatePolicyInput{PolicyName: &name, PolicyDocument: &document}); err == nil {
		_, err = w.iam.AttachUserPolicy(w.t.Context(), &iam.AttachUserPolicyInput{UserName: aws.String(operatorName), PolicyArn: &arn})
	}
	if err != nil {
		w.t.Fatalf("policy %s: %v", name, err)
	}
}

// apply creates the objects of a file, with a part of its text replaced.
func (w *limited) apply(file, old, replacement string) (all []*unstructured.Unstructured) {
	w.t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		w.t.Fatal(err)
	}
	if old != "" {
		data = bytes.ReplaceAll(data, []byte(old), []byte(replacement))
	}
	return w.applyText(data)
}

// applyText creates the objects of a manifest as soon as their kinds are served.
func (w *limited) applyText(data []byte) (all []*unstructured.Unstructured) {
	w.t.Helper()
	for decoder := yaml.NewYAMLOrJSONDecoder(bytes.NewReader(data), 4096); ; {
		object := &unstructured.Unstructured{}
		if err := decoder.Decode(&object.Object); errors.Is(err, io.EOF) {
			return all
		} else if err != nil {
			w.t.Fatal(err)
		}
		if object.GetKind() != "AWSIdentity" {
			object.SetNamespace(metav1.NamespaceDefault)
		}
		w.poll(object, "applied", func(*unstructured.Unstructured, error) bool {
			return w.client.Apply(w.t.Context(), client.ApplyConfigurationFromUnstructured(object), client.FieldOwner("test")) == nil
		})
		all = append(all, object)
	}
}

// queueByHand makes a queue, and returns the object that adopts it as it is.
func (w *limited) queueByHand() []byte {
	w.t.Helper()
	made, err := sqs.NewFromConfig(w.root).CreateQueue(w.t.Context(), &sqs.CreateQueueInput{
		QueueName: aws.String("by-hand"), Attributes: map[string]string{"VisibilityTimeout": "77"},
	})
	if err != nil {
		w.t.Fatal(err)
	}
	return fmt.Appendf(nil, `
apiVersion: service-operator.aws/v1alpha1
kind: SQSQueue
metadata: {name: by-hand, annotations: {service-operator.aws/adopt: %q}}
spec: {visibilityTimeout: 77}
`, aws.ToString(made.QueueUrl))
}

// adopted creates a VPC and returns the manifest of a Cluster in it.
func (w *limited) adopted() []byte {
	w.t.Helper()
	client, ctx := ec2.NewFromConfig(w.root), w.t.Context()
	must := func(err error) {
		w.t.Helper()
		if err != nil {
			w.t.Fatal(err)
		}
	}
	vpc, err := client.CreateVpc(ctx, &ec2.CreateVpcInput{CidrBlock: aws.String("10.9.0.0/16")})
	must(err)
	id := vpc.Vpc.VpcId
	w.eventually("DNS names in the VPC", func() error {
		_, err := client.ModifyVpcAttribute(ctx, &ec2.ModifyVpcAttributeInput{
			VpcId: id, EnableDnsHostnames: &ec2types.AttributeBooleanValue{Value: aws.Bool(true)},
		})
		return err
	})
	gateway, err := client.CreateInternetGateway(ctx, &ec2.CreateInternetGatewayInput{})
	must(err)
	w.eventually("the internet gateway", func() error {
		_, err := client.AttachInternetGateway(ctx, &ec2.AttachInternetGatewayInput{
			InternetGatewayId: gateway.InternetGateway.InternetGatewayId, VpcId: id,
		})
		return err
	})
	var tables *ec2.DescribeRouteTablesOutput
	w.eventually("the main route table", func() error {
		tables, err = client.DescribeRouteTables(ctx, &ec2.DescribeRouteTablesInput{
			Filters: []ec2types.Filter{{Name: aws.String("vpc-id"), Values: []string{*id}}},
		})
		if err == nil && len(tables.RouteTables) == 0 {
			err = errors.New("it is not listed yet")
		}
		return err
	})
	w.eventually("the route to the internet", func() error {
		_, err := client.CreateRoute(ctx, &ec2.CreateRouteInput{
			RouteTableId: tables.RouteTables[0].RouteTableId, DestinationCidrBlock: aws.String("0.0.0.0/0"),
			GatewayId: gateway.InternetGateway.InternetGatewayId,
		})
		return err
	})
	var subnets []any
	for i, zone := range []string{region + "a", region + "b"} {
		made, err := client.CreateSubnet(ctx, &ec2.CreateSubnetInput{
			VpcId: id, AvailabilityZone: &zone, CidrBlock: aws.String(fmt.Sprintf("10.9.%d.0/24", i)),
		})
		must(err)
		subnets = append(subnets, *made.Subnet.SubnetId, zone)
	}
	return fmt.Appendf(nil, `apiVersion: cluster-operator.aws/v1alpha1
kind: Cluster
metadata: {name: adopted}
spec:
  release: v1.36.3
  region: `+region+`
  network:
    vpc: `+*id+`
    subnets: [{id: %s, zone: %s, role: Public}, {id: %s, zone: %s, role: Public}]
    topology: Public
  controlPlane: {replicas: 1, instanceType: t3.medium}
`, subnets...)
}

// eventually calls a function until it succeeds: reads of EC2 lag.
func (w *limited) eventually(what string, do func() error) {
	w.t.Helper()
	var last error
	err := wait.PollUntilContextTimeout(w.t.Context(), 100*time.Millisecond, patience, true, func(context.Context) (bool, error) {
		last = do()
		return last == nil, nil
	})
	if err != nil {
		w.t.Fatalf("%s: %v", what, errors.Join(err, last))
	}
}

func (w *limited) patch(object *unstructured.Unstructured, patch string) {
	w.t.Helper()
	if err := w.client.Patch(w.t.Context(), object.DeepCopy(), client.RawPatch(types.MergePatchType, []byte(patch))); err != nil {
		w.t.Fatal(err)
	}
}

func (w *limited) remove(objects ...*unstructured.Unstructured) {
	w.t.Helper()
	for _, object := range objects {
		if err := w.client.Delete(w.t.Context(), object.DeepCopy()); client.IgnoreNotFound(err) != nil {
			w.t.Fatal(err)
		}
	}
	for _, object := range objects {
		w.poll(object, "deleted", func(_ *unstructured.Unstructured, err error) bool {
			return err != nil && client.IgnoreNotFound(err) == nil
		})
	}
}

func (w *limited) await(object *unstructured.Unstructured, what string, done func(*unstructured.Unstructured) bool) {
	w.t.Helper()
	w.poll(object, what, func(now *unstructured.Unstructured, err error) bool { return err == nil && done(now) })
}

func (w *limited) poll(object *unstructured.Unstructured, what string, done func(*unstructured.Unstructured, error) bool) {
	w.t.Helper()
	now := &unstructured.Unstructured{}
	now.SetGroupVersionKind(object.GroupVersionKind())
	err := wait.PollUntilContextTimeout(w.t.Context(), 100*time.Millisecond, patience, true, func(ctx context.Context) (bool, error) {
		return done(now, w.client.Get(ctx, client.ObjectKeyFromObject(object), now)), nil
	})
	if err != nil {
		status, _ := json.MarshalIndent(now.Object["status"], "", "  ")
		w.t.Fatalf("%s %s is not %s: %v\n%s", object.GetKind(), object.GetName(), what, err, status)
	}
}

// settled reports whether an object is ready with its current spec.
func settled(object *unstructured.Unstructured) bool {
	observed, _, _ := unstructured.NestedInt64(object.Object, "status", "observedGeneration")
	return observed == object.GetGeneration() && ready(object)
}

// rolled reports whether all nodes of a Cluster or InstanceGroup are up to date and ready.
func rolled(object *unstructured.Unstructured) bool {
	count := func(field string) int64 {
		n, _, _ := unstructured.NestedInt64(object.Object, "status", "nodes", field)
		return n
	}
	return settled(object) && count("desired") > 0 && count("ready") == count("desired") && count("updated") == count("desired")
}

func ready(object *unstructured.Unstructured) bool { return statusOf(object, "Ready") == "True" }

// inSync reports whether a drift check found no difference.
func inSync(object *unstructured.Unstructured) bool { return statusOf(object, "Drifted") == "False" }

// statusOf returns the status of a condition, nil if there is none.
func statusOf(object *unstructured.Unstructured, kind string) any {
	conditions, _, _ := unstructured.NestedSlice(object.Object, "status", "conditions")
	for _, entry := range conditions {
		if condition, ok := entry.(map[string]any); ok && condition["type"] == kind {
			return condition["status"]
		}
	}
	return nil
}
