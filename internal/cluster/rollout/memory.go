package rollout

import (
	"encoding/base64"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/aws-operator/aws-operator/api/cluster/v1alpha1"
)

// TagMemory is the tag on an Auto Scaling group that holds its [Memory] during a rollout.
const TagMemory = v1alpha1.Group + "/rollout"

// Memory is the persistent state of a rollout. It is written before the changes that it announces,
// so that another run can continue after an interruption.
type Memory struct {
	// Attempt is the [Settings.Attempt] in progress, Started its start.
	Attempt string
	Started time.Time
	// Desired is the group's capacity without the surge, Surge the additional capacity.
	Desired, Surge int
	// From, if not zero, is the previous capacity while it changes to Desired + Surge.
	From int
	// Ending are instances that are terminated without replacement: Surge no longer includes them.
	Ending []string
	// Short is since when the group has fewer instances than its capacity.
	Short time.Time
	// Suspended are the group's processes that were suspended for the rollout.
	Suspended []string
	// Stopped is why the rollout stopped; empty while it continues.
	Stopped string
}

// clone returns a copy to modify.
func (m *Memory) clone() *Memory {
	c := *m
	c.Ending, c.Suspended = slices.Clone(m.Ending), slices.Clone(m.Suspended)
	return &c
}

// heldProcesses are the processes that would change a group's instances during a rollout. Failed
// instances are still replaced. AWS recommends the same for rolling updates:
// https://docs.aws.amazon.com/AWSCloudFormation/latest/UserGuide/aws-attribute-updatepolicy.html
var heldProcesses = []string{"AZRebalance", "AlarmNotification", "ScheduledActions"}

const (
	// longestTag is the maximum length of a tag's value in Auto Scaling:
	// https://docs.aws.amazon.com/autoscaling/ec2/userguide/ec2-auto-scaling-tagging.html
	longestTag = 256
	// longestAttempt and endingAtOnce bound a memory's content so that it fits into a tag.
	longestAttempt = 40
	endingAtOnce   = 4
)

// Every service accepts letters, digits, spaces and + - = . _ : / @ in tags. Query encoding needs &
// and %, which : and @ replace here.
var (
	toTag   = strings.NewReplacer("&", ":", "%", "@")
	fromTag = strings.NewReplacer(":", "&", "@", "%")
)

// encode encodes a memory as a tag's value. It shortens the reason of a stop if it does not fit.
func (m *Memory) encode() string {
	v := url.Values{"a": {m.Attempt}, "t": {strconv.FormatInt(m.Started.Unix(), 10)}, "d": {strconv.Itoa(m.Desired)}}
	if m.Surge != 0 {
		v.Set("s", strconv.Itoa(m.Surge))
	}
	if m.From != 0 {
		v.Set("f", strconv.Itoa(m.From))
	}
	if len(m.Ending) > 0 {
		v.Set("e", strings.Join(m.Ending, "_"))
	}
	if !m.Short.IsZero() {
		v.Set("m", strconv.FormatInt(m.Short.Unix(), 10))
	}
	for _, process := range m.Suspended {
		if at := slices.Index(heldProcesses, process); at >= 0 {
			v.Set("p", v.Get("p")+strconv.Itoa(at))
		}
	}
	if m.Stopped != "" {
		v.Set("x", "")
		room := max(len(cutMark), base64.RawURLEncoding.DecodedLen(max(0, longestTag-len(v.Encode()))))
		v.Set("x", base64.RawURLEncoding.EncodeToString([]byte(cut(m.Stopped, room))))
	}
	return toTag.Replace(v.Encode())
}

// cutMark marks a shortened text.
const cutMark = "…"

// cut shortens a text to a number of bytes.
func cut(text string, most int) string {
	if len(text) <= most {
		return text
	}
	return strings.ToValidUTF8(text[:most-len(cutMark)], "") + cutMark
}

// decode parses a tag's value. It returns an error for values that encode does not create.
func decode(tag string) (*Memory, error) {
	v, err := url.ParseQuery(fromTag.Replace(tag))
	if err != nil {
		return nil, fmt.Errorf("the tag %s has an invalid value: %q", TagMemory, tag)
	}
	var problems []error
	number := func(key string) int {
		if !v.Has(key) {
			return 0
		}
		n, err := strconv.Atoi(v.Get(key))
		problems = append(problems, err)
		return n
	}
	moment := func(key string) time.Time {
		if n := number(key); n != 0 {
			return time.Unix(int64(n), 0).UTC()
		}
		return time.Time{}
	}
	m := &Memory{Attempt: v.Get("a"), Started: moment("t"), Desired: number("d"), Surge: number("s"), From: number("f"), Short: moment("m")}
	if e := v.Get("e"); e != "" {
		m.Ending = strings.Split(e, "_")
	}
	for _, digit := range v.Get("p") {
		if at := int(digit - '0'); at >= 0 && at < len(heldProcesses) {
			m.Suspended = append(m.Suspended, heldProcesses[at])
		}
	}
	reason, err := base64.RawURLEncoding.DecodeString(v.Get("x"))
	m.Stopped = string(reason)
	if err := errors.Join(append(problems, err)...); err != nil || !v.Has("d") {
		return nil, fmt.Errorf("the tag %s has an invalid value: %q", TagMemory, tag)
	}
	return m, nil
}
