package roles_test

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/aws-operator/aws-operator/internal/cluster/model"
	"github.com/aws-operator/aws-operator/internal/cluster/render"
)

// resource is an AWS resource that a role's request may be on.
type resource struct {
	// kind is its type in the simulator's table of actions, with the service: "ec2:volume".
	kind string
	// owner says whose it is.
	owner string
	arn   string
	tags  map[string]string
	// policy is its own policy, or a role's trust policy.
	policy string
}

// kinds are the types of CloudFormation in the stacks of clusters, with the ARNs of their resources.
var kinds = map[string]struct{ kind, arn string }{
	"AWS::AutoScaling::AutoScalingGroup": {
		"autoscaling:autoScalingGroup", "arn:{p}:autoscaling:{r}:{a}:autoScalingGroup:3a4b5c6d:autoScalingGroupName/{}",
	},
	"AWS::EC2::EIP":             {"ec2:elastic-ip", "arn:{p}:ec2:{r}:{a}:elastic-ip/{}"},
	"AWS::EC2::InternetGateway": {"ec2:internet-gateway", "arn:{p}:ec2:{r}:{a}:internet-gateway/{}"},
	"AWS::EC2::LaunchTemplate":  {"ec2:launch-template", "arn:{p}:ec2:{r}:{a}:launch-template/{}"},
	"AWS::EC2::NatGateway":      {"ec2:natgateway", "arn:{p}:ec2:{r}:{a}:natgateway/{}"},
	"AWS::EC2::RouteTable":      {"ec2:route-table", "arn:{p}:ec2:{r}:{a}:route-table/{}"},
	"AWS::EC2::SecurityGroup":   {"ec2:security-group", "arn:{p}:ec2:{r}:{a}:security-group/{}"},
	// CloudFormation does not tag the rules.
	"AWS::EC2::SecurityGroupIngress":            {"", ""},
	"AWS::EC2::Subnet":                          {"ec2:subnet", "arn:{p}:ec2:{r}:{a}:subnet/{}"},
	"AWS::EC2::VPC":                             {"ec2:vpc", "arn:{p}:ec2:{r}:{a}:vpc/{}"},
	"AWS::EC2::VPCEndpoint":                     {"ec2:vpc-endpoint", "arn:{p}:ec2:{r}:{a}:vpc-endpoint/{}"},
	"AWS::EC2::Volume":                          {"ec2:volume", "arn:{p}:ec2:{r}:{a}:volume/{}"},
	"AWS::ElasticLoadBalancingV2::Listener":     {"elasticloadbalancing:listener", "arn:{p}:elasticloadbalancing:{r}:{a}:listener/net/{}/0a1b/2c3d"},
	"AWS::ElasticLoadBalancingV2::LoadBalancer": {"elasticloadbalancing:loadbalancer", "arn:{p}:elasticloadbalancing:{r}:{a}:loadbalancer/net/{}/0a1b"},
	"AWS::ElasticLoadBalancingV2::TargetGroup":  {"elasticloadbalancing:targetgroup", "arn:{p}:elasticloadbalancing:{r}:{a}:targetgroup/{}/0a1b"},
	"AWS::IAM::InstanceProfile":                 {"iam:instance-profile", "arn:{p}:iam::{a}:instance-profile/{}"},
	"AWS::IAM::ManagedPolicy":                   {"iam:policy", "arn:{p}:iam::{a}:policy/{}"},
	"AWS::IAM::OIDCProvider":                    {"iam:oidc-provider", "arn:{p}:iam::{a}:oidc-provider/{}"},
	"AWS::IAM::Role":                            {"iam:role", "arn:{p}:iam::{a}:role/{}"},
	"AWS::KMS::Alias":                           {"kms:alias", "arn:{p}:kms:{r}:{a}:alias/{}"},
	"AWS::KMS::Key":                             {"kms:key", "arn:{p}:kms:{r}:{a}:key/{}"},
	"AWS::Route53::HostedZone":                  {"route53:hostedzone", "arn:{p}:route53:::hostedzone/{}"},
	"AWS::S3::Bucket":                           {"s3:bucket", "arn:{p}:s3:::{}"},
	"AWS::EC2::Route":                           {"", ""},
	"AWS::EC2::SubnetRouteTableAssociation":     {"", ""},
	"AWS::EC2::VPCGatewayAttachment":            {"", ""},
	"AWS::Route53::RecordSet":                   {"", ""},
	"AWS::S3::BucketPolicy":                     {"", ""},
	// Those of services.
	"AWS::DynamoDB::Table":             {"dynamodb:table", "arn:{p}:dynamodb:{r}:{a}:table/{}"},
	"AWS::Kinesis::Stream":             {"kinesis:stream", "arn:{p}:kinesis:{r}:{a}:stream/{}"},
	"AWS::Lambda::Function":            {"lambda:function", "arn:{p}:lambda:{r}:{a}:function:{}"},
	"AWS::Logs::LogGroup":              {"logs:log-stream", "arn:{p}:logs:{r}:{a}:log-group:{}:*"},
	"AWS::OpenSearchService::Domain":   {"es:domain", "arn:{p}:es:{r}:{a}:domain/{}"},
	"AWS::SecretsManager::Secret":      {"secretsmanager:secret", "arn:{p}:secretsmanager:{r}:{a}:secret:{}-a1b2c3"},
	"AWS::SNS::Topic":                  {"sns:topic", "arn:{p}:sns:{r}:{a}:{}"},
	"AWS::SQS::Queue":                  {"sqs:queue", "arn:{p}:sqs:{r}:{a}:{}"},
	"AWS::StepFunctions::StateMachine": {"states:stateMachine", "arn:{p}:states:{r}:{a}:stateMachine:{}"},
}

