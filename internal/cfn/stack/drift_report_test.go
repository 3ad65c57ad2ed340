package stack

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"
	"k8s.io/utils/clock"

	"github.com/aws-operator/aws-operator/internal/cfn/template"
)

const secretTemplate = `
Parameters:
  Code: {Type: String, NoEcho: true}
  Plain: {Type: String, Default: plain}
Resources:
  Topic:
    Type: AWS::SNS::Topic
    Properties:
      TopicName: !Ref Plain
      DisplayName: !Sub "x-${Code}"
      SignatureVersion: "{{resolve:ssm:/version:1}}"
      Tags: [{Key: a, Value: !Ref Code}, {Key: b, Value: c}]
  Function:
    Type: AWS::Lambda::Function
    Properties:
      MemorySize: 128
      Environment: {Variables: {MODE: fast}}
      VpcConfig: {SubnetIds: [!Ref Plain]}
  Client:
    Type: AWS::Cognito::UserPoolClient
    Properties: {UserPoolId: !Ref Plain, RefreshTokenValidity: 30, TokenValidityUnits: {RefreshToken: days}}
`

// TestDriftHidesSecrets lists values that a report shows, and those that it must not.
func TestDriftHidesSecrets(t *testing.T) {
	for _, c := range []struct {
		resource, kind, path, expected, actual string
		shown                                  bool
	}{
		{"Topic", "AWS::SNS::Topic", "/TopicName", "plain", "other", true},
		{"Topic", "AWS::SNS::Topic", "/DisplayName", "x-Pa55word", "y", false},
		{"Topic", "AWS::SNS::Topic", "/SignatureVersion", "1", "2", false},
		{"Topic", "AWS::SNS::Topic", "/Tags/0/Value", "c", "d", false}, // the order of tags says nothing
		{"Topic", "AWS::SNS::Topic", "/FifoTopic", "false", "Pa55word", false},
		{"Topic", "AWS::SNS::Topic", "/FifoTopic", "{{resolve:ssm:/version:1}}", "2", false},
		{"Function", "AWS::Lambda::Function", "/MemorySize", "128", "256", true},
		{"Function", "AWS::Lambda::Function", "/VpcConfig/SubnetIds/0", "plain", "other", true},
		{"Function", "AWS::Lambda::Function", "/Environment/Variables/MODE", "fast", "slow", false},
		{"Function", "AWS::Lambda::Function", "/Code/ZipFile", "a", "b", false}, // write-only
		{"Function", "AWS::Lambda::Function", "/Layers", `[{"ApiKey":"1"}]`, "[]", false},
		{"Function", "AWS::Lambda::Function", "/Layers", `[{"Name":"DB_PASSWORD","Value":"1"}]`, "[]", false},
		{"Function", "AWS::Lambda::Function", "/Layers", `[{"Name":"x"}]`, "[]", true},
		{"Function", "AWS::Lambda::Function", "/Layers/DB_ACCESS_KEY", "1", "2", false},
		{"Client", "AWS::Cognito::UserPoolClient", "/RefreshTokenValidity", "30", "10", true}, // a number is no token
		{"Client", "AWS::Cognito::UserPoolClient", "/TokenValidityUnits/RefreshToken", "days", "hours", false},
		{"Unknown", "AWS::SNS::Topic", "/TopicName", "plain", "other", false},
		{"Topic", "AWS::Unknown::Type", "/TopicName", "plain", "other", false},
	} {
		report := reported(t, secretTemplate, map[string]string{"Code": "Pa55word"}, []types.StackResourceDrift{
			drifting(c.resource, c.kind, types.PropertyDifference{
				PropertyPath: &c.path, ExpectedValue: &c.expected, ActualValue: &c.actual, DifferenceType: types.DifferenceTypeNotEqual,
			}),
		})
		got := report.resources[0].Properties[0]
		shown := got.Expected == c.expected && got.Actual == c.actual
		if shown != c.shown || !shown && (got.Expected != hidden || got.Actual != hidden) {
			t.Errorf("%s of %s from %s to %s: shows %+v", c.path, c.resource, c.expected, c.actual, got)
		}
		if text := fmt.Sprint(report.drift(false, false, "")); strings.Contains(text, "Pa55word") {
			t.Errorf("%s reveals the secret", text)
		}
	}
}

