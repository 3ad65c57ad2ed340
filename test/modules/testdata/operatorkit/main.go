// Command example uses operatorkit as a module of its own.
package main

import (
	"context"
	"fmt"
	"os"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/aws-operator/aws-operator/pkg/operatorkit"
)

type object = *unstructured.Unstructured

func newObject() object {
	o := &unstructured.Unstructured{}
	o.SetGroupVersionKind(schema.GroupVersionKind{Group: "example.com", Version: "v1", Kind: "Thing"})
	return o
}

func run() error {
	thing := newObject()
	thing.SetNamespace("default")
	thing.SetName("one")
	c := fake.NewClientBuilder().WithObjects(thing).WithStatusSubresource(thing).Build()
	r, err := operatorkit.NewReconciler(operatorkit.Options[object]{
		Client: c, New: newObject, Finalizer: "example.com/thing",
		Pipelines: operatorkit.NewPipeline(operatorkit.All(
			operatorkit.NewStep("a", func(context.Context, object) operatorkit.Outcome { return operatorkit.Done() }, nil),
			operatorkit.NewStep("b", func(context.Context, object) operatorkit.Outcome {
				return operatorkit.Done().Explain("Complete", "The thing is complete.")
			}, nil),
		)),
	})
	if err != nil {
		return err
	}
	key := types.NamespacedName{Namespace: "default", Name: "one"}
	if _, err := r.Reconcile(context.Background(), reconcile.Request{NamespacedName: key}); err != nil {
		return err
	}
	if err := c.Get(context.Background(), key, thing); err != nil {
		return err
	}
	ready := operatorkit.FindCondition(thing, operatorkit.ConditionReady)
	fmt.Println(ready.Type, ready.Status, ready.Reason)
	return nil
}

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
