package elbv2

import (
	"maps"
	"strings"

	"github.com/aws-operator/aws-operator/internal/simulator/access"
	"github.com/aws-operator/aws-operator/internal/simulator/wire"
)

// access returns the tags of a load balancer, a target group or a listener by its ARN.
func (s *Service) access(arn string) access.Resource {
	at, _ := wire.TargetOf(arn)
	r := s.regions.At(at)
	r.mu.Lock()
	defer r.mu.Unlock()
	if b, ok := r.balancers[arn]; ok {
		return access.Resource{ARN: arn, Tags: maps.Clone(b.tags)}
	}
	if g, ok := r.groups[arn]; ok {
		return access.Resource{ARN: arn, Tags: maps.Clone(g.tags)}
	}
	for _, b := range r.balancers {
		if l, ok := b.listeners[arn]; ok {
			return access.Resource{ARN: arn, Tags: maps.Clone(l.tags)}
		}
	}
	return access.Resource{}
}

// newListeners returns the names of the listeners of a load balancer, by its ARN, for a call that creates one.
// https://docs.aws.amazon.com/elasticloadbalancing/latest/userguide/tagging-resources-during-creation.html
func newListeners(_ wire.Target, _, arn string) string {
	_, name, _ := strings.Cut(arn, ":loadbalancer/")
	return name + "/*"
}
