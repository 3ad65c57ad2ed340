package plan

import (
	"strconv"

	"github.com/aws-operator/aws-operator/internal/cfn/template"
)

// Use is a reference in a value to a resource or a parameter.
type Use struct {
	// Path is separated by slashes, as LaunchTemplate/Version; a reference in an expression has the
	// path of the expression.
	Path string
	// Target is the referenced resource, Attribute that of Fn::GetAtt, empty for a Ref.
	Target, Attribute string
}

// Uses returns all references in a value, in order.
func Uses(n *template.Node) []Use {
	var found []Use
	var walk func(n *template.Node, path string)
	walk = func(n *template.Node, path string) {
		if n == nil {
			return
		}
		below := func(name string) string {
			if path == "" {
				return name
			}
			return path + "/" + name
		}
		switch n.Kind {
		case template.Map:
			for i := range n.Fields {
				walk(n.Fields[i].Value, below(n.Fields[i].Key))
			}
		case template.List:
			for i, item := range n.Items {
				walk(item, below(strconv.Itoa(i)))
			}
		case template.Intrinsic:
			for _, ref := range n.References() {
				found = append(found, Use{Path: path, Target: ref.Target, Attribute: ref.Attribute})
			}
		default:
		}
	}
	walk(n, "")
	return found
}
