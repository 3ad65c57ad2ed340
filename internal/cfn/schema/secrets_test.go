package schema_test

import (
	"strings"
	"testing"

	"github.com/aws-operator/aws-operator/internal/cfn/schema"
	"github.com/aws-operator/aws-operator/internal/cfn/template"
)

// TestPlainSecrets tests which values of a template are secrets in plain text.
func TestPlainSecrets(t *testing.T) {
	for _, c := range []struct{ reason, resource, want string }{
		{"a password that AWS does not return", "{Type: AWS::RDS::DBInstance, Properties: {MasterUserPassword: hunter2}}", "MasterUserPassword"},
		{"a password that the schema does not mark", "{Type: AWS::DMS::Endpoint, Properties: {Password: hunter2}}", "Password"},
		{"a password in a list", "{Type: AWS::AmazonMQ::Broker, Properties: {Users: [{Username: a, Password: hunter2}]}}", "Users/0/Password"},
		{"the content of a secret", "{Type: AWS::SecretsManager::Secret, Properties: {SecretString: hunter2}}", "SecretString"},
		{"a token", "{Type: AWS::ElastiCache::ReplicationGroup, Properties: {AuthToken: hunter2}}", "AuthToken"},
		{"a dynamic reference", "{Type: AWS::RDS::DBInstance, Properties: {MasterUserPassword: '{{resolve:secretsmanager:db:SecretString:password}}'}}", ""},
		{"a parameter", "{Type: AWS::RDS::DBInstance, Properties: {MasterUserPassword: {Ref: Password}}}", ""},
		{"whether AWS manages the password", "{Type: AWS::RDS::DBInstance, Properties: {ManageMasterUserPassword: true}}", ""},
		{"code that AWS does not return", "{Type: AWS::Lambda::Function, Properties: {Code: {ZipFile: x}}}", ""},
		{"a key of a map", "{Type: AWS::Lambda::Function, Properties: {Environment: {Variables: {Password: x}}}}", ""},
		{"the path of a file", "{Type: AWS::AppMesh::VirtualNode, Properties: {Spec: {Listeners: [{TLS: {Certificate: {File: {PrivateKey: /key}}}}]}}}", ""},
		{"the name of a secret", "{Type: AWS::RDS::DBInstance, Properties: {MasterUserSecret: {KmsKeyId: key}}}", ""},
		{"a type that is not known", "{Type: Acme::A::B, Properties: {Password: x}}", ""},
	} {
		t.Run(c.reason, func(t *testing.T) {
			parsed, err := template.Parse("t", []byte("Resources: {R: "+c.resource+"}"))
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, secret := range schema.Default().PlainSecrets(parsed) {
				got = append(got, strings.Join(secret.Path, "/"))
			}
			if strings.Join(got, " ") != c.want {
				t.Errorf("the secrets are %q, want %q", got, c.want)
			}
		})
	}
}
