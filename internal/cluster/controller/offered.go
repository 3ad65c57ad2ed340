package controller

import (
	"context"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/aws-operator/aws-operator/api/cluster/v1alpha1"
	"github.com/aws-operator/aws-operator/internal/cluster/offerings"
	"github.com/aws-operator/aws-operator/internal/cluster/record"
	"github.com/aws-operator/aws-operator/pkg/operatorkit"
)

// offerPoll is how often AWS is asked again whether it offers what an object asks for.
const offerPoll = 15 * time.Minute

// offered is done if AWS offers what a stack that is about to be created asks for. Existing stacks
// are not checked: AWS may no longer offer what they run.
func (o *operator) offered(
	ctx context.Context, cluster *v1alpha1.Cluster, known *record.Stack, wants []offerings.Want,
) operatorkit.Outcome {
	if known.Digest != "" {
		return operatorkit.Done()
	}
	target := o.targets.Of(cluster)
	problem, err := o.catalog.Find(ctx, o.options.Clients.EC2(target), target, wants)
	if err != nil { // CloudFormation will report what AWS does not offer.
		log.FromContext(ctx).Info("The instance types and images were not checked", "error", err.Error())
		return operatorkit.Done()
	}
	if problem != nil {
		return operatorkit.Wait(offerPoll, problem.Reason, problem.Message+" Nothing was created.").Degraded()
	}
	return operatorkit.Done()
}
