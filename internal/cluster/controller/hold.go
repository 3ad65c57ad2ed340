package controller

import (
	"fmt"
	"strconv"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/aws-operator/aws-operator/api/cluster/v1alpha1"
)

// approveAnnotation approves the changes of the generation that it names.
const approveAnnotation = v1alpha1.Group + "/approve"

// hold returns why changes of an object's stacks have to wait for a person, "" if they need not.
func (o *operator) hold(obj client.Object, policy v1alpha1.UpdatePolicy) string {
	generation := strconv.FormatInt(obj.GetGeneration(), 10)
	if policy != v1alpha1.UpdateManual || obj.GetAnnotations()[approveAnnotation] == generation {
		return ""
	}
	return fmt.Sprintf("A change of the stack waits for approval: set the annotation %s to %q to carry it out.", approveAnnotation, generation)
}
