package controller_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"
	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1alpha1 "github.com/aws-operator/aws-operator/api/service/v1alpha1"
	"github.com/aws-operator/aws-operator/internal/cfn/schema"
	"github.com/aws-operator/aws-operator/internal/patience"
	"github.com/aws-operator/aws-operator/internal/service/model"
	"github.com/aws-operator/aws-operator/internal/service/render"
	"github.com/aws-operator/aws-operator/internal/simulator"
	"github.com/aws-operator/aws-operator/internal/simulator/cloudformation/simulated"
	"github.com/aws-operator/aws-operator/internal/simulator/simulatortest"
)

// notMade lists the resource types for which no stack can be created from the smallest spec, and
// why.
var notMade = map[string]string{
	"AWS::ARCZonalShift::ZonalAutoshiftConfiguration": "the test cannot generate its properties",
	"AWS::MSK::Replicator":                            "the test cannot generate its properties",
	"AWS::CloudFront::Distribution":                   "the test generates no origin",
	"AWS::EKS::AccessEntry":                           "needs a cluster that exists",
	"AWS::EKS::Addon":                                 "needs a cluster that exists",
	"AWS::EKS::Cluster":                               "needs subnets and a role that exist",
	"AWS::EKS::Nodegroup":                             "needs a cluster that exists",
	"AWS::EKS::PodIdentityAssociation":                "the test makes no role for it",
	"AWS::DynamoDB::Table":                            "the test generates an invalid key schema",
	"AWS::Events::Rule":                               "the test generates an invalid event pattern",
	"AWS::DynamoDB::GlobalTable":                      "the simulator does not replicate tables",
	"AWS::IAM::InstanceProfile":                       "needs a role that exists",
	"AWS::IAM::ManagedPolicy":                         "the test generates an invalid policy",
	"AWS::IAM::OIDCProvider":                          "the test generates an invalid URL",
	"AWS::IAM::Role":                                  "the test generates an invalid policy",
	"AWS::IAM::RolePolicy":                            "needs a role that exists",
	"AWS::KMS::Alias":                                 "needs a key that exists",
	"AWS::Lambda::EventSourceMapping":                 "needs a function that exists",
	"AWS::Lambda::Function":                           "needs a role that Lambda can assume",
	"AWS::S3::BucketPolicy":                           "needs a bucket that exists",
	"AWS::StepFunctions::StateMachine":                "needs a role that Step Functions can assume",
	"AWS::SNS::Subscription":                          "needs a topic that exists",
	"AWS::CloudFormation::CustomResource":             "the simulator runs no Lambda function",
	"AWS::CloudFormation::Stack":                      "its attributes are its template's outputs",
	"AWS::CloudFormation::WaitCondition":              "waits for a signal",
	"AWS::AppStream::DirectoryConfig":                 "requires a secret, which must not be plain text",
	"AWS::DirectoryService::MicrosoftAD":              "requires a secret, which must not be plain text",
	"AWS::Pinpoint::ADMChannel":                       "requires a secret, which must not be plain text",
	"Alexa::ASK::Skill":                               "requires a secret, which must not be plain text",
	"AWS::AutoScaling::AutoScalingGroup":              "needs a launch template",
	"AWS::AutoScaling::LifecycleHook":                 "needs a group that exists",
	"AWS::AutoScaling::ScheduledAction":               "needs a group that exists",
	"AWS::EC2::DHCPOptions":                           "EC2 requires at least one option",
	"AWS::EC2::EIPAssociation":                        "needs an address that exists",
	"AWS::EC2::EgressOnlyInternetGateway":             "needs a VPC that exists",
	"AWS::EC2::Instance":                              "needs an image",
	"AWS::EC2::KeyPair":                               "the simulator imports keys but does not create them",
	"AWS::EC2::NatGateway":                            "needs a subnet that exists",
	"AWS::EC2::NetworkInterface":                      "needs a subnet that exists",
	"AWS::EC2::Route":                                 "needs a route table that exists",
	"AWS::EC2::RouteTable":                            "needs a VPC that exists",
	"AWS::EC2::SecurityGroup":                         "needs a VPC: accounts of the simulator have no default VPC",
	"AWS::EC2::SecurityGroupEgress":                   "needs a security group that exists",
	"AWS::EC2::SecurityGroupIngress":                  "needs a security group that exists",
	"AWS::EC2::Subnet":                                "needs a VPC that exists",
	"AWS::EC2::SubnetRouteTableAssociation":           "needs a route table that exists",
	"AWS::EC2::VPCCidrBlock":                          "needs a VPC that exists",
	"AWS::EC2::VPCDHCPOptionsAssociation":             "needs a VPC that exists",
	"AWS::EC2::VPCEndpoint":                           "needs a VPC that exists",
	"AWS::EC2::VPCGatewayAttachment":                  "needs a VPC that exists",
	"AWS::EC2::Volume":                                "the test generates an invalid zone",
	"AWS::EC2::VolumeAttachment":                      "needs a volume that exists",
	"AWS::ElasticLoadBalancingV2::Listener":           "needs a load balancer that exists",
	"AWS::ElasticLoadBalancingV2::LoadBalancer":       "needs subnets that exist",
	"AWS::ElasticLoadBalancingV2::TargetGroup":        "the simulator requires a protocol",
	"AWS::Route53::RecordSet":                         "needs a hosted zone that exists",
	"AWS::Route53::RecordSetGroup":                    "needs a hosted zone that exists",
}

