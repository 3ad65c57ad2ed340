package awsapi

import (
	"context"
	"errors"
	"reflect"
	"slices"
	"strings"

	awsmiddleware "github.com/aws/aws-sdk-go-v2/aws/middleware"
	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/smithy-go/middleware"
	"github.com/go-logr/logr"
)

var (
	// readPrefixes begin the names of operations that change nothing.
	readPrefixes = []string{"Describe", "Get", "List", "Head", "Receive", "Validate", "Estimate"}
	// routine operations change something, but so often and so predictably that they are details.
	routine = []string{
		"AssumeRole", "ChangeMessageVisibility", "DeleteMessage", "DeleteMessageBatch", "DetectStackDrift", "DetectStackResourceDrift",
		"RecordLifecycleActionHeartbeat",
	}
	// subjectFields are the inputs that name what a call changes. Only these are logged: other
	// inputs can be secret.
	subjectFields = []string{
		"StackName", "ChangeSetName", "AutoScalingGroupName", "LogicalResourceId", "UniqueId", "InstanceId", "InstanceIds",
		"LifecycleHookName", "VolumeId", "SnapshotId", "ImageId", "GroupId", "NetworkInterfaceId", "LoadBalancerArn", "LoadBalancerName",
		"TargetGroupArn", "HostedZoneId", "Bucket", "Key", "QueueUrl", "Resources",
	}
)

// WithReason returns a context whose effects on AWS and on workload clusters are logged with the
// reason for them.
func WithReason(ctx context.Context, reason string) context.Context {
	logger, err := logr.FromContext(ctx)
	if err != nil {
		return ctx
	}
	return logr.NewContext(ctx, logger.WithValues("reason", reason))
}

// effects returns the client option that logs each call that changes something in AWS: one line per
// call, whatever the number of attempts, with the request ID that CloudTrail has. The context's
// logger says for which object and in which reconcile.
func (c *Clients) effects(service string, target Target) func(*middleware.Stack) error {
	effect := middleware.InitializeMiddlewareFunc(
		"aws-operator:effect",
		func(
			ctx context.Context, in middleware.InitializeInput, next middleware.InitializeHandler,
		) (middleware.InitializeOutput, middleware.Metadata, error) {
			out, metadata, err := next.HandleInitialize(ctx, in)
			operation := awsmiddleware.GetOperationName(ctx)
			if isRead(operation) {
				return out, metadata, err
			}
			logger, missing := logr.FromContext(ctx)
			if missing != nil {
				logger = c.options.Logger
			}
			if slices.Contains(routine, operation) {
				logger = logger.V(1)
			}
			if logger.Enabled() {
				logger = logger.WithValues("service", service, "operation", operation, "requestID", requestID(metadata, err)).
					WithValues(subject(in.Parameters)...)
				if target != (Target{}) {
					logger = logger.WithValues("target", target.String())
				}
				if err != nil {
					logger.Info("AWS rejected a call", "error", Explain(err).Error())
				} else {
					logger.Info("Called AWS")
				}
			}
			return out, metadata, err
		},
	)
	return func(stack *middleware.Stack) error {
		return stack.Initialize.Add(effect, middleware.After) // after the SDK has put the operation's name into the context
	}
}

func isRead(operation string) bool {
	return slices.ContainsFunc(readPrefixes, func(prefix string) bool { return strings.HasPrefix(operation, prefix) })
}

// requestID returns the ID that AWS gave a call, from its answer or its error; empty if it gave
// none.
func requestID(metadata middleware.Metadata, err error) string {
	if id, ok := awsmiddleware.GetRequestIDMetadata(metadata); ok {
		return id
	}
	if response, ok := errors.AsType[*awshttp.ResponseError](err); ok {
		return response.ServiceRequestID()
	}
	return ""
}

// subject returns the inputs of a call that name what it changes, as keys and values of a log line.
func subject(input any) (values []any) {
	value := reflect.Indirect(reflect.ValueOf(input))
	if value.Kind() != reflect.Struct {
		return nil
	}
	for _, name := range subjectFields {
		switch field := reflect.Indirect(value.FieldByName(name)); {
		case !field.IsValid():
		case field.Kind() == reflect.String && field.String() != "":
			values = append(values, lowerFirst(name), field.String())
		case field.Kind() == reflect.Slice && field.Type().Elem().Kind() == reflect.String && field.Len() > 0:
			values = append(values, lowerFirst(name), field.Interface())
		}
	}
	return values
}

func lowerFirst(name string) string { return strings.ToLower(name[:1]) + name[1:] }
