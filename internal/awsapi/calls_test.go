package awsapi

import (
	"reflect"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
)

// An SDK client that is reachable from a value in an interface adds all its methods to the program.
func TestClientsDoNotExposeSDKClients(t *testing.T) {
	for name, calls := range map[string]any{
		"Auto Scaling": newAutoscalingCalls(aws.Config{}), "CloudFormation": newCloudformationCalls(aws.Config{}),
		"EC2": newEc2Calls(aws.Config{}), "S3": newS3Calls(aws.Config{}), "SQS": newSqsCalls(aws.Config{}),
		"SSM":                       newSsmCalls(aws.Config{}),
		"Elastic Load Balancing v2": newElbv2Calls(aws.Config{}), "classic Elastic Load Balancing": newElbCalls(aws.Config{}),
		"Route 53": newRoute53Calls(aws.Config{}),
	} {
		t.Run(name, func(t *testing.T) {
			if found := clientIn(reflect.TypeOf(calls), map[reflect.Type]bool{}); found != nil {
				t.Errorf("%T leads to %s; keep its calls, as functions", calls, found)
			}
		})
	}
}

// clientIn returns the SDK client that is reachable from a type by its fields, elements, arguments
// and results; nil if none.
func clientIn(t reflect.Type, seen map[reflect.Type]bool) reflect.Type {
	if seen[t] {
		return nil
	}
	seen[t] = true
	if t.Name() == "Client" && strings.HasPrefix(t.PkgPath(), "github.com/aws/aws-sdk-go-v2/service/") {
		return t
	}
	for _, next := range leadsTo(t) {
		if found := clientIn(next, seen); found != nil {
			return found
		}
	}
	return nil
}

// leadsTo returns the component types of a type.
func leadsTo(t reflect.Type) (types []reflect.Type) {
	switch t.Kind() { //nolint:exhaustive // the others have no components
	case reflect.Pointer, reflect.Slice, reflect.Array, reflect.Chan:
		return []reflect.Type{t.Elem()}
	case reflect.Map:
		return []reflect.Type{t.Key(), t.Elem()}
	case reflect.Struct:
		for field := range t.Fields() {
			types = append(types, field.Type)
		}
	case reflect.Func:
		for in := range t.Ins() {
			types = append(types, in)
		}
		for out := range t.Outs() {
			types = append(types, out)
		}
	}
	return types
}
