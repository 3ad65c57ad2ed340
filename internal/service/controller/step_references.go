package controller

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	v1alpha1 "github.com/aws-operator/aws-operator/api/service/v1alpha1"
	"github.com/aws-operator/aws-operator/internal/cfn/template"
	"github.com/aws-operator/aws-operator/internal/identity"
	"github.com/aws-operator/aws-operator/internal/service/render"
	"github.com/aws-operator/aws-operator/pkg/operatorkit"
)

// templateKind is the kind of the templates that users set instead of a kind's own.
const templateKind = "CloudFormationTemplate"

// referencesStep waits for the objects that the spec references.
type referencesStep struct{ kind *kind }

// Name returns the step's name.
func (s referencesStep) Name() string { return "references" }

// EnsureCreated finds the referenced objects and reports in a condition whether all are ready.
func (s referencesStep) EnsureCreated(ctx context.Context, obj *v1alpha1.Object) operatorkit.Outcome {
	k := s.kind
	sources, err := render.Sources(k.modelOf(obj), obj)
	if outcome, ok := invalidValues(err); ok {
		return outcome
	}
	if err != nil {
		return operatorkit.Fail(err)
	}
	targets, err := k.targets(ctx, obj)
	if outcome, ok := refused(err); ok {
		k.service.directory.refer(k.key(obj), k.withRoles(obj, nil))
		if _, usable := k.useNow(ctx, obj); !usable.IsDone() {
			return usable
		}
		return outcome
	}
	if err != nil {
		return operatorkit.Stall("InvalidReference", sentence("The references in the spec are invalid", err))
	}
	if k.service.directory.refer(k.key(obj), k.withRoles(obj, targets)) {
		k.service.enqueue(k.service.directory.siblings(k.key(obj))...)
	}
	// Objects that exist may name each other, such as two queues with each other's dead letters, but no value
	// may depend on itself.
	cycle := k.service.directory.cycle(k.key(obj))
	if cycle != nil && len(sources) > 0 {
		return operatorkit.Stall("ReferenceCycle", cycleMessage(cycle))
	}
	if len(targets) == 0 {
		operatorkit.RemoveCondition(obj, v1alpha1.ConditionReferencesResolved)
		return operatorkit.Done()
	}
	use, outcome := k.useNow(ctx, obj)
	if !outcome.IsDone() {
		return outcome
	}
	_, missing, err := k.inputs(ctx, obj, use)
	if outcome, ok := invalidValues(err); ok {
		return outcome
	}
	if err != nil {
		return operatorkit.Fail(err)
	}
	condition := metav1.Condition{
		Type: v1alpha1.ConditionReferencesResolved, Status: metav1.ConditionTrue,
		Reason: "Resolved", Message: "All referenced objects are ready.",
	}
	if missing != nil {
		condition.Status, condition.Reason, condition.Message = metav1.ConditionFalse, missing.reason, missing.message
	}
	if was := operatorkit.FindCondition(obj, condition.Type); missing == nil && was != nil && was.Status != metav1.ConditionTrue {
		// The siblings have ignored this object until now.
		k.service.enqueue(k.service.directory.siblings(k.key(obj))...)
	}
	condition.LastTransitionTime = metav1.NewTime(k.service.options.Clock.Now())
	operatorkit.SetCondition(obj, condition)
	if missing != nil && cycle != nil {
		return operatorkit.Stall("ReferenceCycle", cycleMessage(cycle))
	}
	if missing != nil {
		return operatorkit.Wait(missing.after, missing.reason, missing.message)
	}
	return operatorkit.Done()
}

// EnsureDeleted has nothing to delete: referenced objects belong to others.
func (s referencesStep) EnsureDeleted(context.Context, *v1alpha1.Object) operatorkit.Outcome {
	return operatorkit.Done()
}

// cycleMessage says that objects reference each other.
func cycleMessage(cycle []objectKey) string {
	names := make([]string, len(cycle))
	for i, key := range cycle {
		names[i] = fmt.Sprintf("%s %s", key.Kind, key.Name)
	}
	return fmt.Sprintf("The objects wait for each other: %s. Remove one of the references.", strings.Join(names, " needs "))
}

