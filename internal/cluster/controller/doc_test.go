package controller

import (
	"go/parser"
	"go/token"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/aws-operator/aws-operator/internal/cluster/workload"
	"github.com/aws-operator/aws-operator/pkg/operatorkit"
)

// idle returns an operator that makes no calls.
func idle() *operator {
	options := Options{Clients: home{}, Workload: &workload.Clusters{}, Clock: clock.RealClock{}, Addons: noAddons{}}
	return newOperator(options, nil, nil, nil)
}

// noAddons is an addon manager that is never called.
type noAddons struct{ Addons }

func TestPackageDocumentationListsTheSteps(t *testing.T) {
	o := idle()
	for title, want := range map[string][]string{
		"A Cluster's pipeline":        namesOf(o.clusterSteps()),
		"An InstanceGroup's pipeline": namesOf(o.groupSteps()),
	} {
		if got := documented(t, title); !slices.Equal(got, want) {
			t.Errorf("%s: doc.go lists %q, but the steps are %q", title, got, want)
		}
	}
}

func namesOf[T client.Object](steps []operatorkit.Step[T]) []string {
	names := make([]string, len(steps))
	for i := range steps {
		names[i] = steps[i].Name()
	}
	return names
}

// documented returns the names in the list below a heading of the package's documentation.
func documented(t *testing.T, heading string) []string {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), "doc.go", nil, parser.ParseComments|parser.PackageClauseOnly)
	if err != nil {
		t.Fatal(err)
	}
	_, text, found := strings.Cut(file.Doc.Text(), "# "+heading+"\n")
	if !found {
		t.Fatalf("doc.go has no heading %q", heading)
	}
	text, _, _ = strings.Cut(text, "\n# ")
	var names []string
	for _, line := range regexp.MustCompile(`(?m)^\t(\S+)`).FindAllStringSubmatch(text, -1) {
		names = append(names, line[1])
	}
	return names
}

func TestDeletedObjectsAreForgottenEverywhere(t *testing.T) {
	o := idle()
	fields, interfaceType := reflect.ValueOf(o).Elem(), reflect.TypeFor[forgetter]()
	for i := range fields.NumField() {
		field := fields.Type().Field(i)
		if !field.Type.Implements(interfaceType) {
			continue
		}
		found := slices.ContainsFunc(o.caches(), func(one forgetter) bool {
			return reflect.ValueOf(one).Pointer() == fields.Field(i).Pointer()
		})
		if !found {
			t.Errorf("operator.%s caches facts about objects but is not in caches", field.Name)
		}
	}
}
