package render

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"

	v1alpha1 "github.com/aws-operator/aws-operator/api/service/v1alpha1"
	cfntemplate "github.com/aws-operator/aws-operator/internal/cfn/template"
	"github.com/aws-operator/aws-operator/internal/lazyregexp"
	"github.com/aws-operator/aws-operator/internal/partition"
	"github.com/aws-operator/aws-operator/internal/service/model"
)

// Grantee is a service account, or an object with a role of its own, in the namespace of the object
// that grants it access.
type Grantee struct {
	// Kind is that of the object; empty for a service account.
	Kind string
	// Name is its name.
	Name string
}

// String returns the words for messages.
func (g Grantee) String() string {
	if g.Kind == "" {
		return "service account " + g.Name
	}
	return g.Kind + " " + g.Name
}

// Valid reports whether a grantee can exist. Its name is part of names in AWS, and of requests to the
// API server.
func (g Grantee) Valid() bool {
	return IsServiceAccount(g.Name) && (g.Kind == "" || isKind.MatchString(g.Kind))
}

// isKind is the form of the kinds of ModelDefinitions.
var isKind = lazyregexp.New(`^[A-Z][A-Za-z0-9]*$`)

// Grant is an entry of spec.grants or spec.objectGrants.
type Grant struct {
	Grantee

	// Access is the name of an access level.
	Access string
}

