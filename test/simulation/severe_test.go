package simulation

import (
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation"
	cfntypes "github.com/aws/aws-sdk-go-v2/service/cloudformation/types"
	awsec2 "github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/aws-operator/aws-operator/api/cluster/v1alpha1"
	"github.com/aws-operator/aws-operator/internal/cluster/model"
	"github.com/aws-operator/aws-operator/internal/simulator/fault"
)

const (
	// severeRuns is the number of seeds unless HOSTILE_RUNS sets another.
	severeRuns = 8
	// absence is longer than a bootstrap token is valid.
	absence = 30 * time.Hour
	// betweenInAbsence is the interval between checks during an absence.
	betweenInAbsence = 5 * time.Minute
)

// foundSevere are the seeds beyond those of a normal run that found a defect.
var foundSevere = []uint64{
	25, // a slot that had lost its volume was upgraded, and its new instance waited for the volume
	37, // the Release changed after the statuses were lost, and a worker was newer than a slot
	71, // after the statuses were lost, a worker was terminated without a drain
}

// severe are troubles in addition to those that every cluster has, by name.
var severe = map[string]func(*run){
	"a slot's etcd volume is lost":              (*run).loseVolume,
	"a slot's etcd volume is mistagged":         (*run).mistagVolume,
	"the operator is away for 30 hours":         (*run).leave,
	"two operators run at once":                 (*run).double,
	"the statuses are removed":                  (*run).wipe,
	"the operator is killed without statuses":   func(r *run) { r.wipe(); r.kill(0) },
	"what the operator reads of objects is old": (*run).freeze,
	"nodes lie about their instances":           (*run).lie,
}

// Control planes survive losses of volumes, long absences of the operator, two operators at once,
// removed statuses, outdated reads and Nodes that lie. Etcd keeps its quorum, workers join, and
// finally the cluster matches its spec. When it is deleted, while statuses are removed and calls
// are denied, no stack is left.
func TestSevereTroubles(t *testing.T) {
	count := severeRuns
	if testing.Short() {
		count = min(count, 3)
	}
	seeds := seedsOf(t, "HOSTILE", count, foundSevere)
	nodeup := nodeupFiles(t)
	for _, seed := range seeds {
		t.Run(strconv.FormatUint(seed, 10), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				repeat(t, fmt.Sprintf("HOSTILE_SEED=%d HOSTILE_RUNS=1 go test ./test/simulation -run TestSevereTroubles", seed))
				r := simulate(t, drawSevere(seed), nodeup)
				r.bystanders()
				r.remove()
			})
		})
	}
}

// drawSevere creates the scenario of a seed with severe troubles in addition.
func drawSevere(seed uint64) *scenario {
	s := draw(seed)
	names := make([]string, 0, len(severe))
	for name := range severe {
		names = append(names, name)
	}
	slices.Sort(names)
	for range 2 + s.random.IntN(3) {
		s.troubles = append(s.troubles, planned{
			at: time.Duration(s.random.IntN(1800)) * time.Second, name: names[s.random.IntN(len(names))],
		})
	}
	slices.SortStableFunc(s.troubles, func(a, b planned) int { return int(a.at - b.at) })
	return s
}

// config is the configuration of the test's own clients of AWS.
func (w *suite) awsConfig() aws.Config {
	return aws.Config{
		Region: region, BaseEndpoint: aws.String("http://aws.test"), HTTPClient: &http.Client{Transport: inProcess{w.sim.Observer()}},
		Credentials: credentials.NewStaticCredentialsProvider(account, "secret", ""),
	}
}

// loseSlot fails a slot's instance and returns its etcd volume, false if another slot's damage is
// not repaired or the cluster has one slot.
func (r *run) loseSlot() (*ec2types.Volume, bool) {
	if r.slotDamage || r.scenario.slots == 1 {
		return nil, false
	}
	id, ok := r.strike(true, anyOne)
	if !ok {
		return nil, false
	}
	out, err := awsec2.NewFromConfig(r.awsConfig()).DescribeVolumes(r.t.Context(), &awsec2.DescribeVolumesInput{Filters: []ec2types.Filter{
		{Name: aws.String("attachment.instance-id"), Values: []string{id}}, {Name: aws.String("tag-key"), Values: []string{model.TagEtcdSlot}},
	}})
	r.check(err)
	r.check(r.sim.Instances().Fail(account, region, id))
	if len(out.Volumes) != 1 {
		return nil, false
	}
	return &out.Volumes[0], true
}

