package main

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net/url"
	"path"
	"slices"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/aws-operator/aws-operator/internal/cluster/model"
	"github.com/aws-operator/aws-operator/internal/kubeapi"
)

// trace records when the nodes of a roll change, as the simulators report it, and checks the
// invariants at every change.
type trace struct {
	size int // of each group

	mu       sync.Mutex
	bucket   string
	rolling  bool
	tokens   map[string]string   // instances by the token of their lifecycle action
	machines map[string]*machine // by instance
	nodes    map[string]*machine // by node
	pods     map[string]pod
	groups   map[string]*rolling
}

// machine records the times of an instance and its node.
type machine struct {
	group, node string
	serves      bool // its node is ready and not cordoned
	gone        bool // its node is deleted
	left        int  // pods, when its node was deleted
	pods        int  // pods of the group's Deployment

	ready, signalled           time.Time
	begun, cordoned, completed time.Time
	// empty is when its last pod was deleted, evicted when a pod was last evicted.
	empty, evicted time.Time
	// idle is how long a pod could have been evicted but was not.
	idle time.Duration
}

type pod struct {
	node           string
	ready, leaving bool
}

// rolling is the state of a group.
type rolling struct {
	serving, ready int
	// allowed is since when its budget allows a disruption, zero while it does not.
	allowed time.Time
	// fewestNodes and fewestPods are the minimums that were serving since the roll began.
	fewestNodes, fewestPods int
}

func newTrace(size int) *trace {
	return &trace{
		size: size, tokens: map[string]string{}, machines: map[string]*machine{}, nodes: map[string]*machine{}, pods: map[string]pod{},
		groups: map[string]*rolling{},
	}
}

func (t *trace) machine(id string) *machine {
	if t.machines[id] == nil {
		t.machines[id] = &machine{}
	}
	return t.machines[id]
}

func (t *trace) group(name string) *rolling {
	if t.groups[name] == nil {
		t.groups[name] = &rolling{fewestNodes: t.size, fewestPods: t.size}
	}
	return t.groups[name]
}

// first records the first time of something.
func first(at *time.Time) {
	if at.IsZero() {
		*at = now()
	}
}

// observe receives every change in the cluster.
func (t *trace) observe(bucket string, e kubeapi.Event) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.bucket = bucket
	switch e.Kind {
	case "Node":
		t.observeNode(e)
	case "Pod":
		t.observePod(e)
	case "PodDisruptionBudget":
		allowed, _, _ := unstructured.NestedInt64(e.Object.Object, "status", "disruptionsAllowed")
		g := t.group(e.Object.GetName())
		if allowed == 0 {
			g.allowed = time.Time{}
		} else {
			first(&g.allowed)
		}
	}
}

func (t *trace) observeNode(e kubeapi.Event) {
	name := e.Object.GetLabels()[model.LabelInstanceGroup]
	provider, _, _ := unstructured.NestedString(e.Object.Object, "spec", "providerID")
	if name == "" || provider == "" {
		return
	}
	m, g := t.machine(path.Base(provider)), t.group(name)
	m.group, m.node = name, e.Object.GetName()
	t.nodes[m.node] = m
	cordoned, _, _ := unstructured.NestedBool(e.Object.Object, "spec", "unschedulable")
	if cordoned {
		first(&m.cordoned)
	}
	ready := e.Type != watch.Deleted && holds(e.Object, string(corev1.NodeReady))
	if ready {
		first(&m.ready)
	}
	if e.Type == watch.Deleted {
		m.gone, m.left = true, m.pods
	}
	if serves := ready && !cordoned; serves != m.serves {
		m.serves = serves
		g.serving += sign(serves)
	}
	if t.rolling {
		g.fewestNodes = min(g.fewestNodes, g.serving)
	}
}

func sign(more bool) int {
	if more {
		return 1
	}
	return -1
}

// holds reports whether a condition of an object is True.
func holds(object *unstructured.Unstructured, kind string) bool {
	conditions, _, _ := unstructured.NestedSlice(object.Object, "status", "conditions")
	return slices.ContainsFunc(conditions, func(c any) bool {
		fields, ok := c.(map[string]any)
		return ok && fields["type"] == kind && fields["status"] == "True"
	})
}

func (t *trace) observePod(e kubeapi.Event) {
	app := e.Object.GetLabels()["app"]
	if app == "" || e.Object.GetNamespace() != "default" {
		return
	}
	g, name := t.group(app), e.Object.GetName()
	old := t.pods[name]
	is := pod{ready: e.Type != watch.Deleted && holds(e.Object, string(corev1.PodReady)), leaving: e.Object.GetDeletionTimestamp() != nil}
	is.node, _, _ = unstructured.NestedString(e.Object.Object, "spec", "nodeName")
	t.move(g, old, is, e.Type == watch.Deleted)
	// A pod that is being deleted no longer serves.
	if before, after := old.ready && !old.leaving, is.ready && !is.leaving; before != after {
		g.ready += sign(after)
	}
	if t.rolling {
		g.fewestPods = min(g.fewestPods, g.ready)
	}
	if e.Type == watch.Deleted {
		delete(t.pods, name)
	} else {
		t.pods[name] = is
	}
}

