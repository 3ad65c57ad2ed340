package controller_test

import (
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/aws-operator/aws-operator/api/cluster/v1alpha1"
)

// The instances of a group are in its placement group and its capacity reservation. The placement group
// is deleted with the group.
func TestGroupInReservedCapacity(t *testing.T) {
	w := newSuite(t, nil, nil)
	api := ec2.NewFromConfig(w.awsConfig(account, region))
	const zone, room = "eu-central-1a", 3
	made, err := api.CreateCapacityReservation(t.Context(), &ec2.CreateCapacityReservationInput{
		InstanceCount: aws.Int32(room), InstanceType: aws.String("m6i.large"), AvailabilityZone: aws.String(zone),
		InstancePlatform:      ec2types.CapacityReservationInstancePlatformLinuxUnix,
		InstanceMatchCriteria: ec2types.InstanceMatchCriteriaTargeted,
	})
	if err != nil {
		t.Fatal(err)
	}
	w.start()
	cluster, group := w.aCluster("demo"), w.aGroup("demo-workers", "demo")
	cluster.Spec.ControlPlane.Replicas = 1
	group.Spec.Zones = []string{zone}
	group.Spec.Placement = &v1alpha1.Placement{Strategy: v1alpha1.PlacementSpread}
	group.Spec.CapacityReservation = &v1alpha1.CapacityReservation{ID: *made.CapacityReservation.CapacityReservationId}
	w.create(cluster, group)
	w.complete(account, region, "demo", "demo-control-plane-0", "demo-workers")
	found, err := api.DescribePlacementGroups(t.Context(), &ec2.DescribePlacementGroupsInput{})
	if err != nil || len(found.PlacementGroups) != 1 || found.PlacementGroups[0].Strategy != ec2types.PlacementStrategySpread {
		t.Errorf("placement groups %+v, %v", found, err)
	}
	reserved, err := api.DescribeCapacityReservations(t.Context(), &ec2.DescribeCapacityReservationsInput{})
	if err != nil || *reserved.CapacityReservations[0].AvailableInstanceCount != room-2 {
		t.Errorf("2 instances left room in their reservation: %+v, %v", reserved, err)
	}
	for _, err := range []error{w.client.Delete(t.Context(), group), w.client.Delete(t.Context(), cluster)} {
		if err != nil {
			t.Fatal(err)
		}
	}
	w.waitDeleted(group)
	w.waitDeleted(cluster)
	w.nothingIsLeft(account, region)
}
