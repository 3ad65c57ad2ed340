package eventbridge

import (
	"maps"
	"strings"

	"github.com/aws-operator/aws-operator/internal/simulator/access"
	"github.com/aws-operator/aws-operator/internal/simulator/wire"
)

// access returns the tags of a rule by its ARN.
func (s *Service) access(arn string) access.Resource {
	at, rest := wire.TargetOf(arn)
	name, isRule := strings.CutPrefix(rest, "rule/")
	if !isRule {
		return access.Resource{}
	}
	bus := defaultBus
	if of, rule, ok := strings.Cut(name, "/"); ok {
		bus, name = of, rule
	}
	r := s.regions.At(at)
	r.mu.RLock()
	defer r.mu.RUnlock()
	if b, ok := r.buses[bus]; ok {
		if found, ok := b.rules[name]; ok {
			return access.Resource{ARN: arn, Tags: maps.Clone(found.tags)}
		}
	}
	return access.Resource{}
}
