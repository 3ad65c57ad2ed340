package rollout

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"

	"github.com/aws-operator/aws-operator/api/cluster/v1alpha1"
)

// TagBefore is on every group of a cluster whose machines are all being replaced, also those that need it not, until all groups are
// done. It holds the time, in seconds since 1970, before which machines were launched that are to go.
const TagBefore = v1alpha1.Group + "/rollout-before"

// Forced returns before which time machines of groups were launched that go when all are to be replaced ([Settings.Before]). Begun says
// that a run has noted it before ([Engine.BeginForced]) and has not come to an end: what was launched since is done, and is not replaced
// once more. Else it is just after the launch of the youngest machine that there is; it is told by EC2, whose clock need not be that of
// this machine. It errs when AWS does, or if a tag is not what was written.
func (e *Engine) Forced(ctx context.Context, groups []Group) (before time.Time, begun bool, err error) {
	var youngest time.Time
	for n := range groups {
		group := &groups[n]
		found, err := e.describe(ctx, group)
		if err != nil {
			return time.Time{}, false, err
		}
		if tag, ok := TagsOf(found)[TagBefore]; ok {
			seconds, err := strconv.ParseInt(aws.ToString(tag.Value), 10, 64)
			if err != nil {
				return time.Time{}, false, fmt.Errorf("the tag %s of Auto Scaling group %s is not what rolling-update wrote: %q; remove it to begin anew",
					TagBefore, group.AutoScalingGroup, aws.ToString(tag.Value))
			}
			if at := time.Unix(seconds, 0).UTC(); at.After(before) {
				before, begun = at, true
			}
		}
		past := e.recent(group)
		if err := e.learnLaunches(ctx, group, found, past); err != nil {
			return time.Time{}, false, err
		}
		for _, launched := range past.launched {
			if launched.After(youngest) {
				youngest = launched
			}
		}
	}
	if begun {
		return before, true, nil
	}
	return youngest.Truncate(time.Second).Add(time.Second).UTC(), false, nil
}

// BeginForced notes on groups before which time machines were launched that are to go, before any of them does.
func (e *Engine) BeginForced(ctx context.Context, groups []Group, before time.Time) error {
	for n := range groups {
		api, name := e.options.AutoScaling(groups[n].Target), groups[n].AutoScalingGroup
		if err := putTag(ctx, api, name, TagBefore, strconv.FormatInt(before.Unix(), 10), false); err != nil {
			return fmt.Errorf("note on Auto Scaling group %s that all machines go: %w", name, err)
		}
	}
	return nil
}

// EndForced takes back what [Engine.BeginForced] noted, when all groups are done.
func (e *Engine) EndForced(ctx context.Context, groups []Group) error {
	var problems []error
	for n := range groups {
		api, name := e.options.AutoScaling(groups[n].Target), groups[n].AutoScalingGroup
		if err := dropTag(ctx, api, name, TagBefore); err != nil {
			problems = append(problems, fmt.Errorf("note on Auto Scaling group %s that all machines are replaced: %w", name, err))
		}
	}
	return errors.Join(problems...)
}