// returnsARN are the types whose Ref is the ARN.
var returnsARN = map[string]bool{
	"AWS::ElasticLoadBalancingV2::Listener": true, "AWS::ElasticLoadBalancingV2::LoadBalancer": true,
	"AWS::ElasticLoadBalancingV2::TargetGroup": true, "AWS::IAM::ManagedPolicy": true, "AWS::IAM::OIDCProvider": true,
	"AWS::SecretsManager::Secret": true, "AWS::SNS::Topic": true, "AWS::StepFunctions::StateMachine": true,
}

// stack is a rendered stack as if AWS had created it: every resource has an ID.
type stack struct {
	t *testing.T
	*render.Stack

	cluster *model.Cluster
}

// name is the ID or the name of a resource. CloudFormation makes names from the stack's, the logical
// ID and a random part. IDs are random and differ between regions, too.
func (s *stack) name(id string) string {
	r := s.Template.Resources[id]
	switch r.Type {
	case "AWS::S3::Bucket":
		return r.Properties.Get("BucketName").Text
	case "AWS::IAM::OIDCProvider":
		return strings.TrimPrefix(r.Properties.Get("Url").Text, "https://")
	case "AWS::KMS::Alias":
		return strings.TrimPrefix(r.Properties.Get("AliasName").Text, "alias/")
	case "AWS::Lambda::Function", "AWS::Logs::LogGroup", "AWS::StepFunctions::StateMachine":
		_, name, _ := strings.Cut(strings.TrimPrefix(r.Type, "AWS::"), "::")
		return r.Properties.Get(name + "Name").Text
	}
	sum := sha256.Sum256([]byte(s.cluster.Region + s.Name + id))
	return s.Name + "-" + id + "-" + strings.ToUpper(hex.EncodeToString(sum[:6]))
}

func (s *stack) arn(id string) string {
	r := s.Template.Resources[id]
	known, ok := kinds[r.Type]
	if !ok {
		s.t.Fatalf("the test does not know the ARNs of %s", r.Type)
	}
	return fill(known.arn, s.cluster.Partition, s.cluster.Region, s.cluster.AccountID, s.name(id))
}

// fill completes the template of an ARN.
func fill(arn, partition, region, account, name string) string {
	return strings.NewReplacer("{p}", partition, "{r}", region, "{a}", account, "{}", name).Replace(arn)
}

