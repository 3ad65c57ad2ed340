package roles_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	service "github.com/aws-operator/aws-operator/api/service/v1alpha1"
	"github.com/aws-operator/aws-operator/internal/cfn/schema"
	"github.com/aws-operator/aws-operator/internal/cluster/model"
	"github.com/aws-operator/aws-operator/internal/cluster/render"
	"github.com/aws-operator/aws-operator/internal/service/catalog"
	servicemodel "github.com/aws-operator/aws-operator/internal/service/model"
	servicerender "github.com/aws-operator/aws-operator/internal/service/render"
)

const (
	serviceOperator = "management"
	serviceRegion   = "eu-west-1"
)

// serviceRole is the role of a service account or an object, with the policies that one object gives
// it.
type serviceRole struct {
	*tried

	kind  string
	owner *service.Object
}

// TestRolesOfServicesReachNothingElse tries every action on resources of other objects, namespaces,
// operators, clusters and users: the roles of pods with each access level of each kind, and the roles
// that services use for objects. Only serviceExceptions are allowed.
func TestRolesOfServicesReachNothingElse(t *testing.T) {
	requests, used := 0, map[string]bool{}
	for _, one := range serviceRoles(t) {
		for r := range one.requests(serviceRegion, index(one.others())) {
			requests++
			if !r.allowed() || !r.creates() {
				continue
			}
			found := slices.IndexFunc(serviceExceptions, func(e serviceException) bool {
				return e.role == r.role.role.id && slices.Contains(e.actions, r.p.Action)
			})
			if found < 0 {
				t.Error(&r)
				continue
			}
			used[serviceExceptions[found].role+r.p.Action] = true
		}
	}
	t.Logf("%d requests", requests)
	for _, e := range serviceExceptions {
		for _, action := range e.actions {
			if !used[e.role+action] {
				t.Errorf("the exception %s of %s is not used", action, e.role)
			}
		}
	}
}

// TestStatementsOfRolesOfServicesApply shows that the requests of the other test are those that the
// roles make: each statement allows some on what it names.
func TestStatementsOfRolesOfServicesApply(t *testing.T) {
	for _, one := range serviceRoles(t) {
		own, matched := index(one.own()), map[string]bool{}
		for r := range one.requests(serviceRegion, own) {
			if decision := r.decide(); decision.Allowed {
				for _, m := range decision.Matched {
					matched[fmt.Sprint(m.Policy, m.Index)] = true
				}
			}
		}
		for _, st := range one.statements {
			if !matched[fmt.Sprint(st.policy, st.index)] {
				t.Errorf("%s: no request is allowed by statement %d of policy %s: %v on %v", one.role.id, st.index, st.policy, st.Action, st.Resource)
			}
		}
	}
}

// TestActionsOfRolesOfServicesAreKnown is TestActionsOfRolesAreKnown for services.
func TestActionsOfRolesOfServicesAreKnown(t *testing.T) {
	for _, one := range serviceRoles(t) {
		for _, st := range one.statements {
			for _, action := range st.Action {
				if !slices.ContainsFunc(table, func(p permission) bool { return matches(action, p.Action) }) {
					t.Errorf("%s: %s is not among the actions that are tried", one.role.id, action)
				}
			}
		}
	}
}

// TestCodeOfAFunctionHasNoRightsOfLambda makes the calls for network interfaces as the function's code
// would. AWS adds the function's ARN to these, and not to Lambda's own.
// https://docs.aws.amazon.com/lambda/latest/dg/permissions-source-function-arn.html
func TestCodeOfAFunctionHasNoRightsOfLambda(t *testing.T) {
	tries := 0
	for _, one := range serviceRoles(t) {
		for r := range one.requests(serviceRegion, index(one.others())) {
			if !strings.HasPrefix(r.p.Action, "ec2:") || !r.allowed() {
				continue
			}
			tries++
			r.attempt.keys = maps.Clone(r.attempt.keys)
			r.attempt.keys["lambda:sourcefunctionarn"] = []string{"arn:aws:lambda:" + serviceRegion + ":" + account + ":function:resize"}
			if r.allowed() {
				t.Errorf("the code may do it: %s", &r)
			}
		}
	}
	if tries == 0 {
		t.Error("no role has rights for Lambda")
	}
}

// kindsWithRoles are the kinds whose own templates have policies for the role of an object.
var kindsWithRoles = map[string]bool{"EventBridgeRule": true, "Lambda": true, "S3Bucket": true}

// serviceException is what the role of an object may do though it is on nothing of the object's.
type serviceException struct {
	role    string
	actions []string
	reason  string
}

