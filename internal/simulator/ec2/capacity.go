package ec2

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/aws-operator/aws-operator/internal/simulator/vpc"
	"github.com/aws-operator/aws-operator/internal/simulator/wire"
)

// capacityReservation is an On-Demand Capacity Reservation of Linux instances.
// https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/ec2-capacity-reservations.html
type capacityReservation struct {
	id, zone string
	kind     *kind
	total    int
	// open says that matching instances run in it that do not target it.
	open    bool
	ebs     bool
	state   types.CapacityReservationState
	created time.Time
	end     time.Time // zero without an end
	token   string
	digest  string // of the request
}

// maxReserved is the largest number of instances of a capacity reservation.
// https://docs.aws.amazon.com/AWSEC2/latest/APIReference/API_CreateCapacityReservation.html
const maxReserved = 1000

func (s *Service) capacityOperations() map[string]wire.Operation {
	return map[string]wire.Operation{
		"CancelCapacityReservation":    wire.Op(s.cancelCapacityReservation),
		"CreateCapacityReservation":    wire.Op(s.createCapacityReservation),
		"DescribeCapacityReservations": wire.Op(s.describeCapacityReservations),
	}
}

func noCapacityReservation(id string) *wire.Error {
	return wire.Errorf("InvalidCapacityReservationId.NotFound", "The capacity reservation '%s' does not exist.", id)
}

// SetCapacityGroup makes a resource group of capacity reservations, by its ARN. The simulator has no
// AWS Resource Groups: launches that target another group fail as unsupported.
func (s *Service) SetCapacityGroup(account, regionName, arn string, ids ...string) {
	r := s.locked(wire.Target{Account: account, Region: regionName})
	defer r.mu.Unlock()
	r.capacityGroups[arn] = ids
}

// capacityReservation returns a capacity reservation. The caller holds the lock.
func (r *region) capacityReservation(id string) (*capacityReservation, error) {
	if err := checkID("InvalidCapacityReservationId", "cr-", id); err != nil {
		return nil, err
	}
	c, ok := r.capacity[id]
	if !ok {
		return nil, noCapacityReservation(id)
	}
	return c, nil
}

// expire ends the capacity reservations whose time has come. Their instances continue on demand. The
// caller holds the lock.
func (r *region) expire(now time.Time) {
	for _, c := range r.capacity {
		if c.state == types.CapacityReservationStateActive && !c.end.IsZero() && !now.Before(c.end) {
			r.release(c, types.CapacityReservationStateExpired)
		}
	}
}

// release ends a capacity reservation.
func (r *region) release(c *capacityReservation, state types.CapacityReservationState) {
	c.state = state
	for _, i := range r.instances {
		if i.reserved == c {
			i.reserved = nil
		}
	}
}

// unused returns how many more instances fit into a capacity reservation. A stopped instance takes no
// capacity.
func (r *region) unused(c *capacityReservation) int {
	if c.state != types.CapacityReservationStateActive {
		return 0
	}
	left := c.total
	for _, i := range r.instances {
		if i.reserved == c && i.State != stopped && i.State != terminated {
			left--
		}
	}
	return left
}

// createCapacityReservation reserves capacity at once.
// https://docs.aws.amazon.com/AWSEC2/latest/APIReference/API_CreateCapacityReservation.html
func (s *Service) createCapacityReservation(
	ctx context.Context, in *ec2.CreateCapacityReservationInput,
) (*ec2.CreateCapacityReservationOutput, error) {
	tags, err := tagsFor(in.TagSpecifications, types.ResourceTypeCapacityReservation)
	if err != nil {
		return nil, err
	}
	c, err := newCapacityReservation(in)
	if err != nil {
		return nil, err
	}
	if err := dry(in.DryRun); err != nil {
		return nil, err
	}
	r := s.here(ctx)
	defer r.mu.Unlock()
	for _, made := range r.capacity {
		if c.token == "" || made.token != c.token {
			continue
		}
		if made.digest != c.digest {
			return nil, wire.Errorf(
				"IdempotentParameterMismatch",
				"Arguments on this idempotent request are inconsistent with arguments used in previous request(s).",
			)
		}
		return &ec2.CreateCapacityReservationOutput{CapacityReservation: new(s.describeCapacityReservation(r, made))}, nil
	}
	now := s.env.Clock.Now()
	switch {
	case !hasZone(r.Region, c.zone):
		return nil, invalid("Value (%s) for parameter availabilityZone is invalid.", c.zone)
	case !c.end.IsZero() && !c.end.After(now):
		return nil, invalid("The end date must be in the future.")
	}
	if err := s.scarce.available(r.Target, c.zone, c.kind, false); err != nil {
		return nil, err
	}
	if err := r.withinQuota(false, c.total*int(c.kind.vCPUs)); err != nil {
		return nil, err
	}
	c.created = now
	r.capacity[c.id] = c
	s.tags(r.Target).Register(c.id, types.ResourceTypeCapacityReservation, tags)
	return &ec2.CreateCapacityReservationOutput{CapacityReservation: new(s.describeCapacityReservation(r, c))}, nil
}

