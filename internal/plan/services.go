package plan

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	servicev1alpha1 "github.com/aws-operator/aws-operator/api/service/v1alpha1"
	"github.com/aws-operator/aws-operator/internal/awsapi"
	"github.com/aws-operator/aws-operator/internal/cfn/diff"
	"github.com/aws-operator/aws-operator/internal/cfn/policy"
	"github.com/aws-operator/aws-operator/internal/cfn/schema"
	"github.com/aws-operator/aws-operator/internal/cfn/stack"
	"github.com/aws-operator/aws-operator/internal/cluster/render"
	"github.com/aws-operator/aws-operator/internal/manifest"
	"github.com/aws-operator/aws-operator/internal/service/kinds"
	"github.com/aws-operator/aws-operator/internal/service/model"
	servicerender "github.com/aws-operator/aws-operator/internal/service/render"
	"github.com/aws-operator/aws-operator/internal/yamltree"
)

// Services are the definitions of services, with their status. Planning does not change them.
type Services struct {
	// Objects are the desired objects. Their status, if they have one, describes what is deployed.
	// An object with a deletion timestamp is deleted.
	Objects []*servicev1alpha1.Object
	// Others are other existing objects, which Objects may reference. They are not planned.
	Others []*servicev1alpha1.Object
	// Kinds are the definitions of their kinds.
	Kinds *kinds.Set

	// manifests are the manifests of Objects, by keyOf, if files define them.
	manifests map[string]*manifest.Manifest
	// held are the ConfigMaps and Secrets of the manifests, by kind, namespace and name; api reads others,
	// and is nil without a management cluster.
	held map[string]*values
	api  client.Reader
	// was are the objects of the management cluster, by keyOf, and before are their kinds there: what they
	// render is deployed if a record says so.
	was    map[string]*servicev1alpha1.Object
	before *kinds.Set
	// changed are the definitions in the manifests, by kind.
	changed map[string]*servicev1alpha1.ModelDefinition
	// revisions are the models of revisions, by name, nil for those that cannot be read.
	revisions map[string]*model.Model
	// seen are the objects that were read, nil for those that could not be: many services share a namespace.
	seen map[string]*unstructured.Unstructured
}

// values are those of a ConfigMap or a Secret.
type values struct {
	values map[string]string
	// of is the ConfigMap or Secret.
	of metav1.Object
}

// serviceDraft is an incomplete plan of services.
type serviceDraft struct {
	draft

	of    Services
	facts servicerender.Facts
	// outputs are the known outputs of objects, by stack.
	outputs map[string]map[string]any
	// adoptions are what the objects without a stack adopt.
	adoptions []adoptionOf
}

// OfServices plans services, in the region of the clients. It compares an object with the stack of
// its name. If the status of an object in a management cluster says that its stack is up to date,
// it makes no further call; otherwise CloudFormation returns the template. It returns an error when
// an object is invalid, when the stack belongs to another object, and when a call to AWS fails.
func OfServices(ctx context.Context, of Services, o Options) (*Plan, error) {
	d := &serviceDraft{draft: draft{options: o}, of: of, outputs: map[string]map[string]any{}}
	account, err := d.accountOf(ctx)
	if err != nil {
		return nil, err
	}
	d.facts = servicerender.Facts{Region: o.Clients.Region(awsapi.Target{}), AccountID: account, ClusterName: o.Operator}
	objects := slices.SortedFunc(slices.Values(of.Objects), func(a, b *servicev1alpha1.Object) int {
		return cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
	})
	var problems yamltree.Problems
	for _, object := range objects {
		if err := d.service(ctx, object); err != nil {
			m := of.manifests[keyOf(object)]
			if _, failed := errors.AsType[*awsapi.Failure](err); failed || m == nil {
				return nil, fmt.Errorf("%s %s: %w", object.Kind, object.Name, err)
			}
			problems = append(problems, of.Kinds.Problems(m, err)...)
		}
	}
	if err := problems.Err(); err != nil {
		return nil, err
	}
	if err := d.fetch(ctx); err != nil {
		return nil, err
	}
	if err := d.checkOwners(objects); err != nil {
		return nil, err
	}
	if err := d.readAdopted(ctx); err != nil {
		return nil, err
	}
	p := Compare("", d.subjects, schema.Default())
	if err := d.askAWS(ctx, p); err != nil {
		return nil, err
	}
	for i, object := range objects {
		if s := &p.Stacks[i]; s.Action == Update && d.manual(object) {
			d.note("The updatePolicy of %s is Manual: its change waits for approval.", s.Of)
		}
	}
	d.noteRollouts(p, objects)
	if err := p.addQuotas(ctx, o, awsapi.Target{}, d.subjects); err != nil {
		return nil, err
	}
	p.Notes = d.notes
	p.addPrice(o.Prices, d.facts.Region, d.subjects)
	return p, nil
}

