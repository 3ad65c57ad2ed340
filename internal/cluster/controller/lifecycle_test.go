package controller_test

import (
	"context"
	"errors"
	"maps"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"
	"github.com/aws/aws-sdk-go-v2/service/route53"
	route53types "github.com/aws/aws-sdk-go-v2/service/route53/types"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/aws-operator/aws-operator/api/cluster/v1alpha1"
	"github.com/aws-operator/aws-operator/internal/cluster/model"
	"github.com/aws-operator/aws-operator/internal/local/controlplane/controlplanetest"
	"github.com/aws-operator/aws-operator/internal/patience"
	"github.com/aws-operator/aws-operator/internal/simulator/fault"
	"github.com/aws-operator/aws-operator/internal/simulator/simulatortest"
)

// A cluster is deleted at each stage of its creation.
func TestDeletionDuringCreation(t *testing.T) {
	for moment, reached := range map[string]string{
		"before anything":                 "",
		"while the base stack is created": "cloudformation/CreateStack:2", // the first is the stack of events
		"while secrets are uploaded":      "s3/PutObject:5",
		"while slots are created":         "cloudformation/CreateStack:4",
		"while the group is created":      "cloudformation/CreateStack:6",
	} {
		t.Run(moment, func(t *testing.T) {
			w := newSuite(t, nil, func(resourceType, _ string) time.Duration {
				if resourceType == "AWS::S3::Bucket" || strings.HasPrefix(resourceType, "AWS::AutoScaling::") {
					return 100 * time.Millisecond
				}
				return 0
			})
			cluster, group := w.aCluster("demo"), w.aGroup("demo-workers", "demo")
			seen := w.seen(reached)
			w.start()
			w.create(cluster, group)
			if reached != "" {
				select {
				case <-seen:
				case <-time.After(patience.Left(t)):
					t.Fatalf("%s was not called", reached)
				}
			}
			if err := w.client.Delete(t.Context(), cluster); err != nil {
				t.Fatal(err)
			}
			w.waitDeleted(cluster)
			if reached == "" { // A cluster without any resources is deleted at once, and its group waits for another.
				if err := w.client.Delete(t.Context(), group); err != nil && !apierrors.IsNotFound(err) {
					t.Fatal(err)
				}
			}
			w.waitDeleted(group)
			if reached == "" { // The API server may have removed the objects while their finalizers were added.
				w.eventually("nothing is left", func() error { return w.isLeft(account, region) })
				return
			}
			w.nothingIsLeft(account, region)
		})
	}
}

// TestClusterThatLostARaceIsDeleted removes a Cluster and its group in spite of their finalizers, as a
// deletion does that began before these were added.
func TestClusterThatLostARaceIsDeleted(t *testing.T) {
	w := newSuite(t, nil, func(string, string) time.Duration { return 50 * time.Millisecond })
	cluster, group := w.aCluster("demo"), w.aGroup("demo-workers", "demo")
	seen := w.seen("cloudformation/CreateStack:2") // That of the base stack: such a deletion takes seconds at most.
	w.start()
	w.create(cluster, group)
	<-seen
	controlplanetest.RemoveFromStore(t, w.cluster, "cluster-operator.aws/clusters/"+w.namespace+"/demo")
	controlplanetest.RemoveFromStore(t, w.cluster, "cluster-operator.aws/instancegroups/"+w.namespace+"/demo-workers")
	w.eventually("nothing is left", func() error { return w.isLeft(account, region) })
}

// seen returns a channel that is closed at the nth call, "service/Operation:n".
func (w *suite) seen(call string) <-chan struct{} {
	done := make(chan struct{})
	operation, nth, _ := strings.Cut(call, ":")
	n, _ := strconv.Atoi(nth) // no number means the first call
	var count atomic.Int64
	w.t.Cleanup(w.sim.Faults().OnCall(func(info fault.CallInfo) {
		if info.Phase == fault.After && info.Service+"/"+info.Operation == operation && count.Add(1) == int64(max(1, n)) {
			close(done)
		}
	}))
	return done
}

