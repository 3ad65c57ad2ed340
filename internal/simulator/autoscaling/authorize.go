package autoscaling

import (
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"

	"github.com/aws-operator/aws-operator/internal/simulator/access"
	"github.com/aws-operator/aws-operator/internal/simulator/wire"
)

// access returns the tags and the complete ARN of a group by its ARN, whose ID may be a wildcard.
func (s *Service) access(arn string) access.Resource {
	at, rest := wire.TargetOf(arn)
	_, name, _ := strings.Cut(rest, "autoScalingGroupName/")
	r := s.regions.At(at)
	r.mu.Lock()
	defer r.mu.Unlock()
	g, ok := r.groups[name]
	if !ok {
		return access.Resource{}
	}
	found := access.Resource{ARN: g.arn, Tags: map[string]string{}}
	for _, tag := range g.tags {
		found.Tags[aws.ToString(tag.Key)] = aws.ToString(tag.Value)
	}
	return found
}

// nameOf returns the group of an instance.
func (s *Service) nameOf(at wire.Target, _, instance string) string {
	r := s.regions.At(at)
	r.mu.Lock()
	defer r.mu.Unlock()
	for name, g := range r.groups {
		if slices.ContainsFunc(g.members, func(m *member) bool { return m.id == instance }) {
			return name
		}
	}
	return ""
}
