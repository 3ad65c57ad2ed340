package ecr

import (
	"maps"
	"strings"

	"github.com/aws-operator/aws-operator/internal/simulator/access"
	"github.com/aws-operator/aws-operator/internal/simulator/wire"
)

// access returns the policy and the tags of a repository by its ARN. Statements of a repository's
// policy name no resource.
// https://docs.aws.amazon.com/AmazonECR/latest/userguide/repository-policies.html
func (r *Registry) access(arn string) access.Resource {
	at, name := wire.TargetOf(arn)
	r.mu.RLock()
	defer r.mu.RUnlock()
	found, ok := r.repositories[repositoryID{at.Account, at.Region, strings.TrimPrefix(name, "repository/")}]
	if !ok {
		return access.Resource{}
	}
	return access.Resource{
		ARN: arn, Account: at.Account, Policy: wire.ParsePolicy("RepositoryPolicy", found.policy), Tags: maps.Clone(found.tags),
	}
}
