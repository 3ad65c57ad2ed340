package eventbridge

import (
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/eventbridge/types"

	"github.com/aws-operator/aws-operator/internal/simulator/access"
	"github.com/aws-operator/aws-operator/internal/simulator/wire"
)

// checkRole returns an error if a target lacks a role that its kind needs, or has one that EventBridge
// cannot assume for the rule. The policies of queues and topics can take the place of a role.
// https://docs.aws.amazon.com/eventbridge/latest/userguide/eb-use-resource-based.html
// https://github.com/hashicorp/terraform-provider-aws/pull/19913
func (s *Service) checkRole(r *rule, t *types.Target) error {
	role := aws.ToString(t.RoleArn)
	if role == "" && strings.Contains(aws.ToString(t.Arn), ":kinesis:") {
		return validation("RoleArn is required for target %s.", *t.Arn)
	}
	_, err := s.assume(role, r.arn)
	return err
}

// assume returns the session of a role in which EventBridge calls a target of a rule, nil without a
// role.
// https://docs.aws.amazon.com/eventbridge/latest/userguide/cross-service-confused-deputy-prevention.html
func (s *Service) assume(role, ruleARN string) (*access.Principal, error) {
	if role == "" || !s.env.Control.Checks() {
		return nil, nil //nolint:nilnil // without a role, EventBridge acts as itself
	}
	session, ok := s.env.Control.Assume(role, principal, ruleARN)
	if !ok {
		return nil, wire.Errorf("ValidationException", "Provided role '%s' cannot be assumed by principal '%s'.", role, principal)
	}
	return session, nil
}
