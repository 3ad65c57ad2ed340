package cloudformation

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"

	"github.com/aws-operator/aws-operator/internal/cfn/schema"
	"github.com/aws-operator/aws-operator/internal/cfn/template"
	"github.com/aws-operator/aws-operator/internal/simulator/access"
	"github.com/aws-operator/aws-operator/internal/simulator/property"
	"github.com/aws-operator/aws-operator/internal/simulator/resource"
)

// driftState is the result of a stack's last drift detection.
type driftState struct {
	status  types.StackDriftStatus
	checked *time.Time
}

// driftDetection is one run of DetectStackDrift. The space's lock guards status, result, reason and
// drifted; the stack's lock guards the rest.
type driftDetection struct {
	id      string
	stack   *stack
	started time.Time
	// caller and accessKey are those of DetectStackDrift, whose permissions the reads need.
	caller    *access.Principal
	accessKey string
	failures  []driftFailure

	status  types.StackDriftDetectionStatus
	result  types.StackDriftStatus
	reason  string
	drifted int32
}

// driftFailure is a resource that could not be read, as the reason of a failed detection has it.
type driftFailure struct {
	Resource      string
	FailureReason string
}

// userInitiated is the reason of a detection that runs, as shown in
// https://github.com/Sceptre/sceptre/pull/1170.
const userInitiated = "User Initiated"

// driftDone lists the statuses in which drift can be detected. AWS's page names the first four, and
// recommends to detect drift after an import.
// https://docs.aws.amazon.com/AWSCloudFormation/latest/UserGuide/using-cfn-stack-drift.html#what-is-drift
// https://docs.aws.amazon.com/AWSCloudFormation/latest/UserGuide/import-resources-automatically.html
var driftDone = []types.StackStatus{
	types.StackStatusCreateComplete, types.StackStatusUpdateComplete, types.StackStatusUpdateRollbackComplete,
	types.StackStatusUpdateRollbackFailed, types.StackStatusImportComplete,
}

// detect compares the members with the given IDs with what their providers read, one after another:
// each takes the time of a read.
func (s *stack) detect(d *driftDetection, ids []string) {
	for len(ids) > 0 {
		m := s.members[ids[0]]
		ids = ids[1:]
		if m == nil || m.physicalID == "" {
			continue
		}
		if s.unchecked(m.kind) {
			m.drift = nil
			continue
		}
		drift, latency := s.compare(d, m)
		s.after(latency, func() {
			m.drift = drift
			s.detect(d, ids)
		})
		return
	}
	s.detected(d)
}

// unchecked reports whether CloudFormation does not check resources of a type for drift. Among them
// are nested stacks: "CloudFormation doesn't detect drift on any nested stacks belonging to that
// stack".
// https://docs.aws.amazon.com/AWSCloudFormation/latest/APIReference/API_DetectStackDrift.html
func (s *stack) unchecked(kind string) bool {
	_, own := s.own(kind)
	return own || !s.engine.HasHandler(kind, "read")
}

// detected ends a detection. "A stack with no resources that support drift detection will also have a
// status of IN_SYNC". A detection fails if it failed for at least one resource.
// https://docs.aws.amazon.com/AWSCloudFormation/latest/UserGuide/using-cfn-stack-drift.html#drift-status-codes
func (s *stack) detected(d *driftDetection) {
	drifted := int32(0)
	for _, m := range s.members {
		if m.drift != nil && (m.drift.StackResourceDriftStatus == types.StackResourceDriftStatusModified ||
			m.drift.StackResourceDriftStatus == types.StackResourceDriftStatusDeleted) {
			drifted++
		}
	}
	now := s.engine.now()
	result, status, reason := types.StackDriftStatusInSync, types.StackDriftDetectionStatusDetectionComplete, ""
	if len(d.failures) > 0 {
		result, status, reason = types.StackDriftStatusUnknown, types.StackDriftDetectionStatusDetectionFailed, failedReason(d.failures)
	}
	if drifted > 0 {
		result = types.StackDriftStatusDrifted
	}
	s.drift = driftState{status: result, checked: &now}
	s.detection = nil
	s.space.mu.Lock()
	defer s.space.mu.Unlock()
	d.status, d.result, d.drifted, d.reason = status, result, drifted, reason
}

