package cloudformation

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"

	"github.com/aws-operator/aws-operator/internal/simulator/cloudformation/rolling"
	"github.com/aws-operator/aws-operator/internal/simulator/property"
)

// signal is a signal for a waiting resource.
type signal struct {
	ok           bool
	reason, data string
}

// waiting describes what a resource waits for.
type waiting struct {
	step  *step
	count int
	done  func()
	fail  func(reason string)
	// condition marks a wait condition, which has its own messages.
	condition bool
	// minimum is MinSuccessfulInstancesPercent. instances marks a group, for which an instance that
	// does not signal in time counts as failed, and the others may suffice.
	minimum   int
	instances bool
}

// awaitSignals completes a created resource when its creation policy is met.
// https://docs.aws.amazon.com/AWSCloudFormation/latest/TemplateReference/aws-attribute-creationpolicy.html
func (s *stack) awaitSignals(st *step, m *member, complete, failed types.ResourceStatus) {
	finish := func() {
		s.setMember(m, complete, "")
		st.succeed()
	}
	if m.definition == nil || m.definition.CreationPolicy == nil {
		finish()
		return
	}
	v, err := s.scope(s.revision).Value(m.definition.CreationPolicy)
	policy, _ := v.(map[string]any)
	if err != nil || policy == nil {
		finish()
		return
	}
	signals, ok := policy["ResourceSignal"].(map[string]any)
	if !ok {
		finish()
		return
	}
	count, timeout, minimum := 1, 5*time.Minute, 100
	if n, err := strconv.Atoi(textProperty(signals, "Count")); err == nil {
		count = n
	}
	if d, ok := rolling.Duration(textProperty(signals, "Timeout")); ok {
		timeout = d
	}
	timeout -= s.engine.now().Sub(m.initiated) // the timeout starts with the creation
	if scaling, ok := policy["AutoScalingCreationPolicy"].(map[string]any); ok {
		if n, err := strconv.Atoi(textProperty(scaling, "MinSuccessfulInstancesPercent")); err == nil {
			minimum = n
		}
	}
	if count == 0 {
		finish()
		return
	}
	fail := func(reason string) {
		s.setMember(m, failed, reason)
		st.fail()
	}
	s.wait(st, m, &waiting{count: count, minimum: minimum, instances: s.rollerOf(m.kind) != nil, done: finish, fail: fail}, timeout)
}

// wait completes a step when enough signals have arrived, or fails it at its timeout.
func (s *stack) wait(st *step, m *member, w *waiting, timeout time.Duration) {
	w.step = st
	m.waiting = w
	s.after(timeout, func() {
		if m.waiting != w || !st.active() {
			return
		}
		m.waiting = nil
		good := 0
		for _, sig := range m.signals {
			if sig.ok {
				good++
			}
		}
		switch {
		case w.condition:
			w.fail(fmt.Sprintf("WaitCondition timed out. Received %d conditions when expecting %d", len(m.signals), w.count))
		case w.instances && good >= w.needed():
			w.done()
		case w.instances:
			w.fail(fmt.Sprintf("Received %d SUCCESS signal(s) out of %d.  Unable to satisfy %d%% MinSuccessfulInstancesPercent requirement",
				good, w.count, w.minimum))
		default:
			w.fail(fmt.Sprintf("Failed to receive %d resource signal(s) within the specified duration", w.count-len(m.signals)))
		}
	})
	s.evaluateSignals(m)
}

// evaluateSignals evaluates the signals of a waiting member.
func (s *stack) evaluateSignals(m *member) {
	w := m.waiting
	if w == nil || !w.step.active() {
		return
	}
	good, bad := 0, 0
	for id, sig := range m.signals {
		if sig.ok {
			good++
			continue
		}
		bad++
		if w.condition {
			m.waiting = nil
			w.fail(fmt.Sprintf("WaitCondition received failed message: '%s' for uniqueId: %s", sig.reason, id))
			return
		}
	}
	needed := w.needed()
	switch {
	case good >= needed && good+bad >= w.count:
		m.waiting = nil
		w.done()
	case w.count-bad < needed:
		m.waiting = nil
		w.fail(fmt.Sprintf("Received %d FAILURE signal(s) out of %d.  Unable to satisfy %d%% MinSuccessfulInstancesPercent requirement",
			bad, w.count, w.minimum))
	}
}

