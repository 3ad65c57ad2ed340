package controller_test

import (
	"errors"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	sigsyaml "sigs.k8s.io/yaml"

	v1alpha1 "github.com/aws-operator/aws-operator/api/service/v1alpha1"
	"github.com/aws-operator/aws-operator/internal/cfn/stack"
	"github.com/aws-operator/aws-operator/internal/simulator/fault"
)

// badInput is a row of the table: a value that a field must not have, and how it is refused.
type badInput struct {
	// field is the field's path, or the key of an annotation.
	field string
	// change is a merge patch, in YAML, of the good object.
	change string
	// made is the manifest of an object that the row creates instead of changing the good one. Its name is
	// "bad".
	made string
	// condition and reason are those of the refusal; without, the API server refuses the object.
	condition, reason string
	// want are parts of the message: the field and the remedy.
	want []string
	// deletes is true if the object is refused when it is deleted.
	deletes bool
}

// notBad are the fields that cannot have a bad value, and why.
var notBad = map[string]string{
	v1alpha1.CheckDriftAnnotation: "any new value requests a check",
	stack.RetryAnnotation:         "any new value retries",
	stack.AdoptAnnotation:         "a name that is of no management cluster and no stack adopts nothing; TestMovedObject has the refusal that asks for it",
	v1alpha1.RoleAnnotation:       "the operator writes it on ServiceAccounts; grants_test.go has one of another author",
	"spec.rollout.paused":         "the API server refuses what is no boolean",
	"data.key":                    "it is the name of a file in messages, and may be any text",
}

// writing are the beginnings of the operations that change something in AWS.
var writing = []string{"Create", "Update", "Delete", "Execute", "Put", "Set", "Tag", "Untag", "Continue", "Rollback"}

// writes counts the calls that change something in AWS, except for those of the operator's event queue. A
// change set changes nothing until it is executed.
func (w *suite) writes() func() []string {
	var mu sync.Mutex
	var made []string
	w.sim.Faults().OnCall(func(c fault.CallInfo) {
		if c.ResourceType == "" && c.Phase == fault.Before && c.Service != "sqs" &&
			(c.Operation == "ExecuteChangeSet" || !strings.HasSuffix(c.Operation, "ChangeSet")) && !strings.HasPrefix(c.Name, "aws-operator-events") &&
			slices.ContainsFunc(writing, func(word string) bool { return strings.HasPrefix(c.Operation, word) }) {
			mu.Lock()
			defer mu.Unlock()
			made = append(made, c.Service+":"+c.Operation+" "+c.Name)
		}
	})
	return func() []string {
		mu.Lock()
		defer mu.Unlock()
		return slices.Clone(made)
	}
}

// refusal waits until the object is refused, and returns the message.
func (w *suite) refusal(kind string, row *badInput) string {
	w.t.Helper()
	name, condition := "good", row.condition
	switch {
	case row.made != "":
		name = "bad"
		if err := w.tryApply(row.made); err != nil {
			return w.refusedByServer(row, err)
		}
		if row.deletes {
			if err := w.client.Delete(w.t.Context(), w.ready(kind, name)); err != nil {
				w.t.Fatal(err)
			}
		}
	default:
		patch, err := sigsyaml.YAMLToJSON([]byte(strings.ReplaceAll(row.change, "OTHER", w.other)))
		if err != nil {
			w.t.Fatalf("%s: %v", row.change, err)
		}
		obj, err := w.get(kind, name)
		if err == nil {
			err = w.client.Patch(w.t.Context(), obj, client.RawPatch("application/merge-patch+json", patch))
		}
		if err != nil {
			return w.refusedByServer(row, err)
		}
	}
	if condition == "" {
		w.t.Errorf("the API server accepts it")
		return ""
	}
	status := "True"
	switch condition {
	case v1alpha1.ConditionReady:
		status = "False"
	case v1alpha1.ConditionDrifted, v1alpha1.ConditionSynced:
		status = "Unknown"
	}
	return w.condition(kind, name, condition, status, row.reason).Message
}

func (w *suite) refusedByServer(row *badInput, err error) string {
	w.t.Helper()
	if row.condition != "" {
		w.t.Errorf("the API server refuses it")
	}
	return err.Error()
}

