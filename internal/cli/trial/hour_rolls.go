package trial

import (
	"context"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/aws-operator/aws-operator/internal/awsapi"
	"github.com/aws-operator/aws-operator/internal/cluster/model"
)

// groupReasons returns the reasons in the events of a stack's Auto Scaling group, oldest first.
func (c *hourChecks) groupReasons(ctx context.Context, stack string) (reasons []string, err error) {
	pages := cloudformation.NewDescribeStackEventsPaginator(c.cloudformation(), &cloudformation.DescribeStackEventsInput{StackName: &stack})
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return nil, err
		}
		for i := range page.StackEvents {
			event := &page.StackEvents[i]
			if aws.ToString(event.LogicalResourceId) == "AutoScalingGroup" && aws.ToString(event.ResourceStatusReason) != "" {
				reasons = append(reasons, aws.ToString(event.ResourceStatusReason))
			}
		}
	}
	slices.Reverse(reasons)
	return reasons, nil
}

// pauseText is the group's PauseTime, which is longer than 59 seconds and given in seconds alone.
const pauseText = "PT900S"

var (
	signalForm = regexp.MustCompile(`Received SUCCESS signal with UniqueId (i-[0-9a-f]+)`)
	batchForm  = regexp.MustCompile(`Rolling update initiated\. Terminating \d+ obsolete instance\(s\) in batches of \d+`)
)

// rolled checks the events of the roll of the instance group.
func (c *hourChecks) rolled(ctx context.Context) error {
	reasons, err := c.groupReasons(ctx, groupStack)
	if err != nil {
		for _, id := range []string{"cfn-rolling-batches", "cfn-pause-seconds", "cfn-rolling-signals"} {
			c.failed(id, err)
		}
		return ctx.Err()
	}
	var signals []string
	begun := "CloudFormation reports no rolling update"
	for _, reason := range reasons {
		if match := signalForm.FindStringSubmatch(reason); match != nil {
			signals = append(signals, match[1])
		}
		if strings.HasPrefix(reason, "Rolling update initiated") {
			begun = reason
		}
	}
	c.expect("cfn-rolling-batches", batchForm.MatchString(begun), "%s", begun)
	c.expect("cfn-pause-seconds", strings.Contains(begun, pauseText), "%s", begun)
	c.expect("cfn-rolling-signals", len(signals) == workers, "CloudFormation reports %d signals of %d new instances: %s.",
		len(signals), workers, names(signals))
	group := c.groupOf(groupStack)
	during, after := c.seen.suspended[group], c.seen.now[group]
	switch {
	case len(after) > 0:
		c.found("cfn-rolling-suspends", differed, "These processes are still suspended after the update: %s.", names(after))
	case len(during) == 0:
		c.found("cfn-rolling-suspends", notChecked, "The group was not observed during its update.")
	default:
		c.found("cfn-rolling-suspends", held, "Suspended during the update: %s. After it: none.", names(during))
	}
	return nil
}

// groupOf returns the name of the Auto Scaling group of a stack, as its instances have it.
func (c *hourChecks) groupOf(stack string) string {
	for group := range c.seen.now {
		if strings.HasPrefix(group, stack+"-AutoScalingGroup-") {
			return group
		}
	}
	return ""
}

// replaced checks what was observed of both rolls.
func (c *hourChecks) replaced(ctx context.Context) error {
	all, err := c.launched(ctx)
	if err != nil {
		return err
	}
	c.states()
	c.versions()
	c.terminated(all)
	c.beside()
	return c.attached(ctx, all)
}

// states checks the observed states of targets and instances.
func (c *hourChecks) states() {
	known := []string{"initial", "healthy", "unhealthy", "draining", "unused"}
	healthy, unknown := 0, false
	for _, states := range c.seen.health {
		if slices.Contains(states, "healthy") {
			healthy++
		}
		unknown = unknown || slices.ContainsFunc(states, func(state string) bool { return !slices.Contains(known, state) })
	}
	c.expect("elb-target-health", healthy == 2 && !unknown, //nolint:mnd // the first instance of the slot, and its replacement
		"Targets: %s.", statesOf(c.seen.health))
	other, inService := false, 0
	for _, states := range c.seen.lifecycle {
		if slices.Contains(states, "InService") {
			inService++
		}
		other = other || slices.ContainsFunc(states, func(state string) bool {
			return state != "InService" && !strings.HasPrefix(state, "Pending") && !strings.HasPrefix(state, "Terminating")
		})
	}
	c.expect("asg-lifecycle-states", inService > 0 && !other, "Instances: %s.", statesOf(c.seen.lifecycle))
}

// statesOf lists the states by instance.
func statesOf(of map[string][]string) string {
	var all []string
	for _, id := range slices.Sorted(maps.Keys(of)) {
		all = append(all, id+" was "+strings.Join(of[id], ", "))
	}
	return strings.Join(all, "; ")
}