// needed returns how many signals must be SUCCESS. With five instances and 50 percent, three must.
func (w *waiting) needed() int {
	if w.condition {
		return w.count
	}
	return (w.count*w.minimum + 99) / 100
}

// receive records a signal for a resource of the stack.
func (s *stack) receive(m *member, id string, sig signal) {
	if m.signals == nil {
		m.signals = map[string]signal{}
	}
	if _, again := m.signals[id]; again {
		return
	}
	m.signals[id] = sig
	if o := m.rollout; o != nil {
		s.post(o.reconcile) // the rollout reports the signals that it waits for
		return
	}
	if m.kind != waitConditionType {
		word := "SUCCESS"
		if !sig.ok {
			word = "FAILURE"
		}
		s.setMember(m, m.status, "Received "+word+" signal with UniqueId "+id)
	}
	s.post(func() { s.evaluateSignals(m) })
}

// createHandle creates a wait condition handle: a URL that accepts signals.
// https://docs.aws.amazon.com/AWSCloudFormation/latest/UserGuide/using-cfn-waitcondition.html
func (s *stack) createHandle(st *step, m *member, running, complete types.ResourceStatus, _ func(string)) {
	endpoint := s.endpoint
	if endpoint == "" {
		endpoint = "https://cloudformation-waitcondition-" + s.space.Region + ".s3.amazonaws.com"
	}
	path := WaitConditionPath + url.PathEscape(s.id+"/"+m.id) + "/" + newUUID()
	m.physicalID = endpoint + path
	s.engine.handles.Store(path, handle{stack: s, url: m.physicalID})
	s.setMember(m, running, "Resource creation Initiated")
	s.setMember(m, complete, "")
	st.succeed()
}

// handle is the target of a wait condition handle's URL.
type handle struct {
	stack *stack
	url   string
}

// WaitConditionPath is the path prefix of the URLs of wait condition handles.
// [Engine.WaitConditions] serves it.
const WaitConditionPath = "/waitcondition/"

// createWaitCondition waits for signals to its handle.
func (s *stack) createWaitCondition(st *step, m *member, running, complete types.ResourceStatus, fail func(string)) {
	count, timeout := 1, 0
	if n, err := strconv.Atoi(textProperty(m.properties, "Count")); err == nil {
		count = n
	}
	if n, err := strconv.Atoi(textProperty(m.properties, "Timeout")); err == nil {
		timeout = n
	}
	m.physicalID = s.id[:strings.LastIndexByte(s.id, ':')] + ":waitcondition/" + s.name + "/" + newUUID() + "/" + m.id
	s.setMember(m, running, "Resource creation Initiated")
	done := func() {
		data := map[string]string{}
		for id, sig := range m.signals {
			data[id] = sig.data
		}
		m.attributes = map[string]any{"Data": compact(data)}
		s.setMember(m, complete, "")
		st.succeed()
	}
	s.wait(st, m, &waiting{count: count, condition: true, minimum: 100, done: done, fail: fail}, time.Duration(timeout)*time.Second)
}

// WaitConditions serves the URLs of wait condition handles.
func (e *Engine) WaitConditions() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		v, ok := e.handles.Load(r.URL.EscapedPath())
		if !ok || r.Method != http.MethodPut {
			http.Error(w, "no such wait condition handle", http.StatusNotFound)
			return
		}
		var message struct{ Status, Reason, UniqueID, Data string }
		body, err := io.ReadAll(io.LimitReader(r.Body, 4096))
		if err == nil {
			err = json.Unmarshal(body, &message)
		}
		if err != nil || message.UniqueID == "" || message.Status != "SUCCESS" && message.Status != "FAILURE" {
			http.Error(w, "the body must be JSON with Status, Reason, UniqueId and Data", http.StatusBadRequest)
			return
		}
		h := v.(handle)
		sig := signal{ok: message.Status == "SUCCESS", reason: message.Reason, data: message.Data}
		h.stack.post(func() { h.stack.signalHandle(h.url, message.UniqueID, sig) })
	})
}

// signalHandle passes a signal to the wait conditions of a handle.
func (s *stack) signalHandle(url, id string, sig signal) {
	for _, m := range s.members {
		if m.kind != waitConditionType {
			continue
		}
		if text, ok := property.Text(m.properties["Handle"]); ok && text == url {
			s.receive(m, id, sig)
		}
	}
}
