package console

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	clusterv1alpha1 "github.com/aws-operator/aws-operator/api/cluster/v1alpha1"
	identityv1alpha1 "github.com/aws-operator/aws-operator/api/identity/v1alpha1"
	servicev1alpha1 "github.com/aws-operator/aws-operator/api/service/v1alpha1"
	"github.com/aws-operator/aws-operator/internal/cli/internal/progress"
	"github.com/aws-operator/aws-operator/internal/service/kinds"
	"github.com/aws-operator/aws-operator/internal/service/render"
)

const (
	// maxSteps is how far the graph of an object reaches in each direction.
	maxSteps = 3
	// maxNodes limits the objects in a graph: an identity may have thousands of users.
	maxNodes = 40
)

// reference is an object that another one references.
type reference struct {
	id   string
	name string // kind and name
	by   string // the field or annotation
}

// graph is the objects that an object references, and those that reference it, both also indirectly.
type graph struct {
	// Label describes the drawing for screen readers.
	Label string      `json:"label"`
	Nodes []graphNode `json:"nodes"`
	Edges [][2]int    `json:"edges"` // from the referencing node to the referenced one
}

// graphNode is an object in a graph. Columns count from the object, at 0: it references those to the right.
type graphNode struct {
	ID     string        `json:"id"`
	Kind   string        `json:"kind"`
	Name   string        `json:"name"`
	Mark   progress.Mark `json:"mark,omitempty"` // empty for an object that does not exist or is not watched
	Column int           `json:"column"`
	Row    int           `json:"row"`
}

// linker finds the references between objects, and caches them. The zero value is ready for use.
type linker struct {
	mu     sync.Mutex
	models string // the versions of the ModelDefinitions that set was compiled from
	set    *kinds.Set
	known  map[string]linked
}

type linked struct {
	version string
	to      []reference
}

// all returns the references of each object by ID.
func (l *linker) all(objects map[string]*unstructured.Unstructured) map[string][]reference {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.compile(objects)
	known, found := make(map[string]linked, len(objects)), make(map[string][]reference, len(objects))
	for id, object := range objects {
		version := string(object.GetUID()) + "/" + object.GetResourceVersion()
		one := l.known[id]
		if one.version != version {
			one = linked{version: version, to: l.of(object)}
		}
		known[id], found[id] = one, one.to
	}
	l.known = known
	return found
}

// compile compiles the models if they have changed.
func (l *linker) compile(objects map[string]*unstructured.Unstructured) {
	var versions []string
	var definitions []*servicev1alpha1.ModelDefinition
	for id, object := range objects {
		if object.GetKind() != "ModelDefinition" {
			continue
		}
		d := &servicev1alpha1.ModelDefinition{}
		if runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, d) == nil {
			definitions = append(definitions, d)
			versions = append(versions, fmt.Sprintf("%s %s %d", id, object.GetUID(), object.GetGeneration()))
		}
	}
	slices.Sort(versions)
	if models := strings.Join(versions, ","); l.set == nil || l.models != models {
		l.models, l.known = models, nil
		var err error
		if l.set, err = kinds.BuiltIn(); err != nil {
			panic(err) // a test rules it out
		}
		for _, d := range definitions {
			_ = l.set.Define(d) // its status has the error
		}
	}
}

// of returns the references of an object.
func (l *linker) of(object *unstructured.Unstructured) []reference {
	var found []reference
	add := func(group, kind, namespace, name, by string) {
		target := &unstructured.Unstructured{}
		target.SetGroupVersionKind(schema.GroupVersionKind{Group: group, Version: "v1alpha1", Kind: kind})
		target.SetNamespace(namespace)
		target.SetName(name)
		if id := idOf(target); name != "" && !slices.ContainsFunc(found, func(r reference) bool { return r.id == id }) {
			found = append(found, reference{id: id, name: kind + " " + name, by: by})
		}
	}
	namespace := object.GetNamespace()
	annotation := identityv1alpha1.IdentityAnnotation
	add(identityv1alpha1.Group, kindIdentity, "", object.GetAnnotations()[annotation], annotation)
	switch object.GroupVersionKind().Group {
	case clusterv1alpha1.Group:
		text := func(field string) string {
			value, _, _ := unstructured.NestedString(object.Object, "spec", field)
			return value
		}
		if isCluster(object, kindGroup) {
			add(clusterv1alpha1.Group, kindCluster, namespace, text("cluster"), "spec.cluster")
		} else {
			add(clusterv1alpha1.Group, "Release", "", text("release"), "spec.release")
		}
	case servicev1alpha1.Group:
		l.service(object, func(kind, in, name, by string) {
			group := servicev1alpha1.Group
			if kind == "Secret" || kind == "ConfigMap" {
				group = ""
			}
			add(group, kind, in, name, by)
		})
	}
	return found
}