// noteRollouts says how many of the objects of a definition in the manifests are updated at the same time. The
// stacks of the plan are in the order of the objects.
func (d *serviceDraft) noteRollouts(p *Plan, objects []*servicev1alpha1.Object) {
	for _, kind := range slices.Sorted(maps.Keys(d.of.changed)) {
		total, updates := 0, 0
		for i, object := range objects {
			if object.Kind != kind || d.of.was[keyOf(object)] == nil || object.Annotations[servicev1alpha1.RevisionAnnotation] != "" {
				continue
			}
			total++
			if p.Stacks[i].Action == Update {
				updates++
			}
		}
		if limit := d.of.changed[kind].Spec.Rollout.Limit(total); updates > limit {
			d.note("ModelDefinition %s: the operator updates at most %d of these %d objects at the same time, and stops at the first failure.",
				d.of.changed[kind].Name, limit, updates)
		}
	}
}

// service adds the stack of an object.
func (d *serviceDraft) service(ctx context.Context, object *servicev1alpha1.Object) error {
	kind, err := d.of.Kinds.Model(object.Kind)
	if err != nil {
		return err
	}
	s := Subject{
		Name: servicerender.StackName(d.facts.ClusterName, kind.Kind, object.Namespace, object.Name),
		Part: Service, Of: object.Kind + " " + object.Namespace + "/" + object.Name,
	}
	s.Allow = policy.ParseAllow(object.Annotations[servicev1alpha1.AllowAnnotation])
	s.Allow.Annotation, s.Allow.Object = servicev1alpha1.AllowAnnotation, object.Name
	s.Except, _ = stack.ParseDriftExceptions(object.Annotations[servicev1alpha1.IgnoreDriftAnnotation]) // Unknown values except nothing.
	var known stack.Record
	if len(object.Status.Stack) > 0 {
		if err := json.Unmarshal(object.Status.Stack, &known); err != nil {
			return fmt.Errorf("read the stack's record in its status: %w", err)
		}
	}
	retain := servicev1alpha1.DeletionPolicyRetain
	observes, err := servicerender.Observes(object)
	if err != nil {
		return err
	}
	switch {
	case observes:
		s.Same = true
		d.note("%s only observes its resource.", s.Of)
	case object.DeletionTimestamp.IsZero():
		if kind, err = d.of.modelOf(ctx, d.of.Kinds, object); err != nil {
			return err
		}
		if kind == nil {
			s.Same = true
			d.note("%s keeps ModelRevision %s, which cannot be read; the plan omits it.", s.Of, object.Annotations[servicev1alpha1.RevisionAnnotation])
			break
		}
		if err := d.desire(ctx, &s, kind, object, &known); err != nil {
			return err
		}
	case strings.EqualFold(strings.TrimSpace(object.Annotations[servicev1alpha1.DeletionPolicyAnnotation]), retain):
		s.Same = true
		d.note("%s is being deleted, and its annotation keeps the stack.", s.Of)
	}
	if !s.Same && s.Deployed == nil {
		d.pending = append(d.pending, pending{subject: len(d.subjects), id: s.Name, guessed: object.Status.StackID == ""})
	}
	d.subjects = append(d.subjects, s)
	return nil
}

// desire sets what an object wants of its stack, whose record is known.
func (d *serviceDraft) desire(
	ctx context.Context, subject *Subject, kind *model.Model, object *servicev1alpha1.Object, known *stack.Record,
) error {
	rendered, err := d.rendered(ctx, d.of.Kinds, kind, object)
	if err != nil {
		return err
	}
	subject.Wanted = &render.Stack{
		Name: rendered.Name, Template: rendered.Template, Parameters: rendered.Parameters, Hidden: rendered.Hidden, Tags: rendered.Tags,
		OwnerTags: rendered.OwnerTags, Capabilities: rendered.Capabilities,
	}
	if object.Status.StackID == "" {
		adoption, err := servicerender.Adopts(object, rendered, schema.Default(), nil)
		if err != nil {
			return err
		}
		if adoption != nil {
			d.adoptions = append(d.adoptions, adoptionOf{subject: len(d.subjects), Adoption: adoption})
		}
	}
	digest := digestOf(rendered)
	subject.Same = known.Digest == digest && known.PendingDigest == ""
	if !subject.Same {
		subject.Deployed = d.recorded(ctx, object, known)
	}
	if known.FailedDigest == digest {
		d.note(
			"A previous update of stack %s to this template failed (%s); the operator does not retry it until the definition changes.",
			subject.Name,
			object.Status.ResourceStatusReason,
		)
	}
	return nil
}