// loseVolume deletes a slot's etcd volume as soon as no instance has it.
func (r *run) loseVolume() {
	volume, ok := r.loseSlot()
	if !ok {
		return
	}
	r.note("volume " + *volume.VolumeId + " is to be lost")
	var again func(left int)
	again = func(left int) {
		_, err := awsec2.NewFromConfig(r.awsConfig()).DeleteVolume(r.t.Context(), &awsec2.DeleteVolumeInput{VolumeId: volume.VolumeId})
		if err != nil && left > 0 {
			r.later(0, func() { again(left - 1) })
		} else if err == nil {
			r.note("volume " + *volume.VolumeId + " is lost")
		}
	}
	again(60) // the slot's next instance may be the first to have it
}

// mistagVolume removes the tag by which a slot's next instance finds its volume, for some time.
func (r *run) mistagVolume() {
	volume, ok := r.loseSlot()
	if !ok {
		return
	}
	tags := slices.DeleteFunc(slices.Clone(volume.Tags), func(tag ec2types.Tag) bool { return aws.ToString(tag.Key) != model.TagEtcdSlot })
	_, err := awsec2.NewFromConfig(r.awsConfig()).DeleteTags(r.t.Context(), &awsec2.DeleteTagsInput{
		Resources: []string{*volume.VolumeId}, Tags: []ec2types.Tag{{Key: aws.String(model.TagEtcdSlot)}},
	})
	r.check(err)
	r.forAWhile(func() {
		_, err := awsec2.NewFromConfig(r.awsConfig()).CreateTags(r.t.Context(), &awsec2.CreateTagsInput{
			Resources: []string{*volume.VolumeId}, Tags: tags,
		})
		r.check(err)
	})
}

// leave leaves the cluster without an operator for longer than tokens are valid. A worker that is
// replaced shortly before the operator returns must join.
func (r *run) leave() {
	if r.away {
		return
	}
	r.kill(absence)
	r.between = betweenInAbsence
	had := 0
	r.later(absence-time.Hour, func() {
		had = r.readyWorkers()
		r.endWorker()
	})
	r.later(absence-between, func() {
		r.between = between
		if ready := r.readyWorkers(); ready < had {
			r.t.Errorf("%d workers are ready an hour after one of %d was terminated, while no operator ran", ready, had)
		}
	})
}

func (r *run) readyWorkers() (ready int) {
	for id, node := range r.watcher.nodes {
		if i, ok := r.watcher.instances[id]; ok && !isSlot(&i) && isReady(&node) {
			ready++
		}
	}
	return ready
}

// double starts a second operator some time before the first one ends, as happens when a leader
// does not notice at once that it has lost its lease.
func (r *run) double() {
	if r.away {
		return
	}
	first := r.stop
	r.start()
	r.later(time.Duration(10+r.scenario.random.IntN(50))*time.Second, first)
}

// wipe removes the statuses of the objects that exist.
func (r *run) wipe() {
	name := func(name string) metav1.ObjectMeta { return metav1.ObjectMeta{Namespace: namespace, Name: name} }
	object, workers := &v1alpha1.Cluster{ObjectMeta: name(cluster)}, &v1alpha1.InstanceGroup{ObjectMeta: name(group)}
	for _, one := range []client.Object{object, workers} {
		for {
			err := r.client.Get(r.t.Context(), client.ObjectKeyFromObject(one), one)
			if err == nil {
				object.Status, workers.Status = v1alpha1.ClusterStatus{}, v1alpha1.InstanceGroupStatus{}
				err = r.client.Status().Update(r.t.Context(), one)
			}
			if !apierrors.IsConflict(err) {
				r.check(client.IgnoreNotFound(err))
				break
			}
		}
	}
}

// freeze delays what the operator reads of the management cluster.
func (r *run) freeze() {
	r.frozen.Store(true)
	r.forAWhile(func() { r.frozen.Store(false) })
}

// bystander is an instance that belongs to no cluster.
const bystander = "bystander"