// move updates the node of a pod that changed.
func (t *trace) move(g *rolling, old, is pod, gone bool) {
	m := t.nodes[is.node]
	if m == nil {
		return
	}
	if old.node == "" {
		m.pods++
	}
	if is.leaving && !old.leaving && !m.cordoned.IsZero() {
		since := latest(m.cordoned, m.evicted, g.allowed)
		if at := now(); at.After(since) && !g.allowed.IsZero() {
			m.idle += at.Sub(since)
		}
		m.evicted = now()
	}
	if gone {
		if m.pods--; m.pods == 0 {
			m.empty = now()
		}
	}
}

func latest(times ...time.Time) time.Time {
	return slices.MaxFunc(times, time.Time.Compare)
}

// hear receives every event of AWS.
func (t *trace) hear(_, detailType string, _ []string, detail any) {
	if detailType != "EC2 Instance-terminate Lifecycle Action" {
		return
	}
	at := now()
	var action struct{ EC2InstanceID, LifecycleActionToken string }
	text, err := json.Marshal(detail)
	if err != nil || json.Unmarshal(text, &action) != nil {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.tokens[action.LifecycleActionToken] = action.EC2InstanceID
	if m := t.machine(action.EC2InstanceID); m.begun.IsZero() {
		m.begun = at
	}
}

// call receives every request in AWS's Query protocol.
func (t *trace) call(request url.Values) {
	t.mu.Lock()
	defer t.mu.Unlock()
	switch request.Get("Action") {
	case "SignalResource":
		first(&t.machine(request.Get("UniqueId")).signalled)
	case "CompleteLifecycleAction":
		id := cmp.Or(request.Get("InstanceId"), t.tokens[request.Get("LifecycleActionToken")])
		first(&t.machine(id).completed)
	}
}

// cluster returns the bucket of the observed cluster.
func (t *trace) cluster() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.bucket
}

// serving returns the number of groups that have all of their pods.
func (t *trace) serving() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	whole := 0
	for _, g := range t.groups {
		if g.ready == t.size {
			whole++
		}
	}
	return whole
}

// begin starts the checks.
func (t *trace) begin() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.rolling = true
}

// done returns the number of replaced nodes.
func (t *trace) done() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	n := 0
	for _, m := range t.machines {
		if !m.signalled.IsZero() && m.serves {
			n++
		}
	}
	return n
}

// report adds the measurements: in each group, the n-th deleted node belongs to the n-th new one.
func (t *trace) report(r *report) {
	t.mu.Lock()
	defer t.mu.Unlock()
	went, came := map[string][]*machine{}, map[string][]*machine{}
	var heard, evicted, released, greeted, all []time.Duration
	for _, m := range t.machines {
		if !m.begun.IsZero() && !m.cordoned.IsZero() && !m.completed.IsZero() {
			went[m.group] = append(went[m.group], m)
			heard, evicted, released = append(heard, m.heard()), append(evicted, m.idle), append(released, m.released())
		}
		if !m.signalled.IsZero() && !m.ready.IsZero() {
			came[m.group] = append(came[m.group], m)
			greeted = append(greeted, m.greeted())
		}
	}
	for group, old := range went {
		slices.SortFunc(old, func(a, b *machine) int { return a.completed.Compare(b.completed) })
		slices.SortFunc(came[group], func(a, b *machine) int { return a.signalled.Compare(b.signalled) })
		for i := range min(len(old), len(came[group])) {
			all = append(all, old[i].heard()+old[i].idle+old[i].released()+came[group][i].greeted())
		}
	}
	for _, part := range []struct {
		name  string
		spent []time.Duration
	}{
		{"lifecycle action begun to node cordoned", heard},
		{"a pod may be evicted to its eviction, all of a node's pods", evicted},
		{"last pod deleted to action completed", released},
		{"node Ready to signal at CloudFormation", greeted},
	} {
		if len(part.spent) > 0 {
			r.note(
				"of it: "+part.name+", median and p99",
				fmt.Sprintf("%s, %s", round(percentile(part.spent, 50)), round(percentile(part.spent, 99))),
			)
		}
	}
	if len(all) > 0 {
		r.duration(
			fmt.Sprintf("the operator's part per node, %d nodes, median", len(all)), percentile(all, 50), time.Second, "30 s to 60 s",
		)
		r.duration("the same, p99", percentile(all, 99), 0, "")
	}
	t.reportBroken(r)
}

// reportBroken adds how often each invariant was violated.
func (t *trace) reportBroken(r *report) {
	budgets, groups := 0, 0
	for _, g := range t.groups {
		if g.fewestPods < t.size-1 {
			budgets++
		}
		if g.fewestNodes < t.size-1 {
			groups++
		}
	}
	undrained, unheard := 0, 0
	for _, m := range t.machines {
		if m.gone && m.left > 0 {
			undrained++
		}
		if m.gone && (m.begun.IsZero() || m.cordoned.IsZero() || m.completed.IsZero()) {
			unheard++
		}
	}
	r.number("nodes that were deleted with pods on them", float64(undrained), 0, "", "")
	r.number("nodes that were deleted without a hook, a cordon or the operator's consent", float64(unheard), 0, "", "")
	r.number("groups whose budget was violated at any time", float64(budgets), 0, "", "")
	r.number("groups with fewer nodes in service than their minimum at any time", float64(groups), 0, "", "")
}

func (m *machine) heard() time.Duration { return max(0, m.cordoned.Sub(m.begun)) }

func (m *machine) released() time.Duration {
	return max(0, m.completed.Sub(latest(m.empty, m.cordoned)))
}

func (m *machine) greeted() time.Duration { return max(0, m.signalled.Sub(m.ready)) }