// refused is the outcome for an object that exceeds the limits of the operator.
func refused(err error) (operatorkit.Outcome, bool) {
	refusal, ok := errors.AsType[*render.RefusedError](err)
	if !ok {
		return operatorkit.Done(), false
	}
	return operatorkit.Stall(refusal.Reason, refusal.Message), true
}

// missing describes a referenced object that does not exist or is not ready.
type missing struct {
	reason, message string
	// after is when to requeue; zero if an event will enqueue the object.
	after time.Duration
}

// targets lists all objects that an object references, including its template.
func (k *kind) targets(ctx context.Context, obj *v1alpha1.Object) ([]objectKey, error) {
	references, err := render.References(k.modelOf(obj), obj)
	if err != nil {
		return nil, err
	}
	var targets []objectKey
	sources, err := render.Sources(k.modelOf(obj), obj)
	if err != nil {
		return nil, err
	}
	for _, s := range sources {
		if target := (objectKey{Kind: s.Kind, NamespacedName: s.NamespacedName}); !slices.Contains(targets, target) {
			targets = append(targets, target)
		}
	}
	for _, r := range references {
		targets = append(
			targets, objectKey{Kind: r.Kind, NamespacedName: types.NamespacedName{Namespace: obj.Namespace, Name: r.ObjectName}},
		)
	}
	foreign, err := k.foreign(ctx, obj)
	if err != nil {
		return nil, err
	}
	for _, f := range foreign {
		targets = append(targets, foreignKey(f))
	}
	template, err := templateOf(obj)
	if err != nil {
		return nil, err
	}
	if template.Name != "" {
		targets = append(targets, objectKey{Kind: templateKind, NamespacedName: template})
	}
	return targets, nil
}

// foreign lists the AWS resources that an object references and no object of its namespace made. Without
// a usable identity, it cannot complete ARNs with the account and region, and the limits refuse those.
func (k *kind) foreign(ctx context.Context, obj *v1alpha1.Object) ([]render.Foreign, error) {
	m := k.modelOf(obj)
	if len(m.Foreign) == 0 {
		return nil, nil
	}
	use, _ := k.service.use(ctx, obj) // the reconcile reports the error
	return render.ForeignResources(m, obj, render.Facts{
		Region: use.Place.Region, AccountID: use.Place.Account, ClusterName: k.service.options.ClusterName,
		Limits: &k.service.options.Limits,
	})
}

// withRoles adds the roles that an object needs, or needed until what was made for that is deleted:
// they stay as long as an object refers to them.
func (k *kind) withRoles(obj *v1alpha1.Object, targets []objectKey) []objectKey {
	for _, of := range k.grantees(obj) {
		targets = append(targets, roleKey(obj.Namespace, of))
	}
	return targets
}

// foreignKey is the key of an AWS resource that no object of the namespace made, so that all
// objects that reference it are siblings.
func foreignKey(f render.Foreign) objectKey {
	return objectKey{NamespacedName: types.NamespacedName{Name: f.ARN}}
}

// templateOf returns the CloudFormationTemplate that an object references, if any.
func templateOf(obj *v1alpha1.Object) (types.NamespacedName, error) {
	if !strings.Contains(string(obj.Spec), "cloudFormationTemplateName") {
		return types.NamespacedName{}, nil
	}
	spec, err := render.Spec(obj)
	if err != nil {
		return types.NamespacedName{}, err
	}
	name, _ := spec["cloudFormationTemplateName"].(string)
	namespace, _ := spec["cloudFormationTemplateNamespace"].(string)
	if namespace == "" {
		namespace = obj.Namespace
	}
	return types.NamespacedName{Namespace: namespace, Name: name}, nil
}

// inputs collects everything that determines the object's stack. Missing, if not nil, describes
// what does not exist yet.
func (k *kind) inputs(ctx context.Context, obj *v1alpha1.Object, use identity.Use) (inputs, *missing, error) {
	in := inputs{use: use, facts: render.Facts{
		Region: use.Place.Region, AccountID: use.Place.Account,
		ClusterName: k.service.options.ClusterName, Tags: use.Tags, Limits: &k.service.options.Limits,
	}}
	var lack *missing
	var err error
	if in.object, in.facts.Secrets, lack, err = k.withValues(ctx, obj); err != nil || lack != nil {
		return in, lack, err
	}
	references, err := render.References(k.modelOf(obj), obj)
	if err != nil {
		return in, nil, err
	}
	facts, lack, err := k.resolve(ctx, obj, references)
	if err != nil || lack != nil {
		return in, lack, err
	}
	in.facts.References = facts
	if len(references) > 0 {
		if in.facts.Siblings, lack, err = k.siblings(ctx, obj, use, references); err != nil || lack != nil {
			return in, lack, err
		}
		if lack, err = k.foreignSiblings(ctx, obj, use, in.facts.Siblings); err != nil || lack != nil {
			return in, lack, err
		}
	}
	in.override, lack, err = k.override(ctx, obj)
	return in, lack, err
}