// An operator that starts connects to the clusters again. The status of a healthy cluster does not change while it does.
func TestRestartDoesNotChangeTheStatusOfAHealthyCluster(t *testing.T) {
	w := newSuite(t, simulatedHost(), nil)
	w.start()
	cluster, group := w.aCluster("demo"), w.aGroup("demo-workers", "demo")
	w.create(cluster, group)
	w.complete(account, region, demoStacks...)
	w.condition(cluster, "Ready", metav1.ConditionTrue, "")
	w.condition(group, "Ready", metav1.ConditionTrue, "")
	w.stop()
	w.condition(cluster, "Ready", metav1.ConditionTrue, "")
	before, consoles := cluster.DeepCopy(), w.sim.Calls()["ec2/GetConsoleOutput"]
	unreachable := len(w.events(cluster, "APIUnreachable"))
	w.start()
	w.eventually("the operator has reconciled the cluster", func() error {
		if completed, _ := w.reconciles(); completed == 0 { // by the operator that was started last
			return errStill
		}
		return nil
	})
	w.condition(cluster, "Ready", metav1.ConditionTrue, "")
	for _, name := range []string{"Ready", "APIReachable"} {
		was, is := meta.FindStatusCondition(before.Status.Conditions, name), meta.FindStatusCondition(cluster.Status.Conditions, name)
		if !is.LastTransitionTime.Equal(&was.LastTransitionTime) {
			t.Errorf("%s has changed since %s, at %s", name, was.LastTransitionTime, is.LastTransitionTime)
		}
	}
	if events := w.events(cluster, "APIUnreachable"); len(events) != unreachable {
		t.Errorf("Events say that the API was unreachable: %v", events)
	}
	if now := w.sim.Calls()["ec2/GetConsoleOutput"]; now != consoles {
		t.Errorf("the operator read %d consoles", now-consoles)
	}
}

// The operator is restarted repeatedly while it creates and deletes a cluster.
func TestRestartsDuringCreationAndDeletion(t *testing.T) {
	w := newSuite(t, simulatedHost(), func(string, string) time.Duration { return 20 * time.Millisecond })
	cluster, group := w.aCluster("demo"), w.aGroup("demo-workers", "demo")
	w.create(cluster, group)
	const restarts = 6
	for range restarts {
		w.start()
		pause(t, 400*time.Millisecond)
		w.stop()
	}
	w.start()
	w.complete(account, region, demoStacks...)
	w.condition(cluster, "Ready", metav1.ConditionTrue, "")
	w.stop()
	// Each start requests the stack of events; any other stack may be requested once more than it
	// was created.
	if asked := w.sim.Calls()["cloudformation/CreateStack"]; asked > restarts+1+2*len(demoStacks) {
		t.Errorf("%d stacks were requested", asked)
	}
	w.start()
	if err := w.client.Delete(t.Context(), cluster); err != nil {
		t.Fatal(err)
	}
	for range 3 {
		pause(t, 300*time.Millisecond)
		w.stop()
		w.start()
	}
	w.waitDeleted(cluster)
	w.nothingIsLeft(account, region)
}

// pause lets an operator work for a random time in which it starts some work.
func pause(t *testing.T, duration time.Duration) {
	t.Helper()
	timer := time.NewTimer(duration)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-t.Context().Done():
	}
}

// A Cluster waits for its missing Release.
func TestUnknownRelease(t *testing.T) {
	w := newSuiteAlone(t, nil, nil) // Releases are in no namespace.
	w.start()
	cluster := w.aCluster("demo")
	cluster.Spec.Release = "v9.9.9"
	w.create(cluster)
	stalled := w.condition(cluster, "Stalled", metav1.ConditionTrue, "UnknownRelease")
	if !strings.Contains(stalled.Message, `There is no Release "v9.9.9"; known Releases: v1.36.3`) {
		t.Errorf("the cluster reports %q", stalled.Message)
	}
	old := aRelease("v9.9.9")
	old.Spec.State = v1alpha1.ReleaseDeprecated
	w.create(old)
	t.Cleanup(func() { _ = w.client.Delete(context.Background(), aRelease("v9.9.9")) })
	w.condition(cluster, "ControlPlaneReady", metav1.ConditionTrue, "")
	w.condition(cluster, "ReleaseDeprecated", metav1.ConditionTrue, "")

	// Deletion does not need the release.
	if err := w.client.Delete(t.Context(), old); err != nil {
		t.Fatal(err)
	}
	if err := w.client.Delete(t.Context(), cluster); err != nil {
		t.Fatal(err)
	}
	w.waitDeleted(cluster)
	w.nothingIsLeft(account, region)
}

