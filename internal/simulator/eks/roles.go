package eks

import (
	"strings"

	"github.com/aws-operator/aws-operator/internal/lazyregexp"
	"github.com/aws-operator/aws-operator/internal/simulator/access"
	"github.com/aws-operator/aws-operator/internal/simulator/iampolicy"
)

var roleARN = lazyregexp.New(`^arn:[a-z-]+:iam::\d{12}:role/[\w+=,.@/-]+$`)

// role returns a role, and whether it exists. Without a directory of principals, all roles exist.
func (s *Service) role(arn string) (role access.Entity, exists, known bool) {
	if s.env.Control == nil || s.env.Control.Principals == nil {
		return access.Entity{}, true, false
	}
	role, exists = s.env.Control.Role(arn)
	return role, exists && role.ARN == arn, true
}

// trusts reports whether a service may assume a role.
func (s *Service) trusts(role *access.Entity, account, service string, actions ...string) bool {
	for _, action := range append([]string{"sts:AssumeRole"}, actions...) {
		allowed := s.env.Control.Decide(&access.Request{
			Service: service, Action: action, Resource: role.ARN, Context: map[string][]string{"aws:sourceaccount": {account}},
			Of: &access.Resource{ARN: role.ARN, Policy: access.ParseResource("trust policy", role.Trust), Required: true, Kind: iampolicy.TrustPolicy},
		}).Allowed
		if !allowed {
			return false
		}
	}
	return true
}

func accountOf(arn string) string {
	parts := strings.SplitN(arn, ":", 6) //nolint:mnd // the parts of an ARN
	if len(parts) != 6 {
		return ""
	}
	return parts[4]
}

// checkClusterRole returns an error if EKS cannot assume the role of a cluster.
// https://docs.aws.amazon.com/eks/latest/userguide/cluster-iam-role.html
func (s *Service) checkClusterRole(cluster, arn string) error {
	role, exists, known := s.role(arn)
	switch {
	case !roleARN.MatchString(arn):
		return invalidParameter(cluster, "Error in role params: roleArn %q is not the ARN of a role", arn)
	case !exists || known && !s.trusts(&role, accountOf(arn), "eks.amazonaws.com"):
		return invalidParameter(cluster, "Role with arn: %s, could not be assumed because it does not exist or the trusted entity is not correct", arn)
	}
	return nil
}

// checkNodeRole returns an error if instances cannot use the role of a node group.
// https://docs.aws.amazon.com/eks/latest/userguide/create-node-role.html
func (s *Service) checkNodeRole(cluster, arn string) error {
	role, exists, known := s.role(arn)
	switch {
	case !roleARN.MatchString(arn):
		return invalidParameter(cluster, "nodeRole %q is not the ARN of a role", arn)
	case !exists:
		return invalidParameter(cluster, "The role with name %s cannot be found.", arn[strings.LastIndexByte(arn, '/')+1:])
	case known && !s.trusts(&role, accountOf(arn), "ec2.amazonaws.com"):
		return invalidParameter(
			cluster, "Following required service principals [ec2.amazonaws.com] were not found in the trust relationships of nodeRole %s", arn,
		)
	}
	return nil
}

// checkPodRole returns an error if EKS Pod Identity cannot assume a role for pods.
// https://docs.aws.amazon.com/eks/latest/userguide/pod-id-role.html
func (s *Service) checkPodRole(cluster, arn string) error {
	role, exists, known := s.role(arn)
	switch {
	case !roleARN.MatchString(arn):
		return invalidParameter(cluster, "roleArn %q is not the ARN of a role", arn)
	case !exists:
		return invalidParameter(cluster, "Role provided in the request does not exist.")
	case known && !s.hasTrust(&role):
		return invalidParameter(
			cluster, "Trust policy of the role provided is invalid. Follow the official documentation to resolve the issue.",
		)
	}
	return nil
}

// hasTrust reports whether a trust policy has a statement for EKS Pod Identity. EKS tries its conditions
// only when a pod asks.
func (s *Service) hasTrust(role *access.Entity) bool {
	return strings.Contains(role.Trust, "pods.eks.amazonaws.com") && strings.Contains(role.Trust, "sts:TagSession")
}
