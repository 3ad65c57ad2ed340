package simulation

import (
	"strconv"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/ec2/types"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/aws-operator/aws-operator/api/cluster/v1alpha1"
	"github.com/aws-operator/aws-operator/internal/simulator/ec2"
	"github.com/aws-operator/aws-operator/internal/simulator/eventbridge"
	"github.com/aws-operator/aws-operator/internal/simulator/fault"
)

// troubles are the troubles of a cluster, by name. Seeds draw from the sorted names, so another
// order changes the scenarios of all seeds.
var troubles = map[string]func(*run){
	"workers get a label":                  (*run).labelWorkers,
	"workers get a volume":                 (*run).growWorkers,
	"the group's sizes change":             (*run).resize,
	"the rolling update's settings change": (*run).rollOtherwise,
	"slots get a label":                    (*run).labelSlots,
	"the release is upgraded":              (*run).upgrade,
	"a client terminates a worker":         (*run).endWorker,
	"a worker's hardware dies":             (*run).failWorker,
	"a slot's hardware dies":               (*run).failSlot,
	"a worker is impaired":                 (*run).impairWorker,
	"a spot instance is interrupted":       (*run).interrupt,
	"a spot instance is at risk":           (*run).recommend,
	"events are lost":                      func(r *run) { r.disturbEvents(fault.Rule{HangUp: true}) },
	"events arrive twice":                  func(r *run) { r.disturbEvents(fault.Rule{HangUp: true, AfterEffect: true}) },
	"events arrive late":                   func(r *run) { r.disturbEvents(fault.Rule{Latency: 3 * time.Minute}) },
	"Auto Scaling is throttled":            func(r *run) { r.throttle("autoscaling") },
	"CloudFormation is throttled":          func(r *run) { r.throttle("cloudformation") },
	"EC2 is throttled":                     func(r *run) { r.throttle("ec2") },
	"answers of AWS are lost":              (*run).loseAnswers,
	"the operator is killed":               func(r *run) { r.kill(0) },
	"the operator is down for a long time": func(r *run) { r.kill(8 * time.Minute) },
	"the budget allows nothing":            (*run).closeBudget,
	"there is temporarily no capacity":     (*run).exhaust,
}

// editGroup changes the group's spec.
func (r *run) editGroup(edit func(*v1alpha1.InstanceGroupSpec)) {
	edit(&r.scenario.group)
	object := r.getGroup()
	object.Spec = *r.scenario.group.DeepCopy()
	r.update(object)
}

func (r *run) labelWorkers() {
	r.editGroup(func(spec *v1alpha1.InstanceGroupSpec) {
		spec.Labels = map[string]string{"example.com/color": strconv.Itoa(r.scenario.random.IntN(1000))}
	})
}

func (r *run) growWorkers() {
	r.editGroup(func(spec *v1alpha1.InstanceGroupSpec) { spec.RootVolume.SizeGiB = 31 + r.scenario.random.Int32N(30) })
}

func (r *run) resize() {
	r.editGroup(func(spec *v1alpha1.InstanceGroupSpec) {
		spec.MinSize = 1 + r.scenario.random.Int32N(5)
		spec.MaxSize = spec.MinSize + r.scenario.random.Int32N(3)
	})
}

func (r *run) rollOtherwise() {
	r.editGroup(func(spec *v1alpha1.InstanceGroupSpec) {
		spec.RollingUpdate.BatchSize = new(intstr.FromInt32(1 + r.scenario.random.Int32N(3)))
		spec.RollingUpdate.DrainTimeout = duration(r.scenario.random, time.Minute, 10*time.Minute)
	})
}

func (r *run) labelSlots() {
	object := r.getCluster()
	object.Spec.ControlPlane.Labels = map[string]string{"example.com/color": strconv.Itoa(r.scenario.random.IntN(1000))}
	r.update(object)
}

func (r *run) upgrade() {
	object := r.getCluster()
	object.Spec.Release = newRelease
	r.update(object)
}

