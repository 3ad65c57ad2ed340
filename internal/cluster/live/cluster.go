package live

import (
	"strings"

	elbtypes "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"

	"github.com/aws-operator/aws-operator/api/cluster/v1alpha1"
	"github.com/aws-operator/aws-operator/internal/awsapi"
	"github.com/aws-operator/aws-operator/internal/cluster/model"
	"github.com/aws-operator/aws-operator/internal/cluster/rollout"
)

// Clients give access to AWS; *awsapi.Clients do.
type Clients interface { //nolint:interfacebloat // one method a service
	Region(t awsapi.Target) string
	AutoScaling(t awsapi.Target) awsapi.AutoScaling
	EC2(t awsapi.Target) awsapi.EC2
	LoadBalancerReader(t awsapi.Target) awsapi.LoadBalancerReader
	Records(t awsapi.Target) awsapi.Records
	Resolver() awsapi.Resolver
}

// Cluster is what of a cluster is in AWS.
type Cluster struct {
	// Name is the cluster's, Target where it is.
	Name   string
	Target awsapi.Target
	// Groups are its Auto Scaling groups: the slots by number, then the instance groups and the bastions by name.
	Groups []Group
	// LoadBalancer is that of its API, nil if there is none.
	LoadBalancer *LoadBalancer
	// Record is the record of the API's name in Route 53, nil if the cluster has no name there; see [Record].
	Record *Record
}

// Group is one Auto Scaling group.
type Group struct {
	// Name is its name for people: of an instance group its own, else control-plane-0 or bastion.
	Name string
	Role rollout.Role
	// Slot is its number, rollout.NoSlot if the group is none.
	Slot int
	// AutoScalingGroup is its name in AWS.
	AutoScalingGroup string
	// Stack is the CloudFormation stack that owns it, empty if it was made by other means.
	Stack string
	// Min, Max and Desired are its sizes.
	Min, Max, Desired int
	// Rolling says that a roll is under way, or was and stopped.
	Rolling   bool
	Instances []Instance
	// TargetGroups are the ARNs of the target groups that its machines are registered with.
	TargetGroups []string
}

// Instance is a machine of a group.
type Instance struct {
	ID, Zone string
	// State is Auto Scaling's state, as InService or Terminating:Wait; Healthy what it holds of its health.
	State   string
	Healthy bool
	// Template is the version of the launch template that it was launched from, Outdated says that the group launches from another.
	Template string
	Outdated bool
}

// LoadBalancer is the one of a cluster's API.
type LoadBalancer struct {
	ARN, Name, DNSName string
	// Targets are the machines behind it.
	Targets []TargetHealth
}

// TargetHealth says what the load balancer holds of a machine.
type TargetHealth struct {
	Instance string
	State    elbtypes.TargetHealthStateEnum
	// Description says why, in AWS's words; empty if it is healthy.
	Description string
}

// Record is how the API's name is found.
type Record struct {
	// Name is the API's name, Zone the ID of the hosted zone that it is to be in.
	Name, Zone string
	// Alias is the name that it stands for, empty if the zone has no such record.
	Alias string
}

// Address returns the host by which the API is reached: its name if it has one, else that of the load balancer. It is empty if there is
// neither.
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
	if c.Address() == "" {
		return ""
	}
	return model.APIServer(c.Address())
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

// TargetOf returns where a Cluster is.
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

// Bastion reports whether the group's machines are bastions, which are no nodes.
func (g *Group) Bastion() bool { return g.Role == rollout.RoleBastion }

// UnhealthySlots returns why each of so many slots does not serve, as far as the load balancer of the API knows, without those that do.
// Its checks ask the API server whether it is ready, which reads from etcd with quorum to answer.
func (c *Cluster) UnhealthySlots(slots int) map[int]string {
	problems := map[int]string{}
	for slot := range slots {
		problems[slot] = "the load balancer of the API has no healthy target in it"
	}
	if c.LoadBalancer == nil {
		return problems
	}
	for i := range c.Groups {
		for _, one := range c.Groups[i].Instances {
			for _, target := range c.LoadBalancer.Targets {
				if c.Groups[i].Slot != rollout.NoSlot && target.Instance == one.ID && target.State == elbtypes.TargetHealthStateEnumHealthy {
					delete(problems, c.Groups[i].Slot)
				}
			}
		}
	}
	return problems
}
