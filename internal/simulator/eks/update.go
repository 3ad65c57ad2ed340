package eks

import (
	"context"
	"encoding/json"
	"slices"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/eks"
	"github.com/aws/aws-sdk-go-v2/service/eks/types"
	"github.com/google/uuid"
)

// update is a change of a cluster, a node group or an add-on. What describe returns is never changed,
// only replaced.
type update struct {
	types.Update

	// nodegroup or addon is what changes; if both are empty, the cluster does.
	nodegroup, addon string
	// due is the earliest time of its end; host is what the host does for it.
	due  time.Time
	host *work
	// done reports whether a change that takes its own time has ended; nil means that it takes none.
	done func() (bool, *types.ErrorDetail)
	// apply makes the change visible.
	apply func()
}

// param returns a parameter of an update. The value of any other type than a string is JSON.
func param(kind types.UpdateParamType, v any) types.UpdateParam {
	text, ok := v.(string)
	if !ok {
		data, _ := json.Marshal(v) // The values are slices, maps, numbers and booleans.
		text = string(data)
	}
	return types.UpdateParam{Type: kind, Value: &text}
}

// begin records an update of a kind that starts now.
func (s *Service) beginUpdate(c *cluster, u *update, kind types.UpdateType, params ...types.UpdateParam) types.Update {
	if params == nil {
		params = []types.UpdateParam{}
	}
	u.Update = types.Update{
		Id: new(uuid.NewString()), Type: kind, Status: types.UpdateStatusInProgress, CreatedAt: new(s.now()), Params: params,
		Errors: []types.ErrorDetail{},
	}
	u.due = s.due()
	c.updates = append(c.updates, u)
	return u.Update
}

// running returns the update of the cluster itself that has not ended, or nil.
func (c *cluster) running() *update { return c.runningOf("", "") }

func (c *cluster) runningOf(nodegroup, addon string) *update {
	for _, u := range c.updates {
		if u.Status == types.UpdateStatusInProgress && u.nodegroup == nodegroup && u.addon == addon {
			return u
		}
	}
	return nil
}

// settleUpdate ends an update if its time has come.
func (s *Service) settleUpdate(c *cluster, u *update) {
	if u.Status != types.UpdateStatusInProgress || s.now().Before(u.due) || !u.host.finished() {
		return
	}
	var failure *types.ErrorDetail
	if u.host != nil && u.host.err != nil {
		failure = &types.ErrorDetail{ErrorCode: types.ErrorCodeUnknown, ErrorMessage: new(u.host.err.Error())}
		failure.ResourceIds = []string{*c.Name}
	}
	if u.done != nil {
		ended, failed := u.done()
		if !ended {
			return
		}
		failure = failed
	}
	u.Status = types.UpdateStatusSuccessful
	if failure != nil {
		u.Status, u.Errors = types.UpdateStatusFailed, []types.ErrorDetail{*failure}
	} else if u.apply != nil {
		u.apply()
	}
	if u.nodegroup == "" && u.addon == "" {
		c.Status = types.ClusterStatusActive
	}
}

// matches reports whether an update is of what a request names.
func (u *update) matches(nodegroup, addon *string) bool {
	return u.nodegroup == value(nodegroup) && u.addon == value(addon)
}

// describeUpdate returns an update.
// https://docs.aws.amazon.com/eks/latest/APIReference/API_DescribeUpdate.html
func (s *Service) describeUpdate(ctx context.Context, in *eks.DescribeUpdateInput) (*eks.DescribeUpdateOutput, error) {
	r := s.here(ctx)
	defer s.leave(r)
	c, err := r.find(in.Name)
	if err != nil {
		return nil, err
	}
	i := slices.IndexFunc(c.updates, func(u *update) bool {
		return *u.Id == value(in.UpdateId) && u.matches(in.NodegroupName, in.AddonName)
	})
	if i < 0 {
		return nil, notFound(*c.Name, "No update found for ID: %s", value(in.UpdateId))
	}
	shown := c.updates[i].Update
	return &eks.DescribeUpdateOutput{Update: &shown}, nil
}

// listUpdates lists the IDs of updates.
// https://docs.aws.amazon.com/eks/latest/APIReference/API_ListUpdates.html
func (s *Service) listUpdates(ctx context.Context, in *eks.ListUpdatesInput) (*eks.ListUpdatesOutput, error) {
	r := s.here(ctx)
	defer s.leave(r)
	c, err := r.find(in.Name)
	if err != nil {
		return nil, err
	}
	if in.NodegroupName != nil {
		if _, err := c.nodegroup(in.NodegroupName); err != nil {
			return nil, err
		}
	}
	if in.AddonName != nil {
		if _, err := c.addon(in.AddonName); err != nil {
			return nil, err
		}
	}
	var ids []string
	for _, u := range c.updates {
		if u.matches(in.NodegroupName, in.AddonName) {
			ids = append(ids, *u.Id)
		}
	}
	ids, next, err := page(ids, in.NextToken, in.MaxResults)
	return &eks.ListUpdatesOutput{UpdateIds: ids, NextToken: next}, err
}
