package render

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"

	v1alpha1 "github.com/aws-operator/aws-operator/api/service/v1alpha1"
	cfntemplate "github.com/aws-operator/aws-operator/internal/cfn/template"
	"github.com/aws-operator/aws-operator/internal/partition"
	"github.com/aws-operator/aws-operator/internal/service/model"
)

// Grant is an entry of spec.grants.
type Grant struct {
	// ServiceAccount is the name of a service account in the object's namespace.
	ServiceAccount string
	// Access is the name of an access level.
	Access string
}

// Grants returns the grants of an object. The error is a *RefusedError if one is invalid, which the
// API server refuses unless the model changed since.
func Grants(m *model.Model, obj *v1alpha1.Object) ([]Grant, error) {
	if len(m.AccessLevels) == 0 || !strings.Contains(string(obj.Spec), model.GrantsField) {
		return nil, nil
	}
	spec, err := Spec(obj)
	if err != nil {
		return nil, err
	}
	return grantsOf(m, spec)
}

func grantsOf(m *model.Model, spec map[string]any) ([]Grant, error) {
	if len(m.AccessLevels) == 0 {
		return nil, nil
	}
	list, ok := spec[model.GrantsField].([]any)
	if !ok && spec[model.GrantsField] != nil {
		return nil, &RefusedError{"InvalidGrant", "spec.grants is no list; write a list of entries with serviceAccount and access."}
	}
	var grants []Grant
	seen := map[string]bool{}
	for i, item := range list {
		entry, _ := item.(map[string]any)
		account, _ := entry["serviceAccount"].(string)
		access, _ := entry["access"].(string)
		switch {
		case !IsServiceAccount(account):
			return nil, &RefusedError{"InvalidGrant", fmt.Sprintf(
				"spec.grants[%d].serviceAccount is %q; name a service account of the object's namespace.", i, account)}
		case seen[account]:
			return nil, &RefusedError{"InvalidGrant", fmt.Sprintf(
				"spec.grants[%d].serviceAccount names %s again; keep one grant for each service account.", i, account)}
		case m.AccessLevel(access) == nil:
			return nil, &RefusedError{"InvalidGrant", fmt.Sprintf(
				"spec.grants[%d].access is %q, which is no access level of %s; use one of %s.", i, access, m.Kind, strings.Join(m.AccessNames(), ", "))}
		}
		seen[account] = true
		grants = append(grants, Grant{ServiceAccount: account, Access: access})
	}
	if name, _ := spec["cloudFormationTemplateName"].(string); name != "" && len(grants) > 0 {
		return nil, &RefusedError{"GrantsNeedTemplateOfKind", "spec.grants needs the kind's own template, because the access levels name its resources. " +
			"Remove spec.grants or spec.cloudFormationTemplateName."}
	}
	return grants, nil
}

// IsServiceAccount reports whether a ServiceAccount can have a name. Names are parts of trust policies
// and of requests to the API server.
// https://kubernetes.io/docs/tasks/configure-pod-container/configure-service-account/
func IsServiceAccount(name string) bool { return len(validation.IsDNS1123Subdomain(name)) == 0 }

// RoleOwner is the kind in the name and the tags of the stack with a service account's role. No
// kind of a ModelDefinition can have this name.
const RoleOwner = "iam.ServiceAccount"

// Role is the role of a service account, to which every object that grants access to the service
// account adds a policy.
type Role struct {
	// ClusterName is the operator's, Namespace and Name are the service account's.
	ClusterName, Namespace, Name string
}

// maxRoleName is IAM's limit, see
// https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_iam-quotas.html#reference_iam-quotas-entity-length.
const maxRoleName = 64

// roleHash is the number of bytes of the hashes in the names of roles and their policies.
const roleHash = 8

