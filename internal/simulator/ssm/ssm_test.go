package ssm_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsssm "github.com/aws/aws-sdk-go-v2/service/ssm"
	"github.com/aws/aws-sdk-go-v2/service/ssm/types"
	testclock "k8s.io/utils/clock/testing"

	"github.com/aws-operator/aws-operator/internal/simulator/resource"
	"github.com/aws-operator/aws-operator/internal/simulator/ssm"
	"github.com/aws-operator/aws-operator/internal/simulator/wire"
	"github.com/aws-operator/aws-operator/internal/simulator/wire/wiretest"
)

func start(t *testing.T) *awsssm.Client {
	t.Helper()
	clk := testclock.NewFakeClock(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC))
	service := ssm.New(&resource.Env{Clock: clk}).Service()
	return awsssm.NewFromConfig(wiretest.Serve(t, wire.NewRouter([]*wire.Service{service}, nil, clk)))
}

func put(t *testing.T, c *awsssm.Client, in awsssm.PutParameterInput) *awsssm.PutParameterOutput {
	t.Helper()
	out, err := c.PutParameter(t.Context(), &in)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func TestParameters(t *testing.T) {
	c := start(t)
	put(t, c, awsssm.PutParameterInput{Name: aws.String("/app/a"), Value: aws.String("1"), Type: types.ParameterTypeString})
	put(
		t,
		c,
		awsssm.PutParameterInput{Name: aws.String("/app/db/password"), Value: aws.String("secret"), Type: types.ParameterTypeSecureString},
	)
	second := put(t, c, awsssm.PutParameterInput{Name: aws.String("/app/a"), Value: aws.String("2"), Overwrite: aws.Bool(true)})
	if second.Version != 2 {
		t.Errorf("version %d", second.Version)
	}
	for name, want := range map[string]string{"/app/a": "2", "/app/a:1": "1", "arn:aws:ssm:eu-central-1:123456789012:parameter/app/a": "2"} {
		out, err := c.GetParameter(t.Context(), &awsssm.GetParameterInput{Name: &name})
		if err != nil || *out.Parameter.Value != want {
			t.Errorf("%s: %+v %v", name, out, err)
		}
	}
	sealed, err := c.GetParameter(t.Context(), &awsssm.GetParameterInput{Name: aws.String("/app/db/password")})
	if err != nil || strings.Contains(*sealed.Parameter.Value, "secret") {
		t.Errorf("without decryption: %v %v", sealed, err)
	}
	below, err := c.GetParametersByPath(
		t.Context(), &awsssm.GetParametersByPathInput{Path: aws.String("/app"), Recursive: aws.Bool(true), WithDecryption: aws.Bool(true)},
	)
	if err != nil || len(below.Parameters) != 2 || *below.Parameters[1].Value != "secret" {
		t.Errorf("recursive: %+v %v", below, err)
	}
	flat, err := c.GetParametersByPath(t.Context(), &awsssm.GetParametersByPathInput{Path: aws.String("/app/")})
	if err != nil || len(flat.Parameters) != 1 {
		t.Errorf("one level: %+v %v", flat, err)
	}
	described, err := c.DescribeParameters(t.Context(), &awsssm.DescribeParametersInput{ParameterFilters: []types.ParameterStringFilter{
		{Key: aws.String("Type"), Values: []string{"SecureString"}},
	}})
	if err != nil || len(described.Parameters) != 1 || *described.Parameters[0].KeyId != "alias/aws/ssm" {
		t.Errorf("described: %+v %v", described, err)
	}
}

// https://docs.aws.amazon.com/systems-manager/latest/APIReference/API_PutParameter.html
func TestRefusals(t *testing.T) {
	c := start(t)
	put(t, c, awsssm.PutParameterInput{Name: aws.String("a"), Value: aws.String("1"), Type: types.ParameterTypeString})
	tests := []struct {
		name, code string
		in         awsssm.PutParameterInput
	}{
		{"it exists", "ParameterAlreadyExists", awsssm.PutParameterInput{Name: aws.String("a"), Value: aws.String("1"), Type: "String"}},
		{
			"reserved name",
			"AccessDeniedException",
			awsssm.PutParameterInput{Name: aws.String("/aws/x"), Value: aws.String("1"), Type: "String"},
		},
		{
			"path that is not rooted",
			"ValidationException",
			awsssm.PutParameterInput{Name: aws.String("a/b"), Value: aws.String("1"), Type: "String"},
		},
		{
			"type that is none",
			"UnsupportedParameterType",
			awsssm.PutParameterInput{Name: aws.String("b"), Value: aws.String("1"), Type: "Secret"},
		},
		{
			"too long for its tier",
			"ValidationException",
			awsssm.PutParameterInput{Name: aws.String("b"), Value: aws.String(strings.Repeat("x", 4097)), Type: "String"},
		},
		{
			"against its pattern",
			"ParameterPatternMismatchException",
			awsssm.PutParameterInput{Name: aws.String("b"), Value: aws.String("x"), AllowedPattern: aws.String(`\d+`), Type: "String"},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := c.PutParameter(t.Context(), &tt.in)
			wiretest.WantCode(t, err, tt.code)
		})
	}
	_, err := c.GetParameter(t.Context(), &awsssm.GetParameterInput{Name: aws.String("none")})
	if _, ok := errors.AsType[*types.ParameterNotFound](err); !ok {
		t.Errorf("got %v", err)
	}
}

func TestCloudFormationParameter(t *testing.T) {
	service := ssm.New(&resource.Env{Clock: testclock.NewFakeClock(time.Unix(0, 0))})
	provider := service.Providers()["AWS::SSM::Parameter"]
	r := resource.Request{
		Account: "1", Region: "r", StackName: "s", LogicalID: "P",
		Properties: map[string]any{"Type": "String", "Value": "v", "Tags": map[string]any{"k": "v"}},
	}
	made, err := provider.Create(t.Context(), r)
	if err != nil || !strings.HasPrefix(made.PhysicalID, "CFN-P-") || made.Attributes["Value"] != "v" {
		t.Fatalf("create: %+v %v", made, err)
	}
	r.PhysicalID = made.PhysicalID
	r.Properties["Value"] = "w"
	if _, err := provider.Update(t.Context(), r); err != nil {
		t.Fatal(err)
	}
	if value, err := service.Value(t.Context(), "1", "r", made.PhysicalID); err != nil || value != "w" {
		t.Errorf("updated to %q %v", value, err)
	}
	if err := provider.Delete(t.Context(), r); err != nil {
		t.Fatal(err)
	}
	if err := provider.Delete(t.Context(), r); err == nil {
		t.Error("deleted twice")
	}
}
