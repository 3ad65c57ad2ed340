package render

import (
	"fmt"
	"strings"

	v1alpha1 "github.com/aws-operator/aws-operator/api/service/v1alpha1"
)

// DeletionPolicy returns what happens to the stack of an object when the object is deleted. The error is a
// *RefusedError if the annotation is unknown.
func DeletionPolicy(obj *v1alpha1.Object) (string, error) {
	written := obj.Annotations[v1alpha1.DeletionPolicyAnnotation]
	switch policy := strings.ToLower(strings.TrimSpace(written)); policy {
	case "":
		return v1alpha1.DeletionPolicyDelete, nil
	case v1alpha1.DeletionPolicyDelete, v1alpha1.DeletionPolicyRetain, v1alpha1.DeletionPolicySnapshot:
		return policy, nil
	default:
		return "", &RefusedError{"UnknownDeletionPolicy", fmt.Sprintf("The annotation %s is %q; set it to %s, %s or %s.",
			v1alpha1.DeletionPolicyAnnotation, written,
			v1alpha1.DeletionPolicyRetain, v1alpha1.DeletionPolicySnapshot, v1alpha1.DeletionPolicyDelete)}
	}
}

// withSnapshots has CloudFormation take snapshots of the resources of a stack before it deletes them, if the object
// asks for that.
func withSnapshots(desired *Desired, kind string, obj *v1alpha1.Object) error {
	policy, err := DeletionPolicy(obj)
	if err != nil || policy != v1alpha1.DeletionPolicySnapshot {
		return nil //nolint:nilerr // An unknown policy matters when the object is deleted, which it then prevents.
	}
	supported := false
	for _, r := range desired.Template.Resources {
		if !r.SupportsSnapshot() {
			continue
		}
		supported = true
		if r.DeletionPolicy == "" || r.DeletionPolicy == "Delete" {
			r.DeletionPolicy = "Snapshot"
		}
	}
	if !supported {
		return &RefusedError{"NoSnapshot", fmt.Sprintf(
			"The annotation %s is %s, but CloudFormation takes no snapshot of what is in the stack of this %s; set it to %s or %s.",
			v1alpha1.DeletionPolicyAnnotation, policy, kind, v1alpha1.DeletionPolicyRetain, v1alpha1.DeletionPolicyDelete)}
	}
	return nil
}