// resolve reads the outputs of the referenced objects.
func (k *kind) resolve(
	ctx context.Context, obj *v1alpha1.Object, references []render.Reference,
) (map[string]map[string]any, *missing, error) {
	if len(references) == 0 {
		return nil, nil, nil
	}
	facts := map[string]map[string]any{}
	for _, r := range references {
		target, lack, err := k.service.find(ctx, r.Kind, types.NamespacedName{Namespace: obj.Namespace, Name: r.ObjectName})
		if err != nil || lack != nil {
			return nil, lack, err
		}
		facts[r.Name] = render.ReferenceFacts(target)
	}
	return facts, nil, nil
}

// find returns another object that has outputs and is or was ready.
func (s *service) find(ctx context.Context, kindName string, key types.NamespacedName) (*v1alpha1.Object, *missing, error) {
	other := s.served(kindName)
	if other == nil {
		return nil, &missing{
			"KindNotServed",
			fmt.Sprintf("The kind %s of %s is not served; apply a ModelDefinition for it, or correct the kind.", kindName, key.Name),
			0,
		}, nil
	}
	target := &v1alpha1.Object{}
	err := other.manager.cache.Get(ctx, key, target)
	switch {
	case apierrors.IsNotFound(err):
		return nil, &missing{
			"ReferenceNotFound",
			fmt.Sprintf("There is no %s %s in namespace %s; create it, or correct the name.", kindName, key.Name, key.Namespace),
			0,
		}, nil
	case err != nil:
		return nil, nil, fmt.Errorf("read %s %s: %w", kindName, key, err)
	case target.DeletionTimestamp != nil:
		return nil, &missing{"ReferenceDeleting", fmt.Sprintf("%s %s is being deleted.", kindName, key.Name), 0}, nil
	case len(target.Status.Output) == 0 || meta.FindStatusCondition(target.Status.Conditions, v1alpha1.ConditionReady) == nil:
		return nil, &missing{"ReferenceNotReady", fmt.Sprintf("Waiting for %s %s to become ready.", kindName, key.Name), 0}, nil
	case outputDigest(target.Status.Output) != target.Status.OutputDigest:
		// Another client changed the output, or the operator is still writing it.
		return nil, &missing{
			"ReferenceChanging",
			fmt.Sprintf("Waiting for the output of %s %s to match its stack.", kindName, key.Name),
			time.Second,
		}, nil
	}
	return target, nil, nil
}

// siblings collects, for each reference, the references of all objects of the kind that reference
// the same object. It omits objects whose references are not ready; they enqueue their siblings
// when they are.
func (k *kind) siblings(
	ctx context.Context, obj *v1alpha1.Object, use identity.Use, references []render.Reference,
) (map[string][]any, *missing, error) {
	siblings := map[string][]any{}
	for _, r := range references {
		target := objectKey{Kind: r.Kind, NamespacedName: types.NamespacedName{Namespace: obj.Namespace, Name: r.ObjectName}}
		for _, key := range k.service.directory.dependents(target) {
			if key.Kind != k.name {
				continue
			}
			facts, lack, err := k.sibling(ctx, key, use, r)
			if err != nil || lack != nil {
				return nil, lack, err
			}
			if facts != nil {
				siblings[r.Name] = append(siblings[r.Name], facts)
			}
		}
	}
	return siblings, nil, nil
}

