package controller

import (
	"context"
	"fmt"
	"strings"
	"sync"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sts"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/aws-operator/aws-operator/api/cluster/v1alpha1"
	"github.com/aws-operator/aws-operator/internal/awsapi"
	"github.com/aws-operator/aws-operator/internal/grant"
	"github.com/aws-operator/aws-operator/pkg/operatorkit"
)

// target returns the account and region of the Cluster's stacks. The operator's own account and
// region are the zero value, as everywhere in the operator, so that their events are subscribed to
// only once.
func (o *operator) target(cluster *v1alpha1.Cluster) awsapi.Target {
	target := awsapi.Target{Region: cluster.Spec.Region}
	if role := cluster.Spec.Role; role != nil && role.ARN != "" {
		target.RoleARN, target.ExternalID = role.ARN, role.ExternalID
		return target
	}
	if target.Region == o.options.Clients.Region(awsapi.Target{}) {
		target.Region = ""
	}
	return target
}

// mayAssume is done if the Cluster names no role, or one that an administrator granted to its
// namespace. The operator's own credentials may assume more roles than a single team should use.
func (o *operator) mayAssume(cluster *v1alpha1.Cluster) operatorkit.Outcome {
	role := cluster.Spec.Role
	if role == nil || role.ARN == "" || grant.Allows(o.options.Roles, cluster.Namespace, role.ARN) {
		return operatorkit.Done()
	}
	return operatorkit.Stall("RoleNotAllowed", fmt.Sprintf("spec.role names %s, which Clusters of namespace %s may not use; "+
		"to allow it, an administrator must start the operator with --allow-roles=%[2]s=%[1]s.", role.ARN, cluster.Namespace))
}

// retain stops listening to accounts and regions that no Cluster other than the leaving one uses.
func (o *operator) retain(ctx context.Context, leaving types.UID) error {
	if o.options.Events == nil {
		return nil
	}
	var clusters v1alpha1.ClusterList
	if err := o.client.List(ctx, &clusters, client.UnsafeDisableDeepCopy); err != nil {
		return fmt.Errorf("list Clusters: %w", err)
	}
	var targets []awsapi.Target
	for i := range clusters.Items {
		if cluster := &clusters.Items[i]; cluster.UID != leaving {
			targets = append(targets, o.target(cluster))
		}
	}
	o.options.Events.Retain(targets)
	return nil
}

// accounts caches the accounts of roles.
type accounts struct {
	mu    sync.Mutex
	known map[awsapi.Target]string
}

func newAccounts() *accounts { return &accounts{known: map[awsapi.Target]string{}} }

// account returns the target's account. It asks AWS once per role, and not at all if the Cluster's
// status contains the account.
func (o *operator) account(ctx context.Context, cluster *v1alpha1.Cluster, target awsapi.Target) (string, error) {
	if target.RoleARN == "" {
		return o.options.AccountID, nil
	}
	if known := cluster.Status.Account; known != "" && strings.Contains(target.RoleARN, ":"+known+":") {
		return known, nil
	}
	key := awsapi.Target{RoleARN: target.RoleARN, ExternalID: target.ExternalID}
	o.accounts.mu.Lock()
	known := o.accounts.known[key]
	o.accounts.mu.Unlock()
	if known != "" {
		return known, nil
	}
	out, err := o.options.Clients.STS(target).GetCallerIdentity(ctx, &sts.GetCallerIdentityInput{})
	if err != nil {
		return "", awsapi.Explain(err)
	}
	o.accounts.mu.Lock()
	defer o.accounts.mu.Unlock()
	o.accounts.known[key] = aws.ToString(out.Account)
	return aws.ToString(out.Account), nil
}