// RoleName is the name of the role. It always has a hash, because the names of clusters, namespaces
// and service accounts may contain hyphens, and are too long for the name of a role. The hash has 64
// bits: the author of an object chooses the name of a service account, and could find one with the
// hash of another namespace's if it had only the 32 bits that tell stacks apart.
func (r Role) RoleName() string {
	plain := strings.Join([]string{r.ClusterName, r.Namespace, r.Name}, "-")
	return withHash(strings.Map(stackNameCharacter, plain), maxRoleName, roleHash, r.ClusterName, r.Namespace, r.Name)
}

// Path is the path of the roles of an operator: a policy can limit the operator to it.
// https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_identifiers.html#identifiers-friendly-names
func (r Role) Path() string { return RolePath(r.ClusterName) }

// RolePath returns the path of the roles that an operator makes for service accounts.
func RolePath(clusterName string) string {
	return "/aws-operator/" + strings.Map(stackNameCharacter, clusterName) + "/"
}

// ARN is the ARN of the role in an account and region.
func (r Role) ARN(account, region string) string {
	arnPartition, _ := partition.Of(region)
	return "arn:" + arnPartition + ":iam::" + account + ":role" + r.Path() + r.RoleName()
}

// Stack renders the stack with the role, for service accounts whose tokens are of an issuer, an URL.
// The trust policy is that of
// https://docs.aws.amazon.com/eks/latest/userguide/associate-service-account-role.html: only tokens
// of this service account, for STS.
func (r Role) Stack(issuer, account, region string) (*Desired, error) {
	arnPartition, _ := partition.Of(region)
	host := strings.TrimPrefix(issuer, "https://")
	document, err := json.Marshal(map[string]any{
		"Description": "The IAM role of service account " + r.Name + " in namespace " + r.Namespace + ".",
		"Resources": map[string]any{"Role": map[string]any{
			"Type": "AWS::IAM::Role",
			"Properties": map[string]any{
				"RoleName": r.RoleName(), "Path": r.Path(),
				"AssumeRolePolicyDocument": map[string]any{
					"Version": "2012-10-17",
					"Statement": []any{map[string]any{
						"Effect":    "Allow",
						"Principal": map[string]any{"Federated": "arn:" + arnPartition + ":iam::" + account + ":oidc-provider/" + host},
						"Action":    "sts:AssumeRoleWithWebIdentity",
						"Condition": map[string]any{"StringEquals": map[string]any{
							host + ":sub": "system:serviceaccount:" + r.Namespace + ":" + r.Name,
							host + ":aud": "sts.amazonaws.com",
						}},
					}},
				},
			},
		}},
		"Outputs": map[string]any{"RoleArn": map[string]any{"Value": map[string]any{"Fn::GetAtt": []string{"Role", "Arn"}}}},
	})
	if err != nil {
		return nil, fmt.Errorf("encode the template of a role: %w", err)
	}
	desired := &Desired{
		Name: r.StackName(), Tags: r.Tags(), OwnerTags: []string{TagName, TagNamespace, TagKind, TagCluster},
		Capabilities: []string{"CAPABILITY_NAMED_IAM"},
	}
	if desired.Template, err = cfntemplate.Parse("role.yaml", document); err != nil {
		return nil, fmt.Errorf("parse the template of a role: %w", err)
	}
	return desired, nil
}

// StackName is the name of the stack with the role.
func (r Role) StackName() string { return StackName(r.ClusterName, RoleOwner, r.Namespace, r.Name) }

// Tags identify the owner of the stack with the role.
func (r Role) Tags() map[string]string {
	return map[string]string{TagName: r.Name, TagNamespace: r.Namespace, TagKind: RoleOwner, TagCluster: r.ClusterName}
}

// maxPolicyName is IAM's limit for the names of policies.
const maxPolicyName = 128

