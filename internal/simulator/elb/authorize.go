package elb

import (
	"maps"
	"strings"

	"github.com/aws-operator/aws-operator/internal/simulator/access"
	"github.com/aws-operator/aws-operator/internal/simulator/wire"
)

// access returns the tags of a load balancer by its ARN.
func (s *Service) access(arn string) access.Resource {
	at, name := wire.TargetOf(arn)
	r := s.regions.At(at)
	r.mu.Lock()
	defer r.mu.Unlock()
	b, ok := r.balancers[strings.TrimPrefix(name, "loadbalancer/")]
	if !ok {
		return access.Resource{}
	}
	return access.Resource{ARN: arn, Tags: maps.Clone(b.tags)}
}
