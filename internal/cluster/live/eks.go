package live

import (
	"context"
	"encoding/base64"
	"fmt"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/autoscaling"
	"github.com/aws/aws-sdk-go-v2/service/eks"
	ekstypes "github.com/aws/aws-sdk-go-v2/service/eks/types"

	"github.com/aws-operator/aws-operator/internal/awsapi"
	"github.com/aws-operator/aws-operator/internal/cluster/model"
	"github.com/aws-operator/aws-operator/internal/cluster/rollout"
	"github.com/aws-operator/aws-operator/internal/cluster/workload"
	"github.com/aws-operator/aws-operator/internal/ekstoken"
)

// eksCluster finds the control plane of EKS. It ignores one of the same name that is not the cluster's, since
// it would send it a token.
func (f *finder) eksCluster(ctx context.Context) error {
	out, err := f.clients.EKS(f.found.Target).DescribeCluster(ctx, &eks.DescribeClusterInput{Name: &f.of.Name})
	if notFound(err) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("describe the cluster of EKS: %w", err)
	}
	of := out.Cluster
	if !f.owns(of.Tags) {
		return nil
	}
	found := &EKS{Status: string(of.Status), Version: aws.ToString(of.Version), Endpoint: aws.ToString(of.Endpoint)}
	if of.CertificateAuthority != nil {
		if found.CA, err = base64.StdEncoding.DecodeString(aws.ToString(of.CertificateAuthority.Data)); err != nil {
			return fmt.Errorf("the CA of the cluster of EKS is not in base64: %w", err)
		}
	}
	if of.Health != nil {
		for _, issue := range of.Health.Issues {
			found.Issues = append(found.Issues, Issue{string(issue.Code), aws.ToString(issue.Message), issue.ResourceIds})
		}
	}
	f.found.EKS = found
	return nil
}

// notFound reports whether EKS knows no such cluster or node group.
func notFound(err error) bool { return awsapi.Code(err) == "ResourceNotFoundException" }

// owns reports whether tags are those of a resource of the cluster.
func (f *finder) owns(tags map[string]string) bool {
	return tags[model.TagCluster] == f.of.Name && tags[model.TagNamespace] == f.namespace()
}

// nodeGroups finds the managed node groups, whose names CloudFormation or Terraform chose, by their tags.
func (f *finder) nodeGroups(ctx context.Context) error {
	if f.found.EKS == nil {
		return nil
	}
	api, in := f.clients.EKS(f.found.Target), &eks.ListNodegroupsInput{ClusterName: &f.of.Name}
	for {
		out, err := api.ListNodegroups(ctx, in)
		if notFound(err) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("list the node groups of EKS: %w", err)
		}
		for _, name := range out.Nodegroups {
			if err := f.nodeGroup(ctx, name); err != nil {
				return err
			}
		}
		if in.NextToken = out.NextToken; aws.ToString(in.NextToken) == "" {
			break
		}
	}
	slices.SortFunc(f.found.Groups, func(a, b Group) int { return strings.Compare(a.Name, b.Name) })
	return nil
}

// nodeGroup adds a node group, unless it belongs to a user of the cluster or is being deleted.
func (f *finder) nodeGroup(ctx context.Context, name string) error {
	out, err := f.clients.EKS(f.found.Target).DescribeNodegroup(ctx, &eks.DescribeNodegroupInput{
		ClusterName: &f.of.Name, NodegroupName: &name,
	})
	if notFound(err) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("describe the node group %s of EKS: %w", name, err)
	}
	of := out.Nodegroup
	if !f.owns(of.Tags) || of.Tags[model.TagInstanceGroup] == "" || of.Status == ekstypes.NodegroupStatusDeleting {
		return nil
	}
	g := Group{
		Name: of.Tags[model.TagInstanceGroup], Role: rollout.RoleWorker, Slot: rollout.NoSlot,
		Status: string(of.Status), Rolling: of.Status == ekstypes.NodegroupStatusUpdating,
	}
	if size := of.ScalingConfig; size != nil {
		g.Min, g.Max, g.Desired = int(aws.ToInt32(size.MinSize)), int(aws.ToInt32(size.MaxSize)), int(aws.ToInt32(size.DesiredSize))
	}
	if of.Resources != nil && len(of.Resources.AutoScalingGroups) > 0 {
		g.AutoScalingGroup = aws.ToString(of.Resources.AutoScalingGroups[0].Name)
	}
	if of.Health != nil {
		for _, issue := range of.Health.Issues {
			g.Issues = append(g.Issues, Issue{string(issue.Code), aws.ToString(issue.Message), issue.ResourceIds})
		}
	}
	f.found.Groups = append(f.found.Groups, g)
	return nil
}

