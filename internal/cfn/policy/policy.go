package policy

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/aws-operator/aws-operator/internal/cfn/diff"
)

// AllowAnnotation is the annotation by which a person consents to what is
// refused otherwise. Its value is a comma-separated list of AllowReplace and
// AllowRemove.
const AllowAnnotation = "service-operator.aws/allow"

// The values of AllowAnnotation.
const (
	// AllowReplace consents to the replacement of stateful resources.
	AllowReplace = "replace"
	// AllowRemove consents to the removal of stateful resources.
	AllowRemove = "remove"
	// AllowSkip consents to rollbacks that skip the resources that refuse.
	AllowSkip = "skip"
)

// Allow is what a person consented to.
type Allow struct {
	// Replace consents to the replacement of stateful resources.
	Replace bool
	// Remove consents to the removal of stateful resources.
	Remove bool
	// Skip consents to rollbacks that skip the resources that refuse.
	Skip bool
	// Gone are the logical IDs of resources that do not exist any more in AWS, so that their removal loses nothing.
	Gone []string
	// Annotation is where consent is given, for the messages; empty is
	// AllowAnnotation.
	Annotation string
}

// Where returns the annotation by which consent is given, for messages.
func (a Allow) Where() string { return cmp.Or(a.Annotation, AllowAnnotation) }

// ParseAllow reads the value of AllowAnnotation. It errs on words it does not
// know, since a misspelt consent is none; the words it knows still count.
func ParseAllow(value string) (Allow, error) {
	var allow Allow
	var unknown []string
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
			unknown = append(unknown, word)
		}
	}
	if len(unknown) > 0 {
		return allow, fmt.Errorf("annotation %s knows %s, %s and %s, not %s",
			AllowAnnotation, AllowReplace, AllowRemove, AllowSkip, strings.Join(unknown, ", "))
	}
	return allow, nil
}

// The reasons for refusing.
const (
	// TypeChange is the change of a resource's type under its logical id.
	TypeChange = "TypeChange"
	// StatefulReplacement is the replacement of a resource that holds data.
	StatefulReplacement = "StatefulReplacement"
	// StatefulMayBeReplaced is a change that may replace a resource that holds data.
	StatefulMayBeReplaced = "StatefulMayBeReplaced"
	// StatefulRemoval is the removal of a resource that holds data.
	StatefulRemoval = "StatefulRemoval"
)

// Refusal is one change that may not be carried out.
type Refusal struct {
	// LogicalID of the resource.
	LogicalID string `json:"logicalID"`
	// Reason in one CamelCase word.
	Reason string `json:"reason"`
	// Message is a sentence that says what would happen and how to allow it.
	Message string `json:"message"`
}

// rule looks at one change; an empty reason means that it has nothing to say.
type rule func(change *diff.Change, allow Allow) (reason, message string)

// rules are tried in order; the first to refuse a change speaks for it.
var rules = []rule{typeStays, statefulIsNotReplaced, statefulIsNotPerhapsReplaced, statefulIsNotRemoved}

// Check returns what in the plan may not be carried out, in order of logical
// id; nothing if the plan may go ahead.
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

// typeStays refuses what CloudFormation itself would: "Update of resource type
// is not permitted", as seen in https://github.com/aws/aws-sam-cli/issues/6786.
func typeStays(change *diff.Change, _ Allow) (reason, message string) {
	if change.OldType == "" {
		return "", ""
	}
	return TypeChange, fmt.Sprintf("CloudFormation cannot turn %s from %s into %s. Give the new resource another logical id.",
		change.LogicalID, change.OldType, change.Type)
}

func statefulIsNotReplaced(change *diff.Change, allow Allow) (reason, message string) {
	if change.Action != diff.Replace || !change.Stateful || allow.Replace {
		return "", ""
	}
	return StatefulReplacement, fmt.Sprintf("%s (%s) would be replaced by an empty one%s, %s. Undo the change, or accept the replacement with the annotation %s: %s.",
		change.LogicalID, change.Type, because(change), fate(change), allow.Where(), AllowReplace)
}

func statefulIsNotPerhapsReplaced(change *diff.Change, allow Allow) (reason, message string) {
	if change.Action != diff.MayReplace || !change.Stateful || allow.Replace {
		return "", ""
	}
	return StatefulMayBeReplaced, fmt.Sprintf("%s (%s) may be replaced by an empty one%s, %s. Undo the change, or accept a replacement with the annotation %s: %s.",
		change.LogicalID, change.Type, because(change), fate(change), allow.Where(), AllowReplace)
}

// statefulIsNotRemoved lets resources go whose DeletionPolicy keeps them.
func statefulIsNotRemoved(change *diff.Change, allow Allow) (reason, message string) {
	if change.Action != diff.Remove || !change.Stateful || allow.Remove || change.OldResource == "Retain" || slices.Contains(allow.Gone, change.LogicalID) {
		return "", ""
	}
	return StatefulRemoval, fmt.Sprintf("%s (%s) would be removed, %s. Put it back, or accept the removal with the annotation %s: %s.",
		change.LogicalID, change.Type, fate(change), allow.Where(), AllowRemove)
}

// because names the properties that are the cause.
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

// fate says what becomes of the old resource and its data.
func fate(change *diff.Change) string {
	switch change.OldResource {
	case "Retain":
		return "and the old one kept beside it"
	case "Snapshot":
		return "and only a snapshot kept of its data"
	default:
		return "and its data lost"
	}
}