// service adds the references of a service: those of its model, its values, its template and its grants.
func (l *linker) service(object *unstructured.Unstructured, add func(kind, namespace, name, by string)) {
	model, err := l.set.Model(object.GetKind())
	if err != nil {
		return // another kind of the group, such as ModelDefinition
	}
	data, err := json.Marshal(object.Object)
	service := &servicev1alpha1.Object{}
	if err != nil || json.Unmarshal(data, service) != nil {
		return
	}
	references, _ := render.References(model, service) // the object's status has the error
	for _, r := range references {
		add(r.Kind, service.Namespace, r.ObjectName, "reference "+r.Name)
	}
	sources, _ := render.Sources(model, service)
	for _, s := range sources {
		add(s.Kind, cmp.Or(s.Namespace, service.Namespace), s.Name, "spec.valuesFrom")
	}
	spec, _ := render.Spec(service)
	template, _ := spec["cloudFormationTemplateName"].(string)
	in, _ := spec["cloudFormationTemplateNamespace"].(string)
	add("CloudFormationTemplate", cmp.Or(in, service.Namespace), template, "spec.cloudFormationTemplateName")
	for i := range service.Status.Grants {
		if g := &service.Status.Grants[i]; g.Kind != "" {
			add(g.Kind, service.Namespace, g.Name, "grant to it")
		}
	}
}

// referencesOf draws and lists the objects that are connected with an object, and returns why it waits:
// those that it needs, also indirectly, that are not ready for another reason than one of these.
func (f *fleet) referencesOf(object *unstructured.Unstructured) (found section, causes []cause) {
	f.mu.Lock()
	objects, rows := maps.Clone(f.objects), maps.Clone(f.rows)
	f.mu.Unlock()
	forward := f.links.all(objects)
	back := map[string][]reference{}
	for id, to := range forward {
		for _, r := range to {
			from := rows[id]
			back[r.id] = append(back[r.id], reference{id: id, name: from.Kind + " " + from.Name, by: r.by})
		}
	}
	for _, from := range back {
		slices.SortFunc(from, func(a, b reference) int { return cmp.Compare(a.id, b.id) })
	}
	id := idOf(object)
	found = section{Title: "References", Columns: []string{"Direction", "Object", "By", "Status"}}
	list := func(direction string, references []reference) {
		for i, r := range references {
			if i == maxNodes {
				found.Text = fmt.Sprintf("%d objects reference it; the first %d are shown.", len(references), maxNodes)
				return
			}
			status := cell{Text: "not shown here"}
			if row, ok := rows[r.id]; ok {
				status = cell{Text: row.Text, Mark: row.Mark}
			}
			found.Rows = append(found.Rows, []cell{text(direction), {Text: r.name, ID: r.id}, text(r.by), status})
		}
	}
	list("needs", forward[id])
	list("is needed by", back[id])
	if len(found.Rows) > 0 {
		found.Graph = draw(id, forward, back, rows)
	}
	return found, causesOf(id, forward, rows)
}

// cause is an object for which another one waits, and what it waits for itself.
type cause struct {
	ID   string        `json:"id"`
	Name string        `json:"name"`
	Mark progress.Mark `json:"mark"`
	Text string        `json:"text"`
}

