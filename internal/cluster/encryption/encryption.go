package encryption

import (
	"fmt"

	"github.com/aws-operator/aws-operator/api/cluster/v1alpha1"
	"github.com/aws-operator/aws-operator/internal/cluster/rotation"
)

// Observed is the state of a cluster.
type Observed struct {
	// Slots are the slots of the control plane.
	Slots []rotation.Machines
	// Unhealthy describes what is wrong with the control plane, empty if nothing is.
	Unhealthy string
	// Rewritten reports that all objects were written again since all slots encrypt.
	Rewritten bool
}

// followers are the stages, each with the next one.
var followers = map[v1alpha1.EncryptionStage]v1alpha1.EncryptionStage{
	v1alpha1.EncryptionPlain:      v1alpha1.EncryptionReadable,
	v1alpha1.EncryptionReadable:   v1alpha1.EncryptionEncrypting,
	v1alpha1.EncryptionEncrypting: v1alpha1.EncryptionRewriting,
	v1alpha1.EncryptionRewriting:  v1alpha1.EncryptionDone,
}

// Next returns the stage that follows when the stage is complete: if it replaces nodes, when all slots were replaced and
// are healthy. Otherwise, it returns the same stage and why.
func Next(stage v1alpha1.EncryptionStage, seen *Observed) (next v1alpha1.EncryptionStage, why string) {
	follower, known := followers[stage]
	switch {
	case !known:
		return stage, fmt.Sprintf("The stage %q is unknown.", stage)
	case stage == v1alpha1.EncryptionPlain:
		return follower, ""
	case stage == v1alpha1.EncryptionRewriting && !seen.Rewritten:
		return stage, "Writing objects again."
	case stage == v1alpha1.EncryptionRewriting:
		return follower, ""
	}
	if why := rotation.SlotsWait(seen.Slots); why != "" {
		return stage, why
	}
	if seen.Unhealthy != "" {
		return stage, rotation.Recovering(seen.Unhealthy)
	}
	return follower, ""
}

// Describe says in a sentence what a stage does.
func Describe(stage v1alpha1.EncryptionStage) string {
	switch stage {
	case v1alpha1.EncryptionReadable:
		return "The control plane's nodes are replaced, and can read encrypted objects."
	case v1alpha1.EncryptionEncrypting:
		return "The control plane's nodes are replaced, and encrypt the objects that they write."
	case v1alpha1.EncryptionRewriting:
		return "Objects in plain text are written again, so that they are encrypted."
	default:
		return "All objects of the resources in spec.api.encryption are encrypted."
	}
}
