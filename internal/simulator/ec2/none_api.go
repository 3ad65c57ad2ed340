package ec2

import (
	"context"

	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/aws-operator/aws-operator/internal/simulator/vpc"
	"github.com/aws-operator/aws-operator/internal/simulator/wire"
)

// The simulator creates no capacity reservations, so that an account has none. Their reads check the
// request, and find nothing.

// noFields accepts filters by names.
func noFields(names ...string) vpc.Fields[struct{}] {
	fields := vpc.Fields[struct{}]{}
	for _, name := range names {
		fields[name] = func(struct{}) []string { return nil }
	}
	return fields
}

var reservationFilters = noFields(
	"instance-type", "owner-id", "instance-platform", "availability-zone", "tenancy", "outpost-arn", "state", "start-date", "end-date",
	"end-date-type", "instance-match-criteria", "placement-group-arn",
)

// https://docs.aws.amazon.com/AWSEC2/latest/APIReference/API_DescribeCapacityReservations.html
func (s *Service) describeCapacityReservations(
	_ context.Context, in *ec2.DescribeCapacityReservationsInput,
) (*ec2.DescribeCapacityReservationsOutput, error) {
	if err := checkNone(reservationFilters, in.Filters, in.MaxResults, in.NextToken); err != nil {
		return nil, err
	}
	for _, id := range in.CapacityReservationIds {
		return nil, wire.Errorf("InvalidCapacityReservationId.NotFound", "The capacity reservation '%s' does not exist.", id)
	}
	if err := dry(in.DryRun); err != nil {
		return nil, err
	}
	return &ec2.DescribeCapacityReservationsOutput{CapacityReservations: []types.CapacityReservation{}}, nil
}

// checkNone returns the errors of a read's parameters.
func checkNone(fields vpc.Fields[struct{}], filters []types.Filter, most *int32, token *string) error {
	if _, err := fields.Compile(filters); err != nil {
		return err
	}
	_, _, err := vpc.Page([]struct{}{}, func(struct{}) string { return "" }, most, token)
	return err
}
