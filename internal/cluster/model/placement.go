package model

import (
	"fmt"
	"slices"
	"strings"

	"github.com/aws-operator/aws-operator/api/cluster/v1alpha1"
)

// Limits of placement groups.
// https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/limitations-placement-groups.html
const (
	// spreadPerZone is how many running instances a spread placement group has at most in a zone.
	spreadPerZone = 7
	// maxPartitions is how many partitions a placement group has at most in a zone.
	maxPartitions = 7
)

// checkPlacement checks the placement of the group's instances. An existing placement group is only
// named: EC2 checks its own rules when it launches an instance into it.
func (r *Group) checkPlacement(problems *Problems) {
	p := r.Spec.Placement
	if p == nil {
		return
	}
	zones := r.zones()
	switch p.Strategy {
	case "":
		if p.Group == "" {
			problems.add("spec.placement", "set group or strategy", "it names neither a placement group nor a strategy")
		}
	case v1alpha1.PlacementCluster:
		if len(zones) > 1 {
			problems.add("spec.placement.strategy", "limit the group to one zone with spec.zones or spec.subnets",
				"the strategy cluster is for one zone, but the group uses %s", strings.Join(zones, ", "))
		}
		r.checkClusterable(problems)
	case v1alpha1.PlacementSpread:
		if most := spreadPerZone * len(zones); int(r.Spec.MaxSize) > most && most > 0 {
			problems.add("spec.maxSize", fmt.Sprintf("set at most %d, add zones, or use the strategy partition", most),
				"%d nodes are more than the strategy spread allows, which is %d in each zone", r.Spec.MaxSize, spreadPerZone)
		}
	case v1alpha1.PlacementPartition:
		if p.Partitions < 1 || p.Partitions > maxPartitions {
			problems.add("spec.placement.partitions", fmt.Sprintf("set 1 to %d", maxPartitions), "%d is not a valid number of partitions", p.Partitions)
		}
	default:
		problems.add("spec.placement.strategy", "use cluster, spread or partition", "%q is not a strategy", p.Strategy)
	}
	if p.Group != "" && p.Strategy != "" {
		problems.add("spec.placement.group", "leave out group or strategy", "an existing placement group has its own strategy")
	}
	if p.Partitions != 0 && p.Strategy != v1alpha1.PlacementPartition {
		problems.add("spec.placement.partitions", "leave it out", "only the strategy partition has partitions")
	}
}

// checkClusterable checks that the instance types can be in a placement group with the strategy cluster.
func (r *Group) checkClusterable(problems *Problems) {
	for i, t := range r.Spec.InstanceTypes {
		if !clusterable(t) {
			problems.add(fmt.Sprintf("spec.instanceTypes[%d]", i), "choose another type, or another placement",
				"instances of type %s cannot be in a placement group with the strategy cluster", t)
		}
	}
}

// zones returns the zones of the group's subnets, each once.
func (r *Group) zones() []string {
	var zones []string
	for _, s := range r.Subnets {
		if !slices.Contains(zones, s.Zone) {
			zones = append(zones, s.Zone)
		}
	}
	return zones
}

// clusterable reports whether EC2 places instances of a type with the strategy cluster: neither
// burstable ones, nor Mac, nor M7i-flex.
// https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/limitations-placement-groups.html
func clusterable(instanceType string) bool {
	family, _, _ := strings.Cut(instanceType, ".")
	burstable := len(family) > 1 && family[0] == 't' && family[1] >= '0' && family[1] <= '9'
	return !burstable && !strings.HasPrefix(family, "mac") && family != "m7i-flex"
}