// check applies each row to a good object, which is ready before and after it.
func (w *suite) check(kind, good string, rows []badInput) {
	w.t.Helper()
	w.apply(good)
	before := w.ready(kind, "good")
	for i := range rows {
		row := &rows[i]
		w.t.Run(row.field+"/"+strconv.Itoa(i), func(t *testing.T) {
			outer := w.t
			w.t = t
			defer func() { w.t = outer }()
			stacks, writes := w.stacks(), w.writes()
			if row.deletes {
				writes = func() []string { return nil } // the stack of the object to delete is created
			}
			message := w.refusal(kind, row)
			for _, part := range row.want {
				if !strings.Contains(message, part) {
					t.Errorf("the message %q lacks %q", message, part)
				}
			}
			if made := writes(); len(made) > 0 {
				t.Errorf("it changed AWS: %q", made)
			}
			if now := w.stacks(); !row.deletes && !maps.Equal(now, stacks) {
				t.Errorf("the stacks are %v, were %v", now, stacks)
			}
			after, err := w.get(kind, "good")
			if err != nil {
				t.Fatal(err)
			}
			// The output of a CloudFormationTemplate says that it can be used.
			if kind != "CloudFormationTemplate" && show(nested(after, "status", "output")) != show(nested(before, "status", "output")) {
				t.Errorf("the outputs are %v, were %v", nested(after, "status", "output"), nested(before, "status", "output"))
			}
			w.restore(kind, good, row)
		})
	}
}

// restore undoes a row.
func (w *suite) restore(kind, good string, row *badInput) {
	w.t.Helper()
	if row.made != "" {
		obj, err := w.get(kind, "bad")
		if err != nil {
			return // the API server refused it
		}
		obj.SetAnnotations(map[string]string{v1alpha1.DeletionPolicyAnnotation: "delete"})
		if err := errors.Join(w.client.Update(w.t.Context(), obj), client.IgnoreNotFound(w.client.Delete(w.t.Context(), obj))); err != nil {
			w.t.Fatal(err)
		}
		w.gone(kind, "bad")
		return
	}
	wanted := w.decode(good)[0]
	obj, err := w.get(kind, "good")
	if err != nil {
		w.t.Fatal(err)
	}
	obj.Object["spec"] = wanted.Object["spec"]
	if wanted.Object["spec"] == nil {
		delete(obj.Object, "spec")
	}
	if data, ok := wanted.Object["data"]; ok {
		obj.Object["data"] = data
	}
	obj.SetAnnotations(wanted.GetAnnotations())
	if err := w.client.Update(w.t.Context(), obj); err != nil {
		w.t.Fatal(err)
	}
	w.ready(kind, "good")
}

// complete reports the fields that have no row, and the rows that have no field.
func complete(t *testing.T, fields []string, tables ...[]badInput) {
	t.Helper()
	covered := map[string]bool{}
	for _, rows := range tables {
		for i := range rows {
			covered[rows[i].field] = true
			if !slices.Contains(fields, rows[i].field) {
				t.Errorf("there is no field %s", rows[i].field)
			}
			if len(rows[i].want) < 2 {
				t.Errorf("the row of %s does not say how the field and the remedy are named", rows[i].field)
			}
		}
	}
	for _, field := range fields {
		if reason, ok := notBad[field]; !ok && !covered[field] {
			t.Errorf("%s has no row with a bad value: add one, or say in notBad why it cannot have one (%q)", field, reason)
		}
	}
}

// annotationFields are the annotations of the packages that declare them for users.
func annotationFields(t *testing.T) (keys []string) {
	t.Helper()
	for _, folder := range []string{"../../../api/service/v1alpha1", "../../cfn/stack"} {
		files, err := filepath.Glob(filepath.Join(folder, "*.go"))
		if err != nil || len(files) == 0 {
			t.Fatal(folder, err)
		}
		for _, file := range files {
			parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
			if err != nil {
				t.Fatal(err)
			}
			for _, declaration := range parsed.Decls {
				constants, ok := declaration.(*ast.GenDecl)
				if !ok || constants.Tok != token.CONST || strings.HasSuffix(file, "_test.go") {
					continue
				}
				for _, spec := range constants.Specs {
					value, ok := spec.(*ast.ValueSpec)
					if !ok || !strings.HasSuffix(value.Names[0].Name, "Annotation") || !value.Names[0].IsExported() {
						continue
					}
					literal, ok := value.Values[0].(*ast.BasicLit)
					if !ok {
						t.Fatalf("%s is no literal", value.Names[0].Name)
					}
					key, err := strconv.Unquote(literal.Value)
					if err != nil {
						t.Fatal(err)
					}
					keys = append(keys, key)
				}
			}
		}
	}
	return keys
}

// leaves are the paths of the fields below a schema that have no fields themselves.
func leaves(path string, of *apiextensionsv1.JSONSchemaProps) (paths []string) {
	if of.Items != nil && of.Items.Schema != nil && len(of.Items.Schema.Properties) > 0 {
		return leaves(path+"[]", of.Items.Schema)
	}
	if len(of.Properties) == 0 {
		return []string{path}
	}
	for _, name := range slices.Sorted(maps.Keys(of.Properties)) {
		property := of.Properties[name]
		paths = append(paths, leaves(path+"."+name, &property)...)
	}
	return paths
}