// eksInstances adds the instances of the node groups.
func (f *finder) eksInstances(ctx context.Context) error {
	of, names := map[string]*Group{}, []string(nil)
	for i := range f.found.Groups {
		if name := f.found.Groups[i].AutoScalingGroup; name != "" {
			of[name], names = &f.found.Groups[i], append(names, name)
		}
	}
	if len(names) == 0 {
		return nil
	}
	in := &autoscaling.DescribeAutoScalingGroupsInput{AutoScalingGroupNames: names}
	for {
		out, err := f.clients.AutoScaling(f.found.Target).DescribeAutoScalingGroups(ctx, in)
		if err != nil {
			return fmt.Errorf("list the Auto Scaling groups of its node groups: %w", err)
		}
		for i := range out.AutoScalingGroups {
			if group := of[aws.ToString(out.AutoScalingGroups[i].AutoScalingGroupName)]; group != nil {
				if err := f.instances(ctx, group, &out.AutoScalingGroups[i]); err != nil {
					return err
				}
			}
		}
		if in.NextToken = out.NextToken; aws.ToString(in.NextToken) == "" {
			return nil
		}
	}
}

// endpoint returns the API of a found cluster of EKS. Requests have tokens of the caller.
func (s *Session) endpoint(found *Cluster) workload.Endpoint {
	presigner := s.options.Clients.CallerPresigner(found.Target)
	return workload.Endpoint{
		Server: found.EKS.Endpoint, CA: found.EKS.CA, Tokens: ekstoken.NewSource(presigner, s.options.Clock, found.Name),
		Principal: found.Target.RoleARN,
	}
}

// eksControlPlane checks that EKS runs the control plane, and what EKS says about it.
func eksControlPlane(l *Observation) []Problem {
	if l.AWS.EKS == nil {
		return []Problem{{"Cluster", l.Cluster.Name, ReasonNoControlPlane, fmt.Sprintf(
			"EKS has no cluster %s with the tags of this one. Apply the cluster's definition.", l.Cluster.Name)}}
	}
	var problems []Problem
	if status := l.AWS.EKS.Status; status != string(ekstypes.ClusterStatusActive) {
		problems = append(problems, Problem{"Cluster", l.Cluster.Name, ReasonNotActive, fmt.Sprintf(
			"EKS reports the control plane as %s. If this persists, see the stack's events: aws-operator diagnose cluster %s.",
			status, l.Cluster.Name)})
	}
	return append(problems, issues("Cluster", l.Cluster.Name, l.AWS.EKS.Issues)...)
}

// nodeGroups checks what EKS says about each node group.
func nodeGroups(l *Observation) []Problem {
	var problems []Problem
	for i := range l.AWS.Groups {
		g := &l.AWS.Groups[i]
		if g.Status == "" { // a self-managed group
			continue
		}
		if g.Status != string(ekstypes.NodegroupStatusActive) && len(g.Issues) == 0 {
			problems = append(problems, Problem{"InstanceGroup", g.Name, ReasonNotActive, fmt.Sprintf(
				"EKS reports its node group as %s. If this persists, see the stack's events: aws-operator diagnose cluster %s.",
				g.Status, l.Cluster.Name)})
		}
		problems = append(problems, issues("InstanceGroup", g.Name, g.Issues)...)
	}
	return problems
}

// issues are what EKS says is wrong, in its words.
func issues(kind, name string, of []Issue) []Problem {
	problems := make([]Problem, 0, len(of))
	for _, issue := range of {
		about := ""
		if len(issue.Resources) > 0 {
			about = " (" + strings.Join(issue.Resources, ", ") + ")"
		}
		problems = append(problems, Problem{kind, name, ReasonIssue, fmt.Sprintf(
			"EKS reports %s%s: %s", issue.Code, about, strings.TrimSuffix(issue.Message, ".")+".")})
	}
	return problems
}

// eksAPIAnswers checks that the API responded.
func eksAPIAnswers(l *Observation) []Problem {
	if l.API == nil || l.API.Problem == "" {
		return nil
	}
	return []Problem{{"Cluster", l.Cluster.Name, ReasonAPIUnreachable, fmt.Sprintf(
		"The API at %s does not respond: %s. Check that spec.api.allowedCIDRs contains your address, or, with spec.api.access Internal, that you reach the VPC, "+
			"and that your principal made the cluster or is in spec.controlPlane.eks.access.", l.AWS.Server(), l.API.Problem)}}
}
