package identities_test

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"
	"github.com/aws/aws-sdk-go-v2/service/iam"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	sqstypes "github.com/aws/aws-sdk-go-v2/service/sqs/types"
	eventsv1 "k8s.io/api/events/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/aws-operator/aws-operator/internal/patience"
)

const identities = `
apiVersion: v1
kind: Secret
metadata: {name: external-id, namespace: default}
stringData: {externalID: secret-of-a}
---
apiVersion: aws-operator.aws/v1alpha1
kind: AWSIdentity
metadata: {name: team-a}
spec:
  roleARN: %s
  externalIDSecret: {namespace: default, name: external-id, key: externalID}
  sessionTags: {team: a}
  regions: [eu-central-1, us-east-1]
  permissionsBoundary: arn:aws:iam::111111111111:policy/boundary
  allowedNamespaces: {names: [tenant-a]}
---
apiVersion: aws-operator.aws/v1alpha1
kind: AWSIdentity
metadata: {name: team-b}
spec:
  roleARN: %s
  regions: [eu-west-1]
  allowedResourceTypes: ["AWS::SQS::*", "AWS::IAM::Role", "AWS::IAM::Policy"]
  tags: {team: b, cost: none}
  allowedNamespaces:
    selector: {matchLabels: {kubernetes.io/metadata.name: tenant-b}}
`

const queue = `
apiVersion: service-operator.aws/v1alpha1
kind: SQSQueue
metadata:
  name: %s
  namespace: %s
  annotations: {%s}
`

const cluster = `
apiVersion: cluster-operator.aws/v1alpha1
kind: Cluster
metadata: {name: east, namespace: tenant-a}
spec:
  release: v1.36.3
  region: us-east-1
  identity: team-a
  network: {cidr: 10.10.0.0/16, zones: [us-east-1a], topology: Public}
  controlPlane: {replicas: 1, instanceType: t3.medium}
---
apiVersion: cluster-operator.aws/v1alpha1
kind: InstanceGroup
metadata: {name: east-workers, namespace: tenant-a}
spec: {cluster: east, minSize: 1, maxSize: 1, instanceTypes: [t3.medium]}
`

// tagsFollow tests that a queue has the tags of the identity, the namespace and the object, and follows their
// changes.
func (w *tenants) tagsFollow(t *testing.T) {
	w.patch("SQSQueue", "tenant-b", "jobs", map[string]any{"spec": map[string]any{"grants": []any{map[string]any{"serviceAccount": "web", "access": "Send"}}}})
	w.tagged(map[string]string{"team": "b", "cost": "low"})
	w.roleTagged(map[string]string{"team": "b", "cost": "low"})
	w.annotate("Namespace", "", "tenant-b", "aws-operator/tags", "{cost: high, stage: test}")
	w.tagged(map[string]string{"team": "b", "cost": "high", "stage": "test"})
	w.roleTagged(map[string]string{"team": "b", "cost": "high", "stage": "test"})
	w.patch("SQSQueue", "tenant-b", "jobs", map[string]any{"spec": map[string]any{"grants": nil}})
	w.has(accountB, "eu-west-1", "aws-operator-sqsqueue-jobs-tenant-b")
	w.annotate("SQSQueue", "tenant-b", "jobs", "aws-operator/tags", `{"stage":"production"}`)
	w.tagged(map[string]string{"team": "b", "cost": "high", "stage": "production"})
	w.patch("AWSIdentity", "", "team-b", map[string]any{"spec": map[string]any{"tags": nil}})
	w.tagged(map[string]string{"cost": "high", "stage": "production"})

	w.annotate("Namespace", "", "tenant-b", "aws-operator/tags", "high")
	message := w.condition("SQSQueue", "tenant-b", "jobs", "Stalled", "True", "InvalidTags")
	if !strings.Contains(message, `The annotation aws-operator/tags of namespace tenant-b: "high" is no map of texts`) {
		t.Errorf("the message is %q", message)
	}
	w.tagged(map[string]string{"cost": "high", "stage": "production"})
	w.annotate("Namespace", "", "tenant-b", "aws-operator/tags", "")
	w.tagged(map[string]string{"stage": "production"})
	w.ready("SQSQueue", "tenant-b", "jobs")
}

// tagged waits until the queue of tenant b has tags, besides those of the operator and CloudFormation.
func (w *tenants) tagged(want map[string]string) {
	w.t.Helper()
	api := sqs.NewFromConfig(w.root(accountB, "eu-west-1"))
	patience.Until(w.t, fmt.Sprintf("the queue has the tags %v", want), func() error {
		queue, err := api.GetQueueUrl(w.t.Context(), &sqs.GetQueueUrlInput{QueueName: aws.String("jobs")})
		if err != nil {
			return err
		}
		out, err := api.ListQueueTags(w.t.Context(), &sqs.ListQueueTagsInput{QueueUrl: queue.QueueUrl})
		if err != nil {
			return err
		}
		return sameTags(want, out.Tags)
	})
}

