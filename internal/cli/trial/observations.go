package trial

import (
	"context"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/autoscaling"
	astypes "github.com/aws/aws-sdk-go-v2/service/autoscaling/types"
	elbv2 "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	elbtypes "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"

	"github.com/aws-operator/aws-operator/internal/awsapi"
	"github.com/aws-operator/aws-operator/internal/cluster/model"
)

// observations are what was observed of the cluster's groups and of its API's targets while they
// changed: states in their order, without repetitions. A state that lasted less than a poll is
// missing.
type observations struct {
	// health are the states of the API's targets, by instance, and lifecycle those of instances in
	// their groups.
	health, lifecycle map[string][]string
	// group is the Auto Scaling group of each instance, template the version of its launch template.
	group, template map[string]string
	// suspended are the processes that were suspended, by Auto Scaling group; now those that were
	// when the group was last observed.
	suspended, now map[string][]string
	// beside are the instances that were launched while the terminating hook held another instance of
	// their group.
	beside map[string]bool
}

func newObservations() *observations {
	return &observations{
		health: map[string][]string{}, lifecycle: map[string][]string{}, group: map[string]string{}, template: map[string]string{},
		suspended: map[string][]string{}, now: map[string][]string{}, beside: map[string]bool{},
	}
}

// whileObserving observes the cluster's groups and targets while work changes the cluster.
func (c *hourChecks) whileObserving(ctx context.Context, work func() error) error {
	observing, end := context.WithCancel(ctx)
	var running sync.WaitGroup
	running.Go(func() {
		for observing.Err() == nil {
			c.observe(observing)
			_ = c.pause(observing)
		}
	})
	err := work()
	end()
	running.Wait()
	if err == nil {
		c.observe(ctx) // the state in which the work left them
	}
	return err
}

// healthLimit is how long a target may take to become healthy: "a few minutes", as
// https://docs.aws.amazon.com/elasticloadbalancing/latest/network/target-group-health-checks.html says.
// The API answers before that, since a load balancer without a healthy target sends requests to all.
const healthLimit = 5 * time.Minute

// awaitHealthy observes until the load balancer reports that the control-plane instance is healthy, the
// first one or its replacement. It returns false if that takes too long.
func (c *hourChecks) awaitHealthy(ctx context.Context, first bool) (bool, error) {
	deadline := c.clock.Now().Add(healthLimit)
	for {
		c.observe(ctx)
		for id, states := range c.seen.health {
			if c.first[id] == first && states[len(states)-1] == string(elbtypes.TargetHealthStateEnumHealthy) {
				return true, nil
			}
		}
		if c.clock.Now().After(deadline) {
			return false, nil
		}
		if err := c.pause(ctx); err != nil {
			return false, err
		}
	}
}

// observe adds one observation. What a failed call would have returned is observed the next time.
func (c *hourChecks) observe(ctx context.Context) {
	out, err := c.clients.AutoScaling(awsapi.Target{}).DescribeAutoScalingGroups(ctx, &autoscaling.DescribeAutoScalingGroupsInput{
		Filters: []astypes.Filter{{Name: aws.String("tag:" + model.TagCluster), Values: []string{clusterName}}},
	})
	if err != nil {
		return
	}
	for i := range out.AutoScalingGroups {
		c.seen.addGroup(&out.AutoScalingGroups[i])
		for _, arn := range out.AutoScalingGroups[i].TargetGroupARNs {
			targets, err := c.clients.LoadBalancerReader(awsapi.Target{}).
				DescribeTargetHealth(ctx, &elbv2.DescribeTargetHealthInput{TargetGroupArn: &arn})
			if err != nil {
				return
			}
			for j := range targets.TargetHealthDescriptions {
				if one := &targets.TargetHealthDescriptions[j]; one.Target != nil && one.TargetHealth != nil {
					id := aws.ToString(one.Target.Id)
					c.seen.health[id] = appendNew(c.seen.health[id], string(one.TargetHealth.State))
				}
			}
		}
	}
}

func (o *observations) addGroup(group *astypes.AutoScalingGroup) {
	name, held := aws.ToString(group.AutoScalingGroupName), false
	o.now[name] = nil
	for _, process := range group.SuspendedProcesses {
		o.now[name] = append(o.now[name], aws.ToString(process.ProcessName))
	}
	slices.Sort(o.now[name])
	for _, process := range o.now[name] {
		if !slices.Contains(o.suspended[name], process) {
			o.suspended[name] = append(o.suspended[name], process)
		}
	}
	for i := range group.Instances {
		instance := &group.Instances[i]
		id := aws.ToString(instance.InstanceId)
		o.group[id] = name
		o.lifecycle[id] = appendNew(o.lifecycle[id], string(instance.LifecycleState))
		if instance.LaunchTemplate != nil {
			o.template[id] = aws.ToString(instance.LaunchTemplate.Version)
		}
		held = held || instance.LifecycleState == astypes.LifecycleStateTerminatingWait
	}
	for i := range group.Instances {
		if id := aws.ToString(group.Instances[i].InstanceId); held && !strings.HasPrefix(string(group.Instances[i].LifecycleState), "Terminating") {
			o.beside[id] = true
		}
	}
}

// appendNew appends a state unless it is the last one.
func appendNew(states []string, state string) []string {
	if len(states) > 0 && states[len(states)-1] == state {
		return states
	}
	return append(slices.Clip(states), state)
}
