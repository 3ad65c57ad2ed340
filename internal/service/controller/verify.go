package controller

import (
	"context"
	"fmt"
	"slices"

	v1alpha1 "github.com/aws-operator/aws-operator/api/service/v1alpha1"
	"github.com/aws-operator/aws-operator/internal/service/render"
	"github.com/aws-operator/aws-operator/pkg/operatorkit"
)

// verifyReferences checks that the resources that the object changes or reads through its
// references are in the stacks of the referenced objects. An output alone proves nothing: the other
// object's author may have chosen it, by a template or by editing the object while the operator did
// not reconcile it.
func (k *kind) verifyReferences(ctx context.Context, obj *v1alpha1.Object, facts render.Facts) operatorkit.Outcome {
	references, err := render.References(k.model.Load(), obj)
	if err != nil {
		return operatorkit.Fail(err)
	}
	for _, r := range references {
		if r.PhysicalID == "" {
			continue
		}
		id, _ := facts.References[r.Name][r.PhysicalID].(string)
		name := render.StackName(facts.ClusterName, r.Kind, obj.Namespace, r.ObjectName)
		ids, err := k.service.options.Engine.PhysicalIDs(ctx, k.service.options.Target, name)
		if err != nil {
			return operatorkit.Fail(err)
		}
		if id == "" || !slices.Contains(ids, id) {
			return operatorkit.Stall("ReferenceNotOwned", fmt.Sprintf(
				"The output %s of %s %s is %q, which is not a resource of its stack %s. Correct the template of %[2]s %[3]s so that the output is a Ref to a resource.",
				r.PhysicalID,
				r.Kind,
				r.ObjectName,
				id,
				name,
			))
		}
	}
	return operatorkit.Done()
}