// versions checks that the replacements were launched from other versions of the launch templates.
func (c *hourChecks) versions() {
	was, is := map[string]string{}, map[string]string{} // by group
	for id, version := range c.seen.template {
		if c.first[id] {
			was[c.seen.group[id]] = version
		} else {
			is[c.seen.group[id]] = version
		}
	}
	var all []string
	newer := len(is) == 2 //nolint:mnd // both groups
	for _, group := range slices.Sorted(maps.Keys(is)) {
		all = append(all, fmt.Sprintf("%s from version %s, its replacement from version %s", group, was[group], is[group]))
		newer = newer && was[group] != "" && was[group] != is[group]
	}
	c.expect("asg-template-versions", newer, "Launched: %s.", names(all))
}

// terminated checks that EC2 still lists the instances that were replaced.
func (c *hourChecks) terminated(all []ec2types.Instance) {
	var seen []string
	nameless := true
	for i := range all {
		if id := aws.ToString(all[i].InstanceId); c.first[id] && all[i].State != nil && all[i].State.Name == ec2types.InstanceStateNameTerminated {
			seen = append(seen, id)
			nameless = nameless && aws.ToString(all[i].PrivateDnsName) == ""
		}
	}
	c.expect("ec2-terminated-visible", len(seen) == len(c.first), "Of %d replaced instances, EC2 lists as terminated, with their tags: %s.",
		len(c.first), names(seen))
	if !nameless {
		c.found("ec2-private-dns-name", differed, "A terminated instance still has a private DNS name.")
	}
}

// beside checks whether a replacement was launched while the terminating hook held the instance.
func (c *hourChecks) beside() {
	group := c.groupOf(slotStack)
	var together, waited bool
	for id, of := range c.seen.group {
		if of == group {
			together = together || c.seen.beside[id]
			waited = waited || slices.Contains(c.seen.lifecycle[id], "Terminating:Wait")
		}
	}
	switch {
	case together:
		c.found("asg-launch-beside-held", held, "The group of one instance launched the replacement while the hook held the instance.")
	case waited:
		c.found("asg-launch-beside-held", differed, "While the hook held the instance of the group of one, no replacement was observed.")
	default:
		c.found("asg-launch-beside-held", notChecked, "The hook was shorter than a poll.")
	}
}

// attached checks that the etcd volume moved to the replacement of the slot.
func (c *hourChecks) attached(ctx context.Context, all []ec2types.Instance) error {
	objects, err := c.clusterOf(ctx, c.state)
	if err != nil {
		return err
	}
	id := objects.Cluster.Status.Outputs[model.OutputEtcdVolume(0)]
	out, err := c.clients.EC2(awsapi.Target{}).DescribeVolumes(ctx, &ec2.DescribeVolumesInput{VolumeIds: []string{id}})
	if err != nil {
		c.failed("ebs-attach-one", err)
		return ctx.Err()
	}
	for i := range out.Volumes {
		volume := &out.Volumes[i]
		var to []string
		for _, attachment := range volume.Attachments {
			to = append(to, aws.ToString(attachment.InstanceId))
		}
		moved := len(to) == 1 && !c.first[to[0]] && slices.ContainsFunc(all, func(instance ec2types.Instance) bool {
			return aws.ToString(instance.InstanceId) == to[0]
		})
		c.expect("ebs-attach-one", moved, "Volume %s is attached to %s, the replacement of the slot's instance: %t.", id, names(to), moved)
		encrypted := aws.ToBool(volume.Encrypted) && aws.ToString(volume.KmsKeyId) != ""
		c.expect("ebs-kms-attach", moved && encrypted, "Volume %s is encrypted with %s, and the slot's role attached it: %t.",
			id, aws.ToString(volume.KmsKeyId), moved)
	}
	return nil
}

// snapshot checks the snapshot that CloudFormation took of the etcd volume.
func (c *hourChecks) snapshot(ctx context.Context) error {
	found, err := c.finalSnapshots(ctx)
	if err != nil {
		c.failed("cfn-deletion-policy", err)
		return ctx.Err()
	}
	var ids, keys []string
	for i := range found {
		ids = append(ids, aws.ToString(found[i].SnapshotId))
		for _, tag := range found[i].Tags {
			keys = append(keys, aws.ToString(tag.Key))
		}
	}
	c.expect("cfn-deletion-policy", len(found) == 1, "Snapshots of the deleted volume %s: %s.", c.volume, names(ids))
	if len(found) == 0 {
		return nil
	}
	slices.Sort(keys)
	c.expect("cfn-snapshot-tags", slices.Contains(keys, model.TagEtcdSlot) && slices.Contains(keys, tagName), "The snapshot has the tags: %s.",
		names(keys))
	return nil
}