// recorded returns what is deployed without asking AWS: what the object renders as it is in the management
// cluster, with its kind there, if that is what its record says. It returns nil if AWS must be asked.
func (d *serviceDraft) recorded(ctx context.Context, object *servicev1alpha1.Object, known *stack.Record) *diff.Side {
	was := d.of.was[keyOf(object)]
	unchanged := was == object && d.of.before == d.of.Kinds // then it was just rendered, and differs
	if was == nil || unchanged || known.Digest == "" || known.PendingDigest != "" {
		return nil
	}
	kind, err := d.of.modelOf(ctx, d.of.before, was)
	if err != nil || kind == nil {
		return nil
	}
	rendered, err := d.rendered(ctx, d.of.before, kind, was)
	if err != nil || digestOf(rendered) != known.Digest {
		return nil
	}
	return &diff.Side{Template: rendered.Template, Parameters: rendered.Parameters, Tags: rendered.Tags}
}

// digestOf returns the digest of a stack as the operator records it.
func digestOf(rendered *servicerender.Desired) string {
	desired := stack.Desired{
		Template: rendered.Template, Parameters: rendered.Parameters, Hidden: rendered.Hidden, Tags: rendered.Tags,
		Capabilities: rendered.Capabilities,
	}
	return desired.Digest()
}

// hideUnknown gives a value to parameters whose secrets are not known, so that they count as unchanged.
func hideUnknown(rendered *servicerender.Desired) {
	for name, parameter := range rendered.Template.Parameters {
		if _, known := rendered.Parameters[name]; !known && parameter.NoEcho && parameter.Default == nil {
			rendered.Parameters = maps.Clone(rendered.Parameters)
			if rendered.Parameters == nil {
				rendered.Parameters = map[string]string{}
			}
			rendered.Parameters[name] = diff.Hidden
		}
	}
}

// rendered renders the stack of an object of a kind in a set, with the outputs of the objects that it references.
func (d *serviceDraft) rendered(
	ctx context.Context, set *kinds.Set, kind *model.Model, object *servicev1alpha1.Object,
) (*servicerender.Desired, error) {
	references, err := servicerender.References(kind, object)
	if err != nil {
		return nil, err
	}
	facts := d.facts
	if facts.References, err = d.resolve(ctx, object, references); err != nil {
		return nil, err
	}
	facts.Siblings = map[string][]any{}
	for _, r := range references {
		if facts.Siblings[r.Name], err = d.siblings(ctx, kind, object, r); err != nil {
			return nil, err
		}
	}
	changed, secrets, err := set.WithValues(kind, object, func(from servicerender.Source) (servicerender.Value, error) {
		return d.value(ctx, object.Namespace, from)
	})
	if err != nil {
		return nil, err
	}
	facts.Secrets = secrets
	if facts.Tags, err = d.of.tags(ctx, object); err != nil {
		return nil, err
	}
	rendered, err := set.Stack(kind, changed, facts)
	if err != nil {
		return nil, err
	}
	hideUnknown(rendered)
	return rendered, nil
}

// value returns a value for a field of an object of a namespace: an output as of a referenced object, or that of a ConfigMap or a
// Secret in the manifests or the management cluster.
func (d *serviceDraft) value(ctx context.Context, namespace string, from servicerender.Source) (servicerender.Value, error) {
	if !from.OfData() {
		outputs, err := d.outputsOf(ctx, from.Namespace, servicerender.Reference{Kind: from.Kind, ObjectName: from.Name})
		if err != nil {
			return servicerender.Value{}, err
		}
		return d.of.Kinds.OutputValue(from, outputs)
	}
	value := servicerender.Value{Source: from}
	held, err := d.of.data(ctx, from)
	if err != nil {
		return value, err
	}
	if held == nil {
		value.Unknown = true
		d.note("There is no %s %s in namespace %s that could be read; the plan does not know its value.", from.Kind, from.Name, from.Namespace)
		return value, nil
	}
	var found bool
	if value.Text, found = held.values[from.Key]; !found {
		return value, from.Problem("key", "%s %s has no key %s; correct the name, or add it", from.Kind, from.Name, from.Key)
	}
	value.UID = held.of.GetUID()
	if !model.SharesValues(held.of, namespace) {
		d.note("%s %s in namespace %s lacks the label %s=%s, or does not share with namespace %s by the annotation %s; the operator waits for that.",
			from.Kind, from.Name, from.Namespace, servicev1alpha1.ValuesLabel, servicev1alpha1.ValuesAllowed, namespace,
			servicev1alpha1.ShareWithAnnotation)
	}
	return value, nil
}