// lie creates Nodes that claim the cluster's instances, and one of another owner, and are not ready
// since long ago.
func (r *run) lie() {
	made, err := awsec2.NewFromConfig(r.awsConfig()).RunInstances(r.t.Context(), &awsec2.RunInstancesInput{
		ImageId: aws.String(r.machines()[0].ImageID), InstanceType: ec2types.InstanceTypeT3Medium,
		MinCount: aws.Int32(1), MaxCount: aws.Int32(1),
		TagSpecifications: []ec2types.TagSpecification{{
			ResourceType: ec2types.ResourceTypeInstance, Tags: []ec2types.Tag{{Key: aws.String("Name"), Value: aws.String(bystander)}},
		}},
	})
	if err != nil {
		r.note("no bystander: " + err.Error())
		return
	}
	claimed := []string{*made.Instances[0].InstanceId}
	for _, instance := range r.machines() {
		claimed = append(claimed, instance.ID)
	}
	for i, id := range claimed {
		node := &corev1.Node{
			ObjectMeta: metav1.ObjectMeta{
				Name: fmt.Sprintf("%s%d-%d", lies, time.Since(r.began)/time.Second, i),
				Labels: map[string]string{
					"cluster-operator.aws/instance-group": group, "cluster-operator.aws/slot": strconv.Itoa(i % 3), "cluster-operator.aws/bundle": "0123",
				},
			},
			Spec: corev1.NodeSpec{ProviderID: "aws:///" + region + "a/" + id, Unschedulable: true},
			Status: corev1.NodeStatus{Conditions: []corev1.NodeCondition{{
				Type: corev1.NodeReady, Status: corev1.ConditionUnknown,
				LastTransitionTime: metav1.NewTime(time.Now().Add(-24 * time.Hour)),
			}}},
		}
		if _, err := r.workload.CoreV1().Nodes().Create(r.t.Context(), node, metav1.CreateOptions{}); err != nil {
			r.note("no lie about " + id + ": " + err.Error()) // the API may not answer
		}
	}
}

// lies begins the names of Nodes that lie.
const lies = "lie-"

// bystanders checks that instances that belong to no cluster still run, and ends them.
func (r *run) bystanders() {
	for _, i := range r.sim.Instances().Instances(account, region) {
		if i.Tags["Name"] != bystander {
			continue
		}
		if i.State != ec2types.InstanceStateNameRunning {
			r.t.Errorf("instance %s, which a Node only claims, is %s", i.ID, i.State)
		}
		r.check(r.sim.Instances().Terminate(account, region, i.ID))
	}
}

// remove deletes the Cluster. For a while, CloudFormation denies deletions, as if a policy was
// removed from the operator's role, and the statuses are removed once.
func (r *run) remove() {
	r.watcher = nil // nodes end
	r.check(r.client.Delete(r.t.Context(), r.getCluster()))
	if r.scenario.random.IntN(2) == 0 {
		r.forAWhile(r.faults.Add(fault.Rule{Service: "cloudformation", Operation: "DeleteStack", Deny: true}))
	}
	r.later(time.Duration(r.scenario.random.IntN(600))*time.Second, func() {
		r.wipe()
		if r.scenario.random.IntN(2) == 0 {
			r.kill(0)
		}
	})
	r.until(settled, "the Cluster is deleted", func() string {
		err := r.client.Get(r.t.Context(), client.ObjectKey{Namespace: namespace, Name: cluster}, &v1alpha1.Cluster{})
		if apierrors.IsNotFound(err) {
			return ""
		}
		return "it exists"
	})
	pages := cloudformation.NewDescribeStacksPaginator(cloudformation.NewFromConfig(r.awsConfig()), &cloudformation.DescribeStacksInput{})
	for pages.HasMorePages() {
		page, err := pages.NextPage(r.t.Context())
		r.check(err)
		for i := range page.Stacks {
			name := aws.ToString(page.Stacks[i].StackName)
			if page.Stacks[i].StackStatus != cfntypes.StackStatusDeleteComplete && !strings.HasPrefix(name, "aws-operator-events") {
				r.t.Errorf("the Cluster is deleted, and its stack %s is %s", name, page.Stacks[i].StackStatus)
			}
		}
	}
}
