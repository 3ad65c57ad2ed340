package controller

import (
	"context"
	"fmt"
	"time"

	utiljson "k8s.io/apimachinery/pkg/util/json"

	v1alpha1 "github.com/aws-operator/aws-operator/api/service/v1alpha1"
	"github.com/aws-operator/aws-operator/internal/awsapi"
	"github.com/aws-operator/aws-operator/internal/cfn/stack"
	"github.com/aws-operator/aws-operator/internal/identity"
	"github.com/aws-operator/aws-operator/internal/service/render"
	"github.com/aws-operator/aws-operator/pkg/operatorkit"
)

// observeInterval is the time between two reads of a resource that is only observed: no event reports its
// changes.
const observeInterval = 5 * time.Minute

// observation is the last read of a resource.
type observation struct {
	digest     uint64
	identifier string
	at         time.Time
}

// observe reads the resource that the object names, and publishes the outputs of the kind's template. It
// makes no stack and changes nothing.
func (k *kind) observe(
	ctx context.Context, obj *v1alpha1.Object, in inputs, desired *render.Desired, digest uint64,
) operatorkit.Outcome {
	options := &k.service.options
	if obj.Status.StackID != "" {
		return operatorkit.Stall("HasStack", fmt.Sprintf("The annotation %s is %s, but stack %s manages the resource; remove the annotation. "+
			"An object that is created with it has no stack.",
			v1alpha1.ManagementPolicyAnnotation, v1alpha1.ManagementPolicyObserve, obj.Status.StackName))
	}
	adoption, err := render.Adopts(obj, desired, options.Registry, &options.Limits)
	if outcome, ok := refused(err); ok {
		return outcome
	}
	if err != nil {
		return operatorkit.Fail(err)
	}
	if adoption == nil {
		return operatorkit.Stall("NothingToObserve", fmt.Sprintf(
			"The annotation %s is %s, but the annotation %s, which names the resource, is missing; add it.",
			v1alpha1.ManagementPolicyAnnotation, v1alpha1.ManagementPolicyObserve, v1alpha1.AdoptAnnotation))
	}
	if err := in.use.Limit(&stack.Desired{Template: desired.Template}); err != nil {
		return identity.Outcome(err)
	}
	t, _ := options.Registry.Type(adoption.Type)
	identifier := t.IdentifierText(adoption.Identifier)
	now := options.Clock.Now()
	untouched := outputDigest(obj.Status.Output) == obj.Status.OutputDigest
	last, ok := k.observed.get(obj.UID)
	if age := now.Sub(last.at); ok && untouched && last.digest == digest && last.identifier == identifier && age < observeInterval {
		return operatorkit.Done().RequeueAfter(observeInterval - age)
	}
	properties, err := options.Engine.Read(ctx, in.use.Target, in.use.ServiceRole, adoption.Type, identifier)
	switch awsapi.Code(err) {
	case "ResourceNotFoundException":
		return operatorkit.Wait(time.Minute, "ResourceNotFound", fmt.Sprintf("There is no %s %s.", adoption.Type, identifier)).Degraded()
	case "UnsupportedActionException", "TypeNotFoundException":
		return operatorkit.Stall("CannotObserve", fmt.Sprintf(
			"AWS cannot read resources of type %s, so that the object cannot observe one.", adoption.Type))
	}
	if err != nil {
		return operatorkit.Fail(err)
	}
	live := map[string]any{}
	if err := utiljson.Unmarshal([]byte(properties), &live); err != nil {
		return operatorkit.Fail(fmt.Errorf("read the properties of %s %s: %w", adoption.Type, identifier, err))
	}
	obj.Status.Output = render.Observed(k.modelOf(obj), desired, adoption, identifier, live)
	if len(obj.Status.Output) == 0 {
		obj.Status.Output = nil
	}
	obj.Status.OutputDigest = outputDigest(obj.Status.Output)
	k.observed.keep(obj.UID, observation{digest, identifier, now})
	return operatorkit.Done().RequeueAfter(observeInterval)
}
