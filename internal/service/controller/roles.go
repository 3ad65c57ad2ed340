package controller

import (
	"context"
	"fmt"
	"maps"
	"sync"
	"sync/atomic"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1alpha1 "github.com/aws-operator/aws-operator/api/service/v1alpha1"
	"github.com/aws-operator/aws-operator/internal/cfn/stack"
	"github.com/aws-operator/aws-operator/internal/identity"
	"github.com/aws-operator/aws-operator/internal/service/render"
	"github.com/aws-operator/aws-operator/pkg/operatorkit"
)

// roles holds the roles of the service accounts and objects to which objects grant access. Each role
// is a stack of its own, because the annotation of a ServiceAccount can name only one role, as can a
// function, and several objects grant access to one of them: each adds a policy to the role in its own
// stack. The first grant, or the object that runs with the role, creates the role, and the removal of
// the last one deletes it.
//
// Nothing of it is stored: a role's stack is found by its name, and its tags identify it.
type roles struct {
	service *service

	mu     sync.Mutex
	known  map[objectKey]*role
	stacks map[string]objectKey
}

func newRoles(s *service) *roles {
	return &roles{service: s, known: map[objectKey]*role{}, stacks: map[string]objectKey{}}
}

// role is the role of one service account or object.
type role struct {
	of  render.Role
	key objectKey
	// users counts the callers of get that have not called put; roles.mu guards it.
	users int
	// mu is held while the role is made or deleted: the engine needs one goroutine at a time for
	// each stack.
	mu     sync.Mutex
	record stack.Record
	// ready are the inputs with which the stack last became ready, and the count of events then.
	// While both are unchanged, there is nothing to call.
	ready  string
	asOf   uint64
	events atomic.Uint64
	// absent is true if nothing of the role is left in AWS.
	absent bool
	// asked are the last requests of objects to retry, and retry is the last of them all.
	asked map[objectKey]string
	retry string
}

// retryOf returns what the engine compares to notice a request to retry. The annotation of an object
// counts once: it stays, and with those of other objects it would make the engine retry forever.
func (o *role) retryOf(by objectKey, asked string) string {
	if o.asked[by] != asked {
		o.asked[by] = asked
		if asked != "" {
			o.retry = by.Kind + "/" + by.Name + "=" + asked
		}
	}
	return o.retry
}

// reasonProtected is the engine's reason for a stack with termination protection.
const reasonProtected = "TerminationProtected"

// roleKey is the key of the role of a grantee in a namespace, by which the directory finds the objects
// that grant access to it, and the object that runs with it.
func roleKey(namespace string, of render.Grantee) objectKey {
	return objectKey{Kind: render.RoleOwnerOf(of.Kind), NamespacedName: types.NamespacedName{Namespace: namespace, Name: of.Name}}
}

// get returns the role of a grantee, which may not exist in AWS. Call put afterwards.
func (r *roles) get(namespace string, of render.Grantee) *role {
	r.mu.Lock()
	defer r.mu.Unlock()
	key := roleKey(namespace, of)
	found, ok := r.known[key]
	if !ok {
		found = &role{
			key: key, asked: map[objectKey]string{},
			of: render.Role{ClusterName: r.service.options.ClusterName, Kind: of.Kind, Namespace: namespace, Name: of.Name},
		}
		r.known[key] = found
		r.stacks[found.of.StackName()] = key
	}
	found.users++
	return found
}

// put forgets a role that is deleted, unless another goroutine uses it: an author of objects could
// name ever new service accounts.
func (r *roles) put(one *role) {
	r.mu.Lock()
	defer r.mu.Unlock()
	one.users--
	if one.users == 0 && one.absent {
		delete(r.known, one.key)
		delete(r.stacks, one.of.StackName())
	}
}

// observe enqueues the objects that need the role of a stack. It reports whether the stack is that of
// a role.
func (r *roles) observe(stackName string) bool {
	r.mu.Lock()
	key, ok := r.stacks[stackName]
	found := r.known[key]
	r.mu.Unlock()
	if !ok {
		return false
	}
	found.events.Add(1)
	r.service.enqueue(r.service.directory.dependents(key)...)
	return true
}

// ensure makes the role of a grantee, which an object needs, by at most one operation. Retry is the
// object's annotation.
func (r *roles) ensure(ctx context.Context, use identity.Use, of render.Grantee, by objectKey, retry string) operatorkit.Outcome {
	one := r.get(by.Namespace, of)
	defer r.put(one)
	one.mu.Lock()
	defer one.mu.Unlock()
	trust, made := r.trust(ctx, use, by.Namespace, of)
	if !made.IsDone() {
		return made
	}
	asOf := one.events.Load()
	inputs := fmt.Sprintf("%+v|%+v", trust, use)
	if one.ready == inputs && one.asOf == asOf {
		return operatorkit.Done()
	}
	one.ready, one.absent = "", false
	made = r.converge(ctx, use, one, trust, one.retryOf(by, retry), false)
	if made.IsDone() {
		one.ready, one.asOf = inputs, asOf
	}
	return made
}

