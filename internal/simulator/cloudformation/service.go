package cloudformation

import (
	"context"
	"net/http"
	"strings"

	"github.com/aws-operator/aws-operator/internal/simulator/wire"
)

// OpSignalHandle is the operation name, for faults and counts, of a request to a wait condition
// handle; in AWS it is an upload to S3.
const OpSignalHandle = "SignalHandle"

// Service returns the CloudFormation API.
// https://docs.aws.amazon.com/AWSCloudFormation/latest/APIReference/Welcome.html
func (e *Engine) Service() *wire.Service {
	return &wire.Service{
		Name:         "cloudformation",
		Describe:     e.access,
		Protocols:    []wire.Protocol{wire.Query},
		APIVersion:   "2010-05-15",
		XMLNamespace: "http://cloudformation.amazonaws.com/doc/2010-05-15/",
		Operations: map[string]wire.Operation{
			"CreateStack":                       wire.Op(e.createStack),
			"UpdateStack":                       wire.Op(e.updateStack),
			"DeleteStack":                       wire.Op(e.deleteStack),
			"CancelUpdateStack":                 wire.Op(e.cancelUpdateStack),
			"ContinueUpdateRollback":            wire.Op(e.continueUpdateRollback).WithEmptyResult(),
			"RollbackStack":                     wire.Op(e.rollbackStack),
			"UpdateTerminationProtection":       wire.Op(e.updateTerminationProtection),
			"SetStackPolicy":                    wire.Op(e.setStackPolicy),
			"GetStackPolicy":                    wire.Op(e.getStackPolicy),
			"SignalResource":                    wire.Op(e.signalResource),
			"DescribeStacks":                    wire.Op(e.describeStacks),
			"ListStacks":                        wire.Op(e.listStacks),
			"DescribeStackEvents":               wire.Op(e.describeStackEvents),
			"DescribeStackResource":             wire.Op(e.describeStackResource),
			"DescribeStackResources":            wire.Op(e.describeStackResources),
			"ListStackResources":                wire.Op(e.listStackResources),
			"DescribeAccountLimits":             wire.Op(e.describeAccountLimits),
			"GetTemplate":                       wire.Op(e.getTemplate),
			"GetTemplateSummary":                wire.Op(e.getTemplateSummary),
			"ValidateTemplate":                  wire.Op(e.validateTemplate),
			"CreateChangeSet":                   wire.Op(e.createChangeSet),
			"DescribeChangeSet":                 wire.Op(e.describeChangeSet),
			"ExecuteChangeSet":                  wire.Op(e.executeChangeSet).WithEmptyResult(),
			"DeleteChangeSet":                   wire.Op(e.deleteChangeSet).WithEmptyResult(),
			"ListChangeSets":                    wire.Op(e.listChangeSets),
			"ListExports":                       wire.Op(e.listExports),
			"ListImports":                       wire.Op(e.listImports),
			"DetectStackDrift":                  wire.Op(e.detectStackDrift),
			"DetectStackResourceDrift":          wire.Op(e.detectStackResourceDrift),
			"DescribeStackDriftDetectionStatus": wire.Op(e.describeStackDriftDetectionStatus),
			"DescribeStackResourceDrifts":       wire.Op(e.describeStackResourceDrifts),
			"DescribeType":                      wire.Op(e.describeType),
			"ListTypes":                         wire.Op(e.listTypes),
		},
		HTTP:        e.WaitConditions(),
		OperationOf: func(*http.Request) (operation, name string) { return OpSignalHandle, "" },
		// A signal needs only the URL of a handle.
		Anonymous: func(req *http.Request) bool { return strings.HasPrefix(req.URL.Path, WaitConditionPath) },
	}
}

// here returns the stacks of a call's account and region.
func (e *Engine) here(ctx context.Context) *space {
	return e.space(wire.TargetFrom(ctx))
}

// theStack returns one of the caller's stacks, locked. missing is the error message if it does not
// exist, with a %s for the name.
func (e *Engine) theStack(ctx context.Context, nameOrID *string, missing string) (s *stack, unlock func(), err error) {
	if nameOrID == nil || *nameOrID == "" {
		return nil, nil, invalid(
			"1 validation error detected: Value null at 'stackName' failed to satisfy constraint: Member must not be null",
		)
	}
	s = e.here(ctx).find(*nameOrID)
	if s == nil {
		return nil, nil, invalid(missing, *nameOrID)
	}
	s.mu.Lock()
	return s, s.mu.Unlock, nil
}

// The two messages of AWS for a stack that does not exist.
const (
	noStackWithID = "Stack with id %s does not exist"
	noStack       = "Stack [%s] does not exist"
)