// TestDriftIsHiddenWithoutATemplate shows no value if it is unknown which of them are secret.
func TestDriftIsHiddenWithoutATemplate(t *testing.T) {
	engine := New(Options{Clock: clock.RealClock{}})
	request := &DriftRequest{
		Owner:    Owner{StackID: "stack"},
		Deployed: func() (*template.Template, map[string]string, error) { return nil, nil, errors.New("no template") },
	}
	report := engine.reportDrift(request, []types.StackResourceDrift{drifting("Topic", "AWS::SNS::Topic", types.PropertyDifference{
		PropertyPath: aws.String("/TopicName"), ExpectedValue: aws.String("a"), ActualValue: aws.String("b"),
	})})
	if got := report.resources[0].Properties[0]; got.Expected != hidden || got.Actual != hidden || got.Path != "TopicName" {
		t.Errorf("shows %+v", got)
	}
}

// TestDriftReportIsBounded has more and longer texts than an object's status should have.
func TestDriftReportIsBounded(t *testing.T) {
	long := strings.Repeat("ä\x1b\n", 5000)
	var many []types.StackResourceDrift
	for i := range 50 {
		one := drifting(fmt.Sprintf("R%02d", i), "AWS::SNS::Topic")
		for range 50 {
			one.PropertyDifferences = append(one.PropertyDifferences, types.PropertyDifference{
				PropertyPath: aws.String("/" + long), ExpectedValue: &long, ActualValue: &long, DifferenceType: types.DifferenceTypeAdd,
			})
		}
		many = append(many, one)
	}
	many = append(many, types.StackResourceDrift{StackId: aws.String("another"), LogicalResourceId: aws.String("A")})
	report := reported(t, "Resources: {R00: {Type: AWS::SNS::Topic}}", nil, many)
	properties := 0
	for _, r := range report.resources {
		properties += len(r.Properties)
		if len(r.Properties)+r.Omitted != 50 {
			t.Errorf("%s has %d differences and %d omitted ones", r.Resource, len(r.Properties), r.Omitted)
		}
		for _, p := range r.Properties {
			for _, text := range []string{p.Path, p.Expected, p.Actual} {
				if len(text) > maxDriftText || !utf8.ValidString(text) || strings.ContainsAny(text, "\x1b\n") {
					t.Fatalf("text %q", text)
				}
			}
		}
	}
	if len(report.resources) != maxDriftedResources || report.omitted != 40 || properties != maxDriftedProperties {
		t.Errorf("%d resources, %d omitted, %d properties", len(report.resources), report.omitted, properties)
	}
	if message := report.drift(true, true, "").Message; len(message) > maxSummary+200 {
		t.Errorf("the message has %d bytes", len(message))
	}
}

// TestScheduleSpreads has the properties of the schedule: the same times after a restart, one in each
// interval, and other times for other stacks.
func TestScheduleSpreads(t *testing.T) {
	const interval = 24 * time.Hour
	start := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	hours := map[int]int{}
	for i := range 2400 {
		v := &driftVisit{request: &DriftRequest{Interval: interval, Salt: fmt.Sprint("uid-", i)}}
		at := v.slotAfter(start)
		if wait := at.Sub(start); wait <= 0 || wait > interval {
			t.Fatalf("the check is after %s", wait)
		}
		if again := v.slotAfter(at.Add(-time.Second)); !again.Equal(at) {
			t.Fatalf("the check moved from %s to %s", at, again)
		}
		if next := v.slotAfter(at); !next.Equal(at.Add(interval)) {
			t.Fatalf("the next check is at %s, the last one was at %s", next, at)
		}
		hours[at.Hour()]++
	}
	for hour := range 24 {
		if hours[hour] < 50 || hours[hour] > 200 {
			t.Errorf("%d of 2400 checks are in hour %d", hours[hour], hour)
		}
	}
}

func reported(t *testing.T, body string, parameters map[string]string, found []types.StackResourceDrift) *driftReport {
	t.Helper()
	parsed, err := template.Parse("test", []byte(body))
	if err != nil {
		t.Fatal(err)
	}
	return New(Options{Clock: clock.RealClock{}}).reportDrift(&DriftRequest{
		Owner: Owner{StackID: "stack"}, Deployed: func() (*template.Template, map[string]string, error) { return parsed, parameters, nil },
	}, found)
}

func drifting(id, kind string, differences ...types.PropertyDifference) types.StackResourceDrift {
	return types.StackResourceDrift{
		StackId: aws.String("stack"), LogicalResourceId: &id, ResourceType: &kind, PhysicalResourceId: aws.String("id"),
		StackResourceDriftStatus: types.StackResourceDriftStatusModified, PropertyDifferences: differences,
	}
}