// roleTagged waits until the role of tenant b's service account has tags, besides those of the operator and
// CloudFormation.
func (w *tenants) roleTagged(want map[string]string) {
	w.t.Helper()
	api := iam.NewFromConfig(w.root(accountB, "eu-west-1"))
	patience.Until(w.t, fmt.Sprintf("the role has the tags %v", want), func() error {
		roles, err := api.ListRoles(w.t.Context(), &iam.ListRolesInput{PathPrefix: aws.String("/aws-operator/")})
		if err != nil {
			return err
		}
		if len(roles.Roles) != 1 {
			return fmt.Errorf("there are %d roles", len(roles.Roles))
		}
		out, err := api.ListRoleTags(w.t.Context(), &iam.ListRoleTagsInput{RoleName: roles.Roles[0].RoleName})
		if err != nil {
			return err
		}
		tags := map[string]string{}
		for _, tag := range out.Tags {
			tags[*tag.Key] = *tag.Value
		}
		return sameTags(want, tags)
	})
}

// sameTags returns an error if a resource has other tags, besides those of the operator and CloudFormation.
func sameTags(want, got map[string]string) error {
	maps.DeleteFunc(got, func(key, _ string) bool {
		prefix, _, _ := strings.Cut(strings.ReplaceAll(key, ":", "/"), "/")
		return slices.Contains([]string{"aws", "aws-operator", "service-operator.aws"}, prefix)
	})
	if !maps.Equal(want, got) {
		return fmt.Errorf("it has %v", got)
	}
	return nil
}

// TestTwoTenantsInTwoAccountsAndThreeRegions follows two tenants: each gets its own account and
// nothing else, and nothing is left behind when identities are taken away and given back.
func TestTwoTenantsInTwoAccountsAndThreeRegions(t *testing.T) {
	w := newTenants(t)
	policy := `{"Version":"2012-10-17","Statement":[{"Effect":"Allow","Action":"*","Resource":"*"}]}`
	if _, err := iam.NewFromConfig(w.root(accountA, home)).CreatePolicy(t.Context(), &iam.CreatePolicyInput{
		PolicyName: aws.String("boundary"), PolicyDocument: &policy,
	}); err != nil {
		t.Fatal(err)
	}
	w.apply(identities, w.roleA, w.roleB)
	w.namespace("tenant-a", map[string]string{"aws-operator/identity": "team-a"})
	w.namespace("tenant-b", map[string]string{"aws-operator/identity": "team-b", "aws-operator/tags": "{cost: low}"})
	w.ready("AWSIdentity", "", "team-a")
	w.ready("AWSIdentity", "", "team-b")

	w.apply(queue, "jobs", "tenant-a", "")
	w.apply(queue, "jobs", "tenant-b", "")
	w.apply(queue, "far", "tenant-a", "aws-operator/region: us-east-1")
	w.apply(cluster)
	for _, one := range [][2]string{{"tenant-a", "jobs"}, {"tenant-b", "jobs"}, {"tenant-a", "far"}} {
		w.ready("SQSQueue", one[0], one[1])
	}
	w.ready("Cluster", "tenant-a", "east")
	w.ready("InstanceGroup", "tenant-a", "east-workers")
	w.has(accountA, home, "aws-operator-sqsqueue-jobs-tenant-a")
	w.has(accountA, "us-east-1", "aws-operator-sqsqueue-far-tenant-a", "east", "east-control-plane-0", "east-workers")
	w.has(accountB, "eu-west-1", "aws-operator-sqsqueue-jobs-tenant-b")
	for _, region := range []string{home, "us-east-1", "eu-west-1"} {
		w.has(platform, region)
	}
	t.Run("tags", w.tagsFollow)
	t.Run("roles have the boundary", func(t *testing.T) { w.rolesHaveBoundary(t) })
	t.Run("another tenant's identity is refused", w.othersIdentityIsRefused)
	t.Run("limits hold", w.limitsHold)
	t.Run("forged events reach no other tenant", w.forgedEventsReachNoOther)
	t.Run("an identity in use stays", func(*testing.T) {
		w.delete("AWSIdentity", "", "team-b")
		message := w.condition("AWSIdentity", "", "team-b", "Synced", "False", "InUse")
		if !strings.Contains(message, "SQSQueue tenant-b/") {
			t.Errorf("the message does not name a user: %s", message)
		}
	})
	t.Run("what cannot be deleted stays", func(*testing.T) { w.refusedDeletionStays() })

	for _, one := range [][3]string{
		{"SQSQueue", "tenant-b", "jobs"}, {"SQSQueue", "tenant-a", "far"}, {"InstanceGroup", "tenant-a", "east-workers"}, {"Cluster", "tenant-a", "east"},
	} {
		w.delete(one[0], one[1], one[2])
	}
	w.deleted("SQSQueue", "tenant-b", "jobs")
	w.deleted("SQSQueue", "tenant-a", "far")
	w.deleted("Cluster", "tenant-a", "east")
	w.deleted("AWSIdentity", "", "team-b")
	w.has(accountA, home)
	w.has(accountA, "us-east-1")
	w.has(accountB, "eu-west-1")
}

