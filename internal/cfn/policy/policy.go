package policy

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/aws-operator/aws-operator/internal/cfn/diff"
)

// AllowAnnotation is the annotation by which the user consents to changes that are otherwise
// refused. Its value is a comma-separated list of AllowReplace, AllowRemove and AllowSkip.
const AllowAnnotation = "service-operator.aws/allow"

// Values of AllowAnnotation.
const (
	// AllowReplace consents to the replacement of stateful resources.
	AllowReplace = "replace"
	// AllowRemove consents to the removal of stateful resources.
	AllowRemove = "remove"
	// AllowSkip consents to rollbacks that skip the resources that failed.
	AllowSkip = "skip"
)

// Allow is what the user consents to.
type Allow struct {
	// Replace consents to the replacement of stateful resources.
	Replace bool
	// Remove consents to the removal of stateful resources.
	Remove bool
	// Skip consents to rollbacks that skip the resources that failed.
	Skip bool
	// Unknown are the other words of the annotation, which consent to nothing.
	Unknown []string
	// Gone are the logical IDs of resources that no longer exist in AWS, so that removing them
	// loses nothing.
	Gone []string
	// Annotation is the name of the annotation for messages; empty means AllowAnnotation.
	Annotation string
	// Object is the name of the object, for messages: resources may be named after it.
	Object string
}

// Asks names the annotation with the word that consents to something, for messages. It also names words that mean
// nothing, because one of them may be a misspelled consent.
func (a Allow) Asks(word string) string {
	asks := cmp.Or(a.Annotation, AllowAnnotation) + ": " + word
	if len(a.Unknown) > 0 {
		asks += fmt.Sprintf(" (it has %q, which means nothing)", strings.Join(a.Unknown, ", "))
	}
	return asks
}

// ParseAllow parses the value of AllowAnnotation.
func ParseAllow(value string) Allow {
	var allow Allow
	for word := range strings.SplitSeq(value, ",") {
		switch word = strings.TrimSpace(word); word {
		case "":
		case AllowReplace:
			allow.Replace = true
		case AllowRemove:
			allow.Remove = true
		case AllowSkip:
			allow.Skip = true
		default:
			allow.Unknown = append(allow.Unknown, word)
		}
	}
	return allow
}

// Reasons of refusals.
const (
	// TypeChange is the change of a resource's type under its logical ID.
	TypeChange = "TypeChange"
	// FixedName is the replacement of a resource whose name stays.
	FixedName = "FixedName"
	// StatefulReplacement is the replacement of a resource that contains data.
	StatefulReplacement = "StatefulReplacement"
	// StatefulMayBeReplaced is a change that may replace a resource that contains data.
	StatefulMayBeReplaced = "StatefulMayBeReplaced"
	// StatefulRemoval is the removal of a resource that contains data.
	StatefulRemoval = "StatefulRemoval"
)

// Refusal is one change that must not be applied.
type Refusal struct {
	// LogicalID of the resource.
	LogicalID string `json:"logicalID"`
	// Reason in one CamelCase word.
	Reason string `json:"reason"`
	// Message is a sentence that says what would happen and how to allow it.
	Message string `json:"message"`
}

// rule checks one change; an empty reason means no objection.
type rule func(change *diff.Change, allow Allow) (reason, message string)

// rules are checked in order; the first refusal of a change counts.
var rules = []rule{typeStays, nameChangesToo, statefulIsNotReplaced, statefulIsNotPerhapsReplaced, statefulIsNotRemoved}

// Check returns the refused changes of a plan, sorted by logical ID; none if the plan may be
// applied.
func Check(p *diff.Plan, allow Allow) []Refusal {
	if p == nil {
		return nil
	}
	var refusals []Refusal
	for i := range p.Changes {
		for _, refuse := range rules {
			if reason, message := refuse(&p.Changes[i], allow); reason != "" {
				refusals = append(refusals, Refusal{LogicalID: p.Changes[i].LogicalID, Reason: reason, Message: message})
				break
			}
		}
	}
	return refusals
}