// strike picks a running instance, of a slot or not, and records the damage.
func (r *run) strike(slot bool, which func(*ec2.Instance) bool) (string, bool) {
	var all []ec2.Instance
	for _, instance := range r.machines() {
		if instance.State == types.InstanceStateNameRunning && isSlot(&instance) == slot && which(&instance) {
			all = append(all, instance)
		}
	}
	if len(all) == 0 {
		return "", false
	}
	victim := all[r.scenario.random.IntN(len(all))].ID
	r.damaged(slot, victim)
	return victim, true
}

func anyOne(*ec2.Instance) bool { return true }

func (r *run) endWorker() {
	if id, ok := r.strike(false, anyOne); ok {
		r.check(r.sim.Instances().Terminate(account, region, id))
	}
}

func (r *run) failWorker() {
	if id, ok := r.strike(false, anyOne); ok {
		r.check(r.sim.Instances().Fail(account, region, id))
	}
}

func (r *run) failSlot() {
	if r.slotDamage { // three members of etcd cannot survive two failures
		return
	}
	if id, ok := r.strike(true, anyOne); ok {
		r.check(r.sim.Instances().Fail(account, region, id))
	}
}

func (r *run) impairWorker() {
	if id, ok := r.strike(false, anyOne); ok {
		r.check(r.sim.Instances().SetImpaired(account, region, id, true))
	}
}

func (r *run) interrupt() {
	if id, ok := r.strike(false, func(i *ec2.Instance) bool { return i.Spot }); ok {
		r.check(r.sim.Instances().InterruptSpot(account, region, id, "terminate"))
	}
}

func (r *run) recommend() {
	if id, ok := r.strike(false, func(i *ec2.Instance) bool { return i.Spot }); ok {
		r.check(r.sim.Instances().RecommendRebalance(account, region, id))
	}
}

// disturbEvents disturbs the deliveries of the next minutes.
func (r *run) disturbEvents(rule fault.Rule) {
	rule.Service, rule.Operation, rule.ResourceType, rule.Name = "events", eventbridge.OpDeliver, "AWS::Events::Rule", "*"
	r.forAWhile(r.faults.Add(rule))
}

func (r *run) throttle(service string) {
	r.forAWhile(
		r.faults.Add(fault.Rule{Service: service, Times: 5 + r.scenario.random.IntN(40), Code: "Throttling", Message: "Rate exceeded"}),
	)
}

func (r *run) loseAnswers() {
	r.forAWhile(r.faults.Add(fault.Rule{Service: "autoscaling", Times: 1 + r.scenario.random.IntN(5), HangUp: true, AfterEffect: true}))
	r.forAWhile(
		r.faults.Add(
			fault.Rule{
				Service:     "cloudformation",
				Operation:   "UpdateStack",
				Times:       1 + r.scenario.random.IntN(2),
				HangUp:      true,
				AfterEffect: true,
			},
		),
	)
}

// forAWhile ends a trouble after some minutes.
func (r *run) forAWhile(end func()) {
	r.later(time.Duration(1+r.scenario.random.IntN(10))*time.Minute, end)
}

// kill kills the operator, and starts another one after a time.
func (r *run) kill(away time.Duration) {
	if r.away { // none runs
		return
	}
	r.stop()
	r.away = away > 0
	r.later(away, func() {
		r.stop() // another one may have been started meanwhile
		r.away = false
		r.start()
	})
}

func (r *run) closeBudget() {
	r.setBudget(0)
	r.later(time.Duration(1+r.scenario.random.IntN(15))*time.Minute, func() { r.setBudget(1) })
}

func (r *run) exhaust() {
	zone := region + string("abc"[r.scenario.random.IntN(3)])
	r.sim.Instances().SetCapacity(zone, "m6i.large", false)
	r.forAWhile(func() { r.sim.Instances().SetCapacity(zone, "m6i.large", true) })
}

// isSlot reports whether an instance is a slot's.
func isSlot(i *ec2.Instance) bool {
	return strings.Contains(i.Tags["aws:autoscaling:groupName"], "control-plane")
}
