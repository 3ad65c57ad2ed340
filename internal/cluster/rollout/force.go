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

// TagBefore is on every group of a cluster while all instances are replaced, including up-to-date
// ones, until all groups are done. Its value is a time in seconds since 1970: instances launched
// before it are replaced.
const TagBefore = v1alpha1.Group + "/rollout-before"

// Forced returns the launch time before which instances must be replaced when all are to be
// replaced ([Settings.Before]). Begun reports that an earlier run recorded it
// ([Roller.BeginForced]) and has not completed: instances launched since are not replaced again.
// Otherwise, it is just after the launch of the newest instance, by EC2's clock, which may differ
// from the local one. It returns the errors of AWS, and an error if a tag's value is invalid.
func (r *Roller) Forced(ctx context.Context, groups []Group) (before time.Time, begun bool, err error) {
	var youngest time.Time
	for n := range groups {
		group := &groups[n]
		found, err := r.describe(ctx, group)
		if err != nil {
			return time.Time{}, false, err
		}
		if tag, ok := TagsOf(found)[TagBefore]; ok {
			seconds, err := strconv.ParseInt(aws.ToString(tag.Value), 10, 64)
			if err != nil {
				return time.Time{}, false, fmt.Errorf(
					"the tag %s of Auto Scaling group %s has an invalid value: %q; remove it to start again",
					TagBefore,
					group.AutoScalingGroup,
					aws.ToString(tag.Value),
				)
			}
			if at := time.Unix(seconds, 0).UTC(); at.After(before) {
				before, begun = at, true
			}
		}
		past := r.recent(group)
		if err := r.learnLaunches(ctx, group, found, past); err != nil {
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

// BeginForced records that time on the groups before any instance is replaced.
func (r *Roller) BeginForced(ctx context.Context, groups []Group, before time.Time) error {
	for n := range groups {
		api, name := r.options.AutoScaling(groups[n].Target), groups[n].AutoScalingGroup
		if err := putTag(ctx, api, name, TagBefore, strconv.FormatInt(before.Unix(), 10), false); err != nil {
			return fmt.Errorf("record on Auto Scaling group %s that all instances are to be replaced: %w", name, err)
		}
	}
	return nil
}

// EndForced removes what [Roller.BeginForced] recorded, when all groups are done.
func (r *Roller) EndForced(ctx context.Context, groups []Group) error {
	var problems []error
	for n := range groups {
		api, name := r.options.AutoScaling(groups[n].Target), groups[n].AutoScalingGroup
		if err := dropTag(ctx, api, name, TagBefore); err != nil {
			problems = append(problems, fmt.Errorf("record on Auto Scaling group %s that all instances are replaced: %w", name, err))
		}
	}
	return errors.Join(problems...)
}