// resolve returns the outputs of the objects that an object references.
func (d *serviceDraft) resolve(
	ctx context.Context, object *servicev1alpha1.Object, references []servicerender.Reference,
) (map[string]map[string]any, error) {
	found := map[string]map[string]any{}
	for _, r := range references {
		var err error
		if found[r.Name], err = d.outputsOf(ctx, object.Namespace, r); err != nil {
			return nil, err
		}
	}
	return found, nil
}

// siblings returns the references of all objects of a kind that reference the same object, by name.
func (d *serviceDraft) siblings(
	ctx context.Context, kind *model.Model, object *servicev1alpha1.Object, r servicerender.Reference,
) ([]any, error) {
	byName := map[string]any{}
	for _, other := range slices.Concat(d.of.Others, d.of.Objects) {
		if other.Kind != object.Kind || other.Namespace != object.Namespace ||
			!other.DeletionTimestamp.IsZero() && other.Name != object.Name {
			continue
		}
		theirs, err := servicerender.References(kind, other)
		if err != nil || !slices.Contains(theirs, r) {
			continue // An invalid sibling is reported by its own plan.
		}
		resolved, err := d.resolve(ctx, other, theirs)
		if err != nil {
			return nil, err
		}
		facts := map[string]any{}
		for name, outputs := range resolved {
			facts[name] = outputs
		}
		byName[other.Name] = facts
	}
	all := make([]any, 0, len(byName))
	for _, name := range slices.Sorted(maps.Keys(byName)) {
		all = append(all, byName[name])
	}
	return all, nil
}

// outputsOf returns the outputs of a referenced object: those in its status, else those of its
// stack, else placeholders.
func (d *serviceDraft) outputsOf(ctx context.Context, namespace string, r servicerender.Reference) (map[string]any, error) {
	name := servicerender.StackName(d.facts.ClusterName, r.Kind, namespace, r.ObjectName)
	if known := d.outputs[name]; known != nil {
		return known, nil
	}
	for _, other := range slices.Concat(d.of.Objects, d.of.Others) {
		if other.Kind == r.Kind && other.Namespace == namespace && other.Name == r.ObjectName && len(other.Status.Output) > 0 {
			d.outputs[name] = servicerender.ReferenceFacts(other)
			return d.outputs[name], nil
		}
	}
	kind, err := d.of.Kinds.Model(r.Kind)
	if err != nil {
		return nil, err
	}
	found, err := d.options.Clients.CloudFormation(d.target).DescribeStacks(ctx, &cloudformation.DescribeStacksInput{StackName: &name})
	if err != nil && !isMissing(err) {
		return nil, awsapi.Explain(err)
	}
	if err == nil && len(found.Stacks) > 0 && len(found.Stacks[0].Outputs) > 0 {
		outputs := map[string]string{}
		for _, o := range found.Stacks[0].Outputs {
			outputs[aws.ToString(o.OutputKey)] = aws.ToString(o.OutputValue)
		}
		there := &servicev1alpha1.Object{}
		there.Status.Output = servicerender.Outputs(kind, outputs)
		there.Name = r.ObjectName
		d.outputs[name] = servicerender.ReferenceFacts(there)
		delete(d.outputs[name], "spec") // which a stack does not have
		return d.outputs[name], nil
	}
	d.note("%s %s does not exist yet; the plan uses placeholders for its ARN and other outputs.", r.Kind, r.ObjectName)
	d.outputs[name] = d.of.Kinds.ExampleOutputs(r, d.facts)
	return d.outputs[name], nil
}

// checkOwners returns an error if a deployed stack does not belong to the object that it is
// compared with.
func (d *serviceDraft) checkOwners(objects []*servicev1alpha1.Object) error {
	for i, object := range objects {
		s := &d.subjects[i]
		if s.Deployed == nil {
			continue
		}
		for name, value := range servicerender.Tags(object.Kind, object, d.facts.ClusterName) {
			if s.Deployed.Tags[name] != value {
				return fmt.Errorf(
					"%s: a stack named %s exists, but its tags are not this object's; delete that stack or rename the object",
					s.Of,
					s.Name,
				)
			}
		}
	}
	return nil
}

// manual reports whether changes of an object's stack wait for approval.
func (d *serviceDraft) manual(object *servicev1alpha1.Object) bool {
	spec, err := servicerender.Spec(object)
	return err == nil && spec["updatePolicy"] == servicev1alpha1.UpdateManual
}
