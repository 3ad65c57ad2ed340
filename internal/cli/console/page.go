package console

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	servicev1alpha1 "github.com/aws-operator/aws-operator/api/service/v1alpha1"
	"github.com/aws-operator/aws-operator/internal/cli/internal/objects"
	"github.com/aws-operator/aws-operator/internal/cli/internal/progress"
	"github.com/aws-operator/aws-operator/pkg/operatorkit"
)

// maxManifest limits the manifest on a page.
const maxManifest = 64 << 10

// page is what the console shows of one object. The browser only lays it out.
type page struct {
	Row row `json:"row"`
	// Text is what the object waits for, in full.
	Text string `json:"text"`
	// Causes are the objects for which it waits in the end.
	Causes []cause `json:"causes,omitempty"`
	// Stalled is whether the user can make the operator retry.
	Stalled bool `json:"stalled,omitempty"`
	// AWS is whether the console can read AWS for this object.
	AWS      bool      `json:"aws,omitempty"`
	Changes  []change  `json:"changes,omitempty"`
	Facts    []fact    `json:"facts,omitempty"`
	Sections []section `json:"sections,omitempty"`
}

// fact is a property of an object.
type fact struct {
	Name  string `json:"name"`
	Value cell   `json:"value"`
}

// section is a part of a page: a sentence, a bar, a drawing, a table or a text, or several of these.
type section struct {
	Title   string   `json:"title"`
	Text    string   `json:"text,omitempty"`
	Bar     *bar     `json:"bar,omitempty"`
	Columns []string `json:"columns,omitempty"`
	Rows    [][]cell `json:"rows,omitempty"`
	Code    string   `json:"code,omitempty"`
	Graph   *graph   `json:"graph,omitempty"`
	// Folded sections are shown when the user asks for them.
	Folded bool `json:"folded,omitempty"`
}

// bar is how much of something is done.
type bar struct {
	Done  int64  `json:"done"`
	Total int64  `json:"total"`
	Label string `json:"label"`
}

// cell is a text, a mark, a time, or a link to an object.
type cell struct {
	Text string        `json:"text,omitempty"`
	Mark progress.Mark `json:"mark,omitempty"`
	Time int64         `json:"time,omitempty"` // seconds
	ID   string        `json:"id,omitempty"`
	// Span is where a bar begins and ends on a line of the length 1000.
	Span []int `json:"span,omitempty"`
}

// change is a change of a stack that waits for approval.
type change struct {
	Stack   string          `json:"stack"`
	Digest  string          `json:"digest"`
	Summary string          `json:"summary"`
	Changes []changedThings `json:"changes,omitempty"`
}

// changedThings is what changes of one resource.
type changedThings struct {
	Resource    string   `json:"resource"`
	Type        string   `json:"type,omitempty"`
	Action      string   `json:"action,omitempty"`
	Replacement string   `json:"replacement,omitempty"`
	Properties  []string `json:"properties,omitempty"`
	Warning     string   `json:"warning,omitempty"`
}

func text(s string) cell { return cell{Text: s} }

func at(t *metav1.Time) cell {
	if t.IsZero() {
		return cell{Text: "-"}
	}
	return cell{Time: t.Unix()}
}

func texts(values ...string) []cell {
	cells := make([]cell, len(values))
	for i, value := range values {
		cells[i] = text(value)
	}
	return cells
}

// decode reads a part of an object into its type. A client may have written anything into a status: then the
// page does without that part.
func decode(object *unstructured.Unstructured, field string, into any) bool {
	data, err := json.Marshal(object.Object[field])
	return err == nil && json.Unmarshal(data, into) == nil
}

// changesOf returns the changes that wait for approval. Clusters, instance groups and services have them
// in the same form.
func changesOf(object *unstructured.Unstructured) []change {
	var status struct {
		PendingChanges []change `json:"pendingChanges"`
	}
	decode(object, "status", &status)
	return status.PendingChanges
}

func (s *server) pageOf(ctx context.Context, object *unstructured.Unstructured) page {
	p := page{
		Row: rowOf(object), Text: progress.Object("", object).Text, Stalled: isStalled(object), Changes: changesOf(object),
		Facts: []fact{{"Created", cell{Time: object.GetCreationTimestamp().Unix()}}},
	}
	if deleted := object.GetDeletionTimestamp(); deleted != nil {
		p.Facts = append(p.Facts, fact{"Being deleted since", at(deleted)})
	}
	switch {
	case isCluster(object, kindCluster):
		s.addCluster(&p, object)
	case isCluster(object, kindGroup):
		addGroup(&p, object)
	case object.GetKind() == kindIdentity:
		addIdentity(&p, object)
	default:
		addService(&p, object)
	}
	p.AWS = s.aws != nil && len(stacksOf(object)) > 0
	p.Facts = slices.DeleteFunc(p.Facts, func(f fact) bool { return f.Value.Text == "" && f.Value.Time == 0 })
	references, causes := s.fleet.referencesOf(object)
	p.Causes = causes
	p.Sections = append(
		p.Sections, references, conditionsOf(object), s.eventsOf(ctx, object), s.callsOf(object), manifestOf(object),
	)
	p.Sections = slices.DeleteFunc(p.Sections, func(s section) bool {
		return s.Text == "" && s.Bar == nil && len(s.Rows) == 0 && s.Code == ""
	})
	return p
}

func conditionsOf(object *unstructured.Unstructured) section {
	var status struct {
		Conditions []metav1.Condition `json:"conditions"`
	}
	decode(object, "status", &status)
	found := section{Title: "Conditions", Columns: []string{"Type", "Status", "Reason", "Since", "Message"}}
	for i := range status.Conditions {
		c := &status.Conditions[i]
		found.Rows = append(found.Rows, []cell{
			text(c.Type), {Text: string(c.Status), Mark: markOf(c)}, text(c.Reason), at(&c.LastTransitionTime), text(c.Message),
		})
	}
	return found
}