// newCapacityReservation returns the capacity reservation of a request, or what is wrong with it.
func newCapacityReservation(in *ec2.CreateCapacityReservationInput) (*capacityReservation, error) {
	for _, p := range []struct {
		name string
		used bool
	}{
		{"AvailabilityZoneId", in.AvailabilityZoneId != nil},
		{"CommitmentDuration", in.CommitmentDuration != nil},
		{"DeliveryPreference", in.DeliveryPreference != ""},
		{"EphemeralStorage", aws.ToBool(in.EphemeralStorage)},
		{"InstancePlatform", in.InstancePlatform != "" && in.InstancePlatform != types.CapacityReservationInstancePlatformLinuxUnix},
		{"OutpostArn", in.OutpostArn != nil},
		{"PlacementGroupArn", in.PlacementGroupArn != nil},
		{"StartDate", in.StartDate != nil},
		{"Tenancy", in.Tenancy != "" && in.Tenancy != types.CapacityReservationTenancyDefault},
	} {
		if p.used {
			return nil, unsupported(p.name)
		}
	}
	count := int(aws.ToInt32(in.InstanceCount))
	k, known := kinds[aws.ToString(in.InstanceType)]
	switch {
	case in.InstanceCount == nil:
		return nil, missing("InstanceCount")
	case in.InstanceType == nil:
		return nil, missing("InstanceType")
	case in.InstancePlatform == "":
		return nil, missing("InstancePlatform")
	case in.AvailabilityZone == nil:
		return nil, missing("AvailabilityZone")
	case !known:
		return nil, invalid("Invalid value '%s' for InstanceType.", *in.InstanceType)
	case count < 1 || count > maxReserved:
		return nil, invalid("Value (%d) for parameter instanceCount is invalid. It must be between 1 and %d.", count, maxReserved)
	case (in.EndDateType == types.EndDateTypeLimited) != (in.EndDate != nil):
		return nil, wire.Errorf("InvalidParameterCombination", "An EndDate is required for the EndDateType limited, and only for it.")
	}
	return &capacityReservation{
		id: newID("cr"), zone: *in.AvailabilityZone, kind: k, total: count, ebs: aws.ToBool(in.EbsOptimized),
		open:  cmp.Or(in.InstanceMatchCriteria, types.InstanceMatchCriteriaOpen) == types.InstanceMatchCriteriaOpen,
		state: types.CapacityReservationStateActive, end: aws.ToTime(in.EndDate), token: aws.ToString(in.ClientToken), digest: digest(in),
	}, nil
}

// cancelCapacityReservation releases reserved capacity. Its instances continue on demand.
// https://docs.aws.amazon.com/AWSEC2/latest/APIReference/API_CancelCapacityReservation.html
func (s *Service) cancelCapacityReservation(
	ctx context.Context, in *ec2.CancelCapacityReservationInput,
) (*ec2.CancelCapacityReservationOutput, error) {
	r := s.here(ctx)
	defer r.mu.Unlock()
	c, err := r.capacityReservation(aws.ToString(in.CapacityReservationId))
	if err != nil {
		return nil, err
	}
	if err := dry(in.DryRun); err != nil {
		return nil, err
	}
	if c.state == types.CapacityReservationStateActive {
		r.release(c, types.CapacityReservationStateCancelled)
	}
	return &ec2.CancelCapacityReservationOutput{Return: aws.Bool(true)}, nil
}