// typeStays refuses what CloudFormation would refuse: "Update of resource type is not permitted",
// as in https://github.com/aws/aws-sam-cli/issues/6786.
func typeStays(change *diff.Change, _ Allow) (reason, message string) {
	if change.OldType == "" {
		return "", ""
	}
	return TypeChange, fmt.Sprintf("CloudFormation cannot change the type of %s from %s to %s. Give the new resource another logical ID.",
		change.LogicalID, change.OldType, change.Type)
}

// nameChangesToo refuses what CloudFormation refuses: "You can't perform an update that causes a
// custom-named resource to be replaced. If you must replace the resource, specify a new name."
// https://docs.aws.amazon.com/AWSCloudFormation/latest/UserGuide/aws-properties-name.html
// No annotation allows it, because the update would fail and be rolled back.
func nameChangesToo(change *diff.Change, allow Allow) (reason, message string) {
	if change.FixedName == "" {
		return "", ""
	}
	remedy := fmt.Sprintf("Undo the change, or change %s as well.", change.NameProperty)
	if allow.Object != "" && strings.HasPrefix(change.FixedName, allow.Object) {
		remedy = fmt.Sprintf("Undo the change. To make it, create another object under another name, move to it and delete this one; "+
			"or delete this object, which deletes %s%s, and create it again.", change.LogicalID, withData(change))
	}
	return FixedName, fmt.Sprintf("%s (%s) must be replaced%s, and CloudFormation cannot replace a resource that keeps its name (%s %s). %s",
		change.LogicalID, change.Type, because(change), change.NameProperty, change.FixedName, remedy)
}

func withData(change *diff.Change) string {
	if change.Stateful {
		return " with its data"
	}
	return ""
}

func statefulIsNotReplaced(change *diff.Change, allow Allow) (reason, message string) {
	if change.Action != diff.Replace || !change.Stateful || allow.Replace {
		return "", ""
	}
	return StatefulReplacement, fmt.Sprintf(
		"%s (%s) would be replaced with an empty one%s, %s. Undo the change, or accept the replacement with the annotation %s.",
		change.LogicalID,
		change.Type,
		because(change),
		fate(change),
		allow.Asks(AllowReplace),
	)
}

func statefulIsNotPerhapsReplaced(change *diff.Change, allow Allow) (reason, message string) {
	if change.Action != diff.MayReplace || !change.Stateful || allow.Replace {
		return "", ""
	}
	return StatefulMayBeReplaced, fmt.Sprintf(
		"%s (%s) may be replaced with an empty one%s, %s. Undo the change, or accept a replacement with the annotation %s.",
		change.LogicalID,
		change.Type,
		because(change),
		fate(change),
		allow.Asks(AllowReplace),
	)
}

// statefulIsNotRemoved allows to remove resources whose DeletionPolicy retains them.
func statefulIsNotRemoved(change *diff.Change, allow Allow) (reason, message string) {
	if change.Action != diff.Remove || !change.Stateful || allow.Remove || change.OldResource == "Retain" ||
		slices.Contains(allow.Gone, change.LogicalID) {
		return "", ""
	}
	return StatefulRemoval, fmt.Sprintf(
		"%s (%s) would be removed, %s. Restore it in the template, or accept the removal with the annotation %s.",
		change.LogicalID,
		change.Type,
		fate(change),
		allow.Asks(AllowRemove),
	)
}

// because lists the properties that cause the change.
func because(change *diff.Change) string {
	var names []string
	for _, property := range change.Properties {
		name := property.Path
		if property.Cause != "" {
			name += " (it refers to " + property.Cause + ", which is replaced)"
		}
		if property.ForcesReplacement || property.MayReplace && change.Action == diff.MayReplace {
			names = append(names, name)
		}
	}
	names = slices.Compact(names)
	switch len(names) {
	case 0:
		return ""
	case 1:
		return " because " + names[0] + " changes"
	default:
		return " because " + strings.Join(names[:len(names)-1], ", ") + " and " + names[len(names)-1] + " change"
	}
}

// fate says what happens to the old resource and its data.
func fate(change *diff.Change) string {
	switch change.OldResource {
	case "Retain":
		return "and the old one would be retained"
	case "Snapshot":
		return "and only a snapshot of its data would be kept"
	default:
		return "and its data would be lost"
	}
}
