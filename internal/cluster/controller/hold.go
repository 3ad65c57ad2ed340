package controller

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/aws-operator/aws-operator/api/cluster/v1alpha1"
	"github.com/aws-operator/aws-operator/internal/cluster/render"
	"github.com/aws-operator/aws-operator/pkg/operatorkit"
)

// approveAnnotation approves changes of an object's stacks, by words between commas: a generation approves
// the first change of each stack that follows from it, a generation and a digest one change.
const approveAnnotation = v1alpha1.Group + "/approve"

// changes reports whether a stack that is in place would be changed. One that is new or on its way is not.
func changes(known *remembered, obj client.Object, wanted *render.Stack) bool {
	if known.Digest == "" || known.PendingDigest != "" {
		return false
	}
	stack := desired(obj, wanted)
	return known.Digest != stack.Digest()
}

// approval is done when nothing of the stack changes or a person approved it, where the object's policy asks
// for that. It is about stacks only. A generation is approved by its number, but for one change of each
// stack: what changes later for the same generation, as with another operator or Release, is another change,
// and has to be approved by its own name.
func approval(obj client.Object, policy v1alpha1.UpdatePolicy, status *v1alpha1.StackStatus, wanted *render.Stack) operatorkit.Outcome {
	if policy != v1alpha1.UpdateManual {
		return operatorkit.Done()
	}
	known, err := recall(status)
	if err != nil {
		return operatorkit.Fail(err)
	}
	if !changes(&known, obj, wanted) {
		return operatorkit.Done()
	}
	stack := desired(obj, wanted)
	generation := strconv.FormatInt(obj.GetGeneration(), 10)
	change := generation + "-" + stack.Digest()[:8]
	words := strings.FieldsFunc(obj.GetAnnotations()[approveAnnotation], func(r rune) bool { return r == ',' || r == ' ' })
	used := strings.HasPrefix(known.Approved, generation+"-") && known.Approved != change
	switch {
	case slices.Contains(words, change), slices.Contains(words, generation) && !used:
		known.Approved = change
		if err := keep(status, known); err != nil {
			return operatorkit.Fail(err)
		}
		return operatorkit.Done()
	case used:
		return operatorkit.Wait(0, "ApprovalNeeded", about(wanted.Name, fmt.Sprintf(
			"Generation %s was approved for another change of the stack; this one waits: set the annotation %s to %q to carry it out.", generation, approveAnnotation, change)))
	default:
		return operatorkit.Wait(0, "ApprovalNeeded", about(wanted.Name, fmt.Sprintf(
			"A change of the stack waits for approval: set the annotation %s to %q to carry it out.", approveAnnotation, generation)))
	}
}
