package cloudformation

import (
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"

	"github.com/aws-operator/aws-operator/internal/simulator/access"
	"github.com/aws-operator/aws-operator/internal/simulator/wire"
)

// access returns the tags and the complete ARN of a stack by its ARN, whose ID may be a wildcard.
func (e *Engine) access(arn string) access.Resource {
	at, rest := wire.TargetOf(arn)
	parts := strings.Split(rest, "/")
	if len(parts) != 3 || parts[0] != "stack" { //nolint:mnd // stack, name and ID
		return access.Resource{}
	}
	id := arn
	if parts[2] == "*" {
		id = parts[1]
	}
	s := e.space(at).find(id)
	if s == nil {
		return access.Resource{}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	found := access.Resource{ARN: s.id, Tags: map[string]string{}}
	if s.revision != nil {
		for _, tag := range s.revision.tags {
			found.Tags[aws.ToString(tag.Key)] = aws.ToString(tag.Value)
		}
	}
	return found
}