// trust returns who may assume the role of a grantee.
func (r *roles) trust(ctx context.Context, use identity.Use, namespace string, of render.Grantee) (render.Trust, operatorkit.Outcome) {
	if of.Kind == "" {
		return render.Trust{Issuer: r.service.options.ServiceAccountIssuer, EKSCluster: r.service.options.EKSCluster}, operatorkit.Done()
	}
	k := r.service.served(of.Kind)
	if k == nil {
		return render.Trust{}, operatorkit.Wait(poll, "KindNotServed", fmt.Sprintf(
			"The kind of %s is not served; apply a ModelDefinition for it, or remove the entry of spec.objectGrants.", of))
	}
	m := k.models.Load().current // the role is the same in all revisions
	if m.ExecutionRole == "" {
		return render.Trust{}, operatorkit.Stall("InvalidGrant", fmt.Sprintf(
			"spec.objectGrants names %s, but objects of this kind have no role; name an object of a kind that has, such as Lambda.", of))
	}
	obj := &v1alpha1.Object{}
	err := k.manager.cache.Get(ctx, types.NamespacedName{Namespace: namespace, Name: of.Name}, obj)
	if apierrors.IsNotFound(err) {
		obj.Namespace, obj.Name, err = namespace, of.Name, nil
	}
	if err != nil {
		return render.Trust{}, operatorkit.Fail(fmt.Errorf("read %s: %w", of, err))
	}
	trust, err := render.RoleTrust(m, obj, render.Facts{
		Region: use.Place.Region, AccountID: use.Place.Account, ClusterName: r.service.options.ClusterName,
	})
	if err != nil {
		return trust, operatorkit.Fail(err)
	}
	return trust, operatorkit.Done()
}

// converge makes the stack of a role. The caller holds the role's lock.
func (r *roles) converge(
	ctx context.Context, use identity.Use, one *role, trust render.Trust, retry string, protected bool,
) operatorkit.Outcome {
	desired, err := one.of.Stack(trust, use.Place.Account, use.Place.Region)
	if err != nil {
		return operatorkit.Fail(err)
	}
	tags := map[string]string{}
	maps.Copy(tags, use.Tags)
	maps.Copy(tags, desired.Tags) // they identify the owner
	wanted := stack.Desired{
		Name: desired.Name, Template: desired.Template, Tags: tags, OwnerTags: desired.OwnerTags,
		Capabilities: desired.Capabilities, Retry: retry, TerminationProtection: protected,
	}
	if err := use.Limit(&wanted); err != nil {
		return identity.Outcome(err)
	}
	result, err := r.service.options.Engine.Ensure(ctx, use.Target, wanted, one.record)
	one.record = result.Record
	made := outcome(result, err)
	if made.IsDone() {
		return made
	}
	return made.About(one.subject())
}

// subject names the role in conditions.
func (o *role) subject() operatorkit.Subject {
	kind := o.of.Kind
	if kind == "" {
		kind = "service account"
	}
	return operatorkit.Subject{Kind: "Role of " + kind, Name: o.of.Name}
}

// release deletes the role of a grantee unless another object needs it. Once it is done, the object no
// longer counts as one that does.
func (r *roles) release(ctx context.Context, use identity.Use, of render.Grantee, by objectKey) operatorkit.Outcome {
	one := r.get(by.Namespace, of)
	target := one.key
	defer r.put(one)
	one.mu.Lock()
	defer one.mu.Unlock()
	delete(one.asked, by)
	for _, other := range r.service.directory.dependents(target) {
		if other != by {
			r.service.directory.unrefer(by, target)
			return operatorkit.Done()
		}
	}
	unserved, err := r.service.unserved(ctx)
	if err != nil {
		return operatorkit.Fail(err)
	}
	if unserved != "" {
		return operatorkit.Wait(poll, "KindNotServed", fmt.Sprintf(
			"Waiting until kind %s is served: its objects may need the role of %s. Correct or delete its ModelDefinition if this lasts.",
			unserved, of))
	}
	one.ready = ""
	result, err := r.service.options.Engine.Delete(ctx, use.Target, one.of.StackName(), one.record, stack.DeleteOptions{
		RoleARN: use.ServiceRole, OwnerTags: one.of.Tags(),
	})
	one.record = result.Record
	deleted := outcome(result, err)
	switch {
	case err == nil && result.State == stack.Stalled && result.Reason == reasonProtected: // see keep
		r.service.directory.unrefer(by, target)
		return operatorkit.Done()
	case !deleted.IsDone():
		return deleted.About(one.subject())
	}
	if of.Kind == "" {
		if err := r.service.removeAnnotation(ctx, target.NamespacedName, one.of.ARN(use.Place.Account, use.Place.Region)); err != nil {
			return operatorkit.Fail(err)
		}
	}
	one.record, one.absent = stack.Record{}, true
	r.service.directory.unrefer(by, target)
	return deleted
}