// ref returns the value of Ref.
func (s *stack) ref(id string) string {
	r, ok := s.Template.Resources[id]
	switch {
	case id == "AWS::Partition":
		return s.cluster.Partition
	case id == "AWS::Region":
		return s.cluster.Region
	case id == "AWS::AccountId":
		return s.cluster.AccountID
	case !ok:
		return "a-parameter"
	case returnsARN[r.Type]:
		return s.arn(id)
	}
	return s.name(id)
}

// attribute returns the value of Fn::GetAtt.
func (s *stack) attribute(id, name string) string {
	switch name {
	case "Arn":
		return s.arn(id)
	case "GroupId", "DBClusterResourceId", "DbiResourceId", "Name":
		return s.name(id)
	case "MasterUserSecret.SecretArn":
		return fill(kinds["AWS::SecretsManager::Secret"].arn, s.cluster.Partition, s.cluster.Region, s.cluster.AccountID, s.name(id))
	}
	return "the-" + name + "-of-" + s.name(id)
}

// value replaces the functions in a value.
func (s *stack) value(v any) any {
	switch v := v.(type) {
	case []any:
		for i := range v {
			v[i] = s.value(v[i])
		}
	case map[string]any:
		if id, ok := v["Ref"].(string); ok {
			return s.ref(id)
		}
		if of, ok := v["Fn::GetAtt"].([]any); ok {
			return s.attribute(of[0].(string), of[1].(string))
		}
		if text, ok := v["Fn::Sub"].(string); ok {
			return s.substitute(text)
		}
		for key := range v {
			if strings.HasPrefix(key, "Fn::") {
				s.t.Fatalf("the test does not know %s: %v", key, v)
			}
			v[key] = s.value(v[key])
		}
	}
	return v
}

func (s *stack) substitute(text string) string {
	for {
		before, rest, found := strings.Cut(text, "${")
		if !found {
			return text
		}
		name, after, _ := strings.Cut(rest, "}")
		id, attribute, has := strings.Cut(name, ".")
		value := ""
		if has {
			value = s.attribute(id, attribute)
		} else {
			value = s.ref(id)
		}
		text = before + value + after
	}
}

// properties returns the properties of a resource without functions.
func (s *stack) properties(id string) map[string]any {
	node := s.Template.Resources[id].Properties
	if node == nil {
		return map[string]any{}
	}
	var v map[string]any
	if err := json.Unmarshal(node.AppendJSON(nil), &v); err != nil {
		s.t.Fatal(err)
	}
	// The other properties have functions that matter to no policy.
	for _, name := range []string{"Policies", "PolicyDocument", "KeyPolicy", "AssumeRolePolicyDocument", "ManagedPolicyArns", "Tags"} {
		v[name] = s.value(v[name])
	}
	if data, ok := v["LaunchTemplateData"].(map[string]any); ok {
		v["LaunchTemplateData"] = map[string]any{"TagSpecifications": s.value(data["TagSpecifications"])}
	}
	return v
}

// tagsIn returns a list of tags.
func tagsIn(list any) map[string]string {
	tags := map[string]string{}
	all, _ := list.([]any)
	for _, one := range all {
		tag, _ := one.(map[string]any)
		key, _ := tag["Key"].(string)
		tags[key], _ = tag["Value"].(string)
	}
	return tags
}

// tagsAtLaunch returns the tags of a group that its instances get.
func tagsAtLaunch(list any) map[string]string {
	all, _ := list.([]any)
	return tagsIn(slices.DeleteFunc(slices.Clone(all), func(one any) bool {
		tag, _ := one.(map[string]any)
		return tag["PropagateAtLaunch"] != true
	}))
}