// failedReason returns the reason of a failed detection: JSON with a summary and the reason of each
// resource. AWS does not document the form; logs that users publish show it.
func failedReason(failures []driftFailure) string {
	var ids []string
	var details []any
	for _, f := range failures {
		ids = append(ids, f.Resource)
		details = append(details, map[string]any{"Resource": f.Resource, "FailureReason": f.FailureReason})
	}
	return compact(map[string]any{
		"Summary": "Failed to detect drift on resources [" + strings.Join(ids, ", ") + "]", "Failures": details,
	})
}

// compare reads one member, and returns its differences from the template and how long that takes.
func (s *stack) compare(d *driftDetection, m *member) (*types.StackResourceDrift, time.Duration) {
	now := s.engine.now()
	out := &types.StackResourceDrift{
		LogicalResourceId: aws.String(m.id), PhysicalResourceId: aws.String(m.physicalID), ResourceType: aws.String(m.kind),
		StackId: aws.String(s.id), Timestamp: &now, StackResourceDriftStatus: types.StackResourceDriftStatusInSync,
	}
	fail := func(err error) {
		out.StackResourceDriftStatus, out.DriftStatusReason = types.StackResourceDriftStatusUnknown, aws.String(err.Error())
		d.failures = append(d.failures, driftFailure{Resource: m.id, FailureReason: err.Error()})
	}
	result := s.readMember(d, m)
	switch {
	case isNotFound(result.err):
		out.StackResourceDriftStatus = types.StackResourceDriftStatusDeleted
		return out, result.latency
	case result.err != nil:
		fail(result.err)
		return out, result.latency
	}
	c := comparison{stackTags: m.tags}
	c.kind, _ = s.engine.registry.Type(m.kind)
	c.all(m, result.Attributes)
	out.PropertyDifferences = c.differences
	out.ExpectedProperties = aws.String(compact(m.properties))
	out.ActualProperties = aws.String(compact(only(result.Attributes, m.properties)))
	if len(out.PropertyDifferences) > 0 {
		out.StackResourceDriftStatus = types.StackResourceDriftStatusModified
	}
	return out, result.latency
}

