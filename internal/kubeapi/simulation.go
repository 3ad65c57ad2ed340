package kubeapi

import (
	"cmp"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
)

// simulation simulates the controllers, the scheduler and the kubelets of a cluster. It runs under
// the store's lock: for every change it queues the resulting actions, and runs them before the lock
// is released, or when they are due.
type simulation struct {
	store   *store
	agenda  *agenda
	options Options

	// The existing objects, decoded, and their relations.
	nodes   map[string]*corev1.Node
	pods    map[types.NamespacedName]*corev1.Pod
	waiting names               // the pods without a node
	on      map[string]names    // the pods of a node
	of      map[types.UID]names // the pods of a controller
	sets    map[key]*controller
	daemons map[key]*controller           // those of the sets that are DaemonSets
	under   map[types.UID]names           // the ReplicaSets of a Deployment
	budgets map[string]map[string]*budget // by namespace and name
	guards  map[types.NamespacedName][]*budget

	// starting and ending are pods whose change is on the agenda; ending has the seconds they were
	// given.
	starting map[types.UID]bool
	ending   map[types.UID]int64
	// lost has the times since which nodes are not Ready.
	lost map[string]time.Time
	// addresses counts the pods' assigned addresses.
	addresses int

	tasks  []task
	queued map[task]bool
}

type names map[types.NamespacedName]struct{}

// add and drop modify one of several sets of names.
func add[K comparable](sets map[K]names, of K, name types.NamespacedName) {
	if sets[of] == nil {
		sets[of] = names{}
	}
	sets[of][name] = struct{}{}
}

func drop[K comparable](sets map[K]names, of K, name types.NamespacedName) {
	delete(sets[of], name)
	if len(sets[of]) == 0 {
		delete(sets, of)
	}
}

// sorted are the names in order, as maps have none and what happens should be the same each time.
func (n names) sorted() []types.NamespacedName {
	list := make([]types.NamespacedName, 0, len(n))
	for name := range n {
		list = append(list, name)
	}
	slices.SortFunc(list, func(a, b types.NamespacedName) int {
		return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
	})
	return list
}

// task is a queued action: a concern about an object, on a node.
type task struct {
	concern concern
	of      key
	node    string
}

type concern int

const (
	schedule  concern = iota // a pod needs a node
	fill                     // a node may take pods that wait
	run                      // a pod's kubelet has something to do
	visit                    // a node became ready, or stopped to be
	orphan                   // a node went with pods on it
	deploy                   // a Deployment's ReplicaSet
	replicate                // the pods of a ReplicaSet or StatefulSet
	daemonize                // the pod of a DaemonSet on a node
	count                    // a DaemonSet's status
	guard                    // a budget's status
	collect                  // an object whose owner went
)

func newSimulation(s *store, o Options) *simulation {
	p := &simulation{
		store: s, agenda: newAgenda(o.Clock), options: o,
		nodes: map[string]*corev1.Node{}, pods: map[types.NamespacedName]*corev1.Pod{}, waiting: names{}, on: map[string]names{},
		of: map[types.UID]names{}, sets: map[key]*controller{}, daemons: map[key]*controller{}, under: map[types.UID]names{},
		budgets: map[string]map[string]*budget{}, guards: map[types.NamespacedName][]*budget{},
		starting: map[types.UID]bool{}, ending: map[types.UID]int64{}, lost: map[string]time.Time{}, queued: map[task]bool{},
	}
	s.note, s.settle = p.note, p.settle
	return p
}

func (p *simulation) ask(concern concern, of key, node string) {
	t := task{concern, of, node}
	if !p.queued[t] {
		p.queued[t] = true
		p.tasks = append(p.tasks, t)
	}
}

// settle runs queued tasks until none is left.
func (p *simulation) settle() {
	for len(p.tasks) > 0 {
		t := p.tasks[0]
		p.tasks = p.tasks[1:]
		delete(p.queued, t)
		p.do(t)
	}
	p.tasks = nil
}

