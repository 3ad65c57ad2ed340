package operatorkit_test

import (
	"context"
	"fmt"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/aws-operator/aws-operator/pkg/operatorkit"
)

// Greeting is the operator's kind. The operator writes a greeting for spec.name to status.text.
type Greeting struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec struct {
		Name string `json:"name,omitempty"`
	} `json:"spec,omitempty"`
	Status struct {
		Text       string             `json:"text,omitempty"`
		Conditions []metav1.Condition `json:"conditions,omitempty"`
	} `json:"status,omitempty"`
}

// GetConditions implements operatorkit.Conditioned.
func (g *Greeting) GetConditions() []metav1.Condition { return g.Status.Conditions }

// SetConditions implements operatorkit.Conditioned.
func (g *Greeting) SetConditions(conditions []metav1.Condition) { g.Status.Conditions = conditions }

// DeepCopyObject implements runtime.Object. Use controller-gen to generate it.
func (g *Greeting) DeepCopyObject() runtime.Object {
	c := *g
	g.DeepCopyInto(&c.ObjectMeta)
	c.Status.Conditions = slices.Clone(g.Status.Conditions)
	return &c
}

// newGreeter returns the operator's reconciler. Add it to a manager with
//
//	greeter.SetupWithManager(mgr)
func newGreeter(c client.Client) (*operatorkit.Reconciler[*Greeting], error) {
	greet := operatorkit.NewStep("greet", func(_ context.Context, g *Greeting) operatorkit.Outcome {
		if g.Spec.Name == "" {
			return operatorkit.Stall("NameMissing", "Set spec.name.")
		}
		g.Status.Text = "Hello, " + g.Spec.Name + "!"
		return operatorkit.Done().Explain("Greeted", "The greeting is in status.text.")
	}, nil)
	return operatorkit.NewReconciler(operatorkit.Options[*Greeting]{
		Client: c, Pipelines: operatorkit.NewPipeline(greet), Finalizer: "example.com/greeter",
	})
}

// This is a complete operator. It uses a fake client instead of a manager.
func Example() {
	scheme := runtime.NewScheme()
	scheme.AddKnownTypes(schema.GroupVersion{Group: "example.com", Version: "v1"}, &Greeting{})
	greeting := &Greeting{ObjectMeta: metav1.ObjectMeta{Name: "one", Namespace: "default"}}
	greeting.Spec.Name = "World"
	c := fake.NewClientBuilder().WithScheme(scheme).WithObjects(greeting).WithStatusSubresource(greeting).Build()

	greeter, err := newGreeter(c)
	if err != nil {
		fmt.Println(err)
		return
	}
	ctx, key := context.Background(), types.NamespacedName{Namespace: "default", Name: "one"}
	if _, err := greeter.Reconcile(ctx, reconcile.Request{NamespacedName: key}); err != nil {
		fmt.Println(err)
		return
	}
	if err := c.Get(ctx, key, greeting); err != nil {
		fmt.Println(err)
		return
	}
	ready := operatorkit.FindCondition(greeting, operatorkit.ConditionReady)
	fmt.Println(greeting.Status.Text)
	fmt.Println("Ready", ready.Status, ready.Reason, ready.Message)
	// Output:
	// Hello, World!
	// Ready True Greeted The greeting is in status.text.
}
