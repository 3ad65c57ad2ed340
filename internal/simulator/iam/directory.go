package iam

import (
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"

	"github.com/aws-operator/aws-operator/internal/simulator/access"
	"github.com/aws-operator/aws-operator/internal/simulator/iampolicy"
	"github.com/aws-operator/aws-operator/internal/simulator/wire"
)

// Entity returns a user or a role by its ARN, for decisions. The path of a role may be missing, as it
// is in the ARN of a session.
func (s *Service) Entity(arn string) (access.Entity, bool) {
	account, kind, name, ok := splitARN(arn)
	if !ok {
		return access.Entity{}, false
	}
	a, unlock := s.lock(account)
	defer unlock()
	e, ok := a.entities(kind)[name]
	if !ok || e.kind != kind {
		return access.Entity{}, false
	}
	found := access.Entity{
		ARN: e.arn, ID: e.id, Trust: e.trust, MaxSession: time.Duration(e.maxSession) * time.Second, Tags: e.tags,
	}
	for name, document := range e.inline {
		found.Identity = append(found.Identity, access.ParseResource(name, document))
	}
	for _, attached := range e.attached {
		if policy, err := a.managed(attached); err == nil {
			found.Identity = append(found.Identity, policy)
		}
	}
	if e.boundary != "" {
		found.Boundary = []*iampolicy.Policy{}
		if policy, err := a.managed(e.boundary); err == nil {
			found.Boundary = append(found.Boundary, policy)
		}
	}
	return found, true
}

// splitARN returns account, kind and name in the ARN of a user or a role.
func splitARN(arn string) (account, kind, name string, ok bool) {
	parts := strings.SplitN(arn, ":", 6) //nolint:mnd // the parts of an ARN
	if len(parts) != 6 || parts[2] != "iam" {
		return "", "", "", false
	}
	kind, path, ok := strings.Cut(parts[5], "/")
	return parts[4], kind, path[strings.LastIndexByte(path, '/')+1:], ok && (kind == "user" || kind == "role")
}

// managed returns a managed policy. The caller holds the lock.
func (a *account) managed(arn string) (*iampolicy.Policy, error) {
	if found, ok := a.policies[arn]; ok {
		return access.ParseResource(found.name, aws.ToString(found.current().Document)), nil
	}
	name := arn[strings.LastIndexByte(arn, '/')+1:]
	if document, ok := awsManaged[name]; ok && strings.Contains(arn, ":iam::aws:policy/") {
		return access.ParseResource(name, document), nil
	}
	return nil, wire.Errorf("PolicyEvaluation", "The simulator does not know the document of policy %s.", arn).WithStatus(500) //nolint:mnd // HTTP
}

// Managed returns a managed policy of an account, or one of AWS's.
func (s *Service) Managed(account, arn string) (*iampolicy.Policy, error) {
	a, unlock := s.lock(account)
	defer unlock()
	return a.managed(arn)
}

// Provider returns the ARN and the audiences of an OpenID Connect provider by its URL without the
// scheme.
func (s *Service) Provider(account, host string) (arn string, audiences []string, ok bool) {
	a, unlock := s.lock(account)
	defer unlock()
	p, ok := a.providers[s.arn(a, "oidc-provider/", "", strings.TrimSuffix(host, "/"))]
	if !ok {
		return "", nil, false
	}
	return p.arn, p.clients, true
}

// access returns the tags and the complete ARN of a role, a user or a policy.
func (s *Service) access(arn string) access.Resource {
	parts := strings.SplitN(arn, ":", 6) //nolint:mnd // the parts of an ARN
	a, unlock := s.lock(parts[4])
	defer unlock()
	if p, ok := a.policies[arn]; ok {
		return access.Resource{ARN: p.arn, Tags: p.tags}
	}
	_, kind, name, ok := splitARN(arn)
	if e := a.entities(kind)[name]; ok && e != nil {
		return access.Resource{ARN: e.arn, Tags: e.tags}
	}
	return access.Resource{}
}

// awsManaged are documents of AWS's managed policies. The other ones exist, and allow nothing.
// https://docs.aws.amazon.com/aws-managed-policy/latest/reference/policy-list.html
var awsManaged = map[string]string{
	"AdministratorAccess":    allowing(`"*"`),
	"AmazonS3FullAccess":     allowing(`["s3:*", "s3-object-lambda:*"]`),
	"AmazonS3ReadOnlyAccess": allowing(`["s3:Get*", "s3:List*", "s3:Describe*", "s3-object-lambda:Get*", "s3-object-lambda:List*"]`),
	"AmazonSQSFullAccess":    allowing(`["sqs:*"]`),
	"AmazonEC2ContainerRegistryReadOnly": allowing(`["ecr:GetAuthorizationToken", "ecr:BatchCheckLayerAvailability",
		"ecr:GetDownloadUrlForLayer", "ecr:GetRepositoryPolicy", "ecr:DescribeRepositories", "ecr:ListImages", "ecr:DescribeImages",
		"ecr:BatchGetImage", "ecr:GetLifecyclePolicy", "ecr:GetLifecyclePolicyPreview", "ecr:ListTagsForResource",
		"ecr:DescribeImageScanFindings"]`),
	"AmazonSSMManagedInstanceCore": allowing(`["ssm:DescribeAssociation", "ssm:GetDeployablePatchSnapshotForInstance", "ssm:GetDocument",
		"ssm:DescribeDocument", "ssm:GetManifest", "ssm:GetParameter", "ssm:GetParameters", "ssm:ListAssociations",
		"ssm:ListInstanceAssociations", "ssm:PutInventory", "ssm:PutComplianceItems", "ssm:PutConfigurePackageResult",
		"ssm:UpdateAssociationStatus", "ssm:UpdateInstanceAssociationStatus", "ssm:UpdateInstanceInformation", "ssmmessages:*",
		"ec2messages:AcknowledgeMessage", "ec2messages:DeleteMessage", "ec2messages:FailMessage", "ec2messages:GetEndpoint",
		"ec2messages:GetMessages", "ec2messages:SendReply"]`),
}

func allowing(actions string) string {
	return `{"Version":"2012-10-17","Statement":[{"Effect":"Allow","Action":` + actions + `,"Resource":"*"}]}`
}
