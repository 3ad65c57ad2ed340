// Package rollingupdate implements the command rolling-update, which replaces instances whose
// configuration is out of date.
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
	"github.com/aws-operator/aws-operator/internal/cli/internal/converge"
	"github.com/aws-operator/aws-operator/internal/cli/internal/flags"
	"github.com/aws-operator/aws-operator/internal/cli/internal/usage"
	"github.com/aws-operator/aws-operator/internal/cli/version"
	"github.com/aws-operator/aws-operator/internal/cluster/live"
	"github.com/aws-operator/aws-operator/internal/cluster/model"
	"github.com/aws-operator/aws-operator/internal/inprocess"
	"github.com/aws-operator/aws-operator/internal/state"
)

const (
	// defaultValidateCount is how many checks in a row the cluster must pass before more instances
	// are replaced.
	defaultValidateCount = 1
	// defaultValidationTimeout is how long a run waits without any change.
	defaultValidationTimeout = 15 * time.Minute
	// certificateValidity limits how long one run can use the API.
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

// choice selects the instances to replace, and how to replace them.
type choice struct {
	groups, roles []string
	force         bool
	cloudOnly     bool
	failOnDrain   bool
	batchSize     string
}

// Command returns the command.
func Command() *cobra.Command {
	cmd := &cobra.Command{Use: "rolling-update", Short: "Replace instances that are out of date"}
	cmd.AddCommand(clusterCommand())
	return cmd
}

func clusterCommand() *cobra.Command {
	var o options
	cmd := &cobra.Command{
		Use:   "cluster NAME [--yes]",
		Short: "Replace instances that are out of date",
		Long: `Replace instances whose Auto Scaling group now launches instances of another configuration,
as after terraform apply, which creates new versions of launch templates but replaces no
instances. Without --yes, only show what would be done.

Bastions are replaced first, then the slots of the control plane, one at a time and only
while all others serve, so that etcd keeps its quorum, then the instance groups, one after
another, as spec.rollingUpdate of each configures (canary, batches, surge). For each
instance, the command cordons and drains the node, terminates the instance, and waits until
its replacement is Ready. Before it continues, the cluster must be as healthy as before.

Progress is stored in a tag of the Auto Scaling groups: after Ctrl-C, or if the process is
killed, the same command continues. Do not run terraform apply in the meantime, since it
would remove the tag.

If CloudFormation owns a group whose spec.rollingUpdate.engine is CloudFormation, and for
slots that it owns, the update of the stack replaces the instances; the command then shows
what to do instead. --force replaces all instances, including those of such groups and those
that are up to date. With --state k8s, --force changes the text in spec.roll of the groups
and in spec.controlPlane.roll of the Cluster, and follows the operator, which replaces the
instances; if the cluster is paused, the command replaces them.`,
		Example: `  # Show what is out of date and what would be done:
  aws-operator rolling-update cluster demo --state ./state

  aws-operator rolling-update cluster demo --state ./state --yes

  # Only one group, three instances at once, and stop if a node cannot be drained:
  aws-operator rolling-update cluster demo --instance-group workers --batch-size 3 --fail-on-drain-error --yes

  # Renew the certificates of the control plane by replacing its instances:
  aws-operator rolling-update cluster demo --instance-group-roles control-plane --force --yes`,
		Args:              usage.Name("cluster"),
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
	set.StringSliceVar(
		&o.groups, "instance-group", nil, "only these groups: names of instance groups, control-plane-0, bastion (default: all groups)",
	)
	set.StringSliceVar(&o.roles, "instance-group-roles", nil, "only groups of these roles: control-plane, worker, bastion (default: all)")
	set.BoolVar(&o.force, "force", false, "replace all instances, even if they are up to date or CloudFormation would replace them")
	set.BoolVar(&o.cloudOnly, "cloudonly", false, "use only AWS and neither check nor drain nodes, for a cluster whose API is unavailable")
	set.BoolVar(
		&o.failOnDrain,
		"fail-on-drain-error",
		false,
		"stop if a node is not drained in time, and keep it in service (default: spec.rollingUpdate.onDrainTimeout)",
	)
	set.StringVar(
		&o.batchSize,
		"batch-size",
		"",
		"how many instances of an instance group to replace at once, a number or a percentage such as 25% (default: its spec.rollingUpdate.batchSize)",
	)
	set.IntVar(
		&o.validateCount,
		"validate-count",
		defaultValidateCount,
		"how many checks in a row the cluster must pass before more instances are replaced",
	)
	set.DurationVar(
		&o.validationTimeout,
		"validation-timeout",
		defaultValidationTimeout,
		"give up if nothing changes for this long, not counting the time for nodes to drain and to become Ready",
	)
	_ = cmd.RegisterFlagCompletionFunc(
		"instance-group-roles", cobra.FixedCompletions([]string{"control-plane", "worker", "bastion"}, cobra.ShellCompDirectiveNoFileComp),
	)
}

func (o *options) check() error {
	if o.validateCount < 1 {
		return fmt.Errorf("--validate-count %d is invalid: use at least 1", o.validateCount)
	}
	if o.batchSize != "" {
		batch := intstr.Parse(o.batchSize)
		if _, err := intstr.GetScaledValueFromIntOrPercent(&batch, 100, true); err != nil { //nolint:mnd // any number
			return fmt.Errorf("--batch-size %s is invalid: use a number, or a percentage such as 25%%", o.batchSize)
		}
	}
	if o.confirm.Yes && o.output.Format != flags.FormatTable && o.output.Format != flags.FormatWide {
		return errors.New("--output only applies without --yes; leave out one of them")
	}
	return o.output.Check()
}

// follower follows the operator until a cluster is ready.
func follower(cmd *cobra.Command, in *state.State, cluster *v1alpha1.Cluster) func() error {
	key := types.NamespacedName{Namespace: cluster.Namespace, Name: cluster.Name}
	return func() error { return (&converge.Flags{}).To(cmd, in, key, inprocess.Ready) }
}

func (o *options) run(cmd *cobra.Command, name string) error {
	if err := o.check(); err != nil {
		return err
	}
	klog.SetLogger(logr.Discard()) // client-go's log about closed connections is not for users.
	ctx := cmd.Context()
	from, name, err := o.state.OpenCluster(cmd, name)
	if err != nil {
		return err
	}
	objects, err := from.Load(ctx, name)
	if err != nil {
		return err
	}
	if model.UsesEKS(objects.Cluster) {
		return fmt.Errorf("EKS replaces the nodes of cluster %s itself when the definition changes: to replace all nodes of a group, set roll of the InstanceGroup to a new text",
			name)
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
