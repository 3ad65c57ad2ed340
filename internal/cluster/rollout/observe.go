package rollout

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/autoscaling"
	"github.com/aws/aws-sdk-go-v2/service/autoscaling/types"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/aws-operator/aws-operator/internal/cluster/drain"
	"github.com/aws-operator/aws-operator/internal/cluster/model"
	"github.com/aws-operator/aws-operator/internal/cluster/workload"
)

// endsWithin is how long an instance counts as terminating after its termination although AWS does
// not report that yet.
const endsWithin = 30 * time.Second

// seen is the observed state of a group.
type seen struct {
	Observation
	tags  Tags
	drain []drain.Progress
}

// observe reads a group and its nodes.
func (r *Roller) observe(ctx context.Context, group *Group) (*seen, error) {
	found, err := r.describe(ctx, group)
	if err != nil {
		return nil, err
	}
	now, past := r.options.Clock.Now(), r.recent(group)
	w := &seen{tags: TagsOf(found)}
	w.Min, w.Max, w.Desired = int(aws.ToInt32(found.MinSize)), int(aws.ToInt32(found.MaxSize)), int(aws.ToInt32(found.DesiredCapacity))
	w.Autoscaled, w.Held, w.Validation = w.tags.Autoscaled(), w.tags.AutoscalerHeld(), past.validation
	for i := range found.SuspendedProcesses {
		w.Suspended = append(w.Suspended, aws.ToString(found.SuspendedProcesses[i].ProcessName))
	}
	if tag, ok := w.tags[TagMemory]; ok {
		if w.Memory, err = decode(aws.ToString(tag.Value)); err != nil {
			return nil, fmt.Errorf("%w; remove the tag from Auto Scaling group %s to start again", err, group.AutoScalingGroup)
		}
	}
	if past.since.IsZero() || past.desired != w.Desired {
		past.desired, past.since = w.Desired, now
	}
	w.Steady = now.Sub(past.since)
	if err := r.observeInstances(ctx, group, found, past, w); err != nil {
		return nil, err
	}
	if !group.CloudOnly {
		r.observeNodes(group, past, w)
	}
	return w, nil
}

// describe returns the group, or an error if it does not exist.
func (r *Roller) describe(ctx context.Context, group *Group) (*types.AutoScalingGroup, error) {
	out, err := r.options.AutoScaling(group.Target).DescribeAutoScalingGroups(ctx, &autoscaling.DescribeAutoScalingGroupsInput{
		AutoScalingGroupNames: []string{group.AutoScalingGroup},
	})
	if err != nil {
		return nil, fmt.Errorf("describe Auto Scaling group %s: %w", group.AutoScalingGroup, err)
	}
	if len(out.AutoScalingGroups) == 0 {
		return nil, fmt.Errorf("there is no Auto Scaling group %s", group.AutoScalingGroup)
	}
	carried := TagsOf(&out.AutoScalingGroups[0])
	for key, value := range group.Owner {
		if tag := carried[key]; aws.ToString(tag.Value) != value {
			return nil, fmt.Errorf(
				"the Auto Scaling group %s does not belong to %s according to its tag %s and is not touched; remove it from the status",
				group.AutoScalingGroup,
				group.Name,
				key,
			)
		}
	}
	return &out.AutoScalingGroups[0], nil
}

// observeInstances adds the group's instances.
func (r *Roller) observeInstances(ctx context.Context, group *Group, found *types.AutoScalingGroup, past *recent, w *seen) error {
	outdated, err := Outdated(ctx, r.options.EC2(group.Target), found)
	if err != nil {
		return err
	}
	if err := r.learnLaunches(ctx, group, found, past); err != nil {
		return err
	}
	now := r.options.Clock.Now()
	for i := range found.Instances {
		from := &found.Instances[i]
		one := Instance{
			ID:        aws.ToString(from.InstanceId),
			Lifecycle: lifecycleOf(from.LifecycleState),
			Zone:      aws.ToString(from.AvailabilityZone),
		}
		one.Outdated = slices.Contains(outdated, one.ID)
		one.Held = group.AnswerHooks && from.LifecycleState == types.LifecycleStateTerminatingWait && !past.released[one.ID]
		if launched, ok := past.launched[one.ID]; ok {
			one.Launched = launched
		} else {
			one.Launched = now
		}
		one.Since = one.Launched
		if ended, ok := past.ended[one.ID]; ok && now.Sub(ended) < endsWithin {
			one.Lifecycle = Leaving
		}
		w.Instances = append(w.Instances, one)
	}
	slices.SortFunc(w.Instances, func(a, b Instance) int { return cmp.Or(a.Launched.Compare(b.Launched), strings.Compare(a.ID, b.ID)) })
	return nil
}

