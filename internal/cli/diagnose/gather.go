package diagnose

import (
	"cmp"
	"context"
	"time"

	elbtypes "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"

	"github.com/aws-operator/aws-operator/internal/awsapi"
	"github.com/aws-operator/aws-operator/internal/cfn/stack"
	"github.com/aws-operator/aws-operator/internal/cluster/consoles"
	"github.com/aws-operator/aws-operator/internal/cluster/live"
	"github.com/aws-operator/aws-operator/internal/cluster/model"
	"github.com/aws-operator/aws-operator/internal/cluster/record"
	"github.com/aws-operator/aws-operator/internal/cluster/rollout"
)

// mostConsoles is the maximum number of consoles to read per group.
const mostConsoles = 3

// findings are the facts about a cluster.
type findings struct {
	observed *live.Observation
	problems []live.Problem
	stacks   []failedStack
	// reports are the boots of instances that are not nodes.
	reports []consoles.Report
	// targets are the health of instances as the API's load balancer reports it.
	targets map[string]live.TargetHealth
	now     time.Time
}

// failedStack is a stack whose last operation failed.
type failedStack struct {
	Name   string `json:"name"`
	Status string `json:"status"`
	Reason string `json:"reason"`
}

// gather reads the facts about a cluster. It returns the errors of AWS, except those of reading a
// console, which are in the reports.
func gather(ctx context.Context, session *live.Session, clients *awsapi.Clients, now time.Time) (*findings, error) {
	observed, err := session.Observe(ctx)
	if err != nil {
		return nil, err
	}
	f := &findings{observed: observed, problems: live.Check(observed), targets: map[string]live.TargetHealth{}, now: now}
	if observed.AWS.LoadBalancer != nil {
		for _, target := range observed.AWS.LoadBalancer.Targets {
			f.targets[target.Instance] = target
		}
	}
	if err := f.readStacks(ctx, clients); err != nil {
		return nil, awsapi.Known(err)
	}
	if len(f.problems) == 0 {
		return f, nil
	}
	return f, awsapi.Known(f.readConsoles(ctx, clients))
}

// readStacks finds the cluster's stacks whose last operation failed: those that exist, and those
// that the status records a failure of, which may have been deleted for another attempt.
func (f *findings) readStacks(ctx context.Context, clients *awsapi.Clients) error {
	cluster := f.observed.Cluster
	names := []string{model.BaseStackName(cluster.Name)}
	if model.UsesEKS(cluster) {
		names = append(names, model.EKSAddonsStackName(cluster.Name))
	}
	for slot := range int(model.SpecOf(cluster).ControlPlane.Replicas) {
		names = append(names, model.SlotStackName(cluster.Name, slot))
	}
	known := map[string]record.Stack{}
	for i := range cluster.Status.Stacks {
		known[cluster.Status.Stacks[i].Name], _ = record.Decode(&cluster.Status.Stacks[i]) // An invalid record has no reason.
	}
	for _, group := range f.observed.Groups {
		name := model.GroupStackName(cluster.Name, group.Name)
		names = append(names, name)
		known[name], _ = record.Decode(group.Status.Stack) // As above.
	}
	api := clients.CloudFormation(f.observed.AWS.Target)
	for _, name := range names {
		status, reason, err := stack.Failed(ctx, api, name)
		if err != nil {
			return err
		}
		if status == "" && known[name].StatusReason == "" {
			continue
		}
		f.stacks = append(f.stacks, failedStack{
			Name: name, Status: cmp.Or(status, known[name].Status), Reason: cmp.Or(reason, known[name].StatusReason),
		})
	}
	return nil
}

// readConsoles reads the consoles of the oldest instances of each group that are not nodes.
func (f *findings) readConsoles(ctx context.Context, clients *awsapi.Clients) error {
	nodes, groups := map[string]bool{}, map[string]string{}
	if api := f.observed.API; api != nil && api.Problem == "" {
		for i := range api.Nodes {
			nodes[api.Nodes[i].InstanceID] = true
		}
	}
	for i := range f.observed.AWS.Groups {
		for _, one := range f.observed.AWS.Groups[i].Instances {
			if f.observed.AWS.Groups[i].Role != rollout.RoleBastion {
				groups[one.ID] = f.observed.AWS.Groups[i].Name
			}
		}
	}
	api := clients.EC2(f.observed.AWS.Target)
	found, err := consoles.Running(ctx, api, map[string]string{
		model.TagCluster: f.observed.Cluster.Name, model.TagNamespace: cmp.Or(f.observed.Cluster.Namespace, "default"),
	})
	if err != nil {
		return err
	}
	read := map[string]int{}
	for _, one := range found {
		group := groups[one.ID]
		if group == "" || nodes[one.ID] || read[group] == mostConsoles {
			continue
		}
		read[group]++
		f.reports = append(f.reports, consoles.Read(ctx, api, one))
	}
	return nil
}

// serves reports whether the load balancer reports an instance of the control plane as healthy.
func (f *findings) serves() bool {
	for _, target := range f.targets {
		if target.State == elbtypes.TargetHealthStateEnumHealthy {
			return true
		}
	}
	return false
}
