package model

import (
	"strings"

	"github.com/aws-operator/aws-operator/api/cluster/v1alpha1"
)

// checkCapacity checks the capacity reservation of the group's instances. Whether it exists, matches
// and has capacity is for EC2 to say when it launches an instance.
func (r *Group) checkCapacity(problems *Problems, c *Cluster) {
	of := r.Spec.CapacityReservation
	if of == nil {
		return
	}
	if r.Spec.Spot != nil {
		problems.add("spec.capacityReservation", "leave out spot or capacityReservation", "spot instances do not use reserved capacity")
	}
	targets := of.ID != "" || of.ResourceGroup != ""
	switch of.Preference {
	case v1alpha1.CapacityOnly:
	case v1alpha1.CapacityOpen, v1alpha1.CapacityNone:
		// https://docs.aws.amazon.com/AWSEC2/latest/APIReference/API_CapacityReservationSpecification.html
		if targets {
			problems.add("spec.capacityReservation.preference", "leave it out, or set it to capacity-reservations-only",
				"the preference %s contradicts id and resourceGroup", of.Preference)
		}
	case "":
		if !targets {
			problems.add("spec.capacityReservation", "set preference, id or resourceGroup", "it names no reserved capacity")
		}
	default:
		problems.add("spec.capacityReservation.preference", "use open, none or capacity-reservations-only",
			"%q is not a preference", of.Preference)
	}
	if of.ID != "" && of.ResourceGroup != "" {
		problems.add("spec.capacityReservation.id", "leave out id or resourceGroup", "instances can have only one target")
	}
	if of.ID != "" {
		r.checkReservation(problems)
	}
	if of.Type == v1alpha1.CapacityBlock && of.ID == "" {
		problems.add("spec.capacityReservation.id", "set it", "a Capacity Block is named by its reservation")
	}
	// arn:aws:resource-groups:eu-central-1:123456789012:group/name
	const region, parts = 3, 6
	if arn := strings.SplitN(of.ResourceGroup, ":", parts); len(arn) == parts && arn[region] != c.Spec.Region {
		problems.add("spec.capacityReservation.resourceGroup", "name a resource group of "+c.Spec.Region,
			"the resource group is in the region %s", arn[region])
	}
}

// checkReservation checks that a group's instances can be in one capacity reservation, which has one
// instance type and one zone.
// https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/capacity-reservations-launch.html
func (r *Group) checkReservation(problems *Problems) {
	if n := len(r.Spec.InstanceTypes); n > 1 {
		problems.add("spec.instanceTypes", "name only that of the reservation, or use capacityReservation.resourceGroup",
			"the group has %d instance types, but a capacity reservation has one", n)
	}
	if zones := r.zones(); len(zones) > 1 {
		problems.add("spec.capacityReservation.id", "limit the group to that zone with spec.zones or spec.subnets, or use resourceGroup",
			"a capacity reservation is in one zone, but the group uses %s", strings.Join(zones, ", "))
	}
}