var serviceExceptions = []serviceException{{
	role: "Lambda, its own role",
	actions: []string{
		"ec2:AssignPrivateIpAddresses", "ec2:CreateNetworkInterface", "ec2:DeleteNetworkInterface", "ec2:DescribeNetworkInterfaces",
		"ec2:DescribeSubnets", "ec2:UnassignPrivateIpAddresses",
	},
	reason: "Only of functions with `spec.vpc`. Lambda needs them for the network interfaces; the code is denied them by `lambda:SourceFunctionArn`.",
}}

// own returns what the role's statements name, with the tags of the object's resources.
func (one *serviceRole) own() []resource {
	var all []resource
	for _, st := range one.statements {
		for _, arn := range st.Resource {
			if arn == "*" {
				continue
			}
			for _, kind := range kindsOfActions(st.Action) {
				all = append(all, resource{
					kind: kind, owner: "own", arn: strings.ReplaceAll(arn, "*", "x"),
					tags: servicerender.Tags(one.kind, one.owner, serviceOperator),
				})
			}
		}
	}
	if one.anywhere() { // it names nothing: any resource is its own
		all = append(all, ofEveryKind(arns, "own", serviceRegion, "own", nil)...)
	}
	return all
}

// anywhere reports whether a statement names no resource.
func (one *serviceRole) anywhere() bool {
	return slices.ContainsFunc(one.statements, func(st statement) bool { return slices.Contains(st.Resource, "*") })
}

// others returns what the role must not reach: resources of every kind of other owners, also with
// names that begin like those that the role may use.
func (one *serviceRole) others() []resource {
	tagged := func(name, namespace, operator string) map[string]string {
		return servicerender.Tags(one.kind, &service.Object{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: namespace}}, operator)
	}
	ofObject := func(owner, operator, namespace, name string) []resource {
		stack := servicerender.StackName(operator, one.kind, namespace, name)
		return append(
			ofEveryKind(arns, owner, serviceRegion, stack, tagged(name, namespace, operator)),
			ofEveryKind(arns, owner, serviceRegion, stack+"-resource-0A1B2C3D4E5F", tagged(name, namespace, operator))...,
		)
	}
	name, namespace := one.owner.Name, one.owner.Namespace
	all := slices.Concat(
		ofObject("another object of the namespace", serviceOperator, namespace, name+"-2"),
		ofObject("the object of this name in another namespace", serviceOperator, "other-team", name),
		ofObject("the same object of another operator", "other-management", namespace, name),
		ofEveryKind(arns, "a cluster", serviceRegion, "demo-control-plane", map[string]string{
			model.TagOwnedPrefix + "demo": model.TagOwned, model.TagCluster: "demo",
		}),
		ofEveryKind(arns, "a user, without tags", serviceRegion, "by-hand", nil),
	)
	for _, st := range one.statements { // of the same namespace, so that tags do not distinguish them
		for _, arn := range st.Resource {
			if arn == "*" {
				continue
			}
			base := strings.TrimRight(arn, "*:/")
			for _, kind := range kindsOfActions(st.Action) {
				all = append(all, resource{
					kind: kind, owner: "a name that begins alike", arn: base + "2" + strings.ReplaceAll(arn[len(base):], "*", "x"),
					tags: tagged(name+"2", namespace, serviceOperator),
				})
			}
		}
	}
	return all
}

