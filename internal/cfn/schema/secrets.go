package schema

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/aws-operator/aws-operator/internal/cfn/template"
)

// secretNames are the endings of the names of properties that are secrets in every type.
var secretNames = []string{"password", "passphrase", "clientsecret", "secretstring"}

// writeOnlySecretNames are the endings of the names of properties that are secrets if AWS does not
// return them. That alone does not make a property a secret: AWS does not return the code of a
// Lambda function either. Nor does the name: some types have the path of a file in PrivateKey.
var writeOnlySecretNames = []string{
	"accesskey", "accesstoken", "apikey", "apikeyvalue", "apitoken", "authtoken", "jwttoken", "oauthtoken", "privatekey",
	"refreshtoken", "sastoken", "secretkey", "tokenvalue",
}

// IsSecret reports whether the property at path is a secret, such as a password.
func (t *Type) IsSecret(path []string) bool {
	if len(path) == 0 {
		return false
	}
	name := strings.ToLower(path[len(path)-1])
	ends := func(ending string) bool { return strings.HasSuffix(name, ending) }
	if !slices.ContainsFunc(secretNames, ends) && (!slices.ContainsFunc(writeOnlySecretNames, ends) || !touches(t.WriteOnly, path, false)) {
		return false
	}
	p := t.At(path)
	return p != nil && p.Allows("string")
}

// PlainSecret is a secret that a template contains as plain text.
type PlainSecret struct {
	// Resource has the property.
	Resource *template.Resource
	// Path is the path of the property, in which elements of lists are indexes.
	Path []string
	// Pos is the position of the value.
	Pos template.Position
}

// PlainSecrets finds the secrets that a template contains as plain text, sorted by resource: values
// of secret properties that are neither dynamic references nor calls of functions.
func (r *Registry) PlainSecrets(t *template.Template) []PlainSecret {
	var found []PlainSecret
	for _, id := range slices.Sorted(maps.Keys(t.Resources)) {
		resource := t.Resources[id]
		known, ok := r.Type(resource.Type)
		if !ok {
			continue
		}
		known.plainSecrets(resource.Properties, known.Root, nil, func(path []string, n *template.Node) {
			found = append(found, PlainSecret{Resource: resource, Path: path, Pos: n.Pos})
		})
	}
	return found
}

func (t *Type) plainSecrets(n *template.Node, p *Property, path []string, report func([]string, *template.Node)) {
	if n == nil || p == nil {
		return
	}
	for i, item := range n.Items {
		t.plainSecrets(item, t.Child(p, strconv.Itoa(i)), append(slices.Clone(path), strconv.Itoa(i)), report)
	}
	for _, field := range n.Fields {
		below := append(slices.Clone(path), field.Key)
		text, scalar := field.Value.Scalar()
		if scalar && text != "" && !strings.Contains(text, "{{resolve:") && t.names(p, field.Key, 0) && t.IsSecret(below) {
			report(below, field.Value)
			continue
		}
		t.plainSecrets(field.Value, t.Child(p, field.Key), below, report)
	}
}

// names reports whether an object has a property of the name: the keys of maps belong to users.
func (t *Type) names(p *Property, name string, depth int) bool {
	p = t.Resolve(p)
	return p.Properties[name] != nil || depth < maxDepth && slices.ContainsFunc(
		slices.Concat(p.AllOf, p.AnyOf, p.OneOf), func(branch *Property) bool { return t.names(branch, name, depth+1) })
}
