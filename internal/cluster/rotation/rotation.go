package rotation

import (
	"fmt"

	"github.com/aws-operator/aws-operator/api/cluster/v1alpha1"
)

// Observed is the state of a cluster's nodes. What they must boot with is that of the current stage.
type Observed struct {
	// Slots are the slots of the control plane, Groups the instance groups.
	Slots, Groups []Machines
	// Strays are the names of nodes that belong to neither.
	Strays []string
	// Unhealthy describes what is wrong with the control plane, empty if nothing is.
	Unhealthy string
}

// Machines is the state of a slot's node or of the nodes of an instance group.
type Machines struct {
	// Name names it in messages, for example "slot 0".
	Name string
	// Held says why its instances are not replaced at present, empty if they are, or need not be.
	Held string
	// Settled reports that its stack launches instances of the stage, and that no instance is being replaced.
	Settled bool
	// Desired is how many nodes it should have, Nodes how many it has. Of those, Current booted with what the stage
	// needs, and Ready are in addition Ready.
	Desired, Nodes, Current, Ready int
}

// followers are the stages, each with the next one.
var followers = map[v1alpha1.RotationStage]v1alpha1.RotationStage{
	v1alpha1.RotationTrust:  v1alpha1.RotationIssue,
	v1alpha1.RotationIssue:  v1alpha1.RotationRenew,
	v1alpha1.RotationRenew:  v1alpha1.RotationForget,
	v1alpha1.RotationForget: v1alpha1.RotationDone,
}

// Next returns the stage that follows when everything that a stage replaces was replaced and is healthy. Otherwise, it
// returns the same stage and why.
func Next(stage v1alpha1.RotationStage, seen *Observed) (next v1alpha1.RotationStage, why string) {
	follower, known := followers[stage]
	if !known {
		return stage, fmt.Sprintf("The stage %q is unknown.", stage)
	}
	if why := SlotsWait(seen.Slots); why != "" {
		return stage, why
	}
	if stage == v1alpha1.RotationRenew || stage == v1alpha1.RotationForget {
		for i := range seen.Groups {
			if why := seen.Groups[i].waits(); why != "" {
				return stage, why
			}
		}
		if len(seen.Strays) > 0 {
			return stage, fmt.Sprintf("Waiting until node %s, which belongs to no instance group, is deleted.", seen.Strays[0])
		}
	}
	if seen.Unhealthy != "" {
		return stage, Recovering(seen.Unhealthy)
	}
	return follower, ""
}

// SlotsWait returns what a stage that replaces the nodes of slots waits for, empty if all nodes were replaced and are
// ready.
func SlotsWait(slots []Machines) string {
	if len(slots) == 0 {
		return "The control plane was not observed yet."
	}
	for i := range slots {
		if why := slots[i].waits(); why != "" {
			return why
		}
	}
	return ""
}

// Recovering says that a stage waits for a control plane that is unhealthy.
func Recovering(unhealthy string) string {
	return "Waiting for the control plane to become healthy: " + unhealthy + "."
}

// waits returns what the stage waits for, empty if nothing.
func (m *Machines) waits() string {
	switch {
	case m.Held != "":
		return fmt.Sprintf("Waiting for %s: %s.", m.Name, m.Held)
	case !m.Settled || m.Current < m.Nodes:
		return fmt.Sprintf("Replacing the instances of %s: %d of %d nodes are up to date.", m.Name, m.Current, max(m.Nodes, m.Desired))
	case m.Ready < m.Nodes || m.Nodes < m.Desired:
		return fmt.Sprintf("Waiting for the nodes of %s: %d of %d are ready.", m.Name, m.Ready, max(m.Nodes, m.Desired))
	default:
		return ""
	}
}
