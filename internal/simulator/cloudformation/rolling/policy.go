package rolling

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/aws-operator/aws-operator/internal/simulator/property"
)

// Policy is the update policy of an Auto Scaling group.
type Policy struct {
	// Rolling replaces the instances batch by batch; nil if the policy does not ask for that.
	Rolling *Update
	// WillReplace replaces the group with a new one.
	WillReplace bool
	// IgnoreUnmodifiedSizes keeps the live MinSize, MaxSize and DesiredCapacity unless the
	// template's values have changed.
	IgnoreUnmodifiedSizes bool
}

// Update is the policy AutoScalingRollingUpdate of a group.
type Update struct {
	MaxBatchSize int
	// MinInService is MinInstancesInService; MinActivePercent is MinActiveInstancesPercent, or -1
	// if it is not set.
	MinInService, MinActivePercent int
	// MinSuccessfulPercent is MinSuccessfulInstancesPercent.
	MinSuccessfulPercent int
	// PauseTime is the text in the template; Pause is its value.
	PauseTime        string
	Pause            time.Duration
	SuspendProcesses []string
	WaitOnSignals    bool
}

// longestPause is the maximum of PauseTime.
const longestPause = time.Hour

// Parse parses the value of an UpdatePolicy attribute with all intrinsic functions resolved. It
// returns an error for a value that AWS rejects.
func Parse(value map[string]any) (Policy, error) {
	policy := Policy{}
	for name, v := range value {
		part, ok := v.(map[string]any)
		if !ok {
			return policy, fmt.Errorf("the update policy %s must be an object", name)
		}
		var err error
		switch name {
		case "AutoScalingRollingUpdate":
			policy.Rolling, err = parseRolling(part)
		case "AutoScalingReplacingUpdate":
			r := reader{of: part}
			policy.WillReplace, err = r.boolean("WillReplace"), r.done(name, "WillReplace")
		case "AutoScalingScheduledAction":
			r := reader{of: part}
			policy.IgnoreUnmodifiedSizes = r.boolean("IgnoreUnmodifiedGroupSizeProperties")
			err = r.done(name, "IgnoreUnmodifiedGroupSizeProperties")
		default:
			err = fmt.Errorf("Encountered unsupported property %s", name) //nolint:staticcheck // AWS's words
		}
		if err != nil {
			return policy, err
		}
	}
	return policy, nil
}

func parseRolling(value map[string]any) (*Update, error) {
	r := reader{of: value}
	u := &Update{
		MaxBatchSize: r.number("MaxBatchSize", 1), MinInService: r.number("MinInstancesInService", 0),
		MinActivePercent: r.number("MinActiveInstancesPercent", -1), MinSuccessfulPercent: r.number("MinSuccessfulInstancesPercent", 100),
		WaitOnSignals: r.boolean("WaitOnResourceSignals"), PauseTime: r.text("PauseTime"), SuspendProcesses: r.texts("SuspendProcesses"),
	}
	if u.PauseTime == "" {
		u.PauseTime = "PT0S"
		if u.WaitOnSignals {
			u.PauseTime = "PT5M"
		}
	}
	err := r.done("AutoScalingRollingUpdate", "MaxBatchSize", "MinInstancesInService", "MinActiveInstancesPercent",
		"MinSuccessfulInstancesPercent", "PauseTime", "SuspendProcesses", "WaitOnResourceSignals")
	if err != nil {
		return nil, err
	}
	return u, u.check(value)
}

// check returns an error for values outside the documented bounds.
func (u *Update) check(given map[string]any) error {
	pause, ok := Duration(u.PauseTime)
	u.Pause = pause
	_, percent := given["MinSuccessfulInstancesPercent"]
	switch {
	case !ok:
		return fmt.Errorf("Invalid PauseTime value %s", u.PauseTime) //nolint:staticcheck // a sentence for people
	case pause > longestPause:
		return fmt.Errorf("PauseTime %s exceeds the maximum of PT1H", u.PauseTime)
	case u.MaxBatchSize < 1:
		return fmt.Errorf("MaxBatchSize must be at least 1, not %d", u.MaxBatchSize)
	case u.MinInService < 0:
		return fmt.Errorf("MinInstancesInService must not be negative, but is %d", u.MinInService)
	case u.MinActivePercent < -1 || u.MinActivePercent > 100:
		return fmt.Errorf("MinActiveInstancesPercent must be between 0 and 100, not %d", u.MinActivePercent)
	case u.MinSuccessfulPercent < 0 || u.MinSuccessfulPercent > 100:
		return fmt.Errorf("MinSuccessfulInstancesPercent must be between 0 and 100, not %d", u.MinSuccessfulPercent)
	case percent && !u.WaitOnSignals:
		return fmt.Errorf("MinSuccessfulInstancesPercent needs WaitOnResourceSignals and PauseTime")
	}
	return nil
}

// CheckSize returns an error if the policy keeps as many instances in service as the maximum size
// of the group. CloudFormation reports it when it updates the group.
// https://github.com/aws-cloudformation/cfn-lint/issues/362
func (u *Update) CheckSize(maxSize int) error {
	if u.MinInService >= maxSize {
		return fmt.Errorf(
			"MinInstancesInService must be less than the autoscaling group's MaxSize",
		) //nolint:perfsprint // one way to make errors here
	}
	return nil
}

// Duration parses an ISO 8601 duration in the form PT1H30M5S.
func Duration(text string) (time.Duration, bool) {
	rest, ok := strings.CutPrefix(text, "PT")
	if !ok {
		return 0, false
	}
	d, err := time.ParseDuration(strings.ToLower(rest))
	return d, err == nil && d >= 0
}

// reader reads values by name and keeps the first error.
type reader struct {
	of  map[string]any
	err error
}

func (r *reader) text(name string) string {
	v, ok := r.of[name]
	if !ok {
		return ""
	}
	text, ok := property.Text(v)
	if !ok {
		r.fail(name, v)
	}
	return text
}

func (r *reader) number(name string, standard int) int {
	text := r.text(name)
	if text == "" {
		return standard
	}
	n, err := strconv.Atoi(text)
	if err != nil {
		r.fail(name, text)
	}
	return n
}

func (r *reader) boolean(name string) bool {
	text := r.text(name)
	if text != "" && text != "true" && text != "false" {
		r.fail(name, text)
	}
	return text == "true"
}

func (r *reader) texts(name string) []string {
	v, given := r.of[name]
	items, ok := v.([]any)
	if given && !ok {
		r.fail(name, v)
	}
	var list []string
	for _, item := range items {
		if text, ok := property.Text(item); ok {
			list = append(list, text)
		}
	}
	return list
}

func (r *reader) fail(name string, value any) {
	if r.err == nil {
		r.err = fmt.Errorf("Invalid %s value %v", name, value) //nolint:staticcheck // a sentence for people
	}
}

// done returns the first error, including one for unknown names.
func (r *reader) done(policy string, names ...string) error {
	for name := range r.of {
		if r.err == nil && !slices.Contains(names, name) {
			r.err = fmt.Errorf("Encountered unsupported property %s in %s", name, policy) //nolint:staticcheck // AWS's words
		}
	}
	return r.err
}
