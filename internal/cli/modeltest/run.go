package modeltest

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/aws/aws-sdk-go-v2/credentials"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	servicev1alpha1 "github.com/aws-operator/aws-operator/api/service/v1alpha1"
	"github.com/aws-operator/aws-operator/internal/awsapi"
	"github.com/aws-operator/aws-operator/internal/cfn/policy"
	"github.com/aws-operator/aws-operator/internal/cfn/stack"
	"github.com/aws-operator/aws-operator/internal/local/environment"
	"github.com/aws-operator/aws-operator/internal/manifest"
	"github.com/aws-operator/aws-operator/internal/operator"
	"github.com/aws-operator/aws-operator/internal/service/kinds"
	"github.com/aws-operator/aws-operator/internal/service/model"
	"github.com/aws-operator/aws-operator/internal/service/render"
)

// poll is how often a running operation of a stack is polled.
const poll = 50 * time.Millisecond

// stepTimeout limits the time until the stack of one object is complete.
const stepTimeout = 2 * time.Minute

// account is an account without resources, and what a case has made there.
type account struct {
	known  *kinds.Set
	engine *stack.Engine
	facts  render.Facts
	made   []*made
}

// made is an object that a case has applied.
type made struct {
	kind   *model.Model
	object *servicev1alpha1.Object
	stack  *render.Desired
	record stack.Record
}

// run runs the case. It returns sentences about what differs from the expectations; an error means
// that the case could not be run.
func (c *testCase) run(ctx context.Context, known *kinds.Set) ([]string, error) {
	endpoint, stop, err := environment.ServeAWS(ctx, environment.AWSOptions{Lag: -1}) // nothing lags or fails by chance
	if err != nil {
		return nil, err
	}
	defer func() { _ = stop() }()
	clients, err := awsapi.New(ctx, awsapi.Options{
		Region: environment.Region, EndpointURL: endpoint,
		Credentials: credentials.NewStaticCredentialsProvider(environment.Account, environment.Secret, ""),
		Budgets:     map[string]awsapi.Budget{awsapi.AnyService: awsapi.Unlimited},
	})
	if err != nil {
		return nil, err
	}
	a := &account{
		known:  known,
		engine: stack.New(stack.Options{Clients: clients, PollInterval: poll}),
		facts:  render.Facts{Region: environment.Region, AccountID: environment.Account, ClusterName: operator.DefaultClusterName},
	}
	for i := range c.Steps {
		problems, err := a.step(ctx, &c.Steps[i])
		if err != nil {
			return nil, fmt.Errorf("step %d: %w", i+1, err)
		}
		if len(problems) > 0 {
			for j := range problems {
				problems[j] = fmt.Sprintf("step %d: %s", i+1, problems[j])
			}
			return problems, nil
		}
	}
	return a.delete(ctx)
}

// step applies the objects of a step.
func (a *account) step(ctx context.Context, s *step) ([]string, error) {
	for i, content := range s.Objects {
		last := i == len(s.Objects)-1
		before, now, err := a.apply(ctx, content)
		refused, isRefused := errors.AsType[*refusedError](err)
		switch {
		case isRefused && last && s.Refused != "":
			return refused.differs(s.Refused), nil
		case isRefused:
			return []string{"it is refused: " + refused.message}, nil
		case err != nil:
			return nil, err
		case last && s.Refused != "":
			return []string{fmt.Sprintf("it is not refused; the step expects the message %q", s.Refused)}, nil
		case last && s.Expect != nil:
			return s.Expect.differences(before, now), nil
		case last:
			return (&expectation{}).differences(before, now), nil
		}
	}
	return nil, nil
}

// refusedError says why an object is refused: by its schema, its template, or CloudFormation.
type refusedError struct{ message string }

// Error returns the message.
func (e *refusedError) Error() string { return e.message }

// apply creates or changes an object, and returns what it was before, nil for a new one, and what it
// is now. The error is a *refusedError if AWS or the operator refuses the object.
func (a *account) apply(ctx context.Context, content map[string]any) (before, now *made, err error) {
	object, err := a.admit(ctx, content)
	if err != nil {
		return nil, nil, err
	}
	kind, err := a.known.Model(object.Kind)
	if err != nil {
		return nil, nil, &refusedError{err.Error()}
	}
	now = &made{kind: kind, object: object}
	i := slices.IndexFunc(a.made, func(m *made) bool { return m.object.Kind == object.Kind && m.object.Name == object.Name })
	if i >= 0 {
		before = a.made[i]
		now.record, object.Status.Output = before.record, before.object.Status.Output
	}
	if now.stack, err = a.rendered(kind, object); err != nil {
		return nil, nil, err
	}
	if i >= 0 {
		a.made[i] = now
	} else {
		a.made = append(a.made, now)
	}
	return before, now, a.converge(ctx, now)
}

