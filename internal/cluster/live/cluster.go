package live

import (
	"strings"

	elbtypes "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"
	"github.com/aws/aws-sdk-go-v2/service/sts"

	"github.com/aws-operator/aws-operator/api/cluster/v1alpha1"
	"github.com/aws-operator/aws-operator/internal/awsapi"
	"github.com/aws-operator/aws-operator/internal/cluster/model"
	"github.com/aws-operator/aws-operator/internal/cluster/rollout"
)

// Clients provide access to AWS. *awsapi.Clients implements it.
type Clients interface { //nolint:interfacebloat // one method per service
	Region(t awsapi.Target) string
	AutoScaling(t awsapi.Target) awsapi.AutoScaling
	EC2(t awsapi.Target) awsapi.EC2
	LoadBalancerReader(t awsapi.Target) awsapi.LoadBalancerReader
	Records(t awsapi.Target) awsapi.Records
	Resolver() awsapi.Resolver
	EKS(t awsapi.Target) awsapi.EKS
	CallerPresigner(t awsapi.Target) *sts.PresignClient
}

// Cluster is the state of a cluster in AWS.
type Cluster struct {
	// Name is the cluster's name, Target its account and region.
	Name   string
	Target awsapi.Target
	// Groups are its Auto Scaling groups: the slots by number, then the instance groups and the
	// bastions by name. Of a cluster whose control plane EKS runs, they are the managed node groups.
	Groups []Group
	// EKS is the control plane that EKS runs, nil if the cluster has slots or EKS has none.
	EKS *EKS
	// LoadBalancer is the API's load balancer, nil if there is none.
	LoadBalancer *LoadBalancer
	// Record is the record of the API's name in Route 53, nil if the cluster has no name there; see
	// [Record].
	Record *Record
}

// Group is one Auto Scaling group.
type Group struct {
	// Name is its name for messages: that of the instance group, control-plane-0 or bastion.
	Name string
	Role rollout.Role
	// Slot is its number, rollout.NoSlot for other groups.
	Slot int
	// AutoScalingGroup is its name in AWS.
	AutoScalingGroup string
	// Stack is the CloudFormation stack that owns it, empty if another tool does.
	Stack string
	// Min, Max and Desired are its sizes.
	Min, Max, Desired int
	// Rolling reports that a rollout is in progress or stopped.
	Rolling bool
	// Status is the status of a managed node group, for example ACTIVE; empty for other groups. Issues are what
	// EKS says is wrong with it.
	Status    string
	Issues    []Issue
	Instances []Instance
	// TargetGroups are the ARNs of the target groups that its instances are registered with.
	TargetGroups []string
}

// EKS is a control plane that EKS runs.
type EKS struct {
	// Status is its status, for example ACTIVE; Version its minor version, for example 1.36.
	Status, Version string
	// Endpoint is the URL of its API, empty before EKS has one; CA the certificates that verify the API's, in
	// PEM.
	Endpoint string
	CA       []byte
	// Issues are what EKS says is wrong with it.
	Issues []Issue
}

// Issue is what EKS says is wrong with a control plane or a node group.
// https://docs.aws.amazon.com/eks/latest/APIReference/API_Issue.html
type Issue struct {
	// Code is one word, for example AccessDenied; Message describes it in the words of EKS.
	Code, Message string
	// Resources are the IDs of the resources that it is about.
	Resources []string
}

// Instance is an instance of a group.
type Instance struct {
	ID, Zone string
	// State is Auto Scaling's state, for example InService or Terminating:Wait; Healthy its health
	// status.
	State   string
	Healthy bool
	// Template is the launch template version that it was launched from; Outdated reports that the
	// group launches from another.
	Template string
	Outdated bool
}

// LoadBalancer is the load balancer of a cluster's API.
type LoadBalancer struct {
	ARN, Name, DNSName string
	// Targets are its targets.
	Targets []TargetHealth
}

// TargetHealth is the health of an instance as the load balancer reports it.
type TargetHealth struct {
	Instance string
	State    elbtypes.TargetHealthStateEnum
	// Description is the reason in AWS's words; empty if it is healthy.
	Description string
}

// Record is the DNS record of the API's name.
type Record struct {
	// Name is the API's name, Zone the ID of its hosted zone.
	Name, Zone string
	// Alias is the target of the record, empty if the zone has no such record.
	Alias string
}

// Address returns the API's host: its name if it has one, else that of the load balancer. It is
// empty if there is neither.
func (c *Cluster) Address() string {
	switch {
	case c.Record != nil:
		return c.Record.Name
	case c.LoadBalancer != nil:
		return strings.ToLower(c.LoadBalancer.DNSName) // As everywhere: see model.APIAddress.
	default:
		return ""
	}
}

// Server returns the URL of the API, empty if it has no address.
func (c *Cluster) Server() string {
	switch {
	case c.EKS != nil:
		return c.EKS.Endpoint
	case c.Address() == "":
		return ""
	default:
		return model.APIServer(c.Address())
	}
}

// Group returns the group of that name, nil if there is none.
func (c *Cluster) Group(name string) *Group {
	for i := range c.Groups {
		if c.Groups[i].Name == name {
			return &c.Groups[i]
		}
	}
	return nil
}

// TargetOf returns a Cluster's account and region.
func TargetOf(clients Clients, cluster *v1alpha1.Cluster) awsapi.Target {
	target := awsapi.Target{Region: cluster.Spec.Region}
	if role := cluster.Spec.Role; role != nil && role.ARN != "" {
		target.RoleARN, target.ExternalID = role.ARN, role.ExternalID
		return target
	}
	if target.Region == clients.Region(awsapi.Target{}) {
		target.Region = ""
	}
	return target
}

// Bastion reports whether the group's instances are bastions, which have no nodes.
func (g *Group) Bastion() bool { return g.Role == rollout.RoleBastion }

// UnhealthySlots returns the problems of slots without a healthy target of the API's load balancer,
// by slot. Its checks query the API server's readiness, which requires reading from etcd with
// quorum.
func (c *Cluster) UnhealthySlots(slots int) map[int]string {
	problems := map[int]string{}
	for slot := range slots {
		problems[slot] = "the API's load balancer has no healthy target in it"
	}
	if c.LoadBalancer == nil {
		return problems
	}
	for i := range c.Groups {
		for _, one := range c.Groups[i].Instances {
			for _, target := range c.LoadBalancer.Targets {
				if c.Groups[i].Slot != rollout.NoSlot && target.Instance == one.ID &&
					target.State == elbtypes.TargetHealthStateEnumHealthy {
					delete(problems, c.Groups[i].Slot)
				}
			}
		}
	}
	return problems
}
