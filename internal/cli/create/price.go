package create

import (
	"github.com/spf13/cobra"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/aws-operator/aws-operator/api/cluster/v1alpha1"
	"github.com/aws-operator/aws-operator/internal/awsapi"
	"github.com/aws-operator/aws-operator/internal/cli/version"
	"github.com/aws-operator/aws-operator/internal/operator"
	"github.com/aws-operator/aws-operator/internal/plan"
)

// anyAccount stands for the account, which has no effect on prices, nor on what a cluster needs of quotas.
const anyAccount = "000000000000"

// showCosts prints what the cluster costs in a month to standard error, and if the flags ask for it, whether the
// quotas of the account suffice. Without --quotas, it does not call AWS.
func (o *options) showCosts(cmd *cobra.Command, objects []client.Object) error {
	list, err := o.prices.List()
	if err != nil {
		return err
	}
	in := plan.Input{}
	for _, object := range objects {
		switch object := object.(type) {
		case *v1alpha1.Cluster:
			in.Cluster = object.DeepCopy()
			in.Cluster.Namespace = o.state.Namespace()
		case *v1alpha1.InstanceGroup:
			group := object.DeepCopy()
			group.Namespace = o.state.Namespace()
			in.Groups = append(in.Groups, group)
		}
	}
	stacks, err := plan.Render(cmd.Context(), in, plan.Options{AccountID: anyAccount, Operator: operator.DefaultClusterName})
	if err != nil {
		// The Release may be in the state, which a dry run does not read.
		cmd.PrintErrf("Monthly price: unknown: %v\n", err)
		return nil
	}
	region := in.Cluster.Spec.Region
	lines := plan.PriceOf(list, region, stacks).Text()
	if o.quotas {
		clients, err := awsapi.New(cmd.Context(), awsapi.Options{Region: region, UserAgent: "aws-operator/" + version.String()})
		if err != nil {
			return err
		}
		report, err := plan.QuotasOf(cmd.Context(), clients, awsapi.Target{}, stacks)
		if err != nil {
			return err
		}
		lines = append(append(lines, ""), report.Text()...)
	}
	for _, line := range lines {
		cmd.PrintErrln(line)
	}
	return nil
}
