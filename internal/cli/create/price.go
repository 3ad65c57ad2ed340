package create

import (
	"github.com/spf13/cobra"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/aws-operator/aws-operator/api/cluster/v1alpha1"
	"github.com/aws-operator/aws-operator/internal/operator"
	"github.com/aws-operator/aws-operator/internal/plan"
)

// anyAccount stands for the account, which has no effect on prices.
const anyAccount = "000000000000"

// showPrice prints what the cluster costs in a month to standard error. It does not call AWS.
func (o *options) showPrice(cmd *cobra.Command, objects []client.Object) error {
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
	for _, line := range plan.PriceOf(list, in.Cluster.Spec.Region, stacks).Text() {
		cmd.PrintErrln(line)
	}
	return nil
}