// https://docs.aws.amazon.com/AWSEC2/latest/APIReference/API_DescribeCapacityReservations.html
func (s *Service) describeCapacityReservations(
	ctx context.Context, in *ec2.DescribeCapacityReservationsInput,
) (*ec2.DescribeCapacityReservationsOutput, error) {
	if err := dry(in.DryRun); err != nil {
		return nil, err
	}
	r := s.here(ctx)
	defer r.mu.Unlock()
	one := func(value func(types.CapacityReservation) string) func(*capacityReservation) []string {
		return func(c *capacityReservation) []string { return []string{value(s.describeCapacityReservation(r, c))} }
	}
	found, next, err := choose(s, r, choice[*capacityReservation]{
		items: r.capacity, ids: in.CapacityReservationIds, missing: noCapacityReservation, filters: in.Filters,
		token: in.NextToken, most: in.MaxResults,
		fields: vpc.Fields[*capacityReservation]{
			"availability-zone":       func(c *capacityReservation) []string { return []string{c.zone} },
			"end-date":                one(func(d types.CapacityReservation) string { return formatTime(aws.ToTime(d.EndDate)) }),
			"end-date-type":           one(func(d types.CapacityReservation) string { return string(d.EndDateType) }),
			"instance-match-criteria": one(func(d types.CapacityReservation) string { return string(d.InstanceMatchCriteria) }),
			"instance-platform":       one(func(d types.CapacityReservation) string { return string(d.InstancePlatform) }),
			"instance-type":           func(c *capacityReservation) []string { return []string{c.kind.name} },
			"outpost-arn":             func(*capacityReservation) []string { return nil },
			"owner-id":                func(*capacityReservation) []string { return []string{r.Account} },
			"placement-group-arn":     func(*capacityReservation) []string { return nil },
			"start-date":              one(func(d types.CapacityReservation) string { return formatTime(aws.ToTime(d.StartDate)) }),
			"state":                   func(c *capacityReservation) []string { return []string{string(c.state)} },
			"tenancy":                 one(func(d types.CapacityReservation) string { return string(d.Tenancy) }),
		},
	})
	if err != nil {
		return nil, err
	}
	out := &ec2.DescribeCapacityReservationsOutput{CapacityReservations: []types.CapacityReservation{}, NextToken: next}
	for _, c := range found {
		out.CapacityReservations = append(out.CapacityReservations, s.describeCapacityReservation(r, c))
	}
	return out, nil
}

func (s *Service) describeCapacityReservation(r *region, c *capacityReservation) types.CapacityReservation {
	d := types.CapacityReservation{
		CapacityReservationId: &c.id, CapacityReservationArn: aws.String(vpc.ResourceARN(s.partition(), r.Target, c.id)),
		AvailabilityZone: &c.zone, InstanceType: &c.kind.name, InstancePlatform: types.CapacityReservationInstancePlatformLinuxUnix,
		TotalInstanceCount:     aws.Int32(int32(c.total)),                     //nolint:gosec // at most maxReserved
		AvailableInstanceCount: aws.Int32(int32(r.unused(c))), State: c.state, //nolint:gosec // as above
		EbsOptimized: &c.ebs, EphemeralStorage: aws.Bool(false), EndDateType: types.EndDateTypeUnlimited,
		InstanceMatchCriteria: types.InstanceMatchCriteriaTargeted, Tenancy: types.CapacityReservationTenancyDefault,
		CreateDate: &c.created, StartDate: &c.created, OwnerId: &r.Account, ReservationType: types.CapacityReservationTypeDefault,
		Tags: s.tags(r.Target).List(c.id),
	}
	if c.open {
		d.InstanceMatchCriteria = types.InstanceMatchCriteriaOpen
	}
	if !c.end.IsZero() {
		d.EndDate, d.EndDateType = &c.end, types.EndDateTypeLimited
	}
	return d
}

// wantedCapacity is the reserved capacity that a launch may use.
type wantedCapacity struct {
	// target is the one that it targets. Otherwise, among are those that it may use, best first.
	target *capacityReservation
	among  []*capacityReservation
	// only says that it must not use other capacity.
	only bool
}

// wanted returns the reserved capacity for a launch. The caller holds the lock.
// https://docs.aws.amazon.com/AWSEC2/latest/APIReference/API_CapacityReservationSpecification.html
func (r *region) wanted(d *launchData) (w wantedCapacity, err error) {
	preference := types.CapacityReservationPreference("")
	var target types.CapacityReservationTargetResponse
	if of := d.CapacityReservationSpecification; of != nil {
		preference = of.CapacityReservationPreference
		if of.CapacityReservationTarget != nil {
			target = *of.CapacityReservationTarget
		}
	}
	id, group := aws.ToString(target.CapacityReservationId), aws.ToString(target.CapacityReservationResourceGroupArn)
	targets := id != "" || group != ""
	spot := d.InstanceMarketOptions != nil && d.InstanceMarketOptions.MarketType == types.MarketTypeSpot
	w.only = preference == types.CapacityReservationPreferenceCapacityReservationsOnly
	switch {
	case preference != "" && !slices.Contains(preference.Values(), preference):
		return w, invalid("Value (%s) for parameter capacityReservationPreference is invalid.", preference)
	case id != "" && group != "":
		return w, wire.Errorf("InvalidParameterCombination", "A launch can have one capacity reservation target.")
	case targets && preference != "" && !w.only:
		return w, wire.Errorf(
			"InvalidParameterCombination", "A capacity reservation target and the preference '%s' cannot be used together.", preference,
		)
	case spot && (targets || w.only):
		return w, wire.Errorf("InvalidParameterCombination", "Spot instances cannot run in capacity reservations.")
	case spot, preference == types.CapacityReservationPreferenceNone:
		return w, nil
	case id != "":
		w.target, err = r.capacityReservation(id)
		return w, err
	case group != "":
		w.among, err = r.capacityIn(group)
		return w, err
	default:
		w.among = r.openCapacity()
		return w, nil
	}
}