// TestEveryTypeIsMadeAndDeleted derives a kind from every resource type, writes the smallest spec,
// checks it against the kind's schema, and creates and deletes its stack.
func TestEveryTypeIsMadeAndDeleted(t *testing.T) {
	_, endpoint := simulatortest.Start(t, simulator.Options{Region: region})
	w := &suite{t: t, observer: endpoint}
	config := w.awsConfig()
	config.RetryMaxAttempts = 10 // Among tens of thousands of calls, the simulator throttles some three times.
	stacks := cloudformation.NewFromConfig(config)
	registry := schema.Default()
	names := registry.Names()
	work := make(chan string)
	var mu sync.Mutex
	failed := 0
	var workers sync.WaitGroup
	for range 4 {
		workers.Go(func() {
			for name := range work {
				err := madeAndDeleted(t, stacks, registry, name)
				if _, listed := notMade[name]; err != nil && !listed {
					mu.Lock()
					failed++
					mu.Unlock()
					t.Logf("%s: %v", name, err)
				}
			}
		})
	}
	for _, name := range names {
		work <- name
	}
	close(work)
	workers.Wait()
	if failed > 0 || len(notMade)*20 > len(names) {
		t.Errorf("%d of %d types fail without being listed, %d are listed", failed, len(names), len(notMade))
	}
}

func madeAndDeleted(t *testing.T, stacks *cloudformation.Client, registry *schema.Registry, name string) error {
	t.Helper()
	m, err := model.Compile(name, &v1alpha1.ModelDefinitionSpec{Kind: strings.ReplaceAll(name, "::", ""), ResourceType: name}, registry)
	if err != nil {
		return err
	}
	resourceType, _ := registry.Type(name)
	properties, err := simulated.MinimalProperties(resourceType)
	if err != nil {
		return err
	}
	spec := inFieldNames(m.Schema, properties)
	if err := matches(m, spec); err != nil {
		return err
	}
	raw, err := json.Marshal(spec)
	if err != nil {
		return err
	}
	obj := &v1alpha1.Object{ObjectMeta: metav1.ObjectMeta{Name: "example", Namespace: "default"}, Spec: raw}
	desired, err := render.Stack(m, obj, render.Facts{Region: region, AccountID: account, ClusterName: clusterName}, nil)
	if err != nil {
		return err
	}
	if problems := append(desired.Template.Check(), registry.Validate(desired.Template)...); len(problems) > 0 {
		return problems
	}
	desired.Name = strings.ReplaceAll(name, "::", "-") // one stack for each type, all concurrently
	return createAndDelete(t, stacks, desired)
}

