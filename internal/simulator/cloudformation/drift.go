package cloudformation

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"

	"github.com/aws-operator/aws-operator/internal/simulator/property"
	"github.com/aws-operator/aws-operator/internal/simulator/resource"
)

// driftState is the result of a stack's last drift detection.
type driftState struct {
	status  types.StackDriftStatus
	checked *time.Time
}

// driftDetection is one run of DetectStackDrift.
type driftDetection struct {
	id      string
	stack   *stack
	started time.Time
	status  types.StackDriftDetectionStatus
	result  types.StackDriftStatus
	reason  string
	drifted int32
}

// driftDone lists the statuses in which drift can be detected.
// https://docs.aws.amazon.com/AWSCloudFormation/latest/UserGuide/using-cfn-stack-drift.html
var driftDone = []types.StackStatus{
	types.StackStatusCreateComplete, types.StackStatusUpdateComplete, types.StackStatusUpdateRollbackComplete,
	types.StackStatusUpdateRollbackFailed, types.StackStatusImportComplete, types.StackStatusImportRollbackComplete,
}

// detect compares every member, or only the named ones, with what its provider reads.
func (s *stack) detect(d *driftDetection, only []string) {
	now := s.engine.now()
	drifted, checked := int32(0), 0
	for _, id := range slices.Sorted(maps.Keys(s.members)) {
		m := s.members[id]
		if m.physicalID == "" || len(only) > 0 && !slices.Contains(only, id) {
			continue
		}
		m.drift = s.compare(m)
		if m.drift.StackResourceDriftStatus != types.StackResourceDriftStatusNotChecked {
			checked++
		}
		if m.drift.StackResourceDriftStatus == types.StackResourceDriftStatusModified ||
			m.drift.StackResourceDriftStatus == types.StackResourceDriftStatusDeleted {
			drifted++
		}
	}
	result := types.StackDriftStatusInSync
	if drifted > 0 {
		result = types.StackDriftStatusDrifted
	} else if checked == 0 {
		result = types.StackDriftStatusNotChecked
	}
	s.drift = driftState{status: result, checked: &now}
	s.space.mu.Lock()
	defer s.space.mu.Unlock()
	d.status, d.result, d.drifted = types.StackDriftDetectionStatusDetectionComplete, result, drifted
}

// compare reads one member and returns its differences from the template.
func (s *stack) compare(m *member) *types.StackResourceDrift {
	now := s.engine.now()
	out := &types.StackResourceDrift{
		LogicalResourceId: aws.String(m.id), PhysicalResourceId: aws.String(m.physicalID), ResourceType: aws.String(m.kind),
		StackId: aws.String(s.id), Timestamp: &now, StackResourceDriftStatus: types.StackResourceDriftStatusInSync,
	}
	if _, own := s.own(m.kind); own {
		out.StackResourceDriftStatus = types.StackResourceDriftStatusNotChecked
		return out
	}
	expected := m.properties
	out.ExpectedProperties = aws.String(compact(expected))
	r := s.request(m, newUUID())
	r.Properties = expected
	var actual map[string]any
	result := s.call(OpRead, m, r, func(ctx context.Context, p resource.Provider, r resource.Request) (resource.Result, error) {
		var err error
		actual, err = p.Read(ctx, r)
		return resource.Result{}, err
	})
	var handlerErr *resource.Error
	switch {
	case isNotFound(result.err):
		out.StackResourceDriftStatus = types.StackResourceDriftStatusDeleted
		return out
	case errors.As(result.err, &handlerErr):
		out.StackResourceDriftStatus = types.StackResourceDriftStatusUnknown
		out.DriftStatusReason = aws.String(handlerErr.Message)
		return out
	}
	t, _ := s.engine.registry.Type(m.kind)
	for _, name := range slices.Sorted(maps.Keys(expected)) {
		if t != nil && slices.Contains(t.WriteOnly, name) {
			continue
		}
		live := actual[name]
		if t != nil && name == t.TagProperty {
			live = onlyExpectedTags(expected[name], live)
		}
		differences([]string{name}, expected[name], live, &out.PropertyDifferences)
	}
	out.ActualProperties = aws.String(compact(only(actual, expected)))
	if len(out.PropertyDifferences) > 0 {
		out.StackResourceDriftStatus = types.StackResourceDriftStatusModified
	}
	return out
}

func only(actual, expected map[string]any) map[string]any {
	out := map[string]any{}
	for name := range expected {
		if v, ok := actual[name]; ok {
			out[name] = v
		}
	}
	return out
}

// onlyExpectedTags omits tags that the template does not name, because every resource also has the
// stack's tags.
func onlyExpectedTags(expected, live any) any {
	wanted, _ := expected.([]any)
	have, ok := live.([]any)
	if !ok {
		return live
	}
	keys := map[string]bool{}
	for _, t := range wanted {
		if tag, isMap := t.(map[string]any); isMap {
			keys[fmt.Sprint(tag["Key"])] = true
		}
	}
	out := []any{}
	for _, t := range have {
		if tag, isMap := t.(map[string]any); isMap && keys[fmt.Sprint(tag["Key"])] {
			out = append(out, t)
		}
	}
	return out
}

// differences appends the differences between expected and live properties to out.
func differences(path []string, expected, live any, out *[]types.PropertyDifference) {
	add := func(kind types.DifferenceType) {
		*out = append(*out, types.PropertyDifference{
			PropertyPath: aws.String("/" + strings.Join(path, "/")), DifferenceType: kind,
			ExpectedValue: aws.String(plain(expected)), ActualValue: aws.String(plain(live)),
		})
	}
	e, expectedMap := expected.(map[string]any)
	l, liveMap := live.(map[string]any)
	switch {
	case live == nil:
		add(types.DifferenceTypeRemove)
	case expectedMap && liveMap:
		for _, name := range slices.Sorted(maps.Keys(e)) {
			differences(append(slices.Clone(path), name), e[name], l[name], out)
		}
	case !sameValue(expected, live):
		add(types.DifferenceTypeNotEqual)
	}
}

func plain(v any) string {
	if v == nil {
		return "null"
	}
	if text, ok := property.Text(v); ok {
		return text
	}
	return compact(v)
}

// sameValue compares values but ignores the representation of a number and the order of a list,
// which services do not keep.
func sameValue(a, b any) bool {
	left, leftList := a.([]any)
	right, rightList := b.([]any)
	if leftList && rightList {
		texts := func(items []any) []string {
			out := make([]string, len(items))
			for i, item := range items {
				out[i] = plain(item)
			}
			slices.Sort(out)
			return out
		}
		return slices.Equal(texts(left), texts(right))
	}
	return plain(a) == plain(b)
}