// markOf returns the mark of a condition. Some are bad if they are True.
func markOf(c *metav1.Condition) progress.Mark {
	bad := slices.Contains([]string{operatorkit.ConditionStalled, servicev1alpha1.ConditionDrifted}, c.Type)
	switch {
	case c.Type == operatorkit.ConditionReconciling, c.Status == metav1.ConditionUnknown:
		return ""
	case (c.Status == metav1.ConditionTrue) != bad:
		return progress.Done
	case bad:
		return progress.Troubled
	default:
		return progress.Working
	}
}

func (s *server) eventsOf(ctx context.Context, object *unstructured.Unstructured) section {
	found := section{Title: "Events", Columns: []string{"Last seen", "Times", "Type", "Reason", "Message"}}
	events, err := s.cluster.Events(ctx, object)
	if err != nil {
		found.Text = fmt.Sprintf("The Events are not shown: %v.", err)
	}
	for i := range events {
		e := &events[i]
		times := max(e.Count, 1)
		if e.Series != nil {
			times = max(e.Series.Count, times)
		}
		kind := cell{Text: e.Type}
		if e.Type == "Warning" {
			kind.Mark = progress.Troubled
		}
		found.Rows = append(found.Rows, []cell{
			{Time: objects.LastSeen(e).Unix()}, text(fmt.Sprint(times)), kind, text(e.Reason), text(e.Message),
		})
	}
	return found
}

// manifestOf returns the part of the object that its user wrote.
func manifestOf(object *unstructured.Unstructured) section {
	metadata := map[string]any{"name": object.GetName()}
	if namespace := object.GetNamespace(); namespace != "" {
		metadata["namespace"] = namespace
	}
	if labels := object.GetLabels(); len(labels) > 0 {
		metadata["labels"] = labels
	}
	annotations := object.GetAnnotations()
	delete(annotations, "kubectl.kubernetes.io/last-applied-configuration") // it is a copy of the caller's
	if len(annotations) > 0 {
		metadata["annotations"] = annotations
	}
	whole := map[string]any{"apiVersion": object.GetAPIVersion(), "kind": object.GetKind(), "metadata": metadata}
	for field, value := range object.Object {
		if !slices.Contains([]string{"apiVersion", "kind", "metadata", "status"}, field) {
			whole[field] = value
		}
	}
	data, err := yaml.Marshal(whole)
	if err != nil {
		return section{}
	}
	if len(data) > maxManifest {
		data = append(data[:maxManifest:maxManifest], "\n# … the rest is not shown\n"...)
	}
	return section{Title: "Manifest", Code: strings.ToValidUTF8(string(data), "�"), Folded: true}
}

// addService adds what services of all kinds have.
func addService(p *page, object *unstructured.Unstructured) {
	var status servicev1alpha1.ObjectStatus
	if !decode(object, "status", &status) {
		return
	}
	p.Facts = append(p.Facts,
		fact{"Stack", text(status.StackName)},
		fact{"Stack status", text(status.ResourceStatus)},
		fact{"Account and region", text(placeOf(status.StackID))},
	)
	p.Sections = append(p.Sections, outputsOf(&status), grantsOf(&status), driftOf("Drift", status.Drift))
}

// placeOf returns the account and region of a stack, from its ARN.
func placeOf(stackID string) string {
	parts := strings.SplitN(stackID, ":", 6)
	if len(parts) < 6 {
		return ""
	}
	return parts[4] + " " + parts[3]
}

func outputsOf(status *servicev1alpha1.ObjectStatus) section {
	found := section{Title: "Outputs", Columns: []string{"Name", "Value"}}
	for _, name := range slices.Sorted(maps.Keys(status.Output)) {
		found.Rows = append(found.Rows, texts(name, status.Output[name].Text))
	}
	made := status.AdditionalResources
	if made == nil {
		made = &servicev1alpha1.AdditionalResources{}
	}
	var published []string
	for _, list := range []struct {
		kind  string
		names []string
	}{{"ConfigMap", made.ConfigMaps}, {"Secret", made.Secrets}, {"Service", made.Services}} {
		for _, name := range list.names {
			published = append(published, list.kind+" "+name)
		}
	}
	if len(published) > 0 {
		found.Text = "They are also in " + strings.Join(published, ", ") + "."
	}
	return found
}

func grantsOf(status *servicev1alpha1.ObjectStatus) section {
	found := section{Title: "Grants", Columns: []string{"Service account or object", "Role", "Waits for"}}
	for i := range status.Grants {
		g := &status.Grants[i]
		found.Rows = append(found.Rows, texts(strings.TrimSpace(g.ServiceAccount+" "+g.Kind+" "+g.Name), g.RoleARN, g.Message))
	}
	return found
}

func driftOf(title string, drift *servicev1alpha1.DriftStatus) section {
	found := section{Title: title, Columns: []string{"Resource", "Property", "Should be", "Is"}}
	if drift == nil {
		return found
	}
	if drift.CheckedAt != nil {
		found.Text = "Last checked " + drift.CheckedAt.UTC().Format(time.DateTime) + " UTC."
	}
	for i := range drift.Resources {
		r := &drift.Resources[i]
		if r.State == servicev1alpha1.DriftDeleted {
			found.Rows = append(found.Rows, texts(r.Resource, "(all)", "exists", "deleted"))
		}
		for _, property := range r.Properties {
			found.Rows = append(found.Rows, texts(r.Resource, property.Path, property.Expected, property.Actual))
		}
	}
	return found
}
