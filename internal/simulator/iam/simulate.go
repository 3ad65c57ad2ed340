package iam

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/iam"
	"github.com/aws/aws-sdk-go-v2/service/iam/types"

	"github.com/aws-operator/aws-operator/internal/simulator/iampolicy"
	"github.com/aws-operator/aws-operator/internal/simulator/wire"
)

// simulation is a request to simulate policies. Its results name statements by their policies, not
// by line and column.
// https://docs.aws.amazon.com/IAM/latest/APIReference/API_SimulateCustomPolicy.html
type simulation struct {
	actions, resources []string
	caller             string
	context            []types.ContextEntry
	policies           iampolicy.Policies
	marker             *string
	most               *int32
}

func (s *Service) simulateCustomPolicy(ctx context.Context, in *iam.SimulateCustomPolicyInput) (*iam.SimulateCustomPolicyOutput, error) {
	account := wire.CallFrom(ctx).Account
	sim := simulation{
		actions: in.ActionNames, resources: in.ResourceArns, context: in.ContextEntries, marker: in.Marker, most: in.MaxItems,
		caller: cmp.Or(aws.ToString(in.CallerArn), "arn:"+s.partition()+":iam::"+account+":user/simulated"),
	}
	results, next, err := sim.evaluate(
		in.PolicyInputList, in.PermissionsBoundaryPolicyInputList, in.ResourcePolicy, in.ResourceOwner, in.CallerArn,
	)
	if err != nil {
		return nil, err
	}
	return &iam.SimulateCustomPolicyOutput{EvaluationResults: results, Marker: next, IsTruncated: next != nil}, nil
}

func (s *Service) simulatePrincipalPolicy(
	ctx context.Context, in *iam.SimulatePrincipalPolicyInput,
) (*iam.SimulatePrincipalPolicyOutput, error) {
	source := aws.ToString(in.PolicySourceArn)
	sim := simulation{
		actions: in.ActionNames, resources: in.ResourceArns, context: in.ContextEntries, marker: in.Marker, most: in.MaxItems,
		caller: cmp.Or(aws.ToString(in.CallerArn), source),
	}
	a, unlock := s.locked(ctx)
	policies, err := a.policiesOf(source)
	unlock()
	if err != nil {
		return nil, err
	}
	sim.policies = *policies
	results, next, err := sim.evaluate(
		in.PolicyInputList, in.PermissionsBoundaryPolicyInputList, in.ResourcePolicy, in.ResourceOwner, in.CallerArn,
	)
	if err != nil {
		return nil, err
	}
	return &iam.SimulatePrincipalPolicyOutput{EvaluationResults: results, Marker: next, IsTruncated: next != nil}, nil
}

// evaluate returns a page of results with the policies of the request.
func (s *simulation) evaluate(
	identity, boundary []string, resource, owner, caller *string,
) (results []types.EvaluationResult, next *string, err error) {
	if err := s.permit("PolicyInputList", identity); err != nil {
		return nil, nil, err
	}
	if err := s.limit(boundary, resource, owner, caller); err != nil {
		return nil, nil, err
	}
	return s.run()
}

// policiesOf returns the policies and the permissions boundary of a user or a role. The documents of
// AWS's own managed policies are unknown.
func (a *account) policiesOf(arn string) (*iampolicy.Policies, error) {
	var of *entity
	for _, all := range []map[string]*entity{a.roles, a.users} {
		for _, e := range all {
			if e.arn == arn {
				of = e
			}
		}
	}
	if of == nil {
		return nil, noSuch("The user or role with ARN %s cannot be found.", arn)
	}
	var p iampolicy.Policies
	parse := func(name, document string) (*iampolicy.Policy, error) {
		policy, err := iampolicy.ParseIdentity(name, document)
		return policy, malformed(document, err)
	}
	for _, name := range keysOf(of.inline) {
		policy, err := parse(name, of.inline[name])
		if err != nil {
			return nil, err
		}
		p.Identity = append(p.Identity, policy)
	}
	for _, attached := range of.attached {
		policy, err := a.managed(attached)
		if err != nil {
			return nil, err
		}
		p.Identity = append(p.Identity, policy)
	}
	if of.boundary != "" {
		policy, err := a.managed(of.boundary)
		if err != nil {
			return nil, err
		}
		p.Boundary = []*iampolicy.Policy{policy}
	}
	return &p, nil
}

// permit adds identity-based policies, which are named by their position in the request.
func (s *simulation) permit(list string, documents []string) error {
	policies, err := parseList(list, documents)
	s.policies.Identity = append(s.policies.Identity, policies...)
	return err
}

