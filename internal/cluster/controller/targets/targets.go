package targets

import (
	"context"
	"fmt"
	"strings"
	"sync"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sts"

	"github.com/aws-operator/aws-operator/api/cluster/v1alpha1"
	"github.com/aws-operator/aws-operator/internal/awsapi"
	"github.com/aws-operator/aws-operator/internal/cfn/stack"
	"github.com/aws-operator/aws-operator/internal/grant"
	"github.com/aws-operator/aws-operator/internal/identity"
	"github.com/aws-operator/aws-operator/pkg/operatorkit"
)

// Clients provides the AWS clients of the targets.
type Clients interface {
	Region(t awsapi.Target) string
	STS(t awsapi.Target) awsapi.STS
}

// Identities says with which credentials and limits the operator acts; *identity.Identities
// implements it.
type Identities interface {
	Cached(wish identity.Wish) (identity.Use, error)
}

// Options configure [Targets]. Clients and AccountID are required.
type Options struct {
	Clients Clients
	// AccountID is the operator's own account.
	AccountID string
	// Roles are the IAM roles that Clusters of a namespace may name in spec.role. Empty refuses
	// all.
	Roles []grant.Grant
	// Identities, if not nil, resolves Clusters that name no role.
	Identities Identities
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
// region are the zero value. The target of a Cluster whose identity is refused has a role that does
// not exist, so that no call succeeds: the operator's own credentials may do more.
func (t *Targets) Of(cluster *v1alpha1.Cluster) awsapi.Target {
	use, err := t.Use(cluster)
	if err != nil {
		return awsapi.Target{Region: cluster.Spec.Region, RoleARN: "arn:aws:iam::000000000000:role/refused"}
	}
	return use.Target
}

// Use returns how the operator acts for the Cluster. The error is an [*identity.RefusedError] if it
// must not.
func (t *Targets) Use(cluster *v1alpha1.Cluster) (identity.Use, error) {
	own := awsapi.Place{Account: t.options.AccountID, Region: t.options.Clients.Region(awsapi.Target{})}
	target := awsapi.Target{Region: cluster.Spec.Region}
	if role := cluster.Spec.Role; role != nil && role.ARN != "" {
		target.RoleARN, target.ExternalID = role.ARN, role.ExternalID
		return identity.Use{Target: target, Place: target.Place(own)}, t.mayAssume(cluster)
	}
	if t.options.Identities == nil {
		if target.Region == own.Region {
			target.Region = ""
		}
		return identity.Use{Target: target, Place: target.Place(own)}, nil
	}
	return t.options.Identities.Cached(Wish(cluster)) //nolint:wrapcheck // a sentence for the user
}

// Wish returns what a Cluster asks for.
func Wish(cluster *v1alpha1.Cluster) identity.Wish {
	return identity.Wish{Namespace: cluster.Namespace, Name: cluster.Spec.Identity, Region: cluster.Spec.Region, OwnRegions: true}
}

// mayAssume returns an error unless an administrator granted the role to the Cluster's namespace.
// The operator's own credentials may assume more roles than a single team should use.
func (t *Targets) mayAssume(cluster *v1alpha1.Cluster) error {
	role := cluster.Spec.Role
	if grant.Allows(t.options.Roles, cluster.Namespace, role.ARN) {
		return nil
	}
	return &identity.RefusedError{Reason: "RoleNotAllowed", Message: fmt.Sprintf(
		"spec.role names %s, which Clusters of namespace %s may not use; "+
			"to allow it, an administrator must start the operator with --allow-roles=%[2]s=%[1]s.", role.ARN, cluster.Namespace)}
}

// MayUse is done if the operator may act for the Cluster.
func (t *Targets) MayUse(cluster *v1alpha1.Cluster) operatorkit.Outcome {
	if _, err := t.Use(cluster); err != nil {
		return identity.Outcome(err)
	}
	return operatorkit.Done()
}

// Limit returns a function that makes the Cluster's stacks obey its identity.
func (t *Targets) Limit(cluster *v1alpha1.Cluster) func(*stack.Desired) error {
	return func(desired *stack.Desired) error {
		use, err := t.Use(cluster)
		if err != nil {
			return err
		}
		return use.Limit(desired) //nolint:wrapcheck // a sentence for the user
	}
}

// ServiceRole returns the role that CloudFormation assumes for the Cluster's stacks, empty for none.
func (t *Targets) ServiceRole(cluster *v1alpha1.Cluster) string {
	use, _ := t.Use(cluster) // a refused Cluster has no target either
	return use.ServiceRole
}

// Boundary returns the permissions boundary of the Cluster's identity, empty for none.
func (t *Targets) Boundary(cluster *v1alpha1.Cluster) string {
	use, _ := t.Use(cluster) // as above
	return use.Boundary
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
	key := awsapi.Target{RoleARN: target.RoleARN, ExternalID: target.ExternalID}
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

// Place returns a target's account and region.
func (t *Targets) Place(target awsapi.Target) awsapi.Place {
	return target.Place(awsapi.Place{Account: t.options.AccountID, Region: t.options.Clients.Region(target)})
}
