package stack

import (
	"fmt"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"
	"github.com/prometheus/client_golang/prometheus"
)

// Metrics times the operations of stacks that engines sent. A nil *Metrics measures nothing.
type Metrics struct {
	operations *prometheus.HistogramVec
}

// NewMetrics creates the metrics and registers them. It returns an error if they are already
// registered.
func NewMetrics(registerer prometheus.Registerer) (*Metrics, error) {
	m := &Metrics{operations: prometheus.NewHistogramVec(prometheus.HistogramOpts{
		Name: "aws_operator_stack_operation_duration_seconds",
		Help: "Time from the request of a create, update, delete or import of a stack to its end, which is done, or failed if " +
			"CloudFormation rolled back.",
		Buckets: []float64{5, 15, 30, 60, 120, 300, 600, 1200, 1800, 3600, 7200},
	}, []string{"operation", "result"})}
	if err := registerer.Register(m.operations); err != nil {
		return nil, fmt.Errorf("register the metrics of stacks: %w", err)
	}
	return m, nil
}

func (m *Metrics) ended(operation, result string, took time.Duration) {
	if m != nil {
		m.operations.WithLabelValues(operation, result).Observe(max(0, took).Seconds()) // AWS's clock may differ
	}
}

// Operations of stacks in metrics.
const (
	operationCreate = "create"
	operationUpdate = "update"
	operationDelete = "delete"
	operationImport = "import"
)

// operationOf returns the operation that a status belongs to, or "".
func operationOf(status types.StackStatus) string {
	switch kind, _, _ := strings.Cut(string(status), "_"); kind {
	case "CREATE", "ROLLBACK":
		return operationCreate
	case "UPDATE":
		return operationUpdate
	case "DELETE":
		return operationDelete
	case "IMPORT":
		return operationImport
	default:
		return ""
	}
}

// measure reports the duration of the operation that the record before has in progress, and the
// current one does not. It leaves out operations whose beginning or end is unknown, and continued
// rollbacks.
func (v *visit) measure(before *Record) {
	was, is := types.StackStatus(before.Status), v.status()
	operation := operationOf(was)
	if !inProgress(was) || inProgress(is) || operation == "" || operation != operationOf(is) ||
		operation == operationUpdate && updateFailed(types.StackStatus(before.PreviousStatus)) {
		return
	}
	began, ok := v.beginning(before, operation)
	if !ok {
		return
	}
	ended, ok := v.ending(before)
	if !ok {
		return
	}
	result := "failed"
	if applied(is) || deleted(is) {
		result = "done"
	}
	v.engine.options.Metrics.ended(operation, result, ended.Sub(began))
}

// beginning returns when the operation began, and false if the engine is not known to have sent it.
// Either the event of its end has the engine's token, or the record has what it applies. After a
// restart, the engine may have sent it a second time. Then CloudFormation's time is earlier.
func (v *visit) beginning(before *Record, operation string) (time.Time, bool) {
	ours := before.PendingDigest != ""
	if v.followed.Token != "" {
		ours = v.followed.Token == before.Token
	}
	if !ours || before.StartedAt == nil {
		return time.Time{}, false
	}
	began := *before.StartedAt
	if v.found == nil || v.found.changed == before.Changed || operation == operationDelete { // which does not count as a change
		return began, true
	}
	if at, err := timeOf(v.found.changed); err == nil && at.Before(began) {
		began = at
	}
	return began, true
}

// ending returns when the operation ended: the time of the event, or now if it ran at the last poll.
// It returns false if there was neither an event nor a recent poll, as after a pause of the operator
// or of the object.
func (v *visit) ending(before *Record) (time.Time, bool) {
	if v.followed.Token == before.Token && v.followed.Status == v.record.Status && !v.followed.Time.IsZero() {
		return v.followed.Time, true
	}
	polled := before.StartedAt
	if before.LookedAt != nil {
		polled = before.LookedAt
	}
	now := v.now()
	return now, now.Sub(*polled) <= 2*v.engine.options.PollInterval
}