// limit replaces the permissions boundary, if the request has one, and sets the resource's policy.
func (s *simulation) limit(boundary []string, resource, owner, caller *string) error {
	if len(boundary) > 0 {
		policies, err := parseList("PermissionsBoundaryPolicyInputList", boundary)
		if err != nil {
			return err
		}
		s.policies.Boundary = policies
	}
	if resource == nil {
		return nil
	}
	if caller == nil {
		return wire.Errorf("InvalidInput", "CallerArn must be specified when ResourcePolicy is specified.")
	}
	var err error
	s.policies.Resource, err = iampolicy.Parse("ResourcePolicy", *resource)
	s.policies.ResourceAccount = aws.ToString(owner)
	if _, account, ok := strings.Cut(s.policies.ResourceAccount, ":iam::"); ok {
		s.policies.ResourceAccount, _, _ = strings.Cut(account, ":")
	}
	return malformed(*resource, err)
}

func parseList(list string, documents []string) ([]*iampolicy.Policy, error) {
	policies := make([]*iampolicy.Policy, 0, len(documents))
	for i, document := range documents {
		policy, err := iampolicy.ParseIdentity(fmt.Sprintf("%s.%d", list, i+1), document)
		if err != nil {
			return nil, malformed(document, err)
		}
		policies = append(policies, policy)
	}
	return policies, nil
}

// run evaluates each action on each resource, and returns a page of results.
func (s *simulation) run() (results []types.EvaluationResult, next *string, err error) {
	request := iampolicy.Request{Principal: s.caller, Context: map[string][]string{}}
	for _, entry := range s.context {
		request.Context[strings.ToLower(aws.ToString(entry.ContextKeyName))] = entry.ContextKeyValues
	}
	all := slices.Concat(s.policies.Identity, s.policies.Boundary)
	if s.policies.Resource != nil {
		all = append(all, s.policies.Resource)
	}
	missing := slices.DeleteFunc(iampolicy.Keys(all...), func(key string) bool {
		_, given := request.Context[strings.ToLower(key)]
		return given
	})
	resources := s.resources
	if len(resources) == 0 {
		resources = []string{"*"}
	}
	for _, action := range s.actions {
		if !strings.Contains(action, ":") || strings.ContainsAny(action, "*?") {
			return nil, nil, wire.Errorf("InvalidInput", "Invalid Action: %s", action)
		}
		for _, arn := range resources {
			request.Action, request.Resource = action, arn
			results = append(results, s.result(&request, missing))
		}
	}
	return s.page(results)
}

// page returns results from the marker on, which is their index.
func (s *simulation) page(results []types.EvaluationResult) ([]types.EvaluationResult, *string, error) {
	from := 0
	if s.marker != nil {
		var err error
		if from, err = strconv.Atoi(*s.marker); err != nil || from < 0 || from > len(results) {
			return nil, nil, wire.Errorf("InvalidInput", "Invalid Marker.")
		}
	}
	size := pageSize.Standard
	if most := aws.ToInt32(s.most); most > 0 {
		size = min(int(most), pageSize.Most)
	}
	if to := from + size; to < len(results) {
		return results[from:to], aws.String(strconv.Itoa(to)), nil
	}
	return results[from:], nil, nil
}

func (s *simulation) result(request *iampolicy.Request, missing []string) types.EvaluationResult {
	decision := iampolicy.Decide(request, &s.policies)
	result := types.EvaluationResult{
		EvalActionName: aws.String(request.Action), EvalResourceName: aws.String(request.Resource), MissingContextValues: missing,
		EvalDecision: types.PolicyEvaluationDecisionTypeImplicitDeny, MatchedStatements: []types.Statement{},
	}
	switch {
	case decision.Allowed:
		result.EvalDecision = types.PolicyEvaluationDecisionTypeAllowed
	case decision.Explicit:
		result.EvalDecision = types.PolicyEvaluationDecisionTypeExplicitDeny
	}
	for _, match := range decision.Matched {
		// The kind is "IAM Policy" or "Resource Policy" in the examples of
		// https://docs.aws.amazon.com/cli/latest/reference/iam/simulate-custom-policy.html
		kind := types.PolicySourceType("IAM Policy")
		if match.Kind == iampolicy.ResourceBased {
			kind = "Resource Policy"
		}
		result.MatchedStatements = append(result.MatchedStatements, types.Statement{
			SourcePolicyId: aws.String(match.Policy), SourcePolicyType: kind,
		})
	}
	if s.policies.Boundary != nil {
		result.PermissionsBoundaryDecisionDetail = &types.PermissionsBoundaryDecisionDetail{
			AllowedByPermissionsBoundary: decision.Kind != iampolicy.PermissionsBoundary,
		}
	}
	return result
}
