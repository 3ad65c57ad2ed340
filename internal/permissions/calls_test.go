package permissions

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/aws-operator/aws-operator/internal/simulator/cloudformation/simulated"
)

// Only package awsapi calls AWS for the operator and the commands, through the interfaces that it
// declares.
func TestPoliciesHaveExactlyTheCallsOfTheCode(t *testing.T) {
	made := interfaceCalls(t, "../awsapi")
	made = append(made, "sts.AssumeRole") // The SDK calls it for the roles of objects.
	var known []string
	for _, s := range statements {
		known = append(known, s.calls...)
	}
	if diff := cmp.Diff(sorted(made), sorted(known)); diff != "" {
		t.Errorf("calls (-in package awsapi +in the table):\n%s", diff)
	}
	for call := range actionsOf {
		if !slices.Contains(made, call) {
			t.Errorf("there are actions for %s, but no code calls it", call)
		}
	}
}

// interfaceCalls lists the calls in the interfaces of a package, as "package.Operation".
func interfaceCalls(t *testing.T, folder string) (calls []string) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(folder, "*.go"))
	if err != nil {
		t.Fatal(err)
	}
	input := regexp.MustCompile(`^aws-sdk-go-v2/service/(\w+)$`)
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		services := map[string]string{}
		for _, i := range parsed.Imports {
			path := strings.TrimPrefix(strings.Trim(i.Path.Value, `"`), "github.com/aws/")
			if match := input.FindStringSubmatch(path); match != nil {
				name := match[1]
				if i.Name != nil {
					name = i.Name.Name
				}
				services[name] = match[1]
			}
		}
		ast.Inspect(parsed, func(n ast.Node) bool {
			declared, ok := n.(*ast.InterfaceType)
			if !ok {
				return true
			}
			for _, method := range declared.Methods.List {
				if f, ok := method.Type.(*ast.FuncType); ok && len(f.Params.List) == 3 {
					of := f.Params.List[1].Type.(*ast.StarExpr).X.(*ast.SelectorExpr)
					calls = append(calls, services[of.X.(*ast.Ident).Name]+"."+strings.TrimSuffix(of.Sel.Name, "Input"))
				}
			}
			return true
		})
	}
	return calls
}

// CloudFormation acts with the operator's permissions on every type in a template.
func TestPoliciesHaveExactlyTheTypesOfTheTemplates(t *testing.T) {
	for of, folders := range map[users][]string{
		services: {"../service/catalog"}, events: {"../awsevents"},
		clusters: {"../cluster/render/templates"}, eksClusters: {"../cluster/render/templates"},
	} {
		var used, known []string
		for _, folder := range folders {
			files, err := filepath.Glob(filepath.Join(folder, "*.yaml"))
			if err != nil || len(files) == 0 {
				t.Fatalf("%s: %v", folder, err)
			}
			for _, file := range files {
				data, err := os.ReadFile(file)
				if err != nil {
					t.Fatal(err)
				}
				for _, match := range regexp.MustCompile(`Type: (AWS::\w+::\w+)`).FindAllStringSubmatch(string(data), -1) {
					if ofEKS := strings.HasPrefix(match[1], "AWS::EKS::"); ofEKS && of == clusters || !ofEKS && of == eksClusters {
						continue // Types that other clusters have, too, are among theirs.
					}
					// The first is a type of a parameter; the statement CloudFormationGrants has the second's actions.
					if !strings.HasPrefix(match[1], "AWS::SSM::Parameter") && match[1] != "AWS::IAM::Policy" {
						used = append(used, match[1])
					}
				}
			}
		}
		for _, one := range resourceTypes {
			if one.users&of != 0 {
				known = append(known, one.name)
			}
		}
		if diff := cmp.Diff(sorted(used), sorted(known)); diff != "" {
			t.Errorf("types (-in templates +in the table):\n%s", diff)
		}
	}
}

// The actions for which the simulator checks the caller of a stack are among those that AWS
// publishes.
func TestPoliciesHaveTheActionsThatTheSimulatorChecks(t *testing.T) {
	for _, one := range resourceTypes {
		for _, operation := range []string{"Create", "Update", "Delete"} {
			asked := simulated.Action(one.name, operation)
			if !slices.ContainsFunc(one.actions, func(action string) bool { return strings.EqualFold(action, asked) }) &&
				!immutable[one.name+"/"+operation] {
				t.Errorf("%s of a %s requires %s", operation, one.name, asked)
			}
		}
	}
}

// immutable are operations that CloudFormation does not have: an update replaces the resource.
var immutable = map[string]bool{
	"AWS::EC2::PlacementGroup/Update": true, "AWS::EC2::SubnetRouteTableAssociation/Update": true, "AWS::EC2::VPCGatewayAttachment/Update": true,
	"AWS::Lambda::Permission/Update": true,
}

func TestDocumentsFitIntoManagedPolicies(t *testing.T) {
	for _, d := range Documents() {
		if size := d.Size(); size > MaxPolicy {
			t.Errorf("%s has %d characters, more than AWS's limit of %d", d.Name, size, MaxPolicy)
		}
	}
}

// The credentials themselves cannot call what only CloudFormation needs.
func TestActionsOfCloudFormationAreAllowedThroughCloudFormationOnly(t *testing.T) {
	for _, d := range Documents() {
		for _, s := range d.Statements {
			if via := s.Condition["ForAnyValue:StringEquals"]["aws:CalledVia"]; strings.HasPrefix(
				d.Name, "cloudformation-",
			) != (len(via) == 1) {
				t.Errorf("%s of %s: %v", s.Sid, d.Name, s.Condition)
			}
		}
	}
}
