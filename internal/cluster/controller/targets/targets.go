package targets

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sts"

	"github.com/aws-operator/aws-operator/api/cluster/v1alpha1"
	"github.com/aws-operator/aws-operator/internal/awsapi"
	"github.com/aws-operator/aws-operator/internal/grant"
	"github.com/aws-operator/aws-operator/pkg/operatorkit"
)

// Clients provides the AWS clients of the targets.
type Clients interface {
	Region(t awsapi.Target) string
	STS(t awsapi.Target) awsapi.STS
}

// Options configure [Targets]. Clients and AccountID are required.
type Options struct {
	Clients Clients
	// AccountID is the operator's own account.
	AccountID string
	// Roles are the IAM roles that Clusters of a namespace may name in spec.role. Empty refuses
	// all.
	Roles []grant.Grant
}

// Targets determines the accounts and regions of Clusters. It caches the accounts of roles.
type Targets struct {
	options Options

	mu    sync.Mutex
	known map[awsapi.Target]string
}

// New returns targets of which no account is known.
func New(options Options) *Targets {
	return &Targets{options: options, known: map[awsapi.Target]string{}}
}

// Of returns the account and region of the Cluster's stacks. The operator's own account and
// region are the zero value, as everywhere in the operator, so that their events are subscribed to
// only once.
func (t *Targets) Of(cluster *v1alpha1.Cluster) awsapi.Target {
	target := awsapi.Target{Region: cluster.Spec.Region}
	if role := cluster.Spec.Role; role != nil && role.ARN != "" {
		target.RoleARN, target.ExternalID = role.ARN, role.ExternalID
		return target
	}
	if target.Region == t.options.Clients.Region(awsapi.Target{}) {
		target.Region = ""
	}
	return target
}

// MayAssume is done if the Cluster names no role, or one that an administrator granted to its
// namespace. The operator's own credentials may assume more roles than a single team should use.
func (t *Targets) MayAssume(cluster *v1alpha1.Cluster) operatorkit.Outcome {
	role := cluster.Spec.Role
	if role == nil || role.ARN == "" || grant.Allows(t.options.Roles, cluster.Namespace, role.ARN) {
		return operatorkit.Done()
	}
	return operatorkit.Stall("RoleNotAllowed", fmt.Sprintf("spec.role names %s, which Clusters of namespace %s may not use; "+
		"to allow it, an administrator must start the operator with --allow-roles=%[2]s=%[1]s.", role.ARN, cluster.Namespace))
}

// Account returns the target's account. It asks AWS once per role, and not at all if the Cluster's
// status contains the account.
func (t *Targets) Account(ctx context.Context, cluster *v1alpha1.Cluster, target awsapi.Target) (string, error) {
	if target.RoleARN == "" {
		return t.options.AccountID, nil
	}
	if known := cluster.Status.Account; known != "" && strings.Contains(target.RoleARN, ":"+known+":") {
		return known, nil
	}
	key := roleOf(target)
	t.mu.Lock()
	known := t.known[key]
	t.mu.Unlock()
	if known != "" {
		return known, nil
	}
	out, err := t.options.Clients.STS(target).GetCallerIdentity(ctx, &sts.GetCallerIdentityInput{})
	if err != nil {
		return "", awsapi.Explain(err)
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.known[key] = aws.ToString(out.Account)
	return aws.ToString(out.Account), nil
}

// Retain forgets the accounts of roles that none of the targets has.
func (t *Targets) Retain(targets []awsapi.Target) {
	t.mu.Lock()
	defer t.mu.Unlock()
	maps.DeleteFunc(t.known, func(role awsapi.Target, _ string) bool {
		return !slices.ContainsFunc(targets, func(kept awsapi.Target) bool { return roleOf(kept) == role })
	})
}

// roleOf returns a target's role in any region.
func roleOf(target awsapi.Target) awsapi.Target {
	return awsapi.Target{RoleARN: target.RoleARN, ExternalID: target.ExternalID}
}