// capacityIn returns the capacity reservations of a resource group.
func (r *region) capacityIn(group string) (list []*capacityReservation, err error) {
	ids, ok := r.capacityGroups[group]
	if !ok {
		return nil, unsupported("CapacityReservationResourceGroupArn of a group that it does not have")
	}
	for _, id := range ids {
		if c := r.capacity[id]; c != nil {
			list = append(list, c)
		}
	}
	return list, nil
}

// openCapacity returns the capacity reservations that need not be targeted, the oldest first.
func (r *region) openCapacity() (list []*capacityReservation) {
	for _, c := range r.capacity {
		if c.open {
			list = append(list, c)
		}
	}
	slices.SortFunc(list, func(a, b *capacityReservation) int {
		return cmp.Or(a.created.Compare(b.created), strings.Compare(a.id, b.id))
	})
	return list
}

// reserve returns the capacity reservation of each new instance, nil for those that run on demand. EC2
// does not document the code for a target of another instance type or zone, or that has ended.
// https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/capacity-reservations-launch.html
func (r *region) reserve(w wantedCapacity, k *kind, zone string, count int) ([]*capacityReservation, error) {
	into := make([]*capacityReservation, count)
	if c := w.target; c != nil {
		switch {
		case c.kind != k || c.zone != zone:
			return nil, invalid("The capacity reservation '%s' of %s in %s does not match the instance type %s in %s.",
				c.id, c.kind.name, c.zone, k.name, zone)
		case c.state != types.CapacityReservationStateActive:
			return nil, invalid("The capacity reservation '%s' is %s.", c.id, c.state)
		case r.unused(c) < count:
			return nil, reservationFull()
		}
		for n := range into {
			into[n] = c
		}
		return into, nil
	}
	n := 0
	for _, c := range w.among {
		if c.kind != k || c.zone != zone {
			continue
		}
		for left := r.unused(c); left > 0 && n < count; left-- {
			into[n] = c
			n++
		}
	}
	if w.only && n < count {
		return nil, reservationFull()
	}
	return into, nil
}

// https://docs.aws.amazon.com/AWSEC2/latest/APIReference/errors-overview.html
func reservationFull() *wire.Error {
	return wire.Errorf("ReservationCapacityExceeded",
		"The requested reservation does not have sufficient compatible and available capacity for this request.")
}

// admit returns an error if there is no capacity for a number of instances in a zone: reserved, of the
// zone and the quota, and in the placement group. Reserved capacity is there even if the zone has no
// other, and the quota counts it already. The caller holds the lock.
func (s *Service) admit(r *region, l *launch, zone string, count int) (err error) {
	if !s.scarce.offers(zone, l.kind.name) {
		return s.scarce.available(r.Target, zone, l.kind, l.spot)
	}
	if l.reserved, err = r.reserve(l.capacity, l.kind, zone, count); err != nil {
		return err
	}
	outside := 0
	for _, c := range l.reserved {
		if c == nil {
			outside++
		}
	}
	if outside > 0 {
		if err := s.scarce.available(r.Target, zone, l.kind, l.spot); err != nil {
			return err
		}
		if err := r.withinQuota(l.spot, outside*int(l.kind.vCPUs)); err != nil {
			return err
		}
	}
	return r.fits(l.placed, l.kind, zone, count)
}

// describeCapacity adds the capacity reservation of an instance to its description.
func (i *instance) describeCapacity(d *types.Instance) {
	if i.reserved != nil {
		d.CapacityReservationId = &i.reserved.id
	}
	of := i.data.CapacityReservationSpecification
	if of == nil {
		d.CapacityReservationSpecification = &types.CapacityReservationSpecificationResponse{
			CapacityReservationPreference: types.CapacityReservationPreferenceOpen,
		}
		return
	}
	d.CapacityReservationSpecification = &types.CapacityReservationSpecificationResponse{
		CapacityReservationPreference: of.CapacityReservationPreference, CapacityReservationTarget: of.CapacityReservationTarget,
	}
}

// reservedProcessors returns the vCPUs of unused reserved capacity, which the quota counts.
// https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/capacity-reservations-create.html
func (r *region) reservedProcessors() (sum int) {
	for c := range maps.Values(r.capacity) {
		sum += r.unused(c) * int(c.kind.vCPUs)
	}
	return sum
}