// Clusters with the same name are created in two accounts and regions at once.
func TestClustersInTwoAccounts(t *testing.T) {
	const other = "210987654321"
	w := newSuite(t, simulatedHost(), nil)
	w.start()
	role := simulatortest.Role(t, w.awsConfig(other, region), "operator", account, "4711", simulatortest.Administrator)
	near, far := w.aCluster("demo"), w.aCluster("demo-far")
	near.Spec.ControlPlane.Replicas, far.Spec.ControlPlane.Replicas = 1, 1
	far.Spec.Role = &v1alpha1.AssumedRole{ARN: role, ExternalID: "4711"}
	far.Spec.Region = "eu-west-1"
	far.Spec.Network.Zones = []string{"eu-west-1a", "eu-west-1b"}
	w.create(near, far, w.aGroup("demo-far-workers", "demo-far"))
	w.complete(account, region, "demo", "demo-control-plane-0")
	w.complete(other, "eu-west-1", "demo-far", "demo-far-control-plane-0", "demo-far-workers")
	w.condition(far, "APIReachable", metav1.ConditionTrue, "")
	w.condition(near, "APIReachable", metav1.ConditionTrue, "")
	if far.Status.Account != other || near.Status.Account != account {
		t.Errorf("the clusters are in %s and %s", near.Status.Account, far.Status.Account)
	}
	for _, cluster := range []*v1alpha1.Cluster{near, far} {
		if err := w.client.Delete(t.Context(), cluster); err != nil {
			t.Fatal(err)
		}
	}
	w.waitDeleted(near)
	w.waitDeleted(far)
	w.nothingIsLeft(account, region)
	w.nothingIsLeft(other, "eu-west-1")
}

// The author of a Cluster may use only the roles that an administrator granted to the namespace.
func TestRoleWithoutGrantIsNotAssumed(t *testing.T) {
	w := newSuite(t, nil, nil)
	w.start()
	cluster := w.aCluster("demo")
	cluster.Spec.Role = &v1alpha1.AssumedRole{ARN: "arn:aws:iam::333333333333:role/of-others"}
	w.create(cluster)
	if got := w.condition(cluster, "Stalled", metav1.ConditionTrue, "RoleNotAllowed"); !strings.Contains(
		got.Message, "--allow-roles="+w.namespace+"=arn:aws:iam::333333333333:role/of-others",
	) {
		t.Errorf("the message is %q, want the remedy", got.Message)
	}
	if err := w.client.Delete(t.Context(), cluster); err != nil {
		t.Fatal(err)
	}
	w.waitDeleted(cluster) // nothing was made, so the deletion needs nothing from AWS
	if calls := w.sim.Calls()["sts/AssumeRole"]; calls != 0 {
		t.Errorf("the role was assumed %d times", calls)
	}
}

// An InstanceGroup whose status was removed, and whose Cluster was forcibly deleted, is not deleted
// before its stack.
func TestGroupWithoutStatusAndClusterIsDeletedWithItsStack(t *testing.T) {
	w := newSuite(t, nil, nil)
	w.start()
	cluster, group := w.aCluster("demo"), w.aGroup("workers", "demo")
	cluster.Spec.Region, cluster.Spec.ControlPlane.Replicas = region, 1
	w.create(cluster, group)
	w.complete(account, region, "demo", "demo-control-plane-0", "demo-workers")
	w.stop() // it would remember the stack
	for _, obj := range []client.Object{cluster, group} {
		if err := w.client.Delete(t.Context(), obj); err != nil {
			t.Fatal(err)
		}
	}
	w.patch(cluster, `{"metadata":{"finalizers":null}}`)
	none := client.RawPatch("application/merge-patch+json", []byte(`{"status":null}`))
	if err := w.client.Status().Patch(t.Context(), group, none); err != nil {
		t.Fatal(err)
	}
	w.start()
	w.waitDeleted(group)
	if stacks := w.stacks(account, region); stacks["demo-workers"] != "" {
		t.Errorf("the group is deleted, and its stack is %s", stacks["demo-workers"])
	}
}