// admit checks an object as the API server does.
func (a *account) admit(ctx context.Context, content map[string]any) (*servicev1alpha1.Object, error) {
	text, err := yaml.Marshal(content)
	if err != nil {
		return nil, fmt.Errorf("write the object: %w", err)
	}
	set, err := manifest.Read([]manifest.Source{{Name: "object", Reader: bytes.NewReader(text)}}, manifest.Options{})
	if err == nil {
		err = a.known.Admit(ctx, set.Manifests)
	}
	if err != nil {
		return nil, &refusedError{err.Error()}
	}
	object, ok := set.Manifests[0].Object.(*servicev1alpha1.Object)
	if !ok {
		return nil, fmt.Errorf("the case applies a %s; it can only apply objects of AWS services", manifest.Kind(set.Manifests[0].Object))
	}
	object.Namespace = cmp.Or(object.Namespace, metav1.NamespaceDefault)
	return object, nil
}

// rendered renders the stack of an object with the outputs of the objects that the case made before.
func (a *account) rendered(kind *model.Model, object *servicev1alpha1.Object) (*render.Desired, error) {
	references, err := render.References(kind, object)
	if err != nil {
		return nil, &refusedError{err.Error()}
	}
	facts := a.facts
	facts.References, facts.Siblings = map[string]map[string]any{}, map[string][]any{}
	of := map[string]any{}
	for _, r := range references {
		outputs, err := a.outputs(r.Kind, r.ObjectName)
		if err != nil {
			return nil, err
		}
		facts.References[r.Name], of[r.Name] = outputs, outputs
		facts.Siblings[r.Name] = []any{of}
	}
	changed, _, err := a.known.WithValues(kind, object, func(from render.Source) (render.Value, error) {
		if from.OfData() {
			return render.Value{}, from.Problem("kind", "a case has no %ss; write the value into the spec", from.Kind)
		}
		outputs, err := a.outputs(from.Kind, from.Name)
		if err != nil {
			return render.Value{}, err
		}
		return a.known.OutputValue(from, outputs)
	})
	if err != nil {
		return nil, &refusedError{err.Error()}
	}
	desired, err := a.known.Stack(kind, changed, facts)
	if err != nil {
		return nil, &refusedError{err.Error()}
	}
	return desired, nil
}

// outputs returns the outputs of an object of the case.
func (a *account) outputs(kind, name string) (map[string]any, error) {
	for _, m := range a.made {
		if m.object.Kind == kind && m.object.Name == name {
			return render.ReferenceFacts(m.object), nil
		}
	}
	return nil, &refusedError{fmt.Sprintf("it uses %s %s, which the case has not applied before", kind, name)}
}

// converge applies the stack of an object until it is complete.
func (a *account) converge(ctx context.Context, m *made) error {
	allow := policy.ParseAllow(m.object.Annotations[servicev1alpha1.AllowAnnotation])
	desired := stack.Desired{
		Name: m.stack.Name, Template: m.stack.Template, Parameters: m.stack.Parameters, Hidden: m.stack.Hidden, Tags: m.stack.Tags,
		OwnerTags: m.stack.OwnerTags, Capabilities: m.stack.Capabilities, Allow: allow, MaxAttempts: 1,
	}
	return a.until(ctx, m, stack.Ready, func() (stack.Result, error) {
		result, err := a.engine.Ensure(ctx, awsapi.Target{}, desired, m.record)
		if result.Outputs != nil {
			m.object.Status.Output = render.Outputs(m.kind, result.Outputs)
		}
		return result, err
	})
}

// until visits the stack of an object until it has a state.
func (a *account) until(ctx context.Context, m *made, want stack.State, visit func() (stack.Result, error)) error {
	ctx, cancel := context.WithTimeout(ctx, stepTimeout)
	defer cancel()
	for {
		result, err := visit()
		m.record = result.Record
		switch {
		case err != nil:
			return err
		case result.State == want:
			return nil
		case result.State == stack.Stalled, result.State == stack.Waiting:
			return &refusedError{result.Message}
		}
		next := time.NewTimer(min(max(result.RequeueAfter, poll), time.Second))
		select {
		case <-ctx.Done():
			next.Stop()
			return fmt.Errorf("the stack of %s %s is not complete (%s): %w", m.object.Kind, m.object.Name, result.Message, ctx.Err())
		case <-next.C:
		}
	}
}

// delete deletes all objects, the last one first.
func (a *account) delete(ctx context.Context) ([]string, error) {
	for _, m := range slices.Backward(a.made) {
		tags := render.Tags(m.kind.Kind, m.object, a.facts.ClusterName)
		err := a.until(ctx, m, stack.Gone, func() (stack.Result, error) {
			return a.engine.Delete(ctx, awsapi.Target{}, m.stack.Name, m.record, stack.DeleteOptions{OwnerTags: tags})
		})
		if refused, ok := errors.AsType[*refusedError](err); ok {
			return []string{fmt.Sprintf("%s %s cannot be deleted: %s", m.object.Kind, m.object.Name, refused.message)}, nil
		}
		if err != nil {
			return nil, err
		}
	}
	return nil, nil
}
