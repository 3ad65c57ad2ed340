package dynamodb

import (
	"maps"
	"strings"

	"github.com/aws-operator/aws-operator/internal/simulator/access"
	"github.com/aws-operator/aws-operator/internal/simulator/wire"
)

// access returns the policy and the tags of a table by its ARN.
func (s *Tables) access(arn string) access.Resource {
	at, name := wire.TargetOf(arn)
	name, _, _ = strings.Cut(strings.TrimPrefix(name, "table/"), "/")
	s.mu.RLock()
	defer s.mu.RUnlock()
	t, ok := s.tables[tableID{at.Account, at.Region, name}]
	if !ok {
		return access.Resource{}
	}
	return access.Resource{ARN: arn, Account: at.Account, Policy: wire.ParsePolicy("TablePolicy", t.policy), Tags: maps.Clone(t.tags)}
}
