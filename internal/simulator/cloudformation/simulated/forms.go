package simulated

import (
	"fmt"
	"strings"

	"github.com/google/uuid"

	"github.com/aws-operator/aws-operator/internal/partition"
)

// forms generate the identifiers and attributes whose form AWS documents, by type and path. Those of other types
// have the usual forms ([namer.guesses]). Unless another page is named, the section "Return values" of the type's page
// has the form: https://docs.aws.amazon.com/AWSCloudFormation/latest/TemplateReference/aws-template-resource-type-ref.html
var forms = map[string]map[string]func(n *namer) string{
	"AWS::ApiGateway::Deployment": {"DeploymentId": random(6)},
	"AWS::ApiGateway::Resource":   {"ResourceId": random(6)},
	"AWS::ApiGateway::RestApi":    {"RestApiId": random(10), "RootResourceId": random(10)},
	"AWS::ApiGatewayV2::Api": {
		"ApiId": random(10),
		// https://docs.aws.amazon.com/apigateway/latest/developerguide/http-api-publish.html
		"ApiEndpoint": func(n *namer) string {
			scheme := "https"
			if n.valueOf("ProtocolType") == "WEBSOCKET" {
				scheme = "wss"
			}
			return fmt.Sprintf("%s://%s.execute-api.%s.amazonaws.com", scheme, n.valueOf("ApiId"), n.r.Region)
		},
	},
	"AWS::ApiGatewayV2::Integration": {"IntegrationId": random(7)},
	"AWS::ApiGatewayV2::Route":       {"RouteId": random(7)},
	"AWS::CloudFront::Distribution": {
		"Id":         func(*namer) string { return "E" + strings.ToUpper(randomBase36(13)) },
		"DomainName": func(*namer) string { return "d" + randomBase36(13) + ".cloudfront.net" },
	},
	"AWS::CloudFront::OriginAccessControl": {"Id": func(*namer) string { return "E" + strings.ToUpper(randomBase36(13)) }},
	"AWS::CloudWatch::Alarm":               {"Arn": arnOf("cloudwatch", "alarm:", "AlarmName", "")},
	"AWS::Cognito::UserPool": {
		"UserPoolId": func(n *namer) string { return n.r.Region + "_" + randomOf(base62, 9) },
		"Arn":        arnOf("cognito-idp", "userpool/", "UserPoolId", ""),
		"ProviderName": func(n *namer) string {
			return "cognito-idp." + n.r.Region + ".amazonaws.com/" + n.valueOf("UserPoolId")
		},
		"ProviderURL": func(n *namer) string { return "https://" + n.valueOf("ProviderName") },
	},
	// https://docs.aws.amazon.com/cognito-user-identity-pools/latest/APIReference/API_UserPoolClientType.html
	"AWS::Cognito::UserPoolClient": {"ClientId": random(26)},
	// https://docs.aws.amazon.com/AmazonECS/latest/developerguide/ecs-account-settings.html#ecs-resource-ids
	"AWS::ECS::Service": {"ServiceArn": func(n *namer) string {
		cluster := n.valueOf("Cluster")
		cluster = cluster[strings.LastIndexByte(cluster, '/')+1:] // it may be an ARN
		if cluster == "" {
			cluster = "default"
		}
		return n.arnIn("ecs", "service/"+cluster+"/"+n.valueOf("ServiceName"))
	}, "Name": func(n *namer) string { return n.valueOf("ServiceName") }},
	"AWS::ECS::TaskDefinition": {"TaskDefinitionArn": func(n *namer) string {
		family := n.valueOf("Family")
		return n.arnIn("ecs", fmt.Sprintf("task-definition/%s:%d", family, n.revision(family)))
	}},
	// https://docs.aws.amazon.com/eventbridge/latest/APIReference/API_CreateApiDestination.html
	"AWS::Events::ApiDestination": {"Arn": func(n *namer) string {
		return n.arnIn("events", "api-destination/"+n.valueOf("Name")+"/"+uuid.NewString())
	}},
	// https://docs.aws.amazon.com/eventbridge/latest/APIReference/API_CreateConnection.html
	"AWS::Events::Connection": {"Arn": func(n *namer) string {
		return n.arnIn("events", "connection/"+n.valueOf("Name")+"/"+uuid.NewString())
	}, "SecretArn": func(n *namer) string {
		return n.arnIn("secretsmanager", "secret:events!connection/"+n.valueOf("Name")+"/"+uuid.NewString()+"-"+randomOf(base62, 6))
	}},
	"AWS::IAM::OIDCProvider": {"Arn": func(n *namer) string {
		name, _ := partition.Of(n.r.Region)
		return fmt.Sprintf("arn:%s:iam::%s:oidc-provider/%s", name, n.r.Account, strings.TrimPrefix(n.valueOf("Url"), "https://"))
	}},
	"AWS::Lambda::Function": {"Arn": arnOf("lambda", "function:", "FunctionName", "")},
	"AWS::Logs::LogGroup":   {"Arn": arnOf("logs", "log-group:", "LogGroupName", ":*")},
	"AWS::SecretsManager::Secret": {"Id": func(n *namer) string {
		return n.arnIn("secretsmanager", "secret:"+n.valueOf("Name")+"-"+randomOf(base62, 6))
	}},
	"AWS::StepFunctions::StateMachine": {
		"Arn": arnOf("states", "stateMachine:", "StateMachineName", ""), "Name": func(n *namer) string { return n.valueOf("StateMachineName") },
	},
}

const (
	base36 = "abcdefghijklmnopqrstuvwxyz0123456789"
	base62 = base36 + "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
)

// random returns a form of a number of lower-case letters and digits.
func random(length int) func(*namer) string {
	return func(*namer) string { return randomOf(base36, length) }
}

// arnOf returns the form of an ARN that contains a property.
func arnOf(service, before, name, after string) func(*namer) string {
	return func(n *namer) string { return n.arnIn(service, before+n.valueOf(name)+after) }
}

// arnIn returns an ARN in the account and region of the resource.
func (n *namer) arnIn(service, rest string) string {
	name, _ := partition.Of(n.r.Region)
	return fmt.Sprintf("arn:%s:%s:%s:%s:%s", name, service, n.r.Region, n.r.Account, rest)
}

// valueOf returns a property as text, and generates it if it is a name or an identifier without a value.
func (n *namer) valueOf(name string) string {
	if p := n.t.Root.Properties[name]; p != nil && (n.t.IsReadOnly([]string{name}) || strings.HasSuffix(name, "Name") || name == "Family") {
		n.ensure(name)
	}
	if value, ok := n.values[name]; ok {
		return fmt.Sprint(value)
	}
	return ""
}
