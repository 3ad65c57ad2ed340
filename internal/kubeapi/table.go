package kubeapi

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
)

// wantsTable says whether kubectl asks for what it prints.
// https://kubernetes.io/docs/reference/using-api/api-concepts/#receiving-resources-as-tables
func wantsTable(req *http.Request) bool {
	return strings.Contains(req.Header.Get("Accept"), "as=Table")
}

// column is one column of a table.
type column struct {
	name  string
	value func(*unstructured.Unstructured) string
}

func table(k *kind, items []unstructured.Unstructured, version string) metav1.Table {
	columns := []column{{"Name", (*unstructured.Unstructured).GetName}}
	columns = append(columns, columnsOf[k.Kind]...)
	t := metav1.Table{
		TypeMeta: metav1.TypeMeta{Kind: "Table", APIVersion: "meta.k8s.io/v1"}, ListMeta: metav1.ListMeta{ResourceVersion: version},
		Rows: []metav1.TableRow{},
	}
	for _, c := range columns {
		t.ColumnDefinitions = append(t.ColumnDefinitions, metav1.TableColumnDefinition{Name: c.name, Type: "string"})
	}
	t.ColumnDefinitions = append(t.ColumnDefinitions, metav1.TableColumnDefinition{Name: "Created At", Type: "date"})
	for i := range items {
		object := &items[i]
		var cells []any
		for _, c := range columns {
			cells = append(cells, c.value(object))
		}
		cells = append(cells, object.GetCreationTimestamp().UTC().Format("2006-01-02T15:04:05Z"))
		t.Rows = append(t.Rows, metav1.TableRow{Cells: cells, Object: runtime.RawExtension{Raw: partial(object)}})
	}
	return t
}

// partial is an object's metadata, by which kubectl knows the namespace and the labels.
func partial(object *unstructured.Unstructured) []byte {
	data, err := json.Marshal(map[string]any{
		"kind": "PartialObjectMetadata", "apiVersion": "meta.k8s.io/v1", "metadata": object.Object["metadata"],
	})
	if err != nil {
		return nil
	}
	return data
}

var columnsOf = map[string][]column{
	"Node": {
		{"Status", nodeStatus},
		{"Roles", nodeRoles},
		{"Version", text("status", "nodeInfo", "kubeletVersion")},
	},
	"Pod": {
		{"Status", text("status", "phase")},
		{"Node", text("spec", "nodeName")},
	},
	"Namespace": {{"Status", text("status", "phase")}},
	"Secret":    {{"Type", text("type")}},
}

func text(path ...string) func(*unstructured.Unstructured) string {
	return func(object *unstructured.Unstructured) string {
		value, _, _ := unstructured.NestedString(object.Object, path...)
		return value
	}
}

func nodeStatus(node *unstructured.Unstructured) string {
	status := "NotReady"
	conditions, _, _ := unstructured.NestedSlice(node.Object, "status", "conditions")
	for _, entry := range conditions {
		if condition, ok := entry.(map[string]any); ok && condition["type"] == "Ready" && condition["status"] == "True" {
			status = "Ready"
		}
	}
	if cordoned, _, _ := unstructured.NestedBool(node.Object, "spec", "unschedulable"); cordoned {
		status += ",SchedulingDisabled"
	}
	return status
}

func nodeRoles(node *unstructured.Unstructured) string {
	var roles []string
	for label := range node.GetLabels() {
		if role, ok := strings.CutPrefix(label, "node-role.kubernetes.io/"); ok {
			roles = append(roles, role)
		}
	}
	if len(roles) == 0 {
		return "<none>"
	}
	slices.Sort(roles)
	return strings.Join(roles, ",")
}
