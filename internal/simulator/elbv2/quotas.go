package elbv2

import (
	"github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"

	"github.com/aws-operator/aws-operator/internal/simulator/vpc"
	"github.com/aws-operator/aws-operator/internal/simulator/wire"
)

// The quotas of load balancers and target groups. The codes of their errors are documented, the words
// are those of the API reference.
// https://docs.aws.amazon.com/elasticloadbalancing/latest/network/load-balancer-limits.html
// https://docs.aws.amazon.com/elasticloadbalancing/latest/application/load-balancer-limits.html
const (
	// LoadBalancers are those of one type in a region.
	LoadBalancers vpc.Quota = "LoadBalancers"
	// TargetGroups are those of a region.
	TargetGroups vpc.Quota = "TargetGroups"
	// TargetsOfGroup are the instances or addresses of a target group.
	TargetsOfGroup vpc.Quota = "TargetsOfTargetGroup"
	// TargetsOfNetwork are the targets of a network load balancer, in each zone, or in all zones if it
	// balances across zones.
	TargetsOfNetwork vpc.Quota = "TargetsOfNetworkLoadBalancer"
	// TargetsOfApplication are the targets of an application load balancer.
	TargetsOfApplication vpc.Quota = "TargetsOfApplicationLoadBalancer"
)

var standardQuotas = map[vpc.Quota]int{
	LoadBalancers: 50, TargetGroups: 3000, TargetsOfGroup: 1000, TargetsOfNetwork: 500, TargetsOfApplication: 1000,
}

// Quota returns a quota of every account and region.
func (s *Service) Quota(q vpc.Quota) int {
	if n, ok := s.options.Quotas[q]; ok {
		return n
	}
	return standardQuotas[q]
}

// acrossZones is the attribute of load balancers and target groups by which a load balancer in one zone
// reaches targets in all.
const acrossZones = "load_balancing.cross_zone.enabled"

// checkTargets returns an error if a target group cannot have more targets, or a load balancer that
// would forward to them. The caller holds the lock.
func (s *Service) checkTargets(g *targetGroup, more []*target, users []*balancer) error {
	var added []*target
	for _, t := range more {
		if !g.has(t) {
			added = append(added, t)
		}
	}
	if len(g.targets)+len(added) > s.Quota(TargetsOfGroup) {
		return wire.Errorf("TooManyTargets", "You've reached the limit on the number of targets.")
	}
	for _, b := range users {
		count := map[string]int{}
		b.count(count, added)
		for _, other := range b.groups(g) {
			b.count(count, other.targets)
		}
		most := s.Quota(TargetsOfNetwork)
		if b.kind == types.LoadBalancerTypeEnumApplication {
			most = s.Quota(TargetsOfApplication)
		}
		for _, n := range count {
			if n > most {
				return wire.Errorf("TooManyTargets", "You've reached the limit on the number of targets.")
			}
		}
	}
	return nil
}

// count counts targets by zone, or together if the load balancer balances across zones.
func (b *balancer) count(by map[string]int, targets []*target) {
	for _, t := range targets {
		zone := t.zone
		if b.attributes[acrossZones] == "true" {
			zone = ""
		}
		by[zone]++
	}
}

// groups returns the target groups to which a load balancer forwards, and one more.
func (b *balancer) groups(one *targetGroup) map[string]*targetGroup {
	all := map[string]*targetGroup{one.arn: one}
	for _, l := range b.listeners {
		if g, ok := one.region.groups[l.group]; ok {
			all[g.arn] = g
		}
	}
	return all
}

func (g *targetGroup) has(t *target) bool {
	for _, other := range g.targets {
		if other.key() == t.key() {
			return true
		}
	}
	return false
}