// lifecycleOf groups Auto Scaling's states:
// https://docs.aws.amazon.com/autoscaling/ec2/userguide/ec2-auto-scaling-lifecycle.html
func lifecycleOf(state types.LifecycleState) Lifecycle {
	switch {
	case state == types.LifecycleStateInService:
		return InService
	case strings.HasPrefix(string(state), "Pending"):
		return Starting
	case strings.HasPrefix(string(state), "Terminat"),
		strings.HasPrefix(string(state), "Detach"),
		state == types.LifecycleStateEnteringStandby:
		return Leaving
	default: // standby, and a warm pool's
		return Aside
	}
}

// shapeOf returns what an instance was launched from. Auto Scaling reports both the ID and the name
// of a template.
func shapeOf(template *types.LaunchTemplateSpecification, configuration *string) string {
	if template == nil {
		return "configuration " + aws.ToString(configuration)
	}
	return aws.ToString(template.LaunchTemplateId) + " " + aws.ToString(template.Version)
}

// Outdated returns the IDs of a group's instances that were not launched from the group's current
// launch template version, which includes the bundle. It returns the errors of AWS.
func Outdated(ctx context.Context, api EC2, group *types.AutoScalingGroup) ([]string, error) {
	current, err := shapes(ctx, api, group)
	if err != nil {
		return nil, err
	}
	var outdated []string
	for i := range group.Instances {
		from := &group.Instances[i]
		if !slices.Contains(current, shapeOf(from.LaunchTemplate, from.LaunchConfigurationName)) {
			outdated = append(outdated, aws.ToString(from.InstanceId))
		}
	}
	return outdated, nil
}

// shapes returns what the group launches from; a group with several instance types may have several
// templates. The versions $Latest and $Default, which is the default, are looked up.
// https://docs.aws.amazon.com/autoscaling/ec2/APIReference/API_LaunchTemplateSpecification.html
func shapes(ctx context.Context, api EC2, found *types.AutoScalingGroup) ([]string, error) {
	specs := []*types.LaunchTemplateSpecification{found.LaunchTemplate}
	if mixed := found.MixedInstancesPolicy; mixed != nil && mixed.LaunchTemplate != nil {
		specs = []*types.LaunchTemplateSpecification{mixed.LaunchTemplate.LaunchTemplateSpecification}
		for i := range mixed.LaunchTemplate.Overrides {
			if own := mixed.LaunchTemplate.Overrides[i].LaunchTemplateSpecification; own != nil {
				specs = append(specs, own)
			}
		}
	}
	var shapes []string
	for _, spec := range specs {
		if version := ""; spec != nil {
			version = aws.ToString(spec.Version)
			if version == "" || strings.HasPrefix(version, "$") {
				resolved, err := templateVersion(ctx, api, found, spec)
				if err != nil {
					return nil, err
				}
				spec = resolved
			}
		}
		shapes = append(shapes, shapeOf(spec, found.LaunchConfigurationName))
	}
	return shapes, nil
}

// templateVersion resolves the version of a launch template.
func templateVersion(
	ctx context.Context, api EC2, group *types.AutoScalingGroup, spec *types.LaunchTemplateSpecification,
) (*types.LaunchTemplateSpecification, error) {
	out, err := api.DescribeLaunchTemplates(
		ctx, &ec2.DescribeLaunchTemplatesInput{LaunchTemplateIds: []string{aws.ToString(spec.LaunchTemplateId)}},
	)
	if err != nil {
		return nil, fmt.Errorf("describe launch template %s: %w", aws.ToString(spec.LaunchTemplateId), err)
	}
	if len(out.LaunchTemplates) == 0 {
		return nil, fmt.Errorf(
			"there is no launch template %s, from which Auto Scaling group %s launches",
			aws.ToString(spec.LaunchTemplateId),
			aws.ToString(group.AutoScalingGroupName),
		)
	}
	number := out.LaunchTemplates[0].DefaultVersionNumber
	if aws.ToString(spec.Version) == "$Latest" {
		number = out.LaunchTemplates[0].LatestVersionNumber
	}
	return &types.LaunchTemplateSpecification{
		LaunchTemplateId: spec.LaunchTemplateId,
		Version:          aws.String(fmt.Sprint(aws.ToInt64(number))),
	}, nil
}

