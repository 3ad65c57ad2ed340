package ec2

import (
	"maps"
	"net/netip"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/ec2/types"
)

// Instance is what other simulated services see of an instance: a copy.
type Instance struct {
	// ID, Account, Region and Zone say which it is, and where.
	ID, Account, Region, Zone string
	// VPCID and SubnetID are its network, InterfaceID its primary interface.
	VPCID, SubnetID, InterfaceID string
	// PrivateIP is its primary address, PrivateDNSName the name of that.
	PrivateIP      netip.Addr
	PrivateDNSName string
	// Type, ImageID and Architecture (amd64, arm64) are what it is made of.
	Type, ImageID, Architecture string
	// LaunchTemplateID and LaunchTemplateVersion (a number) are what it was
	// launched from, if it was.
	LaunchTemplateID, LaunchTemplateVersion string
	// State is its state, Reason the code and message of how it got there.
	State  types.InstanceStateName
	Reason types.StateReason
	// Spot says that it is a spot instance.
	Spot bool
	// Impaired says that its status checks fail, AtRisk that EC2 has recommended to
	// rebalance it.
	Impaired, AtRisk bool
	// Launched is when it was last launched or started.
	Launched time.Time
	// Tags are its tags.
	Tags map[string]string
}

// LaunchRequest asks for one instance from a launch template.
type LaunchRequest struct {
	// Account and Region say where.
	Account, Region string
	// SubnetID is the subnet, which decides the zone.
	SubnetID string
	// LaunchTemplateID is the template's id, or LaunchTemplateName its name.
	LaunchTemplateID, LaunchTemplateName string
	// Version is a number, $Latest or $Default; $Default unless set.
	Version string
	// InstanceType overrides the template's.
	InstanceType string
	// Spot asks for a spot instance.
	Spot bool
	// Tags are set over the template's.
	Tags map[string]string
	// Requester is the service that launches, such as autoscaling.amazonaws.com.
	Requester string
}

// TemplateVersion is one version of a launch template: what it resolves to.
type TemplateVersion struct {
	// ID and Name are the template's, Version is the number.
	ID, Name, Version string
	// Data is what the version holds: do not change it.
	Data *types.ResponseLaunchTemplateData
}

func (i Instance) clone() Instance {
	i.Tags = maps.Clone(i.Tags)
	return i
}
