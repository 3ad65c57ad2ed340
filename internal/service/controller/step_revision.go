package controller

import (
	"context"
	"fmt"
	"strings"

	v1alpha1 "github.com/aws-operator/aws-operator/api/service/v1alpha1"
	"github.com/aws-operator/aws-operator/pkg/operatorkit"
)

// revisionStep decides which revision of the kind's ModelDefinition an object uses.
type revisionStep struct{ kind *kind }

// Name returns the step's name.
func (s revisionStep) Name() string { return "revision" }

// EnsureCreated records the object's revision in the status.
func (s revisionStep) EnsureCreated(_ context.Context, obj *v1alpha1.Object) operatorkit.Outcome {
	all := s.kind.models.Load()
	if all.revision == "" {
		return operatorkit.Done()
	}
	used, pin := obj.Status.ModelRevision, obj.Annotations[v1alpha1.RevisionAnnotation]
	_, known := all.of(used)
	switch {
	case pin != "":
		if _, ok := all.of(pin); !ok {
			return operatorkit.Stall("UnknownModelRevision", fmt.Sprintf("The annotation %s is %q; set it to %s, or remove it.",
				v1alpha1.RevisionAnnotation, pin, strings.Join(all.revisions(), " or ")))
		}
		take(obj, pin)
	case takesAtOnce(obj):
		obj.Status.ModelRevision, obj.Status.PreviousModelRevision = all.revision, ""
	case s.kind.rollout.admits(obj.UID, all.revision):
		take(obj, all.revision)
	case !known:
		return operatorkit.Wait(0, "ModelRevisionMissing", fmt.Sprintf("ModelRevision %s, which the object uses, does not exist, or its "+
			"content was changed. The object stays as it is until the rollout of %s reaches it.", used, all.revision)).Degraded()
	}
	return operatorkit.Done()
}

// take makes an object use a revision.
func take(obj *v1alpha1.Object, revision string) {
	if used := obj.Status.ModelRevision; used != revision {
		obj.Status.ModelRevision, obj.Status.PreviousModelRevision = revision, used
	}
}

// takesAtOnce reports whether an object takes the current revision without a rollout: it has used none yet, or
// has no stack that an update could break.
func takesAtOnce(obj *v1alpha1.Object) bool {
	return obj.Status.ModelRevision == "" || obj.Status.StackID == ""
}

// EnsureDeleted does nothing.
func (s revisionStep) EnsureDeleted(context.Context, *v1alpha1.Object) operatorkit.Outcome {
	return operatorkit.Done()
}

// settledStep ends the update of an object to another revision. It is the last step.
type settledStep struct{}

// Name returns the step's name.
func (settledStep) Name() string { return "settled" }

// EnsureCreated forgets the revision before.
func (settledStep) EnsureCreated(_ context.Context, obj *v1alpha1.Object) operatorkit.Outcome {
	obj.Status.PreviousModelRevision = ""
	return operatorkit.Done()
}

// EnsureDeleted does nothing.
func (settledStep) EnsureDeleted(context.Context, *v1alpha1.Object) operatorkit.Outcome {
	return operatorkit.Done()
}