// kindsOfActions returns the kinds that actions are on.
func kindsOfActions(actions []string) []string {
	var all []string
	for i := range table {
		for _, action := range actions {
			if matches(action, table[i].Action) {
				all = append(all, table[i].kinds...)
			}
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// serviceRoles returns a role with each access level of each kind, and the role of each object of a
// kind that has one, for the manifests that the golden tests of kinds render.
func serviceRoles(t *testing.T) []*serviceRole {
	t.Helper()
	models, err := catalog.Models(schema.Default())
	if err != nil {
		t.Fatal(err)
	}
	tried := map[string]bool{}
	var all []*serviceRole
	for _, m := range models {
		manifests, err := filepath.Glob(filepath.Join("../../internal/service/render/testdata", strings.ToLower(m.Kind)+"*.yaml"))
		if err != nil {
			t.Fatal(err)
		}
		for _, path := range manifests {
			if strings.HasSuffix(path, ".golden.yaml") {
				continue
			}
			obj := readObject(t, path)
			for _, level := range append([]string{""}, m.AccessNames()...) {
				for _, one := range rolesOfObject(t, m, obj, level) {
					tried[m.Kind+level] = true
					all = append(all, one)
				}
			}
		}
		for _, level := range m.AccessNames() {
			if !tried[m.Kind+level] {
				t.Errorf("no manifest of %s has a role with the access level %s", m.Kind, level)
			}
		}
		if has := kindsWithRoles[m.Kind]; has != tried[m.Kind] {
			t.Errorf("that a manifest of %s has policies for a role of its own is %v", m.Kind, !has)
		}
	}
	return all
}

func readObject(t *testing.T, path string) *service.Object {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	obj := &service.Object{}
	if err := yaml.UnmarshalStrict(text, obj); err != nil {
		t.Fatal(err)
	}
	return obj
}

// rolesOfObject renders an object that grants one access level to a service account, or nothing, and
// returns the role of the service account, or the object's own.
func rolesOfObject(t *testing.T, m *servicemodel.Model, obj *service.Object, level string) []*serviceRole {
	t.Helper()
	var spec map[string]any
	if err := json.Unmarshal(obj.Spec, &spec); err != nil && len(obj.Spec) > 0 {
		t.Fatal(err)
	}
	if spec == nil {
		spec = map[string]any{}
	}
	delete(spec, servicemodel.GrantsField)
	delete(spec, servicemodel.ObjectGrantsField)
	id := m.Kind + ", its own role"
	if level != "" {
		id = m.Kind + ", access level " + level
		spec[servicemodel.GrantsField] = []any{map[string]any{"serviceAccount": "web", "access": level}}
	}
	changed := *obj
	changed.Spec = []byte(text(t, spec))
	references, err := servicerender.References(m, &changed)
	if err != nil {
		t.Fatal(err)
	}
	facts := servicerender.Facts{
		Region: serviceRegion, AccountID: account, ClusterName: serviceOperator, References: map[string]map[string]any{},
	}
	for _, r := range references {
		facts.References[r.Name] = outputsOf(r.Name, m.Kind+"/"+obj.Name)
	}
	desired, err := servicerender.Stack(m, &changed, facts, nil)
	if err != nil {
		t.Fatalf("%s %s: %v", m.Kind, obj.Name, err)
	}
	made := &stack{
		t: t, Stack: &render.Stack{Name: desired.Name, Template: desired.Template, Tags: desired.Tags},
		cluster: &model.Cluster{Region: serviceRegion, Partition: partitionOf(serviceRegion), AccountID: account},
	}
	var all []*serviceRole
	for _, r := range made.rolesOfServices() {
		forPods := strings.HasPrefix(r.id, "GrantTo")
		if forPods != (level != "") {
			continue
		}
		r.id = id
		one := newTried(t, r, serviceRegion, "")
		for i := range one.statements { // each resource is one of the object's, or of what it references
			if len(one.statements[i].Resource) == 0 {
				t.Errorf("%s: a statement names no resource", id)
			}
		}
		all = append(all, &serviceRole{tried: one, kind: m.Kind, owner: obj})
	}
	return all
}

// rolesOfServices returns the roles of a stack, and for each policy of a role in another stack one
// with just that policy.
func (s *stack) rolesOfServices() []role {
	all := s.roles()
	for id, r := range s.Template.Resources {
		if r.Type != "AWS::IAM::Policy" {
			continue
		}
		all = append(all, role{
			id: id, arn: fill("arn:{p}:iam::{a}:role/aws-operator/{}", s.cluster.Partition, "", account, id),
			documents: map[string]string{id: text(s.t, s.properties(id)["PolicyDocument"])},
		})
	}
	return all
}

// outputsOf returns the outputs of an object of any kind that others reference, and that lets by send to
// it.
func outputsOf(name, by string) map[string]any {
	at := func(of, rest string) string {
		return "arn:aws:" + of + ":" + serviceRegion + ":" + account + ":" + rest
	}
	return map[string]any{
		"name": name, "queueName": name, "queueARN": at("sqs", name), "queueURL": "https://sqs." + serviceRegion + ".amazonaws.com/" + account + "/" + name,
		"topicARN": at("sns", name), "streamName": name, "bucketName": strings.ToLower(name), "repositoryName": strings.ToLower(name),
		"functionName": name, "senders": "-," + by, "publishers": "-," + by, "spec": map[string]any{"versioning": true, "distributionName": by[strings.IndexByte(by, '/')+1:]},
		"keyID": "1234abcd-12ab-34cd-56ef-1234567890ab", "keyARN": at("kms", "key/1234abcd-12ab-34cd-56ef-1234567890ab"),
	}
}
