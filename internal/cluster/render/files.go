package render

import (
	"bytes"
	"embed"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	texttemplate "text/template"

	"github.com/aws-operator/aws-operator/api/cluster/v1alpha1"
	"github.com/aws-operator/aws-operator/internal/cfn/template"
	"github.com/aws-operator/aws-operator/internal/cluster/model"
)

//go:embed templates/*.yaml
var files embed.FS

// parsed returns the templates of all files by file name.
var parsed = sync.OnceValues(func() (*texttemplate.Template, error) {
	return texttemplate.New("").Option("missingkey=error").Funcs(texttemplate.FuncMap{
		"quote":    quote,
		"lower":    func(role v1alpha1.SubnetRole) string { return strings.ToLower(string(role)) },
		"zoneID":   zoneID,
		"through":  through,
		"isPublic": func(s model.Subnet) bool { return s.Role == v1alpha1.SubnetPublic },
		"subnet":   subnet,
	}).ParseFS(files, "templates/*.yaml")
})

// through returns the property of a route for a gateway.
func through(gateway string) string {
	if strings.Contains(gateway, "tgw-") {
		return "TransitGatewayId"
	}
	return "NatGatewayId"
}

// quote returns a value as a JSON string, which YAML reads as the same string, whatever it
// contains.
func quote(value any) (string, error) {
	out, err := json.Marshal(fmt.Sprint(value))
	return string(out), err
}

// zoneID returns a zone in the form of logical IDs: EuCentral1a.
func zoneID(zone string) string {
	var b strings.Builder
	for part := range strings.SplitSeq(zone, "-") {
		if part != "" {
			b.WriteString(strings.ToUpper(part[:1]) + part[1:])
		}
	}
	return b.String()
}

// subnet returns an expression for a subnet's ID in the base stack.
func subnet(s model.Subnet) (string, error) {
	if s.ID != "" {
		return quote(s.ID)
	}
	return "!Ref " + s.LogicalID, nil
}

// assemble renders files and merges them into one template. The error names the invalid file. It
// does not check the content of the template: the stack engine does so once for each template
// before it sends it.
func assemble(description string, scope any, names ...string) (*template.Template, error) {
	all, err := parsed()
	if err != nil {
		return nil, fmt.Errorf("parse the templates: %w", err)
	}
	whole := &template.Template{
		FormatVersion: "2010-09-09", Description: description,
		Parameters: map[string]*template.Parameter{}, Resources: map[string]*template.Resource{}, Outputs: map[string]*template.Output{},
	}
	for _, name := range names {
		var text bytes.Buffer
		if err := all.ExecuteTemplate(&text, name, scope); err != nil {
			return nil, fmt.Errorf("render %s: %w", name, err)
		}
		part, err := template.Parse(name, text.Bytes())
		if err != nil {
			return nil, fmt.Errorf("parse what was rendered: %w", err)
		}
		if err := merge(whole, part); err != nil {
			return nil, fmt.Errorf("put %s to the rest: %w", name, err)
		}
	}
	return whole, nil
}

// merge adds the parameters, resources and outputs of part to whole.
func merge(whole, part *template.Template) error {
	for name, parameter := range part.Parameters {
		if whole.Parameters[name] != nil {
			return fmt.Errorf("there are two parameters %s", name)
		}
		whole.Parameters[name] = parameter
	}
	for name, resource := range part.Resources {
		if whole.Resources[name] != nil {
			return fmt.Errorf("there are two resources %s", name)
		}
		whole.Resources[name] = resource
	}
	for name, output := range part.Outputs {
		if whole.Outputs[name] != nil {
			return fmt.Errorf("there are two outputs %s", name)
		}
		whole.Outputs[name] = output
	}
	return nil
}