// causesOf follows the references of an object from one that is not ready to the next.
func causesOf(id string, forward map[string][]reference, rows map[string]row) (causes []cause) {
	seen := map[string]bool{id: true}
	var follow func(id string) bool
	follow = func(id string) (waits bool) {
		for _, r := range forward[id] {
			needed, ok := rows[r.id]
			if !ok || needed.Mark == progress.Done {
				continue
			}
			waits = true
			if seen[r.id] {
				continue
			}
			seen[r.id] = true
			if !follow(r.id) {
				causes = append(causes, cause{r.id, r.name, needed.Mark, needed.Text})
			}
		}
		return waits
	}
	if own := rows[id]; own.Mark != progress.Done {
		follow(id)
	}
	return causes
}

// layout is a graph while it is laid out.
type layout struct {
	graph
	rows   map[string]row
	at     map[string]int // the nodes' indices by ID
	height map[int]int    // the number of nodes by column
}

// place adds a node to a column, unless it is in the graph. It reports whether it was not.
func (l *layout) place(id, name string, column int) (added bool) {
	if _, ok := l.at[id]; ok {
		return false
	}
	if len(l.Nodes) == maxNodes {
		return true
	}
	kind, name, _ := strings.Cut(name, " ")
	l.at[id] = len(l.Nodes)
	l.Nodes = append(l.Nodes, graphNode{ID: id, Kind: kind, Name: name, Mark: l.rows[id].Mark, Column: column, Row: l.height[column]})
	l.height[column]++
	return true
}

// spread places what links lead to, from a node on: each step in the next column.
func (l *layout) spread(id string, links map[string][]reference, step int) {
	last := []string{id}
	for n := 1; n <= maxSteps; n++ {
		var next []string
		for _, from := range last {
			for _, r := range links[from] {
				if l.place(r.id, r.name, n*step) {
					next = append(next, r.id)
				}
			}
		}
		last = next
	}
}

// draw lays out the graph of an object: a column for each step away from it.
func draw(id string, forward, back map[string][]reference, rows map[string]row) *graph {
	own := rows[id]
	l := &layout{rows: rows, at: map[string]int{}, height: map[int]int{}}
	l.place(id, own.Kind+" "+own.Name, 0)
	l.spread(id, forward, 1)
	l.spread(id, back, -1)
	g := &l.graph
	for _, from := range slices.Sorted(maps.Keys(l.at)) {
		for _, r := range forward[from] {
			if to, ok := l.at[r.id]; ok {
				g.Edges = append(g.Edges, [2]int{l.at[from], to})
			}
		}
	}
	count := func(direction int) (n int) {
		for i := range g.Nodes {
			if g.Nodes[i].Column*direction > 0 {
				n++
			}
		}
		return n
	}
	g.Label = fmt.Sprintf(
		"Drawing: %s %s needs %d objects, and %d need it, directly or not. The table below lists the direct ones.",
		own.Kind, own.Name, count(1), count(-1),
	)
	return g
}

const kindIdentity = "AWSIdentity"

// addIdentity adds what an identity has.
func addIdentity(p *page, object *unstructured.Unstructured) {
	var spec identityv1alpha1.AWSIdentitySpec
	var status identityv1alpha1.AWSIdentityStatus
	if !decode(object, "spec", &spec) || !decode(object, "status", &status) {
		return
	}
	namespaces := strings.Join(spec.AllowedNamespaces.Names, ", ")
	if spec.AllowedNamespaces.Selector != nil {
		selected := "namespaces with the labels " + metav1.FormatLabelSelector(spec.AllowedNamespaces.Selector)
		if len(spec.AllowedNamespaces.Selector.MatchLabels)+len(spec.AllowedNamespaces.Selector.MatchExpressions) == 0 {
			selected = "all namespaces"
		}
		namespaces = strings.TrimPrefix(namespaces+", "+selected, ", ")
	}
	p.Facts = append(p.Facts,
		fact{"Role", text(spec.RoleARN)},
		fact{"Account", text(status.Account)},
		fact{"Regions", text(cmp.Or(strings.Join(spec.Regions, ", "), "the operator's own"))},
		fact{"Allowed namespaces", text(namespaces)},
		fact{"Service role", text(spec.ServiceRoleARN)},
		fact{"Permissions boundary", text(spec.PermissionsBoundary)},
		fact{"Allowed types", text(strings.Join(spec.AllowedResourceTypes, ", "))},
	)
}
