package console

import (
	"cmp"
	"maps"
	"slices"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	servicev1alpha1 "github.com/aws-operator/aws-operator/api/service/v1alpha1"
	"github.com/aws-operator/aws-operator/internal/cli/internal/progress"
	"github.com/aws-operator/aws-operator/pkg/operatorkit"
)

// maxText limits the texts of a row: anybody who may write a status chooses its length.
const maxText = 300

// row is an object in the overview.
type row struct {
	ID        string        `json:"id"`
	Kind      string        `json:"kind"`
	Namespace string        `json:"namespace,omitempty"`
	Name      string        `json:"name"`
	Mark      progress.Mark `json:"mark"`
	Reason    string        `json:"reason,omitempty"`
	Text      string        `json:"text"`
	Created   int64         `json:"created"` // seconds
	Pending   bool          `json:"pending,omitempty"`
	Drifted   bool          `json:"drifted,omitempty"`
}

// idOf identifies an object: by its kind and group, so that it stays the same with another version.
func idOf(object *unstructured.Unstructured) string {
	kind := object.GroupVersionKind()
	return kind.Kind + "." + kind.Group + "/" + object.GetNamespace() + "/" + object.GetName()
}

func rowOf(object *unstructured.Unstructured) row {
	item := progress.Object("", object)
	r := row{
		ID: idOf(object), Kind: object.GetKind(), Namespace: object.GetNamespace(), Name: object.GetName(),
		Mark: item.Mark, Text: clip(item.Text), Created: object.GetCreationTimestamp().Unix(),
	}
	if condition := progress.Condition(object); condition != nil {
		r.Reason = condition.Reason
	}
	pending, _, _ := unstructured.NestedSlice(object.Object, "status", "pendingChanges")
	r.Pending = len(pending) > 0
	drifted := operatorkit.FindCondition(object, servicev1alpha1.ConditionDrifted)
	r.Drifted = drifted != nil && drifted.Status == metav1.ConditionTrue
	return r
}

// clip shortens a text.
func clip(text string) string {
	runes := []rune(text)
	if len(runes) <= maxText {
		return text
	}
	return string(runes[:maxText-1]) + "…"
}

// fleet is what the management cluster has, as the last watch reported it.
type fleet struct {
	mu      sync.Mutex
	objects map[string]*unstructured.Unstructured
	rows    map[string]row
	hidden  []string
	read    bool // the objects are complete
	readers map[*reader]struct{}
	links   linker
}

func newFleet() *fleet {
	return &fleet{objects: map[string]*unstructured.Unstructured{}, rows: map[string]row{}, readers: map[*reader]struct{}{}}
}

// update replaces the objects, and reports those that changed to the readers.
func (f *fleet) update(all []unstructured.Unstructured, hidden []string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	changed, there := map[string]bool{}, make(map[string]bool, len(all))
	for i := range all {
		object := &all[i]
		id := idOf(object)
		there[id] = true
		if known := f.objects[id]; known != nil && known.GetUID() == object.GetUID() &&
			known.GetResourceVersion() == object.GetResourceVersion() {
			continue
		}
		f.objects[id], f.rows[id], changed[id] = object, rowOf(object), true
	}
	for id := range f.objects {
		if !there[id] {
			delete(f.objects, id)
			delete(f.rows, id)
			changed[id] = true
		}
	}
	news := !f.read || len(changed) > 0 || !slices.Equal(f.hidden, hidden)
	f.read, f.hidden = true, hidden
	if !news {
		return
	}
	for r := range f.readers {
		maps.Copy(r.changed, changed)
		r.notify()
	}
}

// object returns an object, nil if there is none, and whether the objects are complete. It must not be changed.
func (f *fleet) object(id string) (object *unstructured.Unstructured, complete bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.objects[id], f.read
}

// groups returns the InstanceGroups of a cluster, by name.
func (f *fleet) groups(namespace, cluster string) (found []*unstructured.Unstructured) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, object := range f.objects {
		of, _, _ := unstructured.NestedString(object.Object, "spec", "cluster")
		if isCluster(object, kindGroup) && object.GetNamespace() == namespace && of == cluster {
			found = append(found, object)
		}
	}
	slices.SortFunc(found, func(a, b *unstructured.Unstructured) int { return cmp.Compare(a.GetName(), b.GetName()) })
	return found
}

// reader is a page that follows the fleet.
type reader struct {
	fleet   *fleet
	whole   bool // it has not had the whole fleet yet
	changed map[string]bool
	ready   chan struct{}
}

// news is what changed since the last one. The first one has everything.
type news struct {
	Whole   bool     `json:"whole,omitempty"`
	Rows    []row    `json:"rows,omitempty"`
	Deleted []string `json:"deleted,omitempty"`
	Hidden  []string `json:"hidden,omitempty"`
}

// follow returns a reader, and how to end it.
func (f *fleet) follow() (r *reader, end func()) {
	f.mu.Lock()
	defer f.mu.Unlock()
	r = &reader{fleet: f, whole: true, changed: map[string]bool{}, ready: make(chan struct{}, 1)}
	f.readers[r] = struct{}{}
	if f.read {
		r.notify()
	}
	return r, func() {
		f.mu.Lock()
		defer f.mu.Unlock()
		delete(f.readers, r)
	}
}

// notify tells a reader that there is news. A reader that is slow gets several changes at once.
func (r *reader) notify() {
	select {
	case r.ready <- struct{}{}:
	default:
	}
}

// take returns the news.
func (r *reader) take() news {
	f := r.fleet
	f.mu.Lock()
	defer f.mu.Unlock()
	n := news{Whole: r.whole, Hidden: f.hidden}
	if r.whole {
		n.Rows = slices.Collect(maps.Values(f.rows))
	} else {
		for id := range r.changed {
			if found, ok := f.rows[id]; ok {
				n.Rows = append(n.Rows, found)
			} else {
				n.Deleted = append(n.Deleted, id)
			}
		}
	}
	r.whole = false
	clear(r.changed)
	return n
}
