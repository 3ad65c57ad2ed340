package controller

import (
	"context"
	"fmt"
	"slices"
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

// rolesStep makes the roles of the service accounts and objects to which the object grants access, and
// that of the object itself, before the object's stack adds policies to them. When the object is
// deleted, it releases them after the stack.
type rolesStep struct{ kind *kind }

// Name returns the step's name.
func (s rolesStep) Name() string { return "roles" }

// EnsureCreated makes the roles. It first records the grantees in the status, so that a role is found
// again even if the grant is removed while the operator is down.
func (s rolesStep) EnsureCreated(ctx context.Context, obj *v1alpha1.Object) operatorkit.Outcome {
	k := s.kind
	grants, err := render.Grants(k.modelOf(obj), obj)
	if outcome, ok := refused(err); ok {
		return outcome
	}
	if err != nil {
		return operatorkit.Stall("InvalidGrant", sentence("The grants in the spec are invalid", err))
	}
	observes, _ := render.Observes(obj) // the stack's step reports an unknown policy
	if observes && len(grants) > 0 {
		return operatorkit.Stall("CannotGrant", fmt.Sprintf(
			"The annotation %s is %s, so that no stack can have the policies of spec.grants; remove the annotation or the grants.",
			v1alpha1.ManagementPolicyAnnotation, v1alpha1.ManagementPolicyObserve))
	}
	var needed []render.Grantee
	if render.HasRole(k.modelOf(obj), obj) && !observes {
		needed = append(needed, k.self(obj))
	}
	for _, g := range grants {
		needed = append(needed, g.Grantee)
	}
	if len(needed) == 0 {
		return operatorkit.Done()
	}
	use, made := k.useOfRoles(ctx, obj)
	if !made.IsDone() {
		return made
	}
	if k.recordGrants(obj, needed, use) {
		return operatorkit.Wait(time.Millisecond, "Granting", "The operator is about to make the roles of spec.grants.").WithoutEvent()
	}
	var all []operatorkit.Outcome
	for _, of := range needed {
		all = append(all, k.service.roles.ensure(ctx, use, of, k.key(obj), obj.Annotations[stack.RetryAnnotation]))
	}
	return operatorkit.Aggregate(all...)
}

// self is the object as the grantee whose role it runs with.
func (k *kind) self(obj *v1alpha1.Object) render.Grantee {
	return render.Grantee{Kind: k.name, Name: obj.Name}
}

// EnsureDeleted releases the roles. A stack that is retained keeps its policies, and so the roles.
func (s rolesStep) EnsureDeleted(ctx context.Context, obj *v1alpha1.Object) operatorkit.Outcome {
	k := s.kind
	grantees := k.grantees(obj)
	if len(grantees) == 0 {
		return operatorkit.Done()
	}
	policy, err := render.DeletionPolicy(obj)
	if err != nil {
		return invalid(err)
	}
	retained := policy == v1alpha1.DeletionPolicyRetain
	if retained && (obj.Status.StackID == "" || !k.service.options.makesRoles()) {
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
	for _, of := range grantees {
		if retained {
			all = append(all, left(k.service.roles.keep(ctx, use, obj.Namespace, of)))
		} else {
			all = append(all, k.service.roles.release(ctx, use, of, k.key(obj)))
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

// recordGrants adds the grantees to the status. It reports whether that changed the status.
func (k *kind) recordGrants(obj *v1alpha1.Object, needed []render.Grantee, use identity.Use) bool {
	changed := false
	for _, of := range needed {
		if !k.records(obj, of) || slices.ContainsFunc(obj.Status.Grants, func(s v1alpha1.GrantStatus) bool { return granteeOf(s) == of }) {
			continue
		}
		changed = true
		status := k.grantStatus(obj, of, use)
		status.Message = "The role is not ready yet."
		obj.Status.Grants = append(slices.Clone(obj.Status.Grants), status)
	}
	return changed
}

// records reports whether the status has the role of a grantee: not the object's own, unless only some
// objects of the kind have one.
func (k *kind) records(obj *v1alpha1.Object, of render.Grantee) bool {
	return of != k.self(obj) || k.modelOf(obj).RoleOnlyIf != nil
}

// grantStatus is the entry of a grantee in status.grants.
func (k *kind) grantStatus(obj *v1alpha1.Object, of render.Grantee, use identity.Use) v1alpha1.GrantStatus {
	role := render.Role{ClusterName: k.service.options.ClusterName, Kind: of.Kind, Namespace: obj.Namespace, Name: of.Name}
	status := v1alpha1.GrantStatus{RoleARN: role.ARN(use.Place.Account, use.Place.Region)}
	if of.Kind == "" {
		status.ServiceAccount = of.Name
	} else {
		status.Kind, status.Name = of.Kind, of.Name
	}
	return status
}

// roleARNs returns the roles of the service accounts to which an object grants access. They are in the
// object's account: useOfRoles refuses others.
func (k *kind) roleARNs(obj *v1alpha1.Object, use identity.Use) map[string]string {
	grants, _ := render.Grants(k.modelOf(obj), obj) // a step reports the error
	arns := make(map[string]string, len(grants))
	for _, g := range grants {
		if g.Kind == "" {
			arns[g.Name] = k.grantStatus(obj, g.Grantee, use).RoleARN
		}
	}
	return arns
}

// granteeOf returns the grantee of an entry of status.grants.
func granteeOf(status v1alpha1.GrantStatus) render.Grantee {
	if status.Kind == "" {
		return render.Grantee{Name: status.ServiceAccount}
	}
	return render.Grantee{Kind: status.Kind, Name: status.Name}
}

// grantees lists the object itself if it has a role, and all to which it grants access or granted it.
func (k *kind) grantees(obj *v1alpha1.Object) []render.Grantee {
	grants, _ := render.Grants(k.modelOf(obj), obj) // a step reports the error
	var all []render.Grantee
	add := func(of render.Grantee) {
		if of.Valid() && !slices.Contains(all, of) { // another client may have written the status
			all = append(all, of)
		}
	}
	if render.HasRole(k.modelOf(obj), obj) {
		add(k.self(obj))
	}
	for _, g := range grants {
		add(g.Grantee)
	}
	for _, g := range obj.Status.Grants {
		add(granteeOf(g))
	}
	return all
}

// roleUse returns how the operator acts for the roles of a namespace: with the namespace's identity,
// because several objects share a role. Tagged is whether it needs their tags, which may be wrong.
func (s *service) roleUse(ctx context.Context, namespace string, tagged bool) (identity.Use, error) {
	if s.options.Identities == nil {
		return s.own(), nil
	}
	return s.options.Identities.Of(ctx, identity.Wish{Namespace: namespace, Tagged: tagged}) //nolint:wrapcheck // a sentence for the user
}

// useOfRoles returns how the operator acts for the roles that an object needs. It refuses an object
// with another identity than its namespace: its policy could be in another account than the role, or
// escape the permissions boundary.
func (k *kind) useOfRoles(ctx context.Context, obj *v1alpha1.Object) (identity.Use, operatorkit.Outcome) {
	if !k.service.options.makesRoles() {
		return identity.Use{}, operatorkit.Stall("IssuerNotConfigured", k.noRoles(obj))
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
		what, remedy := "spec.grants is not possible here", ", or remove spec.grants"
		if render.HasRole(k.modelOf(obj), obj) {
			what, remedy = "The object cannot have a role here", ""
		}
		return use, operatorkit.Stall("GrantElsewhere", fmt.Sprintf(
			"%s: the object is in account %s by AWSIdentity %q, but the roles of namespace %s are in account %s by AWSIdentity %q. "+
				"Use the namespace's identity for the object%s.",
			what, own.Place.Account, own.Identity, obj.Namespace, use.Place.Account, use.Identity, remedy))
	}
	if cluster := k.service.options.EKSCluster; cluster != "" && k.grantsAccounts(obj) {
		account, region, _ := render.EKSCluster(cluster)
		if use.Place.Account != account || use.Place.Region != region {
			return use, operatorkit.Stall("GrantElsewhere", fmt.Sprintf(
				"spec.grants is not possible here: the roles of namespace %s are in account %s and region %s, but EKS Pod Identity needs them where cluster %s is. "+
					"Use a namespace there, remove spec.grants, or have an administrator start the operator with --service-account-issuer instead of --eks-cluster.",
				obj.Namespace, use.Place.Account, use.Place.Region, cluster))
		}
	}
	return use, operatorkit.Done()
}

// grantsAccounts reports whether an object grants access to service accounts.
func (k *kind) grantsAccounts(obj *v1alpha1.Object) bool {
	return slices.ContainsFunc(k.grantees(obj), func(of render.Grantee) bool { return of.Kind == "" })
}

// noRoles says that the operator makes no roles.
func (k *kind) noRoles(obj *v1alpha1.Object) string {
	if render.HasRole(k.modelOf(obj), obj) {
		return fmt.Sprintf("A %s runs with an IAM role of its own, and the operator may make no roles. Have an administrator allow them, as for spec.grants, "+
			"and start the operator with --service-account-issuer or --eks-cluster.", k.name)
	}
	return "spec.grants needs the issuer of the cluster's service account tokens, which the operator does not know. " +
		"Have an administrator start the operator with --service-account-issuer, or --eks-cluster on EKS, or remove spec.grants and spec.objectGrants."
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
	grants, err := render.Grants(k.modelOf(obj), obj)
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
		status, made := k.grantStatus(obj, g.Grantee, use), operatorkit.Done()
		if g.Kind == "" {
			account := types.NamespacedName{Namespace: obj.Namespace, Name: g.Name} // grants reach no other namespace
			status.Message, made = k.service.annotate(ctx, account, status.RoleARN)
		}
		statuses, all = append(statuses, status), append(all, made)
	}
	for _, was := range obj.Status.Grants {
		of := granteeOf(was)
		if own := of == k.self(obj); own && render.HasRole(k.modelOf(obj), obj) {
			if k.records(obj, of) {
				statuses = append(statuses, k.grantStatus(obj, of, use))
			}
			continue
		} else if own && k.modelOf(obj).ExecutionRole == "" {
			continue // another client wrote the status
		}
		if !of.Valid() || slices.ContainsFunc(grants, func(g render.Grant) bool { return g.Grantee == of }) {
			continue
		}
		made := k.service.roles.release(ctx, use, of, k.key(obj))
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