func (w *tenants) rolesHaveBoundary(t *testing.T) {
	t.Helper()
	client := iam.NewFromConfig(w.root(accountA, home))
	out, err := client.ListRoles(t.Context(), &iam.ListRolesInput{})
	if err != nil {
		t.Fatal(err)
	}
	made := 0
	for i := range out.Roles {
		name := out.Roles[i].RoleName
		if !strings.HasPrefix(*name, "east-") {
			continue
		}
		made++
		role, err := client.GetRole(t.Context(), &iam.GetRoleInput{RoleName: name})
		if err != nil {
			t.Fatal(err)
		}
		if b := role.Role.PermissionsBoundary; b == nil || *b.PermissionsBoundaryArn != "arn:aws:iam::111111111111:policy/boundary" {
			t.Errorf("role %s has the boundary %+v", *name, b)
		}
	}
	if made < 2 {
		t.Errorf("the cluster has %d roles", made)
	}
}

// othersIdentityIsRefused tries to use the other tenant's identity: by name, by region, for a queue
// and for a Cluster. Nothing is made, and what is refused can be deleted.
func (w *tenants) othersIdentityIsRefused(t *testing.T) {
	w.apply(queue, "theft", "tenant-b", "aws-operator/identity: team-a")
	w.condition("SQSQueue", "tenant-b", "theft", "Stalled", "True", "IdentityNotAllowed")
	w.apply(queue, "elsewhere", "tenant-b", "aws-operator/region: us-east-1")
	w.condition("SQSQueue", "tenant-b", "elsewhere", "Stalled", "True", "RegionNotAllowed")
	w.apply(queue, "missing", "tenant-b", "aws-operator/identity: missing")
	w.condition("SQSQueue", "tenant-b", "missing", "Stalled", "True", "IdentityNotFound")
	w.apply("%s", strings.NewReplacer("tenant-a", "tenant-b", " east", " theft").Replace(cluster))
	w.condition("Cluster", "tenant-b", "theft", "Stalled", "True", "IdentityNotAllowed")
	// A moved object would leave its stack behind.
	w.annotate("SQSQueue", "tenant-a", "far", "aws-operator/region", home)
	w.condition("SQSQueue", "tenant-a", "far", "Stalled", "True", "CreatedElsewhere")
	w.annotate("SQSQueue", "tenant-a", "far", "aws-operator/region", "us-east-1")
	w.ready("SQSQueue", "tenant-a", "far")
	refused := [][2]string{
		{"SQSQueue", "theft"}, {"SQSQueue", "elsewhere"}, {"SQSQueue", "missing"}, {"InstanceGroup", "theft-workers"}, {"Cluster", "theft"},
	}
	for _, one := range refused {
		w.delete(one[0], "tenant-b", one[1])
	}
	for _, one := range refused {
		w.deleted(one[0], "tenant-b", one[1])
	}
	stolen := func(name string) bool { return strings.Contains(name, "tenant-b") || strings.Contains(name, "theft") }
	for account, regions := range map[string][]string{
		platform: {home, "us-east-1", "eu-west-1"}, accountA: {home, "us-east-1"}, accountB: {home, "us-east-1"},
	} {
		for _, region := range regions {
			if found := w.stacks(account, region); slices.ContainsFunc(found, stolen) {
				t.Errorf("account %s has %v in %s", account, found, region)
			}
		}
	}
}

// limitsHold creates a table with an identity for queues only.
func (w *tenants) limitsHold(t *testing.T) {
	w.apply(`
apiVersion: service-operator.aws/v1alpha1
kind: DynamoDB
metadata: {name: table, namespace: tenant-b}
spec:
  hashAttribute: {name: id, type: S}
  readCapacityUnits: 5
  writeCapacityUnits: 5
`)
	message := w.condition("DynamoDB", "tenant-b", "table", "Stalled", "True", "NotAllowedByIdentity")
	if !strings.Contains(message, "AWS::DynamoDB::Table") || !strings.Contains(message, "team-b") {
		t.Errorf("the message does not name the type and the identity: %s", message)
	}
	w.delete("DynamoDB", "tenant-b", "table")
	w.deleted("DynamoDB", "tenant-b", "table")
}