// learnLaunches determines the launch times of instances, which Auto Scaling does not report.
func (r *Roller) learnLaunches(ctx context.Context, group *Group, found *types.AutoScalingGroup, past *recent) error {
	there := map[string]time.Time{}
	var unknown []string
	for i := range found.Instances {
		id := aws.ToString(found.Instances[i].InstanceId)
		if launched, ok := past.launched[id]; ok {
			there[id] = launched
		} else {
			unknown = append(unknown, id)
		}
	}
	past.launched = there
	if len(unknown) == 0 {
		return nil
	}
	for some := range slices.Chunk(unknown, mostFiltered) {
		if err := r.learnLaunch(ctx, group, some, there); err != nil {
			return fmt.Errorf("describe the instances of Auto Scaling group %s: %w", group.AutoScalingGroup, err)
		}
	}
	return nil
}

// learnLaunch adds the launch times of some instances. It uses a filter, since EC2 returns an error
// for an ID that it does not know yet.
func (r *Roller) learnLaunch(ctx context.Context, group *Group, some []string, there map[string]time.Time) error {
	in := &ec2.DescribeInstancesInput{Filters: []ec2types.Filter{{Name: aws.String("instance-id"), Values: some}}}
	for {
		out, err := r.options.EC2(group.Target).DescribeInstances(ctx, in)
		if err != nil {
			return err
		}
		for i := range out.Reservations {
			for j := range out.Reservations[i].Instances {
				instance := &out.Reservations[i].Instances[j]
				there[aws.ToString(instance.InstanceId)] = aws.ToTime(instance.LaunchTime)
			}
		}
		if in.NextToken = out.NextToken; aws.ToString(in.NextToken) == "" {
			return nil
		}
	}
}

// mostFiltered is the maximum number of values of an EC2 filter:
// https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/Using_Filtering.html
const mostFiltered = 200

// observeNodes adds the state of the nodes.
func (r *Roller) observeNodes(group *Group, past *recent, w *seen) {
	to := r.options.Workload(group.Cluster)
	if to == nil {
		w.Unreachable = "The operator is not connected to the cluster."
		return
	}
	if reachable, why := to.Reachable(); !reachable {
		w.Unreachable = fmt.Sprintf("The cluster's API does not respond: %s.", strings.TrimSuffix(why, "."))
	}
	of := map[string]*workload.Node{}
	nodes := to.Nodes()
	for n := range nodes {
		of[nodes[n].InstanceID] = &nodes[n]
	}
	bundle := group.Bundle[:min(len(group.Bundle), model.BundleLabelLength)]
	for n := range w.Instances {
		i := &w.Instances[n]
		if node := of[i.ID]; node != nil {
			i.Node, i.Cordoned, i.Since = node.Name, node.Unschedulable, node.ReadyChanged
			i.Ready = node.Ready && (i.Outdated || bundle == "" || node.Bundle == bundle)
		}
		r.observeDrain(i, past, w)
	}
}

// observeDrain adds the progress of an instance's drain.
func (r *Roller) observeDrain(i *Instance, past *recent, w *seen) {
	if r.options.Drains == nil || past.cancelled[i.ID] {
		return
	}
	progress, ok := r.options.Drains.Get(i.ID)
	if !ok || progress.State == drain.Cordoned || progress.State == drain.Gone || progress.CordonOnly {
		return
	}
	i.Drain, i.Ours = progress.State, progress.Reason == drain.Rolling
	if len(progress.BlockedBy) > 0 {
		i.Blocked = "the PodDisruptionBudget " + strings.Join(progress.BlockedBy, ", ")
	}
	if !progress.Ended() {
		w.drain = append(w.drain, progress)
	}
}
