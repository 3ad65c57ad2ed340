package cloudformation

import (
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"
)

// ownType is a resource type that CloudFormation itself implements, and whose operations may take
// as long as something else: another stack, or a signal.
type ownType struct {
	create  func(st *step, m *member, running, complete types.ResourceStatus, fail func(string))
	update  func(st *step, m, before *member, fail func(string))
	restore func(st *step, m, now *member, fail func(string))
	// remove calls done, with a reason if it failed.
	remove func(m *member, done func(reason string))
}

const (
	waitConditionType = "AWS::CloudFormation::WaitCondition"
	waitHandleType    = "AWS::CloudFormation::WaitConditionHandle"
	customType        = "AWS::CloudFormation::CustomResource"
)

// own returns the implementation of one of CloudFormation's own types.
func (s *stack) own(kind string) (ownType, bool) {
	switch {
	case kind == stackType:
		return ownType{create: s.createNested, update: s.updateNested, restore: s.restoreNested, remove: s.removeNested}, true
	case kind == waitHandleType:
		return s.passive(s.createHandle), true
	case kind == waitConditionType:
		return s.passive(s.createWaitCondition), true
	case kind == customType || strings.HasPrefix(kind, "Custom::"):
		return s.passive(func(_ *step, _ *member, _, _ types.ResourceStatus, fail func(string)) {
			fail("Custom resources are not supported by the simulator: it runs no Lambda function to call")
		}), true
	}
	return ownType{}, false
}

// passive returns a type that only needs work when it is created.
func (s *stack) passive(create func(*step, *member, types.ResourceStatus, types.ResourceStatus, func(string))) ownType {
	return ownType{
		create: create,
		update: func(st *step, m, _ *member, fail func(string)) {
			fail("Update to resource type " + m.kind + " is not supported.")
		},
		restore: func(st *step, m, _ *member, _ func(string)) { s.restored(st, m) },
		remove:  func(_ *member, done func(string)) { done("") },
	}
}
