// Package eval evaluates the parameters, conditions, rules and intrinsic functions of a
// CloudFormation template to plain values.
//
// A [Scope] holds the template and the known values: parameters, pseudo parameters, the Ref and
// Fn::GetAtt results of existing resources, exports and availability zones. [Scope.Value] evaluates
// a node of the template to map[string]any, []any, string, bool or json.Number. A value that is not
// known yet (an attribute of a resource that does not exist yet) is an [Unknown], so that a change
// set can be computed before any resource exists.
//
// The functions and their limits are those of
// https://docs.aws.amazon.com/AWSCloudFormation/latest/TemplateReference/intrinsic-function-reference.html
package eval
