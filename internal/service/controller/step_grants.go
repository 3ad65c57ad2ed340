package controller

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/types"

	v1alpha1 "github.com/aws-operator/aws-operator/api/service/v1alpha1"
	"github.com/aws-operator/aws-operator/internal/cfn/stack"
	"github.com/aws-operator/aws-operator/internal/identity"
	"github.com/aws-operator/aws-operator/internal/service/render"
	"github.com/aws-operator/aws-operator/pkg/operatorkit"
)

// poll is the interval of checks for which there is no event.
const poll = 5 * time.Second

// rolesStep makes the roles of the service accounts to which the object grants access, before the
// object's stack adds policies to them. When the object is deleted, it releases them after the stack.
type rolesStep struct{ kind *kind }

// Name returns the step's name.
func (s rolesStep) Name() string { return "roles" }

// EnsureCreated makes the roles. It first records the service accounts in the status, so that a role
// is found again even if the grant is removed while the operator is down.
func (s rolesStep) EnsureCreated(ctx context.Context, obj *v1alpha1.Object) operatorkit.Outcome {
	k := s.kind
	grants, err := render.Grants(k.model.Load(), obj)
	if outcome, ok := refused(err); ok {
		return outcome
	}
	if err != nil {
		return operatorkit.Stall("InvalidGrant", sentence("The grants in the spec are invalid", err))
	}
	if len(grants) == 0 {
		return operatorkit.Done()
	}
	if observes, _ := render.Observes(obj); observes { // the stack's step reports an unknown policy
		return operatorkit.Stall("CannotGrant", fmt.Sprintf(
			"The annotation %s is %s, so that no stack can have the policies of spec.grants; remove the annotation or the grants.",
			v1alpha1.ManagementPolicyAnnotation, v1alpha1.ManagementPolicyObserve))
	}
	use, made := k.useOfRoles(ctx, obj)
	if !made.IsDone() {
		return made
	}
	if k.recordGrants(obj, grants, use) {
		return operatorkit.Wait(time.Millisecond, "Granting", "The operator is about to make the roles of service accounts.").WithoutEvent()
	}
	var all []operatorkit.Outcome
	for _, g := range grants {
		account := accountOf(obj, g.ServiceAccount)
		all = append(all, k.service.roles.ensure(ctx, use, account, k.key(obj), obj.Annotations[stack.RetryAnnotation]))
	}
	return operatorkit.Aggregate(all...)
}

// EnsureDeleted releases the roles. A stack that is retained keeps its policies, and so the roles.
func (s rolesStep) EnsureDeleted(ctx context.Context, obj *v1alpha1.Object) operatorkit.Outcome {
	k := s.kind
	accounts := k.accounts(obj)
	if len(accounts) == 0 {
		return operatorkit.Done()
	}
	policy := strings.ToLower(strings.TrimSpace(obj.Annotations[v1alpha1.DeletionPolicyAnnotation]))
	retained := policy == v1alpha1.DeletionPolicyRetain
	if retained && (obj.Status.StackID == "" || k.service.options.ServiceAccountIssuer == "") {
		return operatorkit.Done()
	}
	use, err := k.service.roleUse(ctx, obj.Namespace, retained)
	switch {
	case err != nil && retained:
		return left(identity.Outcome(err))
	case err != nil:
		return leftBehind(identity.Outcome(err))
	}
	var all []operatorkit.Outcome
	for _, account := range accounts {
		if retained {
			all = append(all, left(k.service.roles.keep(ctx, use, account)))
		} else {
			all = append(all, k.service.roles.release(ctx, use, account, k.key(obj)))
		}
	}
	return operatorkit.Aggregate(all...)
}

// left is the outcome for an object whose user leaves its stack: what the operator may not do does
// not hold the object.
func left(made operatorkit.Outcome) operatorkit.Outcome {
	if made.Kind() == operatorkit.KindStall {
		return operatorkit.Done()
	}
	return made
}

// recordGrants adds the service accounts of grants to the status. It reports whether that changed
// the status.
func (k *kind) recordGrants(obj *v1alpha1.Object, grants []render.Grant, use identity.Use) bool {
	changed := false
	for _, g := range grants {
		if slices.ContainsFunc(obj.Status.Grants, func(s v1alpha1.GrantStatus) bool { return s.ServiceAccount == g.ServiceAccount }) {
			continue
		}
		changed = true
		obj.Status.Grants = append(slices.Clone(obj.Status.Grants), v1alpha1.GrantStatus{
			ServiceAccount: g.ServiceAccount, RoleARN: k.roleARN(obj, g.ServiceAccount, use), Message: "The role is not ready yet.",
		})
	}
	return changed
}

func (k *kind) roleARN(obj *v1alpha1.Object, account string, use identity.Use) string {
	role := render.Role{ClusterName: k.service.options.ClusterName, Namespace: obj.Namespace, Name: account}
	return role.ARN(use.Place.Account, use.Place.Region)
}