// addGrants adds a policy for each grant to the object's template. The role is in a stack of its own:
// a service account has one role, and several objects grant access to it.
func addGrants(desired *Desired, m *model.Model, obj *v1alpha1.Object, data map[string]any, grants []Grant, clusterName string) error {
	if len(grants) == 0 {
		return nil
	}
	changed := *desired.Template
	changed.Resources = make(map[string]*cfntemplate.Resource, len(desired.Template.Resources)+len(grants))
	maps.Copy(changed.Resources, desired.Template.Resources)
	name := withHash(strings.ToLower(m.Kind)+"-"+obj.Name, maxPolicyName, roleHash, clusterName, m.Kind, obj.Namespace, obj.Name)
	for _, g := range grants {
		statements, err := statementsOf(m.AccessLevel(g.Access), data, desired.Template)
		if err != nil {
			return fmt.Errorf("render the access level %s: %w", g.Access, err)
		}
		if len(statements) == 0 {
			continue
		}
		role := Role{ClusterName: clusterName, Namespace: obj.Namespace, Name: g.ServiceAccount}
		id := grantID(g.ServiceAccount)
		if changed.Resources[id] != nil {
			return &RefusedError{"InvalidGrant", fmt.Sprintf("The template already has a resource %s; rename it in the ModelDefinition.", id)}
		}
		desired.Grants = append(desired.Grants, id)
		changed.Resources[id] = &cfntemplate.Resource{LogicalID: id, Type: "AWS::IAM::Policy", Properties: object(
			field("PolicyName", cfntemplate.NewString(name)),
			field("Roles", cfntemplate.NewList(cfntemplate.NewString(role.RoleName()))),
			field("PolicyDocument", object(
				field("Version", cfntemplate.NewString("2012-10-17")),
				field("Statement", cfntemplate.NewList(statements...)),
			)),
		)}
	}
	desired.Template = &changed
	desired.Capabilities = withCapability(desired.Capabilities)
	return nil
}

// withCapability adds the capability for policies, unless the model's include it.
// https://docs.aws.amazon.com/AWSCloudFormation/latest/APIReference/API_CreateStack.html
func withCapability(of []string) []string {
	for _, one := range of {
		if one == "CAPABILITY_IAM" || one == "CAPABILITY_NAMED_IAM" {
			return of
		}
	}
	return append(append([]string{}, of...), "CAPABILITY_IAM")
}

// statementsOf renders the statements of a level. A statement whose resources the object does not
// have is omitted.
func statementsOf(level *model.AccessLevel, data map[string]any, t *cfntemplate.Template) ([]*cfntemplate.Node, error) {
	var statements []*cfntemplate.Node
	for _, s := range level.Statements {
		var resources, actions []*cfntemplate.Node
		for _, text := range s.Resources {
			node, err := model.Resource(text, data, t)
			if err != nil {
				return nil, err
			}
			if node != nil {
				resources = append(resources, node)
			}
		}
		if len(resources) == 0 {
			continue
		}
		for _, action := range s.Actions {
			actions = append(actions, cfntemplate.NewString(action))
		}
		statements = append(statements, object(
			field("Effect", cfntemplate.NewString("Allow")),
			field("Action", cfntemplate.NewList(actions...)),
			field("Resource", cfntemplate.NewList(resources...)),
		))
	}
	return statements, nil
}

func object(fields ...cfntemplate.Field) *cfntemplate.Node {
	return &cfntemplate.Node{Kind: cfntemplate.Map, Fields: fields}
}

func field(key string, value *cfntemplate.Node) cfntemplate.Field {
	return cfntemplate.Field{Key: key, Value: value}
}

// grantID is the logical ID of the policy for a service account: letters and digits only.
// https://docs.aws.amazon.com/AWSCloudFormation/latest/UserGuide/resources-section-structure.html
func grantID(account string) string {
	const most = 40
	sum := sha256.Sum256([]byte(account))
	plain := strings.Map(func(r rune) rune {
		if isLetter(r) || r >= '0' && r <= '9' {
			return r
		}
		return -1
	}, account)
	plain = plain[:min(len(plain), most)]
	return "GrantTo" + strings.ToUpper(plain[:min(len(plain), 1)]) + plain[min(len(plain), 1):] + hex.EncodeToString(sum[:4])
}
