package ec2

import (
	"net/http"
	"slices"
	"strings"
	"sync"

	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/aws-operator/aws-operator/internal/simulator/wire"
)

// scarcity records the capacity and instance types that zones lack.
type scarcity struct {
	mu         sync.Mutex
	exhausted  map[zoneKind]bool
	unoffered  map[zoneKind]bool
	unbootable map[string]bool // images
}

// zoneKind is an instance type in a zone; "" is every type.
type zoneKind struct{ zone, kind string }

// SetCapacity sets whether a zone has capacity for an instance type; "" is every type. Without
// capacity, launches fail with InsufficientInstanceCapacity.
func (s *Service) SetCapacity(zone, instanceType string, available bool) {
	s.scarce.mu.Lock()
	defer s.scarce.mu.Unlock()
	if s.scarce.exhausted == nil {
		s.scarce.exhausted = map[zoneKind]bool{}
	}
	s.scarce.exhausted[zoneKind{zone, instanceType}] = !available
}

// SetOffered sets whether a zone offers an instance type. Launches of types that a zone does not
// offer fail with Unsupported.
func (s *Service) SetOffered(zone, instanceType string, offered bool) {
	s.scarce.mu.Lock()
	defer s.scarce.mu.Unlock()
	if s.scarce.unoffered == nil {
		s.scarce.unoffered = map[zoneKind]bool{}
	}
	s.scarce.unoffered[zoneKind{zone, instanceType}] = !offered
}

func (c *scarcity) hasCapacity(zone, kind string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return !c.exhausted[zoneKind{zone, kind}] && !c.exhausted[zoneKind{zone, ""}]
}

func (c *scarcity) offers(zone, kind string) bool {
	if zone == "us-east-1e" && !strings.HasPrefix(kind, "t2.") {
		return false // that zone has no newer generation
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return !c.unoffered[zoneKind{zone, kind}]
}

// others returns the zones of a region, except one, that satisfy a condition, in the format of
// EC2's messages.
func others(region, zone string, ok func(zone string) bool) string {
	var list []string
	for _, z := range zonesOf(region) {
		if z != zone && ok(z) {
			list = append(list, z)
		}
	}
	return strings.Join(list, ", ")
}

// zonesOf returns the availability zones of a region that package vpc defines.
func zonesOf(region string) []string {
	letters := "abc"
	switch region {
	case "us-east-1":
		letters = "abcdef"
	case "us-west-2", "ap-northeast-1", "ap-northeast-2":
		letters = "abcd"
	}
	var zones []string
	for _, letter := range letters {
		zones = append(zones, region+string(letter))
	}
	return zones
}

func hasZone(region, zone string) bool { return slices.Contains(zonesOf(region), zone) }

// available returns an error if a zone does not offer an instance type or lacks capacity.
func (c *scarcity) available(p wire.Target, zone string, k *kind, spot bool) error {
	if !c.offers(zone, k.name) {
		text := "Your requested instance type (" + k.name + ") is not supported in your requested Availability Zone (" + zone + ")."
		if elsewhere := others(p.Region, zone, func(z string) bool { return c.offers(z, k.name) }); elsewhere != "" {
			text += " Please retry your request by not specifying an Availability Zone or choosing " + elsewhere + "."
		}
		return wire.Errorf("Unsupported", "%s", text)
	}
	if c.hasCapacity(zone, k.name) {
		return nil
	}
	if spot {
		return wire.Errorf("InsufficientInstanceCapacity", "There is no Spot capacity available that matches your request.").
			WithStatus(http.StatusInternalServerError)
	}
	text := "We currently do not have sufficient " + k.name + " capacity in the Availability Zone you requested (" + zone +
		"). Our system will be working on provisioning additional capacity."
	if elsewhere := others(p.Region, zone, func(z string) bool {
		return c.hasCapacity(z, k.name) &&
			c.offers(z, k.name)
	}); elsewhere != "" {
		text += " You can currently get " + k.name + " capacity by not specifying an Availability Zone in your request or choosing " + elsewhere + "."
	}
	return wire.Errorf("InsufficientInstanceCapacity", "%s", text).WithStatus(http.StatusInternalServerError)
}

// SetQuota sets how many vCPUs an account may run in a region, on demand or spot. A negative
// number, the default, means no limit.
func (s *Service) SetQuota(account, regionName string, spot bool, vCPUs int) {
	r := s.locked(wire.Target{Account: account, Region: regionName})
	defer r.mu.Unlock()
	if vCPUs < 0 {
		delete(r.quota, spot)
		return
	}
	r.quota[spot] = vCPUs
}

// unlimited is the quota of an account without a limit, of which Service Quotas has no notion.
const unlimited = 1_000_000

// Quota returns how many vCPUs an account may run in a region, on demand or spot.
func (s *Service) Quota(account, regionName string, spot bool) int {
	r := s.locked(wire.Target{Account: account, Region: regionName})
	defer r.mu.Unlock()
	if limit, ok := r.quota[spot]; ok {
		return limit
	}
	return unlimited
}

// withinQuota returns an error if more vCPUs would exceed the quota. The caller holds the lock.
// https://docs.aws.amazon.com/ec2/latest/instancetypes/ec2-instance-quotas.html
func (r *region) withinQuota(spot bool, more int) error {
	limit, ok := r.quota[spot]
	if !ok {
		return nil
	}
	used := 0
	if !spot {
		used = r.reservedProcessors()
	}
	for _, i := range r.instances {
		if i.Spot == spot && (i.State == types.InstanceStateNamePending || i.State == types.InstanceStateNameRunning) {
			used += int(i.kind.vCPUs)
		}
	}
	switch {
	case used+more <= limit:
		return nil
	case spot:
		return wire.Errorf("MaxSpotInstanceCountExceeded", "Max spot instance count exceeded")
	default:
		return wire.Errorf("VcpuLimitExceeded", "You have requested more vCPU capacity than your current vCPU limit of %d allows "+
			"for the instance bucket that the specified instance type belongs to. "+
			"Please visit http://aws.amazon.com/contact-us/ec2-request to request an adjustment to this limit.", limit)
	}
}
