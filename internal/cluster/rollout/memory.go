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

// TagMemory is the tag on an Auto Scaling group that holds its [Memory] while it rolls.
const TagMemory = v1alpha1.Group + "/rollout"

// Memory is all that a roll must not forget. It is written before what it announces is done, so that a run that was killed in between
// knows what it was at.
type Memory struct {
	// Attempt is the [Settings.Attempt] that is carried out, Started when it began.
	Attempt string
	Started time.Time
	// Desired is the group's capacity without the surge, Surge by how much it is above that.
	Desired, Surge int
	// From, if not zero, is the capacity that is being changed into Desired + Surge.
	From int
	// Ending are machines that are ended and not replaced: they are in Surge no longer.
	Ending []string
	// Short is since when there are fewer machines than the capacity asks for.
	Short time.Time
	// Suspended are the processes of the group that were suspended for the roll.
	Suspended []string
	// Stopped says why nothing more is taken; empty while it goes on.
	Stopped string
}

// clone returns a copy to change.
func (m *Memory) clone() *Memory {
	c := *m
	c.Ending, c.Suspended = slices.Clone(m.Ending), slices.Clone(m.Suspended)
	return &c
}

// heldProcesses are what would change which machines a group has while it rolls. Machines that fail are still replaced.
// AWS advises the same for its own rolls: https://docs.aws.amazon.com/AWSCloudFormation/latest/UserGuide/aws-attribute-updatepolicy.html
var heldProcesses = []string{"AZRebalance", "AlarmNotification", "ScheduledActions"}

const (
	// longestTag is the longest value of a tag of Auto Scaling:
	// https://docs.aws.amazon.com/autoscaling/ec2/userguide/ec2-auto-scaling-tagging.html
	longestTag = 256
	// longestAttempt and endingAtOnce bound what is in a memory so that it fits into a tag.
	longestAttempt = 40
	endingAtOnce   = 4
)

// The characters that a tag may have in every service are letters, digits, spaces and + - = . _ : / @. Query encoding needs & and %,
// which stand for themselves as : and @ here.
var (
	toTag   = strings.NewReplacer("&", ":", "%", "@")
	fromTag = strings.NewReplacer(":", "&", "@", "%")
)

// encode writes a memory as a tag's value. What the reason to stop is too long for is cut.
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
		room := base64.RawURLEncoding.DecodedLen(longestTag - len(v.Encode()))
		v.Set("x", base64.RawURLEncoding.EncodeToString([]byte(cut(m.Stopped, room))))
	}
	return toTag.Replace(v.Encode())
}

// cutMark ends what was cut.
const cutMark = "…"

// cut shortens a text to a number of bytes.
func cut(text string, most int) string {
	if len(text) <= most {
		return text
	}
	return strings.ToValidUTF8(text[:most-len(cutMark)], "") + cutMark
}

// decode reads a tag's value. It errs for what encode did not write.
func decode(tag string) (*Memory, error) {
	v, err := url.ParseQuery(fromTag.Replace(tag))
	if err != nil {
		return nil, fmt.Errorf("the tag %s is not what the operator wrote: %q", TagMemory, tag)
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
		return nil, fmt.Errorf("the tag %s is not what the operator wrote: %q", TagMemory, tag)
	}
	return m, nil
}
