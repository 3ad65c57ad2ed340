// Package rollingupdate is the verb that replaces a cluster's machines by those of the shape that its groups launch now.
package rollingupdate

import (
	"errors"
	"fmt"
	"time"

	"github.com/go-logr/logr"
	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/klog/v2"

	"github.com/aws-operator/aws-operator/api/cluster/v1alpha1"
	"github.com/aws-operator/aws-operator/internal/awsapi"
	"github.com/aws-operator/aws-operator/internal/cli/bring"
	"github.com/aws-operator/aws-operator/internal/cli/flags"
	"github.com/aws-operator/aws-operator/internal/cli/version"
	"github.com/aws-operator/aws-operator/internal/cluster/live"
	"github.com/aws-operator/aws-operator/internal/engine"
	"github.com/aws-operator/aws-operator/internal/state"
)

const (
	// defaultValidateCount is how many times in a row the cluster must be found well before more machines go.
	defaultValidateCount = 1
	// defaultValidationTimeout is how long it is waited in vain.
	defaultValidationTimeout = 15 * time.Minute
	// certificateValidity is how long the API can be asked in one run.
	certificateValidity = 7 * 24 * time.Hour
)

type options struct {
	state   flags.State
	output  flags.Output
	confirm flags.Confirm

	choice
	validateCount     int
	validationTimeout time.Duration
}

// choice says which machines are replaced, and how.
type choice struct {
	groups, roles []string
	force         bool
	cloudOnly     bool
	failOnDrain   bool
	batchSize     string
}

// Command returns the verb.
func Command() *cobra.Command {
	cmd := &cobra.Command{Use: "rolling-update", Short: "Replace machines that are not as their groups launch them now"}
	cmd.AddCommand(clusterCommand())
	return cmd
}

func clusterCommand() *cobra.Command {
	var o options
	cmd := &cobra.Command{
		Use:   "cluster NAME [--yes]",
		Short: "Replace machines that are not as their groups launch them now",
		Long: `Replace machines that are not as their groups launch them now: after terraform apply,
which makes new versions of launch templates and replaces no machine. Without --yes it
only shows what it would do.

Bastions go first, then the slots of the control plane, one at a time and only while
all others serve, so that etcd keeps its quorum; then the instance groups, one after the
other, as spec.rollingUpdate of each says (canary, batches, surge). A node is cordoned
and drained, its machine ended, and its replacement waited for until it is Ready; before
more go the cluster must be as well as it was.

How far it is stands on the Auto Scaling groups, as a tag: after Ctrl-C, or if it is
killed, the same command goes on. terraform apply does not go well with that meanwhile,
since it would remove the tag.

Where CloudFormation owns a group whose spec.rollingUpdate.engine is CloudFormation, and
all slots, the update of the stack replaces the machines: what to do is told instead.
--force replaces all machines, of such groups too, and those that need it not. With
--state k8s the operator is asked to do that, by another text in spec.roll of the groups
and spec.controlPlane.roll of the Cluster, and followed; where the cluster is paused, the
command does it.`,
		Example: `  # What is out of date, and what would be done:
  aws-operator rolling-update cluster demo --state ./state

  aws-operator rolling-update cluster demo --state ./state --yes

  # Only one group, three machines at once, and stop where a node cannot be drained:
  aws-operator rolling-update cluster demo --instance-group workers --batch-size 3 --fail-on-drain-error --yes

  # New certificates for the control plane, which come with new machines:
  aws-operator rolling-update cluster demo --instance-group-roles control-plane --force --yes`,
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: o.state.CompleteCluster,
		RunE:              func(cmd *cobra.Command, args []string) error { return o.run(cmd, args[0]) },
	}
	o.state.Add(cmd)
	o.confirm.Add(cmd)
	o.output.Add(cmd, flags.FormatTable, flags.FormatWide, flags.FormatJSON, flags.FormatYAML)
	o.add(cmd)
	return cmd
}

