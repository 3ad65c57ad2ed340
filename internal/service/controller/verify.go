package controller

import (
	"context"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/types"

	v1alpha1 "github.com/aws-operator/aws-operator/api/service/v1alpha1"
	"github.com/aws-operator/aws-operator/internal/identity"
	"github.com/aws-operator/aws-operator/internal/service/render"
	"github.com/aws-operator/aws-operator/pkg/operatorkit"
)

// verifyReferences checks that the resources that the object changes or reads through its
// references are in the stacks of the referenced objects. An output alone proves nothing: the other
// object's author may have chosen it, by a template or by editing the object while the operator did
// not reconcile it.
//
// The other object's stack must be in the same account and region, where the object's own
// credentials reach it.
func (k *kind) verifyReferences(ctx context.Context, obj *v1alpha1.Object, in inputs) operatorkit.Outcome {
	facts := in.facts
	references, err := render.References(k.modelOf(obj), obj)
	if err != nil {
		return operatorkit.Fail(err)
	}
	for _, r := range references {
		if r.PhysicalID == "" {
			continue
		}
		id, _ := facts.References[r.Name][r.PhysicalID].(string)
		name := render.StackName(facts.ClusterName, r.Kind, obj.Namespace, r.ObjectName)
		if outcome := k.verifyPlace(ctx, obj, in, r); !outcome.IsDone() {
			return outcome
		}
		ids, err := k.service.options.Engine.PhysicalIDs(ctx, in.use.Target, name, r.ResourceType)
		if err != nil {
			return operatorkit.Fail(err)
		}
		if id == "" || !slices.Contains(ids, id) {
			what := "a resource"
			if r.ResourceType != "" {
				what = "an " + r.ResourceType
			}
			return operatorkit.Stall("ReferenceNotOwned", fmt.Sprintf(
				"The output %s of %s %s is %q, which is not %s of its stack %s. Correct the template of %[2]s %[3]s so that the output is a Ref to a resource.",
				r.PhysicalID,
				r.Kind,
				r.ObjectName,
				id,
				what,
				name,
			))
		}
	}
	return operatorkit.Done()
}

// verifyPlace checks that the stack of a referenced object is where the object's is.
func (k *kind) verifyPlace(ctx context.Context, obj *v1alpha1.Object, in inputs, r render.Reference) operatorkit.Outcome {
	other, lack, err := k.service.find(ctx, r.Kind, types.NamespacedName{Namespace: obj.Namespace, Name: r.ObjectName})
	if err != nil {
		return operatorkit.Fail(err)
	}
	if lack != nil {
		return operatorkit.Wait(lack.after, lack.reason, lack.message)
	}
	theirs, err := k.service.use(ctx, other)
	if err != nil {
		return identity.Outcome(err)
	}
	if theirs.Place != in.use.Place {
		return operatorkit.Stall("ReferenceElsewhere", fmt.Sprintf(
			"%s %s is in %s, but this object in %s. The stack changes a resource of the other, so both must be in one account and region: "+
				"use the same identity and region for both.", r.Kind, r.ObjectName, theirs.Place, in.use.Place))
	}
	return operatorkit.Done()
}
