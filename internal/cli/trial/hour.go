package trial

import (
	"context"
	"crypto/rand"
	_ "embed"
	"fmt"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"

	"github.com/aws-operator/aws-operator/api/cluster/v1alpha1"
	"github.com/aws-operator/aws-operator/internal/cluster/model"
	"github.com/aws-operator/aws-operator/internal/inprocess"
	"github.com/aws-operator/aws-operator/internal/state"
)

//go:embed hour.yaml
var hourTemplate string

// rollText is the text of spec.roll that requests the replacement of instances.
const rollText = "trial"

var hour = tier{
	name: "hour",
	creates: "cluster " + clusterName + " with one control-plane instance and one worker in a VPC of its own, and stack " + stackName +
		" with a queue and an event rule",
	price: fmt.Sprintf(
		"about %.2f USD an hour in us-east-1; other regions cost up to twice as much. The trial replaces each instance once, "+
			"deletes everything, and takes about an hour", total(hourCharges),
	),
	charges:  hourCharges,
	finishes: true,
	rows: []string{
		"cfn-ssm-parameter-type", "ec2-image-serial", "iam-eventual", "ec2-imdsv2", "s3-signed-get", "ec2-user-data", "ec2-console",
		"ec2-private-dns-name", "asg-group-name-tag", "ec2-launch-template-tags", "elb-mixed-case-name", "elb-health-https",
		"elb-health-ecdsa", "elb-target-health", "cfn-rolling-batches", "cfn-pause-seconds", "cfn-rolling-signals", "cfn-rolling-suspends",
		"asg-template-versions", "asg-lifecycle-states", "asg-launch-beside-held", "ebs-attach-one", "ebs-kms-attach", "ec2-terminated-visible",
		"ev-instance-terminate", "asg-terminating-hook", "ev-instance-state", "cfn-deletion-policy", "cfn-snapshot-tags",
	},
	check: func(ctx context.Context, r *runner) error {
		c := &hourChecks{runner: r, queue: queuePrefix + strings.ToLower(rand.Text()[:8]), seen: newObservations()}
		for _, check := range []func(*hourChecks, context.Context) error{
			(*hourChecks).record, (*hourChecks).create, (*hourChecks).machines, (*hourChecks).api, (*hourChecks).rollGroup,
			(*hourChecks).rollSlot, (*hourChecks).instanceEvents, (*hourChecks).replaced, (*hourChecks).remove,
		} {
			if err := check(c, ctx); err != nil {
				return err
			}
			if err := ctx.Err(); err != nil {
				return err
			}
		}
		return nil
	},
}

// hourChecks are the checks of one cluster.
type hourChecks struct {
	*runner

	// queue is the name of the queue of events, queueURL its address.
	queue, queueURL string
	// since is when the stack with the queue was created, by AWS's clock.
	since time.Time
	state *state.State
	seen  *observations
	// first are the instances that were launched first, by ID.
	first map[string]bool
}

// The names of the cluster's stacks.
var (
	groupStack = model.GroupStackName(clusterName, groupName)
	slotStack  = model.SlotStackName(clusterName, 0)
	baseStack  = model.BaseStackName(clusterName)
)

// record creates the stack whose queue receives the events of instances.
func (c *hourChecks) record(ctx context.Context) error {
	c.say("Creating stack %s, whose queue receives the events of instances …", stackName)
	made, err := c.cloudformation().CreateStack(ctx, &cloudformation.CreateStackInput{
		StackName: aws.String(stackName), TemplateBody: &hourTemplate, Tags: tags(),
		Parameters: []types.Parameter{{ParameterKey: aws.String("QueueName"), ParameterValue: &c.queue}},
	})
	if err != nil {
		return err
	}
	stack, err := c.settled(ctx, aws.ToString(made.StackId))
	if err != nil {
		return err
	}
	if stack.StackStatus != types.StackStatusCreateComplete {
		return fmt.Errorf("stack %s is %s: %s", stackName, stack.StackStatus, aws.ToString(stack.StackStatusReason))
	}
	c.since = aws.ToTime(stack.CreationTime).Truncate(time.Second) // launch times have whole seconds
	for _, output := range stack.Outputs {
		c.queueURL = aws.ToString(output.OutputValue)
	}
	return nil
}

// create creates the cluster and waits until its nodes are Ready.
func (c *hourChecks) create(ctx context.Context) error {
	c.say("Creating cluster %s …", clusterName)
	var err error
	if c.state, err = c.openState(ctx); err != nil {
		return err
	}
	if err := c.define(ctx, c.state); err != nil {
		return err
	}
	return c.ready(ctx)
}

// ready brings the cluster to its definition, and observes it meanwhile.
func (c *hourChecks) ready(ctx context.Context) error {
	return c.whileObserving(ctx, func() error { return c.converge(ctx, c.state, inprocess.Ready) })
}

// rollGroup replaces the worker.
func (c *hourChecks) rollGroup(ctx context.Context) error {
	c.say("Replacing the worker …")
	if err := edit(ctx, c.state, func(_ *v1alpha1.Cluster, group *v1alpha1.InstanceGroup) { group.Spec.Roll = rollText }); err != nil {
		return err
	}
	if err := c.ready(ctx); err != nil {
		return err
	}
	return c.rolled(ctx)
}

// rollSlot replaces the control-plane instance.
func (c *hourChecks) rollSlot(ctx context.Context) error {
	c.say("Replacing the control-plane instance …")
	if err := edit(ctx, c.state, func(cluster *v1alpha1.Cluster, _ *v1alpha1.InstanceGroup) {
		cluster.Spec.ControlPlane.Roll = rollText
	}); err != nil {
		return err
	}
	if err := c.ready(ctx); err != nil {
		return err
	}
	_, err := c.awaitHealthy(ctx, false)
	return err
}

// remove deletes the cluster, and checks the final snapshot of its etcd volume.
func (c *hourChecks) remove(ctx context.Context) error {
	c.say("Deleting cluster %s …", clusterName)
	objects, err := c.clusterOf(ctx, c.state)
	if err != nil {
		return err
	}
	c.volume = objects.Cluster.Status.Outputs[model.OutputEtcdVolume(0)]
	c.keepSnapshot = true
	if err := c.deleteCluster(ctx); err != nil {
		return err
	}
	return c.snapshot(ctx)
}