// accountOf names a service account of the object's namespace: grants reach no other.
func accountOf(obj *v1alpha1.Object, name string) types.NamespacedName {
	return types.NamespacedName{Namespace: obj.Namespace, Name: name}
}

// accounts lists the service accounts to which an object grants access, or granted it.
func (k *kind) accounts(obj *v1alpha1.Object) []types.NamespacedName {
	grants, _ := render.Grants(k.model.Load(), obj) // a step reports the error
	var accounts []types.NamespacedName
	add := func(name string) {
		if !render.IsServiceAccount(name) {
			return // another client wrote the status
		}
		if account := accountOf(obj, name); !slices.Contains(accounts, account) {
			accounts = append(accounts, account)
		}
	}
	for _, g := range grants {
		add(g.ServiceAccount)
	}
	for _, g := range obj.Status.Grants {
		add(g.ServiceAccount)
	}
	return accounts
}

// roleUse returns how the operator acts for the roles of a namespace's service accounts: with the
// namespace's identity, because several objects share a role. Tagged is whether it needs their tags, which
// may be wrong.
func (s *service) roleUse(ctx context.Context, namespace string, tagged bool) (identity.Use, error) {
	if s.options.Identities == nil {
		return s.own(), nil
	}
	return s.options.Identities.Of(ctx, identity.Wish{Namespace: namespace, Tagged: tagged}) //nolint:wrapcheck // a sentence for the user
}

// useOfRoles returns how the operator acts for the roles of an object's grants. It refuses an object
// with another identity than its namespace: its policy could be in another account than the role, or
// escape the permissions boundary.
func (k *kind) useOfRoles(ctx context.Context, obj *v1alpha1.Object) (identity.Use, operatorkit.Outcome) {
	if k.service.options.ServiceAccountIssuer == "" {
		return identity.Use{}, operatorkit.Stall("IssuerNotConfigured", "spec.grants needs the issuer of the cluster's service account tokens, which the operator does not know. "+
			"Have an administrator start the operator with --service-account-issuer, or remove spec.grants.")
	}
	own, made := k.useNow(ctx, obj)
	if !made.IsDone() {
		return own, made
	}
	use, err := k.service.roleUse(ctx, obj.Namespace, true)
	if err != nil {
		return use, identity.Outcome(err)
	}
	if use.Identity != own.Identity || use.Place.Account != own.Place.Account {
		return use, operatorkit.Stall("GrantElsewhere", fmt.Sprintf(
			"spec.grants is not possible here: the object is in account %s by AWSIdentity %q, but the roles of service accounts of namespace %s are in account %s by AWSIdentity %q. "+
				"Use the namespace's identity for the object, or remove spec.grants.",
			own.Place.Account, own.Identity, obj.Namespace, use.Place.Account, use.Identity))
	}
	return use, operatorkit.Done()
}

// accountsStep annotates the ServiceAccounts with their roles once the object's stack has its
// policies, and releases the roles of service accounts to which the object no longer grants access.
type accountsStep struct{ kind *kind }

// Name returns the step's name.
func (s accountsStep) Name() string { return "accounts" }

// EnsureCreated annotates the ServiceAccounts that exist. A watch enqueues the object when another
// one is created.
func (s accountsStep) EnsureCreated(ctx context.Context, obj *v1alpha1.Object) operatorkit.Outcome {
	k := s.kind
	grants, err := render.Grants(k.model.Load(), obj)
	if err != nil {
		return operatorkit.Fail(err)
	}
	if len(grants)+len(obj.Status.Grants) == 0 {
		return operatorkit.Done()
	}
	use, err := k.service.roleUse(ctx, obj.Namespace, false)
	if err != nil {
		return identity.Outcome(err)
	}
	var all []operatorkit.Outcome
	var statuses []v1alpha1.GrantStatus
	for _, g := range grants {
		status := v1alpha1.GrantStatus{ServiceAccount: g.ServiceAccount, RoleARN: k.roleARN(obj, g.ServiceAccount, use)}
		var made operatorkit.Outcome
		status.Message, made = k.service.annotate(ctx, accountOf(obj, g.ServiceAccount), status.RoleARN)
		statuses, all = append(statuses, status), append(all, made)
	}
	for _, was := range obj.Status.Grants {
		if !render.IsServiceAccount(was.ServiceAccount) ||
			slices.ContainsFunc(grants, func(g render.Grant) bool { return g.ServiceAccount == was.ServiceAccount }) {
			continue
		}
		made := k.service.roles.release(ctx, use, accountOf(obj, was.ServiceAccount), k.key(obj))
		if !made.IsDone() {
			was.Message = "The role is being deleted."
			statuses = append(statuses, was)
		}
		all = append(all, made)
	}
	obj.Status.Grants = statuses
	return operatorkit.Aggregate(all...)
}

// EnsureDeleted has nothing to delete: the roles are released after the stack.
func (s accountsStep) EnsureDeleted(context.Context, *v1alpha1.Object) operatorkit.Outcome {
	return operatorkit.Done()
}