// A Cluster whose status was removed is deleted with what its machines left in the private zone, without
// which its stack cannot be deleted.
func TestClusterWithoutStatusIsDeletedWithWhatItsMachinesLeft(t *testing.T) {
	w := newSuite(t, nil, nil)
	w.start()
	cluster := w.aCluster("demo")
	cluster.Spec.Region, cluster.Spec.ControlPlane.Replicas = region, 1
	w.create(cluster)
	w.complete(account, region, "demo", "demo-control-plane-0")
	w.stop() // it would remember the outputs
	if err := w.client.Get(t.Context(), client.ObjectKeyFromObject(cluster), cluster); err != nil {
		t.Fatal(err)
	}
	zone := cluster.Status.Outputs[model.OutputHostedZone]
	zones := route53.NewFromConfig(w.awsConfig(account, region))
	_, err := zones.ChangeResourceRecordSets(t.Context(), &route53.ChangeResourceRecordSetsInput{
		HostedZoneId: &zone, ChangeBatch: &route53types.ChangeBatch{Changes: []route53types.Change{{
			Action: route53types.ChangeActionUpsert, ResourceRecordSet: &route53types.ResourceRecordSet{
				Name: aws.String("etcd-0." + model.ZoneName(cluster.Name)), Type: route53types.RRTypeA, TTL: aws.Int64(60),
				ResourceRecords: []route53types.ResourceRecord{{Value: aws.String("10.0.0.1")}},
			},
		}}},
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := w.client.Delete(t.Context(), cluster); err != nil {
		t.Fatal(err)
	}
	none := client.RawPatch("application/merge-patch+json", []byte(`{"status":null}`))
	if err := w.client.Status().Patch(t.Context(), cluster, none); err != nil {
		t.Fatal(err)
	}
	w.start()
	w.waitDeleted(cluster)
	if stacks := w.stacks(account, region); stacks["demo"] != "" {
		t.Errorf("the Cluster is deleted, and its stack is %s", stacks["demo"])
	}
}

// A Cluster whose role the operator may not assume reports that. Its deletion stalls, since its
// resources are unknown, until the user abandons it.
func TestRoleThatCannotBeAssumed(t *testing.T) {
	w := newSuite(t, nil, nil)
	w.sim.Faults().Add(fault.Rule{Service: "sts", Operation: "AssumeRole", Deny: true})
	w.start()
	cluster := w.aCluster("demo")
	cluster.Spec.Role = &v1alpha1.AssumedRole{ARN: "arn:aws:iam::210987654321:role/missing"}
	w.create(cluster)
	group := w.aGroup("workers", "demo")
	w.create(group)
	w.condition(cluster, "Synced", metav1.ConditionFalse, "RoleNotAssumable")
	w.condition(group, "Ready", metav1.ConditionFalse, "ClusterNotReady")
	for _, obj := range []conditioned{group, cluster} {
		if err := w.client.Delete(t.Context(), obj); err != nil {
			t.Fatal(err)
		}
		if stalled := w.condition(obj, "Stalled", metav1.ConditionTrue, "AccountUnknown"); !strings.Contains(
			stalled.Message, "cluster-operator.aws/abandon=arn:aws:iam::210987654321:role/missing",
		) {
			t.Errorf("the condition's message is %q", stalled.Message)
		}
	}
	w.patch(cluster, `{"metadata":{"annotations":{"cluster-operator.aws/abandon":"yes"}}}`)
	w.condition(cluster, "Stalled", metav1.ConditionTrue, "AccountUnknown")
	w.patch(cluster, `{"metadata":{"annotations":{"cluster-operator.aws/abandon":"arn:aws:iam::210987654321:role/missing"}}}`)
	w.waitDeleted(group)
	w.waitDeleted(cluster)
	for _, obj := range []client.Object{cluster, group} {
		w.eventually("an Event lists the remaining resources", func() error {
			if len(w.events(obj, "Abandoned")) == 0 {
				return errStill
			}
			return nil
		})
	}
}

// A paused cluster and its group are left alone, even when they are to be deleted.
func TestPausedObjectsAreLeftAlone(t *testing.T) {
	w := newSuite(t, nil, nil)
	w.start()
	cluster, group := w.aCluster("demo"), w.aGroup("demo-workers", "demo")
	cluster.Spec.Paused = true
	w.create(cluster, group)
	w.condition(cluster, "Synced", metav1.ConditionUnknown, "Paused")
	w.condition(group, "Synced", metav1.ConditionUnknown, "Paused")
	if stacks := w.stacks(account, region); len(stacks) != 0 {
		t.Errorf("stacks were created: %v", stacks)
	}
	resume := client.RawPatch("application/merge-patch+json", []byte(`{"spec":{"paused":false}}`))
	if err := w.client.Patch(t.Context(), cluster, resume); err != nil {
		t.Fatal(err)
	}
	w.complete(account, region, demoStacks...)
}

// A deletion reports the paused group that it waits for.
func TestPausedGroupBlocksTheDeletion(t *testing.T) {
	w := newSuite(t, nil, nil)
	w.start()
	cluster, group := w.aCluster("demo"), w.aGroup("demo-workers", "demo")
	cluster.Spec.ControlPlane.Replicas = 1
	w.create(cluster, group)
	w.complete(account, region, "demo", "demo-control-plane-0", "demo-workers")
	w.patch(group, `{"metadata":{"annotations":{"aws-operator/paused":"true"}}}`)
	if err := w.client.Delete(t.Context(), cluster); err != nil {
		t.Fatal(err)
	}
	if held := w.condition(cluster, "Ready", metav1.ConditionFalse, "DeletingInstanceGroups"); !strings.Contains(
		held.Message, "demo-workers (it is paused: remove its annotation aws-operator/paused)",
	) {
		t.Errorf("the cluster reports %q", held.Message)
	}
	w.patch(group, `{"metadata":{"annotations":{"aws-operator/paused":null}}}`)
	w.waitDeleted(cluster)
	w.nothingIsLeft(account, region)
}

// AWS errors are reported in their own words, and calls are retried until they succeed.
func TestAWSErrorsAreReportedAndRetried(t *testing.T) {
	w := newSuite(t, nil, nil)
	const words = "Launching a new EC2 instance. Status Reason: You have requested more vCPU capacity than your current vCPU limit of 32 allows for the instance bucket that the specified instance type belongs to."
	lift := w.sim.Faults().Add(fault.Rule{
		ResourceType: "AWS::AutoScaling::AutoScalingGroup", Operation: "Create",
		Code: "VcpuLimitExceeded", Message: words,
	})
	w.start()
	cluster := w.aCluster("demo")
	cluster.Spec.ControlPlane.Replicas = 1
	w.create(cluster)
	found := w.condition(cluster, "ControlPlaneReady", metav1.ConditionFalse, "QuotaExceeded")
	if !strings.Contains(found.Message, "current vCPU limit of 32") {
		t.Errorf("the cluster reports %q", found.Message)
	}
	w.eventually("the controller retries after the engine gave up", func() error {
		found := w.condition(cluster, "Ready", metav1.ConditionFalse, "QuotaExceeded")
		if !strings.Contains(found.Message, "as soon as the object changes") {
			return errStill
		}
		return nil
	})
	lift()
	w.condition(cluster, "ControlPlaneReady", metav1.ConditionTrue, "")
}

// An existing VPC gets the operator's tags and keeps its own after the cluster's deletion.
func TestExistingVPC(t *testing.T) {
	w := newSuite(t, nil, nil)
	client := ec2.NewFromConfig(w.awsConfig(account, region))
	vpc, err := client.CreateVpc(t.Context(), &ec2.CreateVpcInput{CidrBlock: aws.String("10.9.0.0/16")})
	if err != nil {
		t.Fatal(err)
	}
	id := aws.ToString(vpc.Vpc.VpcId)
	own, err := client.CreateDhcpOptions(t.Context(), &ec2.CreateDhcpOptionsInput{DhcpConfigurations: []types.NewDhcpConfiguration{
		{Key: aws.String("domain-name-servers"), Values: []string{"10.1.2.3"}},
	}})
	if err != nil {
		t.Fatal(err)
	}
	// Before the cluster: the operator reads the VPC's settings one after the other, and between two
	// changes it could see a VPC that resolves the names.
	if _, err := client.AssociateDhcpOptions(t.Context(), &ec2.AssociateDhcpOptionsInput{
		VpcId: &id, DhcpOptionsId: own.DhcpOptions.DhcpOptionsId,
	}); err != nil {
		t.Fatal(err)
	}
	hostnames := func(on bool) {
		if _, err := client.ModifyVpcAttribute(t.Context(), &ec2.ModifyVpcAttributeInput{
			VpcId: &id, EnableDnsHostnames: &types.AttributeBooleanValue{Value: &on},
		}); err != nil {
			t.Fatal(err)
		}
	}
	subnet := func(cidr, zone string) string {
		made, err := client.CreateSubnet(t.Context(), &ec2.CreateSubnetInput{VpcId: &id, CidrBlock: &cidr, AvailabilityZone: &zone})
		if err != nil {
			t.Fatal(err)
		}
		return aws.ToString(made.Subnet.SubnetId)
	}
	public, private := subnet("10.9.0.0/20", "eu-central-1a"), subnet("10.9.16.0/20", "eu-central-1a")
	_, err = client.CreateTags(t.Context(), &ec2.CreateTagsInput{Resources: []string{public}, Tags: []types.Tag{
		{Key: aws.String("kubernetes.io/role/elb"), Value: aws.String("1")}, {Key: aws.String("team"), Value: aws.String("network")},
	}})
	if err != nil {
		t.Fatal(err)
	}
	tags := func() map[string]string {
		out, err := client.DescribeTags(
			t.Context(),
			&ec2.DescribeTagsInput{Filters: []types.Filter{{Name: aws.String("resource-id"), Values: []string{id, public, private}}}},
		)
		if err != nil {
			t.Fatal(err)
		}
		found := map[string]string{}
		for _, tag := range out.Tags {
			found[aws.ToString(tag.ResourceId)+" "+aws.ToString(tag.Key)] = aws.ToString(tag.Value)
		}
		return found
	}
	before := tags()
	w.start()
	cluster := w.aCluster("demo")
	cluster.Spec.ControlPlane.Replicas = 1
	cluster.Spec.API.Access = v1alpha1.APIInternal // The VPC has no internet gateway.
	cluster.Spec.Network = v1alpha1.Network{VPC: id, Topology: v1alpha1.TopologyPrivate, Subnets: []v1alpha1.Subnet{
		{
			ID:   public,
			Zone: "eu-central-1a",
			Role: v1alpha1.SubnetPublic,
		}, {ID: private, Zone: "eu-central-1a", Role: v1alpha1.SubnetPrivate},
	}}
	w.create(cluster)
	refused := w.condition(cluster, "NetworkReady", metav1.ConditionFalse, "VPCWithoutDNS")
	if !strings.Contains(refused.Message, "has enableDnsHostnames off") || !strings.Contains(refused.Message, "modify-vpc-attribute") {
		t.Errorf("the condition's message is %q", refused.Message)
	}
	hostnames(true)
	w.eventually("the condition names the name server", func() error {
		w.touch(cluster)
		if refused = w.condition(cluster, "NetworkReady", metav1.ConditionFalse, "VPCWithoutDNS"); !strings.Contains(
			refused.Message, "10.1.2.3",
		) {
			return errors.New(refused.Message)
		}
		return nil
	})
	if made := w.stacks(account, region); len(made) > 0 || !maps.Equal(before, tags()) {
		t.Errorf("stacks %v and the tags %v were created in a VPC that cannot resolve the cluster's names", made, tags())
	}
	w.patch(cluster, `{"metadata":{"annotations":{"cluster-operator.aws/allow":"dns-servers"}}}`)
	w.condition(cluster, "ControlPlaneReady", metav1.ConditionTrue, "")
	adopted := tags()
	for _, resource := range []string{id, public, private} {
		if adopted[resource+" kubernetes.io/cluster/demo"] != "shared" {
			t.Errorf("%s is not marked as shared: %v", resource, adopted)
		}
	}
	if adopted[private+" kubernetes.io/role/internal-elb"] != "1" {
		t.Errorf("the private subnet is not marked for load balancers: %v", adopted)
	}
	if err := w.client.Delete(t.Context(), cluster); err != nil {
		t.Fatal(err)
	}
	w.waitDeleted(cluster)
	w.nothingIsLeft(account, region)
	if after := tags(); !maps.Equal(before, after) {
		t.Errorf("the tags were %v and are %v", before, after)
	}
}