// foreignSiblings adds, for each AWS resource that the object references and no object of its
// namespace made, the references of all objects of the kind, in any namespace, that may reference
// the same resource and do.
func (k *kind) foreignSiblings(ctx context.Context, obj *v1alpha1.Object, use identity.Use, siblings map[string][]any) (*missing, error) {
	foreign, err := k.foreign(ctx, obj)
	if err != nil {
		return nil, err
	}
	for _, f := range foreign {
		for _, key := range k.service.directory.dependents(foreignKey(f)) {
			if key.Kind != k.name {
				continue
			}
			facts, lack, err := k.siblingWhere(ctx, key, use, func(other *v1alpha1.Object, _ []render.Reference) bool {
				theirs, err := k.foreign(ctx, other)
				return err == nil && slices.Contains(theirs, f)
			})
			if err != nil || lack != nil {
				return lack, err
			}
			if facts != nil {
				siblings[f.Name] = append(siblings[f.Name], facts)
			}
		}
	}
	return nil, nil
}

// sibling returns the references of one object that references the same object in the same way.
func (k *kind) sibling(ctx context.Context, key objectKey, use identity.Use, r render.Reference) (any, *missing, error) {
	return k.siblingWhere(ctx, key, use, func(_ *v1alpha1.Object, theirs []render.Reference) bool { return slices.Contains(theirs, r) })
}

// siblingWhere returns the references of one object if it is a sibling, or nil. If something is
// missing only temporarily, the caller must wait and not omit the sibling.
func (k *kind) siblingWhere(
	ctx context.Context, key objectKey, use identity.Use, is func(other *v1alpha1.Object, theirs []render.Reference) bool,
) (any, *missing, error) {
	other := &v1alpha1.Object{}
	if err := k.manager.cache.Get(ctx, key.NamespacedName, other); err != nil {
		if apierrors.IsNotFound(err) {
			return nil, nil, nil
		}
		return nil, nil, fmt.Errorf("read %s %s: %w", k.name, key, err)
	}
	references, err := render.References(k.modelOf(other), other)
	if err != nil {
		return nil, nil, nil //nolint:nilerr // the sibling's own reconcile reports its error
	}
	if !is(other, references) {
		return nil, nil, nil
	}
	if theirs, err := k.service.use(ctx, other); err != nil || theirs.Place != use.Place {
		return nil, nil, nil //nolint:nilerr // it may not use the resource; its own reconcile reports the error
	}
	resolved, lack, err := k.resolve(ctx, other, references)
	switch {
	case err != nil:
		return nil, nil, err
	case lack != nil && lack.after > 0:
		return nil, lack, nil
	case lack != nil:
		return nil, nil, nil
	}
	facts := map[string]any{}
	for name, outputs := range resolved {
		facts[name] = outputs
	}
	return facts, nil, nil
}

// override reads the template that the object sets instead of its kind's own.
func (k *kind) override(ctx context.Context, obj *v1alpha1.Object) (*render.Override, *missing, error) {
	key, err := templateOf(obj)
	if err != nil || key.Name == "" {
		return nil, nil, err
	}
	if err := k.service.options.Limits.AllowsTemplates(obj.Namespace, key.Namespace); err != nil {
		return nil, nil, err
	}
	template := &v1alpha1.CloudFormationTemplate{}
	err = k.service.manager.GetClient().Get(ctx, key, template)
	switch {
	case apierrors.IsNotFound(err):
		return nil, &missing{
			"TemplateNotFound",
			fmt.Sprintf("spec.cloudFormationTemplateName: there is no CloudFormationTemplate %s in namespace %s; create it, or correct the name.", key.Name, key.Namespace),
			0,
		}, nil
	case err != nil:
		return nil, nil, fmt.Errorf("read CloudFormationTemplate %s: %w", key, err)
	case template.Data.Template == "":
		return nil, &missing{
			"TemplateEmpty",
			fmt.Sprintf("spec.cloudFormationTemplateName: CloudFormationTemplate %s in namespace %s has no data.template; put a template there.", key.Name, key.Namespace),
			0,
		}, nil
	}
	return &render.Override{File: templateFile(template), Template: template.Data.Template}, nil, nil
}

// templateFile is the name of a template in messages.
func templateFile(template *v1alpha1.CloudFormationTemplate) string {
	if template.Data.Key != "" {
		return template.Data.Key
	}
	return template.Name
}

// sentence prefixes an error with a beginning.
func sentence(beginning string, err error) string {
	if problems, ok := errors.AsType[template.Problems](err); ok {
		return beginning + ": " + problems.Sentence()
	}
	return beginning + ": " + template.Sentence(err.Error())
}
