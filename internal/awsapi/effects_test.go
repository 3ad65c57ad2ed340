package awsapi

import (
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"
	"github.com/go-logr/logr"
	"github.com/go-logr/logr/funcr"
)

// logged returns a context that logs at a level, and what it has logged.
func logged(t *testing.T, level int) (context.Context, func() []map[string]any) {
	t.Helper()
	var lines []map[string]any
	logger := funcr.NewJSON(func(line string) {
		var read map[string]any
		if err := json.Unmarshal([]byte(line), &read); err != nil {
			t.Error(err)
		}
		lines = append(lines, read)
	}, funcr.Options{Verbosity: level})
	return logr.NewContext(t.Context(), logger.WithValues("reconcileID", "f00")), func() []map[string]any { return lines }
}

func TestACallThatChangesAWSIsLoggedWithoutItsContent(t *testing.T) {
	clients, _, _ := respond(t, answer{http.StatusBadRequest, "AlreadyExistsException", "it exists"})
	ctx, lines := logged(t, 9)
	_, err := clients.CloudFormation(Target{}).CreateStack(WithReason(ctx, "spec changed"), &cloudformation.CreateStackInput{
		StackName:    aws.String("jobs"),
		Parameters:   []types.Parameter{{ParameterKey: aws.String("Password"), ParameterValue: aws.String("swordfish")}},
		TemplateBody: aws.String("swordfish"),
	})
	if err == nil {
		t.Fatal("the stack was created")
	}
	if len(lines()) != 1 {
		t.Fatalf("there are %d lines, want 1: %v", len(lines()), lines())
	}
	line := lines()[0]
	for key, want := range map[string]string{
		"service": "cloudformation", "operation": "CreateStack", "stackName": "jobs", "requestID": "1", "reason": "spec changed",
		"reconcileID": "f00", "target": "own account/eu-central-1",
	} {
		if line[key] != want {
			t.Errorf("%s is %v, want %s", key, line[key], want)
		}
	}
	if text, _ := json.Marshal(line); strings.Contains(string(text), "swordfish") || !strings.Contains(string(text), "it exists") {
		t.Errorf("the line is %s", text)
	}
}

func TestReadsAreNotLogged(t *testing.T) {
	clients, _, _ := respond(t, answer{})
	ctx, lines := logged(t, 9)
	if err := describe(ctx, clients); err != nil {
		t.Fatal(err)
	}
	if len(lines()) != 0 {
		t.Errorf("there are lines: %v", lines())
	}
}
