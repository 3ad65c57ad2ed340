package cloudformation

import (
	"fmt"
	"slices"
	"strings"

	"github.com/aws-operator/aws-operator/internal/partition"
	"github.com/aws-operator/aws-operator/internal/simulator/access"
	"github.com/aws-operator/aws-operator/internal/simulator/iampolicy"
	"github.com/aws-operator/aws-operator/internal/simulator/resource"
)

// executionRole is a role that the caller passes to a service, which runs a resource with it.
type executionRole struct {
	// property has the ARN of the role; service may assume it, and refusal is its error if it may not.
	property, service, refusal string
	// source is the ARN of a resource without the region, the account and the name, for which the
	// service assumes the role; empty if AWS documents none. The property name has the name.
	source, name string
}

const (
	functionType = "AWS::Lambda::Function"
	mappingType  = "AWS::Lambda::EventSourceMapping"
	podType      = "AWS::EKS::PodIdentityAssociation"
)

// executionRoles are the types whose resources run with a role.
// https://docs.aws.amazon.com/IAM/latest/UserGuide/id_roles_use_passrole.html
// https://docs.aws.amazon.com/lambda/latest/dg/lambda-intro-execution-role.html
// https://docs.aws.amazon.com/step-functions/latest/apireference/API_CreateStateMachine.html
// https://docs.aws.amazon.com/step-functions/latest/dg/procedure-create-iam-role.html
// https://docs.aws.amazon.com/eks/latest/userguide/pod-id-role.html
// https://github.com/hashicorp/terraform-provider-aws/issues/41483
// https://github.com/hashicorp/terraform-provider-aws/issues/34711
var executionRoles = map[string]executionRole{
	podType: {
		"RoleArn", "pods.eks.amazonaws.com",
		"Trust policy of the role provided is invalid. Follow the official documentation to resolve the issue. " +
			"(Service: Eks, Status Code: 400, Error Code: InvalidParameterException)",
		"", "",
	},
	functionType: {
		"Role", "lambda.amazonaws.com",
		"The role defined for the function cannot be assumed by Lambda. (Service: Lambda, Status Code: 400, Error Code: InvalidParameterValueException)",
		"", "",
	},
	"AWS::StepFunctions::StateMachine": {
		"RoleArn", "states.amazonaws.com",
		"Neither the global service principal states.amazonaws.com, nor the regional one is authorized to assume the provided role. " +
			"(Service: Sfn, Status Code: 400, Error Code: AccessDeniedException)",
		"states:%s:%s:stateMachine:%s", "StateMachineName",
	},
}

// refuseRole returns the error of a service if the caller may not pass the role of a resource, if the
// service cannot assume it, or if the role lacks a permission that the service tries.
func (s *stack) refuseRole(operation, kind string, r resource.Request) error {
	if operation != OpCreate && operation != OpUpdate {
		return nil
	}
	if kind == mappingType {
		return s.refuseMapping(r)
	}
	of, ok := executionRoles[kind]
	control := s.engine.options.Env.Control
	if !ok || control == nil || control.Principals == nil {
		return nil
	}
	arn, _ := r.Properties[of.property].(string)
	const pass = "iam:PassRole"
	if reason := control.Denial(s.passing(pass, arn, of.service)); reason != "" {
		return s.notAuthorized(pass, reason)
	}
	role, exists := control.Role(arn)
	if !exists && kind == podType {
		return resource.Errorf(resource.InvalidRequest,
			"Role provided in the request does not exist. (Service: Eks, Status Code: 400, Error Code: InvalidParameterException)")
	}
	if !exists || !s.assumes(of, r, &role) {
		return resource.Errorf(resource.InvalidRequest, "%s", of.refusal)
	}
	if kind != functionType {
		return nil
	}
	// https://docs.aws.amazon.com/lambda/latest/dg/configuration-vpc.html
	if _, inVPC := r.Properties["VpcConfig"]; inVPC {
		if err := s.lacks(&role, "ec2:CreateNetworkInterface", ""); err != nil {
			return err
		}
	}
	// https://docs.aws.amazon.com/lambda/latest/dg/invocation-async-retain-records.html
	letters, _ := r.Properties["DeadLetterConfig"].(map[string]any)
	if target, _ := letters["TargetArn"].(string); strings.Contains(target, ":sqs:") {
		return s.lacks(&role, "sqs:SendMessage", target)
	}
	return nil
}