// readMember reads a member's resource with the permissions of a detection's caller.
func (s *stack) readMember(d *driftDetection, m *member) outcome {
	if err := s.readDenial(d, m.kind); err != nil {
		return outcome{err: err}
	}
	r := s.request(m, newUUID())
	r.Properties = m.properties
	return s.call(OpRead, m, r, func(ctx context.Context, p resource.Provider, r resource.Request) (resource.Result, error) {
		live, err := p.Read(ctx, r)
		return resource.Result{Attributes: live}, err
	})
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

// comparison collects the differences between the expected and the live properties of a resource.
type comparison struct {
	kind *schema.Type // nil if unknown
	// stackTags are the tags that CloudFormation set on the resource besides those of its properties.
	stackTags   map[string]string
	differences []types.PropertyDifference
	paths       [][]string // of the differences
	// actual receives what a drift-aware change set does not revert; nil for a detection. Managed
	// reports whether AWS manages a property.
	actual  *actual
	managed func(path []string) bool
}

// all compares the properties of a member with those of its resource.
func (c *comparison) all(m *member, live map[string]any) {
	for _, name := range slices.Sorted(maps.Keys(m.properties)) {
		c.compare([]string{name}, m.written(name), m.properties[name], live[name])
	}
}

// skips reports whether CloudFormation does not compare a property: AWS does not return it, it is a
// KMSKeyId, or the template has a dynamic reference for it.
// https://docs.aws.amazon.com/AWSCloudFormation/latest/UserGuide/using-cfn-stack-drift.html#drift-considerations
// https://docs.aws.amazon.com/AWSCloudFormation/latest/UserGuide/dynamic-references-ssm.html
// https://github.com/aws-cloudformation/cloudformation-coverage-roadmap/issues/1682 (write-only)
func (c *comparison) skips(path []string, written *template.Node) bool {
	if c.kind != nil && c.kind.IsWriteOnly(path) {
		c.ignore(path, types.DriftIgnoredReasonWriteOnlyProperty)
		return true
	}
	if strings.EqualFold(path[len(path)-1], "KMSKeyId") {
		return true
	}
	if written == nil || written.Kind == template.Map || written.Kind == template.List {
		return false
	}
	text := compact(written.Interface())
	if strings.Contains(text, "{{resolve:secretsmanager:") || strings.Contains(text, "{{resolve:ssm-secure:") {
		c.ignore(path, types.DriftIgnoredReasonSensitiveProperty)
	}
	return strings.Contains(text, "{{resolve:")
}

// compare compares a property. Only properties that the template has are compared.
func (c *comparison) compare(path []string, written *template.Node, expected, live any) {
	if c.skips(path, written) {
		return
	}
	if c.isTags(path) {
		live = c.ownTags(path, expected, c.withoutStackTags(expected, live))
	}
	if c.keeps(path, expected, live) {
		return
	}
	e, expectedMap := expected.(map[string]any)
	l, liveMap := live.(map[string]any)
	expectedItems, expectedList := expected.([]any)
	liveItems, liveList := live.([]any)
	switch {
	case live == nil:
		c.add(types.DifferenceTypeRemove, path, expected, live)
	case expectedMap && liveMap:
		for _, name := range slices.Sorted(maps.Keys(e)) {
			c.compare(append(slices.Clone(path), name), written.Get(name), e[name], l[name])
		}
	case expectedList && liveList:
		c.lists(path, written, expectedItems, liveItems)
	case plain(expected) != plain(live):
		c.add(types.DifferenceTypeNotEqual, path, expected, live)
	}
}

// lists compares lists, but not the order of their elements, which services do not keep. "ADD: A
// value has been added to a resource property that is an array or list data type".
func (c *comparison) lists(path []string, written *template.Node, expected, live []any) {
	missing, extra := unmatched(expected, live)
	for i := range max(len(expected), len(live)) {
		at := append(slices.Clone(path), strconv.Itoa(i))
		lacks, has := slices.Contains(missing, i), slices.Contains(extra, i)
		var item *template.Node
		if written != nil && i < len(written.Items) {
			item = written.Items[i]
		}
		switch {
		case lacks && has:
			c.compare(at, item, expected[i], live[i])
		case lacks:
			c.add(types.DifferenceTypeRemove, at, expected[i], nil)
		case has:
			c.add(types.DifferenceTypeAdd, at, nil, live[i])
		}
	}
}

// unmatched returns the indexes of the elements that only one of two lists has.
func unmatched(expected, live []any) (missing, extra []int) {
	left := map[string][]int{}
	for i, item := range live {
		left[plain(item)] = append(left[plain(item)], i)
	}
	for i, item := range expected {
		text := plain(item)
		if same := left[text]; len(same) > 0 {
			left[text] = same[1:]
		} else {
			missing = append(missing, i)
		}
	}
	for _, rest := range left {
		extra = append(extra, rest...)
	}
	return missing, extra
}

func (c *comparison) add(kind types.DifferenceType, path []string, expected, live any) {
	c.paths = append(c.paths, path)
	c.differences = append(c.differences, types.PropertyDifference{
		PropertyPath: aws.String("/" + strings.Join(path, "/")), DifferenceType: kind,
		ExpectedValue: aws.String(plain(expected)), ActualValue: aws.String(plain(live)),
	})
}

// withoutStackTags omits the tags that CloudFormation set for the stack and the template does not
// name. AWS's own keys begin with aws:.
func (c *comparison) withoutStackTags(expected, live any) any {
	wanted, _ := expected.([]any)
	have, ok := live.([]any)
	if !ok {
		return live
	}
	named := map[string]bool{}
	for _, t := range wanted {
		if tag, isMap := t.(map[string]any); isMap {
			named[fmt.Sprint(tag["Key"])] = true
		}
	}
	out := []any{}
	for _, t := range have {
		tag, isMap := t.(map[string]any)
		key := fmt.Sprint(tag["Key"])
		_, ofStack := c.stackTags[key]
		if isMap && (named[key] || !ofStack && !strings.HasPrefix(key, "aws:")) {
			out = append(out, t)
		}
	}
	return out
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
