// Package eval evaluates a CloudFormation template: parameters, conditions,
// rules and intrinsic functions become plain values.
//
// A [Scope] knows the template and what is known of the world: parameter
// values, pseudo parameters, what the resources made so far return for Ref and
// Fn::GetAtt, exports and availability zones. [Scope.Value] turns a node of the
// template into map[string]any, []any, string, bool or json.Number. What is not
// known yet (an attribute of a resource that is still to be made) is an
// [Unknown], so that a change set can be computed before anything exists.
//
// The functions and their limits are those of
// https://docs.aws.amazon.com/AWSCloudFormation/latest/TemplateReference/intrinsic-function-reference.html
package eval