// inFieldNames converts properties to the field names of a derived kind.
func inFieldNames(s *apiextensionsv1.JSONSchemaProps, value any) any {
	switch v := value.(type) {
	case map[string]any:
		out := map[string]any{}
		for name, child := range v {
			field := model.FieldName(name)
			if _, ok := s.Properties[field]; !ok {
				field = name
			}
			known, ok := s.Properties[field]
			switch {
			case ok:
				out[field] = inFieldNames(&known, child)
			case s.AdditionalProperties != nil && s.AdditionalProperties.Schema != nil:
				out[name] = inFieldNames(s.AdditionalProperties.Schema, child)
			default:
				out[name] = child
			}
		}
		return out
	case []any:
		if s.Items == nil || s.Items.Schema == nil {
			return v
		}
		out := make([]any, len(v))
		for i, child := range v {
			out[i] = inFieldNames(s.Items.Schema, child)
		}
		return out
	default:
		return value
	}
}

// matches checks a spec against the kind's schema, as the API server does.
func matches(m *model.Model, spec any) error {
	internal := &apiextensions.JSONSchemaProps{}
	if err := apiextensionsv1.Convert_v1_JSONSchemaProps_To_apiextensions_JSONSchemaProps(m.Schema, internal, nil); err != nil {
		return err
	}
	validator, _, err := validation.NewSchemaValidator(internal)
	if err != nil {
		return err
	}
	if problems := validation.ValidateCustomResource(nil, spec, validator); len(problems) > 0 {
		return problems.ToAggregate()
	}
	return nil
}

func createAndDelete(t *testing.T, stacks *cloudformation.Client, desired *render.Desired) error {
	t.Helper()
	made, err := stacks.CreateStack(t.Context(), &cloudformation.CreateStackInput{
		StackName: &desired.Name, TemplateBody: aws.String(string(desired.Template.JSON())), DisableRollback: aws.Bool(true),
		Capabilities: []types.Capability{
			types.CapabilityCapabilityIam,
			types.CapabilityCapabilityNamedIam,
			types.CapabilityCapabilityAutoExpand,
		},
	})
	if err != nil {
		return err
	}
	id := aws.ToString(made.StackId)
	if err := reaches(t, stacks, id, "", types.StackStatusCreateComplete); err != nil {
		return err
	}
	if _, err := stacks.DeleteStack(t.Context(), &cloudformation.DeleteStackInput{StackName: &id}); err != nil {
		return err
	}
	return reaches(t, stacks, id, types.StackStatusCreateComplete, types.StackStatusDeleteComplete)
}

// reaches waits until the stack with an ID has a status. A read may be out of date, and return the status
// of before.
func reaches(t *testing.T, stacks *cloudformation.Client, id string, before, want types.StackStatus) error {
	t.Helper()
	deadline := time.NewTimer(patience.Left(t))
	defer deadline.Stop()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for {
		out, err := stacks.DescribeStacks(t.Context(), &cloudformation.DescribeStacksInput{StackName: &id})
		if err != nil {
			return err
		}
		status := out.Stacks[0].StackStatus
		switch {
		case status == want:
			return nil
		case status != before && !strings.HasSuffix(string(status), "_IN_PROGRESS"):
			return fmt.Errorf("the stack is %s: %s", status, firstFailure(t, stacks, id))
		}
		select {
		case <-deadline.C:
			return fmt.Errorf("the stack stays %s", status)
		case <-tick.C:
		}
	}
}

func firstFailure(t *testing.T, stacks *cloudformation.Client, name string) string {
	t.Helper()
	out, err := stacks.DescribeStackEvents(t.Context(), &cloudformation.DescribeStackEventsInput{StackName: &name})
	if err != nil {
		return err.Error()
	}
	reason := ""
	for _, e := range out.StackEvents {
		if strings.HasSuffix(string(e.ResourceStatus), "_FAILED") {
			reason = aws.ToString(e.ResourceStatusReason)
		}
	}
	return reason
}