func (p *simulation) do(t task) {
	switch t.concern {
	case schedule:
		p.schedule(t.of.name)
	case fill:
		p.fill(t.node)
	case run:
		p.run(t.of.name)
	case visit:
		p.visit(t.node)
	case orphan:
		p.orphan(t.node)
	case deploy:
		p.deploy(t.of)
	case replicate:
		p.replicate(t.of)
	case daemonize:
		p.daemonize(t.of, t.node)
	case count:
		p.count(t.of)
	case guard:
		p.guard(t.of.name)
	case collect:
		_, _ = p.store.drop(t.of.kind, t.of.name, metav1.DeleteOptions{}) // The object may have been deleted already.
	}
}

// later runs a function after a delay, or now.
func (p *simulation) later(wait time.Duration, do func()) {
	if wait <= 0 {
		do()
		return
	}
	p.agenda.at(p.options.Clock.Now().Add(wait), func() {
		p.store.mu.Lock()
		defer p.store.release()
		do()
	})
}

func (p *simulation) note(c change) {
	if p.options.Observe != nil {
		p.options.Observe(Event{c.event, c.kind.Kind, c.object})
	}
	switch c.kind {
	case podKind:
		p.notePod(c)
	case nodeKind:
		p.noteNode(c)
	case deploymentKind, replicaSetKind, statefulSetKind, daemonSetKind:
		p.noteSet(c)
	case budgetKind:
		p.noteBudget(c)
	}
}

// decode decodes an object. It ignores invalid ones.
func decode[T any](object *unstructured.Unstructured) *T {
	typed := new(T)
	if runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, typed) != nil {
		return nil
	}
	return typed
}

// encoded returns an object in the store's format, nil if that fails.
func encoded(object any) map[string]any {
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(object)
	if err != nil {
		return nil
	}
	return content
}

func nameOf(object metav1.Object) types.NamespacedName {
	return types.NamespacedName{Namespace: object.GetNamespace(), Name: object.GetName()}
}

func (p *simulation) notePod(c change) {
	name := nameOf(c.object)
	old := p.pods[name]
	var pod *corev1.Pod
	if c.event != watch.Deleted {
		pod = decode[corev1.Pod](c.object)
	}
	if old != nil {
		p.unlink(name, old, pod)
	}
	if pod == nil {
		return
	}
	p.pods[name] = pod
	if pod.Spec.NodeName == "" {
		p.waiting[name] = struct{}{}
		p.ask(schedule, key{podKind, name}, "")
	} else {
		add(p.on, pod.Spec.NodeName, name)
		p.ask(run, key{podKind, name}, "")
	}
	if owner := metav1.GetControllerOf(pod); owner != nil {
		add(p.of, owner.UID, name)
		p.askOwner(name.Namespace, owner, pod.Spec.NodeName)
	}
	if old == nil || !sameLabels(old.Labels, pod.Labels) {
		p.recount(name, pod)
		return
	}
	for _, b := range p.guards[name] {
		p.ask(guard, key{budgetKind, b.name}, "")
	}
}

// unlink removes a pod from the indexes of its former owners after it changed, or was deleted if
// pod is nil.
func (p *simulation) unlink(name types.NamespacedName, old, pod *corev1.Pod) {
	delete(p.waiting, name)
	drop(p.on, old.Spec.NodeName, name)
	if owner := metav1.GetControllerOf(old); owner != nil {
		drop(p.of, owner.UID, name)
		p.askOwner(name.Namespace, owner, old.Spec.NodeName)
	}
	if pod != nil {
		return
	}
	delete(p.pods, name)
	delete(p.starting, old.UID)
	delete(p.ending, old.UID)
	for _, b := range p.guards[name] {
		delete(b.pods, name)
		p.ask(guard, key{budgetKind, b.name}, "")
	}
	delete(p.guards, name)
}

func (p *simulation) noteNode(c change) {
	name := c.object.GetName()
	old := p.nodes[name]
	var node *corev1.Node
	if c.event != watch.Deleted {
		node = decode[corev1.Node](c.object)
	}
	if node == nil {
		delete(p.nodes, name)
		delete(p.lost, name)
		p.ask(orphan, key{}, name)
		return
	}
	p.nodes[name] = node
	p.ask(visit, key{}, name)
	if old != nil && old.Spec.Unschedulable == node.Spec.Unschedulable && isReady(old) == isReady(node) &&
		sameLabels(old.Labels, node.Labels) && slices.Equal(old.Spec.Taints, node.Spec.Taints) {
		return
	}
	p.ask(fill, key{}, name)
	for of := range p.daemons {
		p.ask(daemonize, of, name)
	}
}