// Grants returns the grants of an object. The error is a *RefusedError if one is invalid, which the
// API server refuses unless the model changed since.
func Grants(m *model.Model, obj *v1alpha1.Object) ([]Grant, error) {
	text := string(obj.Spec)
	if len(m.AccessLevels) == 0 || !strings.Contains(text, model.GrantsField) && !strings.Contains(text, model.ObjectGrantsField) {
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
	accounts, err := grantsIn(m, spec, model.GrantsField)
	if err != nil {
		return nil, err
	}
	objects, err := grantsIn(m, spec, model.ObjectGrantsField)
	if err != nil {
		return nil, err
	}
	grants := append(accounts, objects...) //nolint:gocritic // nothing else uses the first
	if name, _ := spec["cloudFormationTemplateName"].(string); name != "" && len(grants) > 0 {
		return nil, &RefusedError{"GrantsNeedTemplateOfKind", "spec.grants needs the kind's own template, because the access levels name its resources. " +
			"Remove spec.grants and spec.objectGrants, or spec.cloudFormationTemplateName."}
	}
	return grants, nil
}

// grantsIn returns the grants of one field of the spec.
func grantsIn(m *model.Model, spec map[string]any, field string) ([]Grant, error) {
	keys := "serviceAccount"
	if field == model.ObjectGrantsField {
		keys = "kind, name"
	}
	list, ok := spec[field].([]any)
	if !ok && spec[field] != nil {
		return nil, &RefusedError{"InvalidGrant", fmt.Sprintf("spec.%s is no list; write a list of entries with %s and access.", field, keys)}
	}
	var grants []Grant
	for i, item := range list {
		entry, _ := item.(map[string]any)
		text := func(name string) string {
			value, _ := entry[name].(string)
			return value
		}
		one := Grant{Grantee: Grantee{Name: text("serviceAccount")}, Access: text("access")}
		named, what := ".serviceAccount", "name a service account of the object's namespace"
		if field == model.ObjectGrantsField {
			one.Grantee = Grantee{Kind: text("kind"), Name: text("name")}
			named, what = "", "name the kind and the name of an object of the namespace, such as Lambda and resize"
		}
		at := fmt.Sprintf("spec.%s[%d]", field, i)
		switch {
		case !one.Valid() || field == model.ObjectGrantsField && one.Kind == "":
			return nil, &RefusedError{"InvalidGrant", fmt.Sprintf(
				"%s%s is %q; %s.", at, named, strings.TrimSpace(one.Kind+" "+one.Name), what)}
		case slices.ContainsFunc(grants, func(g Grant) bool { return g.Grantee == one.Grantee }):
			return nil, &RefusedError{"InvalidGrant", fmt.Sprintf(
				"%s%s names %s again; keep one grant for each.", at, named, strings.TrimPrefix(one.String(), "service account "))}
		case m.AccessLevel(one.Access) == nil:
			return nil, &RefusedError{"InvalidGrant", fmt.Sprintf(
				"%s.access is %q, which is no access level of %s; use one of %s.", at, one.Access, m.Kind, strings.Join(m.AccessNames(), ", "))}
		}
		grants = append(grants, one)
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

// RoleOwnerOf is RoleOwner for the roles of the objects of a kind.
func RoleOwnerOf(kind string) string {
	if kind == "" {
		return RoleOwner
	}
	return "iam." + kind
}

// Role is the role of a service account or an object, to which every object that grants it access
// adds a policy.
type Role struct {
	// ClusterName is the operator's, Kind, Namespace and Name are those of the [Grantee].
	ClusterName, Kind, Namespace, Name string
}

// Trust is who may assume a role.
type Trust struct {
	// Issuer is the URL of the issuer of service account tokens. EKSCluster, if not empty, is the ARN of
	// the EKS cluster whose Pod Identity assumes the roles of service accounts instead.
	Issuer, EKSCluster string
	// Service is the service that assumes the role of an object, such as lambda.amazonaws.com.
	Service string
	// Source is the ARN of the resource for which that service assumes the role; empty for any.
	Source string
	// AnyAccount means that the service need not name the account of that resource.
	AnyAccount bool
}

// HasRole reports whether an object has a role of its own.
func HasRole(m *model.Model, obj *v1alpha1.Object) bool {
	if m.ExecutionRole == "" {
		return false
	}
	spec, err := Spec(obj)
	return err == nil && scope(obj, m, spec, Facts{})["role"] != nil // a step reports the error
}

// hasRole is [HasRole] for the data of templates.
func hasRole(m *model.Model, data map[string]any) bool {
	if m.RoleOnlyIf == nil {
		return true
	}
	text, err := m.RoleOnlyIf.Execute(data)
	return err != nil || strings.TrimSpace(text) != "" // with an error, the template of the stack fails, too
}

// RoleTrust returns who may assume the role of an object. Of an object that does not exist, only the
// name and the namespace are known.
func RoleTrust(m *model.Model, obj *v1alpha1.Object, facts Facts) (Trust, error) {
	trust := Trust{Service: m.ExecutionRole, AnyAccount: m.RoleOfAnyAccount}
	if m.RoleSource == nil {
		return trust, nil
	}
	spec, err := Spec(obj)
	if err != nil {
		return trust, err
	}
	source, err := m.RoleSource.Execute(scope(obj, m, spec, facts))
	if err != nil {
		return trust, fmt.Errorf("render the ARN for the trust policy: %w", err)
	}
	trust.Source = strings.TrimSpace(source)
	return trust, nil
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
	plain := strings.Map(stackNameCharacter, strings.Join([]string{r.ClusterName, r.Namespace, r.Name}, "-"))
	if r.Kind == "" {
		return withHash(plain, maxRoleName, roleHash, r.ClusterName, r.Namespace, r.Name)
	}
	return withHash(plain, maxRoleName, roleHash, r.ClusterName, r.Kind, r.Namespace, r.Name)
}

// Path is the path of the roles of an operator: a policy can limit the operator to it.
// https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_identifiers.html#identifiers-friendly-names
func (r Role) Path() string { return RolePath(r.ClusterName) }

// RolePath returns the path of the roles that an operator makes for service accounts and objects.
func RolePath(clusterName string) string {
	return "/aws-operator/" + strings.Map(stackNameCharacter, clusterName) + "/"
}

// ARN is the ARN of the role in an account and region.
func (r Role) ARN(account, region string) string {
	arnPartition, _ := partition.Of(region)
	return "arn:" + arnPartition + ":iam::" + account + ":role" + r.Path() + r.RoleName()
}

// Stack renders the stack with the role. Only what the trust names may assume it.
func (r Role) Stack(trust Trust, account, region string) (*Desired, error) {
	arn := map[string]any{"Fn::GetAtt": []string{"Role", "Arn"}}
	resources := map[string]any{"Role": map[string]any{
		"Type": "AWS::IAM::Role",
		"Properties": map[string]any{
			"RoleName": r.RoleName(), "Path": r.Path(),
			"AssumeRolePolicyDocument": map[string]any{
				"Version": "2012-10-17", "Statement": []any{r.trusts(trust, account, region)},
			},
		},
	}}
	if r.Kind == "" && trust.EKSCluster != "" {
		_, _, cluster := EKSCluster(trust.EKSCluster)
		resources["Association"] = map[string]any{
			"Type": "AWS::EKS::PodIdentityAssociation",
			"Properties": map[string]any{
				"ClusterName": cluster, "Namespace": r.Namespace, "ServiceAccount": r.Name, "RoleArn": arn,
			},
		}
	}
	document, err := json.Marshal(map[string]any{
		"Description": "The IAM role of " + Grantee{r.Kind, r.Name}.String() + " in namespace " + r.Namespace + ".",
		"Resources":   resources,
		"Outputs":     map[string]any{"RoleArn": map[string]any{"Value": arn}},
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

// trusts returns the statement of the trust policy. That of a service account is as in
// https://docs.aws.amazon.com/eks/latest/userguide/associate-service-account-role.html: only tokens
// of this service account, for STS. With EKS Pod Identity, it is as in
// https://docs.aws.amazon.com/eks/latest/userguide/pod-id-role.html, with the tags of
// https://docs.aws.amazon.com/eks/latest/userguide/pod-id-abac.html: without them, each association in the
// account could use the role. That of an object is as in
// https://docs.aws.amazon.com/lambda/latest/dg/lambda-intro-execution-role.html: only the service, and
// only for resources of the account, or for one of them.
// https://docs.aws.amazon.com/IAM/latest/UserGuide/confused-deputy.html#cross-service-confused-deputy-prevention
func (r Role) trusts(trust Trust, account, region string) map[string]any {
	if r.Kind != "" {
		statement := map[string]any{"Effect": "Allow", "Principal": map[string]any{"Service": trust.Service}, "Action": "sts:AssumeRole"}
		condition := map[string]any{}
		if !trust.AnyAccount {
			condition["StringEquals"] = map[string]any{"aws:SourceAccount": account}
		}
		if trust.Source != "" {
			condition["ArnEquals"] = map[string]any{"aws:SourceArn": trust.Source}
		}
		if len(condition) > 0 {
			statement["Condition"] = condition
		}
		return statement
	}
	if trust.EKSCluster != "" {
		return map[string]any{
			"Effect":    "Allow",
			"Principal": map[string]any{"Service": podIdentity},
			"Action":    []string{"sts:AssumeRole", "sts:TagSession"},
			"Condition": map[string]any{"StringEquals": map[string]any{
				"aws:RequestTag/eks-cluster-arn":            trust.EKSCluster,
				"aws:RequestTag/kubernetes-namespace":       r.Namespace,
				"aws:RequestTag/kubernetes-service-account": r.Name,
			}},
		}
	}
	arnPartition, _ := partition.Of(region)
	host := strings.TrimPrefix(trust.Issuer, "https://")
	return map[string]any{
		"Effect":    "Allow",
		"Principal": map[string]any{"Federated": "arn:" + arnPartition + ":iam::" + account + ":oidc-provider/" + host},
		"Action":    "sts:AssumeRoleWithWebIdentity",
		"Condition": map[string]any{"StringEquals": map[string]any{
			host + ":sub": "system:serviceaccount:" + r.Namespace + ":" + r.Name,
			host + ":aud": "sts.amazonaws.com",
		}},
	}
}

// podIdentity is the service that assumes the roles of pods with EKS Pod Identity.
const podIdentity = "pods.eks.amazonaws.com"

// StackName is the name of the stack with the role.
func (r Role) StackName() string {
	return StackName(r.ClusterName, RoleOwnerOf(r.Kind), r.Namespace, r.Name)
}

// Tags identify the owner of the stack with the role.
func (r Role) Tags() map[string]string {
	return map[string]string{TagName: r.Name, TagNamespace: r.Namespace, TagKind: RoleOwnerOf(r.Kind), TagCluster: r.ClusterName}
}

// maxPolicyName is IAM's limit for the names of policies.
const maxPolicyName = 128

// addGrants adds a policy for each grant to the object's template. The role is in a stack of its own:
// a grantee has one role, and several objects grant access to it.
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
		role := Role{ClusterName: clusterName, Kind: g.Kind, Namespace: obj.Namespace, Name: g.Name}
		id := grantID(g.Grantee)
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

// grantID is the logical ID of the policy for a grantee: letters and digits only. No service account
// has a blank in its name.
// https://docs.aws.amazon.com/AWSCloudFormation/latest/UserGuide/resources-section-structure.html
func grantID(of Grantee) string {
	const most = 40
	text := strings.TrimSpace(of.Kind + " " + of.Name)
	sum := sha256.Sum256([]byte(text))
	plain := strings.Map(func(r rune) rune {
		if isLetter(r) || r >= '0' && r <= '9' {
			return r
		}
		return -1
	}, text)
	plain = plain[:min(len(plain), most)]
	return "GrantTo" + strings.ToUpper(plain[:min(len(plain), 1)]) + plain[min(len(plain), 1):] + hex.EncodeToString(sum[:4])
}