// passing is the request of the caller to pass a role to a service.
func (s *stack) passing(action, role, service string) *access.Request {
	request := s.callerOf(action)
	request.Resource = role
	request.Context["iam:passedtoservice"] = []string{service}
	return request
}

// assumes reports whether a service may assume a role for a resource.
// https://docs.aws.amazon.com/IAM/latest/UserGuide/confused-deputy.html#cross-service-confused-deputy-prevention
func (s *stack) assumes(of executionRole, r resource.Request, role *access.Entity) bool {
	about := map[string][]string{"aws:sourceaccount": {s.space.Account}}
	if name, _ := r.Properties[of.name].(string); name != "" {
		arn, _, _ := strings.Cut(role.ARN, ":iam:")
		about["aws:sourcearn"] = []string{arn + ":" + fmt.Sprintf(of.source, s.space.Region, s.space.Account, name)}
	}
	actions := []string{"sts:AssumeRole"}
	if of.service == executionRoles[podType].service {
		actions, about = append(actions, "sts:TagSession"), s.podTags(r)
	}
	return !slices.ContainsFunc(actions, func(action string) bool {
		return !s.engine.options.Env.Control.Decide(&access.Request{
			Service: of.service, Action: action, Resource: role.ARN, Context: about,
			Of: &access.Resource{ARN: role.ARN, Policy: access.ParseResource("trust policy", role.Trust), Required: true, Kind: iampolicy.TrustPolicy},
		}).Allowed
	})
}

// podTags are the keys of a request of EKS Pod Identity for a pod. EKS does not try the conditions of a
// trust policy when an association is made, only when a pod asks; the simulator tries them at once.
// https://docs.aws.amazon.com/eks/latest/userguide/pod-id-abac.html#pod-id-abac-tags
func (s *stack) podTags(r resource.Request) map[string][]string {
	name := fmt.Sprint(r.Properties["ClusterName"])
	arnPartition, _ := partition.Of(s.space.Region)
	keys := map[string][]string{}
	for tag, value := range map[string]string{
		"eks-cluster-arn": "arn:" + arnPartition + ":eks:" + s.space.Region + ":" + s.space.Account + ":cluster/" + name, "eks-cluster-name": name,
		"kubernetes-namespace":       fmt.Sprint(r.Properties["Namespace"]),
		"kubernetes-service-account": fmt.Sprint(r.Properties["ServiceAccount"]),
		"kubernetes-pod-name":        "pod", "kubernetes-pod-uid": newUUID(),
	} {
		keys["aws:requesttag/"+tag] = []string{value}
		keys["aws:tagkeys"] = append(keys["aws:tagkeys"], tag)
	}
	return keys
}

// lacks returns Lambda's error if a role lacks a permission.
func (s *stack) lacks(role *access.Entity, action, target string) error {
	request := &access.Request{
		Principal: role.ARN, Action: action, Resource: target, Context: map[string][]string{"aws:requestedregion": {s.space.Region}},
		Caller: &access.Principal{Account: s.space.Account, ARN: role.ARN, Role: role.ARN, UserID: role.ID + ":lambda"},
	}
	if s.engine.options.Env.Control.Denial(request) == "" {
		return nil
	}
	service, call, _ := strings.Cut(action, ":")
	return resource.Errorf(resource.InvalidRequest,
		"The provided execution role does not have permissions to call %s on %s (Service: Lambda, Status Code: 400, Error Code: InvalidParameterValueException)",
		call, strings.ToUpper(service))
}

// refuseMapping returns Lambda's error if the function of a mapping does not exist, or if its role may
// not receive messages of the queue.
// https://docs.aws.amazon.com/lambda/latest/dg/services-sqs-configure.html
func (s *stack) refuseMapping(r resource.Request) error {
	name, _ := r.Properties["FunctionName"].(string)
	name = name[strings.LastIndexByte(name, ':')+1:]
	properties, err := s.engine.Provider(functionType).Read(s.background(), resource.Request{
		Account: r.Account, Region: r.Region, PhysicalID: name,
	})
	if err != nil {
		return resource.Errorf(resource.InvalidRequest,
			"Function not found: %s (Service: Lambda, Status Code: 404, Error Code: ResourceNotFoundException)", name)
	}
	source, _ := r.Properties["EventSourceArn"].(string)
	role, ok := s.engine.options.Env.Control.Role(fmt.Sprint(properties["Role"]))
	if !ok || !strings.Contains(source, ":sqs:") {
		return nil
	}
	return s.lacks(&role, "sqs:ReceiveMessage", source)
}