func text(t *testing.T, v any) string {
	t.Helper()
	if v == nil {
		return ""
	}
	data, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// with returns tags together with more.
func with(tags, more map[string]string) map[string]string {
	all := maps.Clone(tags)
	maps.Copy(all, more)
	return all
}

// resources returns what AWS has after the stack was created. CloudFormation puts the stack's tags on
// every resource, Auto Scaling those of groups on instances, and EC2 those of launch templates on
// disks and network interfaces.
func (s *stack) resources(owner string) []resource {
	all := []resource{}
	own := with(s.Tags, map[string]string{"aws:cloudformation:stack-name": s.Name})
	at := func(arn, name string) string {
		return fill(arn, s.cluster.Partition, s.cluster.Region, s.cluster.AccountID, name)
	}
	for id, r := range s.Template.Resources {
		known, ok := kinds[r.Type]
		if !ok {
			s.t.Fatalf("the test does not know the ARNs of %s", r.Type)
		}
		if known.kind == "" {
			continue
		}
		p := s.properties(id)
		one := resource{kind: known.kind, owner: owner, arn: s.arn(id), tags: with(own, tagsIn(p["Tags"]))}
		switch r.Type {
		case "AWS::IAM::Role":
			one.policy = text(s.t, p["AssumeRolePolicyDocument"])
		case "AWS::KMS::Key":
			one.policy = text(s.t, p["KeyPolicy"])
		case "AWS::S3::Bucket":
			one.policy = s.policyOf(id)
			for _, key := range []string{
				"nodeup/0a", "bundles/0a", "pki/ca.key", "etcd/" + s.cluster.Name + "/formed", model.KeyToken, "oidc/openid/v1/jwks", "other",
				"audit/" + s.cluster.Name + "/slot0/a",
			} {
				object := one
				object.kind, object.arn = "s3:object", one.arn+"/"+key
				all = append(all, object)
			}
		case "AWS::AutoScaling::AutoScalingGroup":
			instance := resource{kind: "ec2:instance", owner: owner, tags: with(own, tagsAtLaunch(p["Tags"])), arn: at("arn:{p}:ec2:{r}:{a}:instance/i-{}", s.Name)}
			all = append(all, instance)
		case "AWS::EC2::LaunchTemplate":
			one.tags = own // its specifications are for what instances bring with them
			data, _ := p["LaunchTemplateData"].(map[string]any)
			specifications, _ := data["TagSpecifications"].([]any)
			for _, v := range specifications {
				specification, _ := v.(map[string]any)
				kind, _ := specification["ResourceType"].(string)
				all = append(all, resource{
					kind: "ec2:" + kind, owner: owner, tags: tagsIn(specification["Tags"]), arn: at("arn:{p}:ec2:{r}:{a}:"+kind+"/{}", s.name(id)),
				})
			}
		}
		all = append(all, one)
	}
	return all
}

// policyOf returns the policy of a bucket.
func (s *stack) policyOf(bucket string) string {
	for id, r := range s.Template.Resources {
		if r.Type == "AWS::S3::BucketPolicy" && r.Properties.Get("Bucket") != nil && id == bucket+"Policy" {
			return text(s.t, s.properties(id)["PolicyDocument"])
		}
	}
	return ""
}

// role is a role that a stack creates.
type role struct {
	id, arn string
	// trust is its trust policy; documents are its policies by their names.
	trust     string
	documents map[string]string
}

// roles returns the roles of the stack.
func (s *stack) roles() []role {
	var all []role
	for id, r := range s.Template.Resources {
		if r.Type != "AWS::IAM::Role" {
			continue
		}
		p := s.properties(id)
		one := role{id: id, arn: s.arn(id), trust: text(s.t, p["AssumeRolePolicyDocument"]), documents: map[string]string{}}
		inline, _ := p["Policies"].([]any)
		for _, v := range inline {
			policy, _ := v.(map[string]any)
			name, _ := policy["PolicyName"].(string)
			one.documents[name] = text(s.t, policy["PolicyDocument"])
		}
		attached, _ := p["ManagedPolicyArns"].([]any)
		for _, arn := range attached {
			for other, managed := range s.Template.Resources {
				if managed.Type == "AWS::IAM::ManagedPolicy" && s.arn(other) == arn {
					one.documents[other] = text(s.t, s.properties(other)["PolicyDocument"])
				}
			}
		}
		if want := len(inline) + len(attached); len(one.documents) != want {
			s.t.Fatalf("%s has %d policies, and the stack %d of them", id, want, len(one.documents))
		}
		all = append(all, one)
	}
	return all
}