func (o *options) add(cmd *cobra.Command) {
	set := cmd.Flags()
	set.StringSliceVar(&o.groups, "instance-group", nil, "only these groups: names of instance groups, control-plane-0, bastion (default: all)")
	set.StringSliceVar(&o.roles, "instance-group-roles", nil, "only groups of these roles: control-plane, worker, bastion (default: all)")
	set.BoolVar(&o.force, "force", false, "replace all machines, also those that need it not and those that CloudFormation would replace")
	set.BoolVar(&o.cloudOnly, "cloudonly", false, "go by AWS alone: nodes are neither looked at nor drained, for a cluster whose API does not answer")
	set.BoolVar(&o.failOnDrain, "fail-on-drain-error", false, "stop where a node cannot be drained in time, and leave it in service (default: as spec.rollingUpdate.onDrainTimeout says)")
	set.StringVar(&o.batchSize, "batch-size", "", "how many machines of an instance group are replaced at once, a number or a share such as 25% (default: as its spec.rollingUpdate says)")
	set.IntVar(&o.validateCount, "validate-count", defaultValidateCount, "how many times in a row the cluster must be well before more machines go")
	set.DurationVar(&o.validationTimeout, "validation-timeout", defaultValidationTimeout, "give up where nothing changes for so long, beside the time that nodes take to be drained and to become Ready")
	_ = cmd.RegisterFlagCompletionFunc("instance-group-roles", cobra.FixedCompletions([]string{"control-plane", "worker", "bastion"}, cobra.ShellCompDirectiveNoFileComp))
}

func (o *options) check() error {
	if o.validateCount < 1 {
		return fmt.Errorf("--validate-count %d cannot be: take at least 1", o.validateCount)
	}
	if o.batchSize != "" {
		batch := intstr.Parse(o.batchSize)
		if _, err := intstr.GetScaledValueFromIntOrPercent(&batch, 100, true); err != nil { //nolint:mnd // any number
			return fmt.Errorf("--batch-size %s cannot be: take a number, or a share such as 25%%", o.batchSize)
		}
	}
	if o.confirm.Yes && o.output.Format != flags.FormatTable && o.output.Format != flags.FormatWide {
		return errors.New("--output is for what would be done; leave out --yes, or --output")
	}
	return o.output.Check()
}

// follower follows the operator until a cluster is ready.
func follower(cmd *cobra.Command, in *state.State, cluster *v1alpha1.Cluster) func() error {
	key := types.NamespacedName{Namespace: cluster.Namespace, Name: cluster.Name}
	return func() error { return (&bring.Flags{}).To(cmd, in, key, engine.Ready) }
}

func (o *options) run(cmd *cobra.Command, name string) error {
	if err := o.check(); err != nil {
		return err
	}
	klog.SetLogger(logr.Discard()) // What client-go says of connections that end is no news to people.
	ctx := cmd.Context()
	from, err := o.state.Open(cmd)
	if err != nil {
		return err
	}
	objects, err := from.Load(ctx, name)
	if err != nil {
		return err
	}
	clients, err := awsapi.New(ctx, awsapi.Options{Region: objects.Cluster.Spec.Region, UserAgent: "aws-operator/" + version.String()})
	if err != nil {
		return err
	}
	session := live.Open(live.Options{
		Clients: clients, Cluster: objects.Cluster, Groups: objects.Groups, Secrets: objects.Secrets, Validity: certificateValidity,
	})
	defer session.Close()
	u := &update{
		cluster: objects.Cluster, groups: objects.Groups, managed: from.Kubernetes() != nil, clients: clients, session: session,
		choice: o.choice, validateCount: o.validateCount, patience: o.validationTimeout,
		output: &o.output, out: cmd.OutOrStdout(),
	}
	if management := from.Kubernetes(); management != nil {
		u.objects, u.follow = management, follower(cmd, from, objects.Cluster)
	}
	if !o.confirm.Yes {
		return u.show(ctx)
	}
	unlock, err := from.Lock(ctx, name, "rolling-update")
	if err != nil {
		return err
	}
	return errors.Join(u.roll(ctx), unlock())
}