// refusedDeletionStays takes an identity away and wipes the status of an object that is then
// deleted: the object stays until the identity is given back, and nothing is left in AWS.
func (w *tenants) refusedDeletionStays() {
	w.t.Helper()
	identity := func(namespaces string) {
		found, err := w.get("AWSIdentity", "", "team-a")
		if err != nil {
			w.t.Fatal(err)
		}
		patch := fmt.Sprintf(`{"spec":{"allowedNamespaces":{"names":[%q]}}}`, namespaces)
		if err := w.client.Patch(w.t.Context(), found, client.RawPatch(types.MergePatchType, []byte(patch))); err != nil {
			w.t.Fatal(err)
		}
	}
	identity("another")
	w.condition("SQSQueue", "tenant-a", "jobs", "Stalled", "True", "IdentityNotAllowed")
	object, err := w.get("SQSQueue", "tenant-a", "jobs")
	if err != nil {
		w.t.Fatal(err)
	}
	object.Object["status"] = map[string]any{}
	if err := w.client.Status().Update(w.t.Context(), object); err != nil {
		w.t.Fatal(err)
	}
	w.delete("SQSQueue", "tenant-a", "jobs")
	message := w.condition("SQSQueue", "tenant-a", "jobs", "Stalled", "True", "IdentityNotAllowed")
	if !strings.Contains(message, "deletion-policy=retain") {
		w.t.Errorf("the message does not say how to leave the stack: %s", message)
	}
	w.has(accountA, home, "aws-operator-sqsqueue-jobs-tenant-a")
	identity("tenant-a")
	w.deleted("SQSQueue", "tenant-a", "jobs")
	w.has(accountA, home)
	w.ready("Cluster", "tenant-a", "east")
}

// forgedEventsReachNoOther sends, as the owner of account B, a notice about an instance in account A
// through the queue in account B. Through the queue in account A, the same notice drains the node.
func (w *tenants) forgedEventsReachNoOther(t *testing.T) {
	found, err := ec2.NewFromConfig(w.root(accountA, "us-east-1")).DescribeInstances(t.Context(), &ec2.DescribeInstancesInput{
		Filters: []ec2types.Filter{
			{Name: aws.String("tag:Name"), Values: []string{"*workers*"}},
			{Name: aws.String("instance-state-name"), Values: []string{"running"}},
		},
	})
	if err != nil || len(found.Reservations) == 0 {
		t.Fatalf("%v: no worker", err)
	}
	instance := *found.Reservations[0].Instances[0].InstanceId
	notice := func(account, region string) {
		client := sqs.NewFromConfig(w.root(account, region))
		url, err := client.GetQueueUrl(t.Context(), &sqs.GetQueueUrlInput{QueueName: aws.String("aws-operator-events")})
		if err != nil {
			t.Fatal(err)
		}
		body := fmt.Sprintf(`{"id":"forged-%s","source":"aws.ec2","detail-type":"EC2 Spot Instance Interruption Warning","account":%[1]q,"region":%q,"time":%q,`+
			`"detail":{"instance-id":%q,"instance-action":"terminate"}}`, account, region, time.Now().UTC().Format(time.RFC3339), instance)
		if _, err := client.SendMessage(t.Context(), &sqs.SendMessageInput{QueueUrl: url.QueueUrl, MessageBody: &body}); err != nil {
			t.Fatal(err)
		}
		patience.Until(t, "the notice is read", func() error {
			out, err := client.GetQueueAttributes(t.Context(), &sqs.GetQueueAttributesInput{
				QueueUrl: url.QueueUrl, AttributeNames: []sqstypes.QueueAttributeName{"ApproximateNumberOfMessages", "ApproximateNumberOfMessagesNotVisible"},
			})
			if err != nil {
				return err
			}
			if n := out.Attributes; n["ApproximateNumberOfMessages"] != "0" || n["ApproximateNumberOfMessagesNotVisible"] != "0" {
				return fmt.Errorf("it has %v", n)
			}
			return nil
		})
	}
	drained := func() bool {
		var events eventsv1.EventList
		if err := w.client.List(t.Context(), &events, client.InNamespace("tenant-a")); err != nil {
			t.Fatal(err)
		}
		return slices.ContainsFunc(events.Items, func(e eventsv1.Event) bool { return e.Action == "Drain" })
	}
	notice(accountB, "eu-west-1")
	if drained() {
		t.Error("a notice from another tenant's account drained a node")
	}
	notice(accountA, "us-east-1")
	patience.Until(t, "the notice from the cluster's own account drains the node", func() error {
		if !drained() {
			return errors.New("there is no such Event")
		}
		return nil
	})
}