// keep protects the stack of a role against deletion, because the retained stack of an object has a
// policy of the role: IAM does not delete a role with policies, and the operator forgets the object.
// https://docs.aws.amazon.com/IAM/latest/APIReference/API_DeleteRole.html
func (r *roles) keep(ctx context.Context, use identity.Use, namespace string, of render.Grantee) operatorkit.Outcome {
	one := r.get(namespace, of)
	defer r.put(one)
	one.mu.Lock()
	defer one.mu.Unlock()
	trust, made := r.trust(ctx, use, namespace, of)
	if !made.IsDone() {
		return made
	}
	one.ready, one.absent = "", false
	return r.converge(ctx, use, one, trust, one.retry, true)
}

// unserved returns a kind whose objects may need roles and are not known yet, or "".
func (s *service) unserved(ctx context.Context) (string, error) {
	known := func(name string) bool {
		k := s.served(name)
		return k != nil && k.recorded.Load()
	}
	for _, m := range s.builtIn {
		if (len(m.AccessLevels) > 0 || m.ExecutionRole != "") && !known(m.Kind) {
			return m.Kind, nil
		}
	}
	var definitions v1alpha1.ModelDefinitionList
	if err := s.manager.GetClient().List(ctx, &definitions, client.UnsafeDisableDeepCopy); err != nil {
		return "", fmt.Errorf("list the ModelDefinitions: %w", err)
	}
	for i := range definitions.Items {
		if spec := &definitions.Items[i].Spec; (len(spec.AccessLevels) > 0 || spec.ExecutionRole != nil) && !known(spec.ObjectKind()) {
			return spec.ObjectKind(), nil
		}
	}
	return "", nil
}

// annotate sets the annotation of a ServiceAccount. The message, if any, says why it does not have
// it yet. It does not replace the annotation of another role. With EKS Pod Identity, the association in the
// stack of the role is all that a pod needs, and takes precedence over an annotation.
// https://github.com/aws/amazon-eks-pod-identity-webhook
func (s *service) annotate(ctx context.Context, account types.NamespacedName, roleARN string) (message string, made operatorkit.Outcome) {
	if s.options.EKSCluster != "" {
		return "", operatorkit.Done()
	}
	found := &corev1.ServiceAccount{}
	err := s.additional.Get(ctx, account, found)
	if err == nil && found.Annotations[v1alpha1.RoleAnnotation] == roleARN {
		return "", operatorkit.Done()
	}
	if err == nil { // the cache may be outdated
		err = s.direct.Get(ctx, account, found)
	}
	switch has := found.Annotations[v1alpha1.RoleAnnotation]; {
	case apierrors.IsNotFound(err):
		return fmt.Sprintf("There is no ServiceAccount %s; the operator annotates it when it is created.", account.Name), operatorkit.Done()
	case err != nil:
		return "", operatorkit.Fail(fmt.Errorf("read ServiceAccount %s: %w", account.Name, err))
	case has == roleARN:
		return "", operatorkit.Done()
	case has != "":
		message = fmt.Sprintf("ServiceAccount %s has the annotation %s of another role, %s. Remove the annotation, or the entry of spec.grants.",
			account.Name, v1alpha1.RoleAnnotation, has)
		return message, operatorkit.Wait(0, "RoleAnnotationTaken", message).Degraded()
	}
	return "", s.patchAnnotation(ctx, found, &roleARN)
}

// removeAnnotation removes the annotation of a ServiceAccount if it names the role.
func (s *service) removeAnnotation(ctx context.Context, account types.NamespacedName, roleARN string) error {
	found := &corev1.ServiceAccount{}
	err := s.direct.Get(ctx, account, found)
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("read ServiceAccount %s: %w", account.Name, err)
	}
	if found.Annotations[v1alpha1.RoleAnnotation] != roleARN {
		return nil
	}
	if made := s.patchAnnotation(ctx, found, nil); !made.IsDone() {
		return fmt.Errorf("remove the annotation %s: %s", v1alpha1.RoleAnnotation, made.Message()) //nolint:err113 // the outcome has the error's text
	}
	return nil
}

// patchAnnotation sets or removes the annotation of the ServiceAccount as it was read. The patch
// fails if another client changed the ServiceAccount meanwhile.
func (s *service) patchAnnotation(ctx context.Context, found *corev1.ServiceAccount, roleARN *string) operatorkit.Outcome {
	before := client.MergeFromWithOptions(found.DeepCopy(), client.MergeFromWithOptimisticLock{})
	if roleARN == nil {
		delete(found.Annotations, v1alpha1.RoleAnnotation)
	} else {
		if found.Annotations == nil {
			found.Annotations = map[string]string{}
		}
		found.Annotations[v1alpha1.RoleAnnotation] = *roleARN
	}
	err := s.direct.Patch(ctx, found, before, client.FieldOwner(fieldOwner))
	switch {
	case err == nil, apierrors.IsNotFound(err):
		return operatorkit.Done()
	case apierrors.IsForbidden(err):
		return operatorkit.Fail(err).Explain("Forbidden", sentence("The operator lacks a permission in Kubernetes", err))
	}
	return operatorkit.Fail(fmt.Errorf("annotate ServiceAccount %s: %w", found.Name, err))
}
