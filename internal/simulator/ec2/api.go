package ec2

import (
	"maps"
	"net/netip"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/ec2/types"
)

// Instance is a copy of an instance for other simulated services.
type Instance struct {
	// ID, Account, Region and Zone identify the instance and its location.
	ID, Account, Region, Zone string
	// VPCID and SubnetID are its network; InterfaceID is its primary interface.
	VPCID, SubnetID, InterfaceID string
	// PrivateIP is its primary address; PrivateDNSName is the DNS name of that address.
	PrivateIP      netip.Addr
	PrivateDNSName string
	// Type, ImageID and Architecture (amd64 or arm64) are its hardware and image.
	Type, ImageID, Architecture string
	// LaunchTemplateID and LaunchTemplateVersion (a number) identify the launch template of the
	// instance, if any.
	LaunchTemplateID, LaunchTemplateVersion string
	// State is its state; Reason is the code and message of the last transition.
	State  types.InstanceStateName
	Reason types.StateReason
	// Spot reports whether it is a spot instance.
	Spot bool
	// Impaired reports whether its status checks fail; AtRisk, whether EC2 recommended to rebalance
	// it.
	Impaired, AtRisk bool
	// Due reports whether a scheduled event has begun.
	Due bool
	// Launched is the time of the last launch or start.
	Launched time.Time
	// Tags are its tags.
	Tags map[string]string
}

// LaunchRequest is a request for one instance from a launch template.
type LaunchRequest struct {
	// Account and Region locate the instance.
	Account, Region string
	// SubnetID is the subnet, which determines the zone.
	SubnetID string
	// Set either LaunchTemplateID or LaunchTemplateName.
	LaunchTemplateID, LaunchTemplateName string
	// Version is a number, $Latest or $Default. The default is $Default.
	Version string
	// InstanceType overrides the instance type of the template.
	InstanceType string
	// Spot requests a spot instance.
	Spot bool
	// Tags take precedence over the template's tags.
	Tags map[string]string
	// Requester is the service that launches the instance, such as autoscaling.amazonaws.com.
	Requester string
}

// TemplateVersion is a resolved version of a launch template.
type TemplateVersion struct {
	// ID and Name identify the template; Version is the version's number.
	ID, Name, Version string
	// Data is the content of the version. Callers must not change it.
	Data *types.ResponseLaunchTemplateData
}

func (i Instance) clone() Instance {
	i.Tags = maps.Clone(i.Tags)
	return i
}
