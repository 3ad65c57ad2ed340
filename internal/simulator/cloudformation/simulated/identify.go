package simulated

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"

	"github.com/google/uuid"

	"github.com/aws-operator/aws-operator/internal/cfn/schema"
	"github.com/aws-operator/aws-operator/internal/simulator/property"
	"github.com/aws-operator/aws-operator/internal/simulator/resource"
	"github.com/aws-operator/aws-operator/internal/simulator/wire"
)

// made is a resource with an identity.
type made struct {
	resource.Result

	// identifier is the primary identifier as messages show it.
	identifier string
}

// refs are the types whose Ref is not their primary identifier, and the property whose value it is. An
// empty one is a name that CloudFormation generates. The section "Return values" of the type's page documents it:
// https://docs.aws.amazon.com/AWSCloudFormation/latest/TemplateReference/aws-template-resource-type-ref.html
var refs = map[string]string{
	"AWS::ApiGateway::Deployment":    "DeploymentId",
	"AWS::ApiGateway::Method":        "",
	"AWS::ApiGateway::Resource":      "ResourceId",
	"AWS::ApiGateway::Stage":         "StageName",
	"AWS::ApiGatewayV2::Integration": "IntegrationId",
	"AWS::ApiGatewayV2::Route":       "RouteId",
	"AWS::ApiGatewayV2::Stage":       "StageName",
	"AWS::Cognito::UserPoolClient":   "ClientId",
	"AWS::EC2::EIP":                  "PublicIp",
	"AWS::ECS::Service":              "ServiceArn",
	"AWS::Events::Rule":              "Name",
	"AWS::IAM::RolePolicy":           "PolicyName",
}

// Ref returns what Ref returns for a resource with these properties and attributes, if that is not its
// primary identifier.
func Ref(resourceType string, live map[string]any) (ref string, ok bool) {
	name := refs[resourceType]
	if name == "" || live[name] == nil {
		return "", false
	}
	return fmt.Sprint(live[name]), true
}

// IdentifierOf returns the primary identifier of a resource as Cloud Control API writes it. Ref is its
// physical ID.
// https://docs.aws.amazon.com/cloudcontrolapi/latest/userguide/resource-identifier.html
func IdentifierOf(t *schema.Type, ref string, attributes, properties map[string]any) string {
	parts := make([]string, 0, len(t.PrimaryIdentifier))
	for _, path := range t.PrimaryIdentifier {
		value := attributes[dotted(path)]
		if value == nil {
			value = at(properties, path)
		}
		if value == nil {
			return ref
		}
		parts = append(parts, fmt.Sprint(value))
	}
	return strings.Join(parts, "|")
}

// Differs reports whether two sets of properties have different values at a path, in which * stands for every
// element of a list.
func Differs(path string, a, b any) bool {
	name, rest, nested := strings.Cut(path, "/")
	if name == "*" {
		x, _ := a.([]any)
		y, _ := b.([]any)
		for i := range max(len(x), len(y)) {
			if i >= len(x) || i >= len(y) || nested && Differs(rest, x[i], y[i]) || !nested && !reflect.DeepEqual(x[i], y[i]) {
				return true
			}
		}
		return false
	}
	x, _ := a.(map[string]any)
	y, _ := b.(map[string]any)
	if nested {
		return Differs(rest, x[name], y[name])
	}
	return !reflect.DeepEqual(x[name], y[name])
}

// identify generates the values that AWS would return: the primary identifier, from the properties
// if they contain it, and the read-only attributes.
//
// Revision counts the resources of a family.
func identify(t *schema.Type, r resource.Request, revision func(family string) int) made {
	n := &namer{t: t, r: r, values: map[string]any{}, forms: forms[t.Name], revision: revision}
	maps.Copy(n.values, r.Properties)
	for _, path := range t.PrimaryIdentifier {
		n.ensure(path)
	}
	attributes := n.attributes(r.Properties)
	parts := make([]string, 0, len(t.PrimaryIdentifier))
	for _, path := range t.PrimaryIdentifier {
		parts = append(parts, fmt.Sprint(attributes[dotted(path)]))
	}
	id := strings.Join(parts, "|")
	if id == "" {
		id = generatedName(r, 0)
	}
	physical := id
	switch name, ok := refs[t.Name]; {
	case ok && name == "":
		physical = generatedName(r, 0)
	case ok:
		n.ensure(name)
		physical = fmt.Sprint(n.values[name])
		attributes[name] = n.values[name]
	}
	return made{Result: resource.Result{PhysicalID: physical, Attributes: attributes}, identifier: id}
}

// refreshed returns the attributes after an update: the values of the new properties over the
// generated ones. An attribute that the new properties no longer imply is deleted, and one that they
// newly imply is generated.
func refreshed(t *schema.Type, r resource.Request, attributes map[string]any) map[string]any {
	n := &namer{t: t, r: r, values: maps.Clone(r.Properties), forms: forms[t.Name], revision: func(string) int { return 1 }}
	if n.values == nil {
		n.values = map[string]any{}
	}
	for _, path := range slices.Concat(t.PrimaryIdentifier, t.ReadOnly) {
		if value, ok := attributes[dotted(path)]; ok {
			n.set(path, value)
		}
	}
	if name := refs[t.Name]; name != "" {
		n.set(name, attributes[name])
	}
	return n.attributes(r.Properties)
}

func dotted(path string) string { return strings.ReplaceAll(path, "/", ".") }

// flatten adds a value and its members to attributes under dotted names.
func flatten(attributes map[string]any, name string, value any) {
	attributes[name] = value
	if object, ok := value.(map[string]any); ok {
		for key, item := range object {
			flatten(attributes, name+"."+key, item)
		}
	}
}

// namer generates values for one resource.
type namer struct {
	t      *schema.Type
	r      resource.Request
	values map[string]any
	forms  map[string]func(*namer) string
	// revision returns the next revision of a family, for types whose resources are revisions.
	revision func(family string) int
}

// attributes generates the attributes that a resource with these properties has, and returns them
// with the properties.
func (n *namer) attributes(properties map[string]any) map[string]any {
	paths := slices.Sorted(slices.Values(n.t.ReadOnly)) // an object before its members
	for _, path := range paths {
		if hasAttribute(n.t, path, properties) {
			n.ensure(path)
			continue
		}
		n.remove(path)
	}
	attributes := map[string]any{}
	for name, value := range n.values {
		flatten(attributes, name, value)
	}
	return attributes
}

// set sets the value at a path, unless it has one.
func (n *namer) set(path string, value any) {
	n.visit(path, func(object map[string]any, name string, _ *schema.Property) {
		if _, given := object[name]; !given {
			object[name] = value
		}
	})
}

// remove deletes the value at a path.
func (n *namer) remove(path string) {
	if at(n.values, path) != nil {
		n.visit(path, func(object map[string]any, name string, _ *schema.Property) { delete(object, name) })
	}
}

// ensure generates a value for the property at a path, unless it has one.
func (n *namer) ensure(path string) {
	n.visit(path, func(object map[string]any, name string, p *schema.Property) {
		if _, given := object[name]; given {
			return
		}
		if form, ok := n.forms[path]; ok {
			object[name] = form(n)
			return
		}
		object[name] = n.value(name, p, 0)
	})
}

// visit calls a function with a copy of the object that contains a path, which it makes if there is
// none, the last part of the path and its schema.
func (n *namer) visit(path string, f func(object map[string]any, name string, p *schema.Property)) {
	if strings.Contains(path, "*") {
		return
	}
	parts := strings.Split(path, "/")
	object, p := n.values, n.t.Root
	for i, part := range parts {
		p = n.t.Resolve(member(n.t, n.t.Resolve(p), part, 0))
		if i == len(parts)-1 {
			f(object, part, p)
			return
		}
		next, ok := object[part].(map[string]any)
		if !ok {
			if _, given := object[part]; given {
				return
			}
			next = map[string]any{}
		}
		next = maps.Clone(next)
		object[part] = next
		object = next
	}
}

// value generates a value of a read-only property.
func (n *namer) value(name string, p *schema.Property, depth int) any {
	if p == nil {
		return n.text(name, &schema.Property{})
	}
	if len(p.Enum) > 0 {
		return p.Enum[0]
	}
	switch kindOf(p) {
	case "object":
		out := map[string]any{}
		for field, child := range p.Properties {
			if resolved := n.t.Resolve(child); depth < 3 && resolved != nil {
				out[field] = n.value(field, resolved, depth+1)
			}
		}
		return out
	case "array":
		return []any{}
	case "integer", "number":
		g := generator{t: n.t}
		return g.number(p)
	case "boolean":
		return false
	}
	return n.text(name, p)
}

// text generates a string: the first of AWS's usual forms that the schema allows.
func (n *namer) text(name string, p *schema.Property) string {
	maximum := 0
	if p.MaxLength != nil {
		maximum = *p.MaxLength
	}
	for _, candidate := range n.guesses(name, maximum) {
		tooLong := p.MaxLength != nil && len(candidate) > *p.MaxLength
		tooShort := p.MinLength != nil && len(candidate) < *p.MinLength
		if !tooLong && !tooShort && (p.Pattern == "" || Matches(p.Pattern, candidate)) {
			return candidate
		}
	}
	g := generator{t: n.t, seed: rand.IntN(1 << 20)} //nolint:gosec // a name, not a secret
	if made, err := g.text(p, name); err == nil {
		return fmt.Sprint(made)
	}
	return randomHex(17)
}

func (n *namer) guesses(name string, maximum int) []string {
	generated := generatedName(n.r, maximum)
	lower := strings.ToLower(generated)
	parts := strings.Split(n.t.Name, "::")
	service, kind := serviceOf(n.t.Name), strings.ToLower(parts[len(parts)-1])
	id := prefixOf(n.t.Name, name) + randomHex(17)
	switch {
	case service == "rds" && name == "SecretArn":
		return []string{n.managedSecret()}
	case service == "rds" && name == "Port":
		return []string{databasePort(n.values)}
	case strings.HasSuffix(name, "Arn") || strings.HasSuffix(name, "ARN") || name == "Id" && strings.Contains(n.t.Name, "SecretsManager"):
		return []string{n.arn(service, kind, false), n.arn(service, kind, true)}
	case strings.HasSuffix(name, "Name") && !strings.Contains(name, "Domain"):
		return []string{generated, lower, alphanumeric(lower)}
	case strings.Contains(name, "DomainName") || strings.HasSuffix(name, "Address") || strings.Contains(name, "Endpoint") ||
		strings.Contains(name, "DNSName"):
		return []string{shorten(lower, 40) + "." + service + "." + n.r.Region + ".amazonaws.com"}
	case strings.HasSuffix(name, "Url") || strings.HasSuffix(name, "URL") || strings.HasSuffix(name, "Uri"):
		return []string{"https://" + service + "." + n.r.Region + ".amazonaws.com/" + n.r.Account + "/" + generated}
	case strings.HasSuffix(name, "Time") || strings.HasSuffix(name, "At") || strings.HasSuffix(name, "Date"):
		return []string{"2024-01-01T00:00:00Z", "1704067200"}
	case strings.HasSuffix(name, "Port"):
		return []string{"443"}
	case strings.HasSuffix(name, "AccountId") || strings.HasSuffix(name, "OwnerId"):
		return []string{n.r.Account}
	case strings.HasSuffix(name, "Ip") || strings.HasSuffix(name, "IpAddress"):
		return []string{fmt.Sprintf("203.0.%d.%d", rand.IntN(256), rand.IntN(256))} //nolint:gosec // no secret
	case strings.HasSuffix(name, "Status") || strings.HasSuffix(name, "State"):
		return []string{"ACTIVE"}
	case strings.HasSuffix(name, "Version"):
		return []string{"1"}
	case strings.HasSuffix(name, "Id") || strings.HasSuffix(name, "Identifier"):
		return []string{id, uuid.NewString(), randomHex(10), strings.ToUpper("Z" + randomHex(13)), lower, n.arn(service, kind, false)}
	}
	return []string{generated, lower, id, uuid.NewString(), n.arn(service, kind, false)}
}

// arn generates the resource's ARN. It contains the given name, so that the creation of a second
// resource with that name fails.
func (n *namer) arn(service, kind string, bare bool) string {
	region := n.r.Region
	if isGlobal(n.t.Name) {
		region = ""
	}
	name := n.givenName()
	if name == "" {
		name = generatedName(n.r, 0)
	}
	if !bare {
		name = kind + "/" + name
	}
	return "arn:aws:" + service + ":" + region + ":" + n.r.Account + ":" + name
}

// givenName returns the name of the resource in its properties, if any.
func (n *namer) givenName() string {
	parts := strings.Split(n.t.Name, "::")
	for _, name := range []string{parts[len(parts)-1] + "Name", "Name", parts[len(parts)-1] + "Identifier"} {
		if v, ok := n.values[name].(string); ok {
			return v
		}
	}
	for _, path := range n.t.PrimaryIdentifier {
		if v, ok := n.values[path].(string); ok {
			return v
		}
	}
	return ""
}

// generatedName returns the physical name that CloudFormation generates:
// https://docs.aws.amazon.com/AWSCloudFormation/latest/TemplateReference/aws-properties-name.html
func generatedName(r resource.Request, maximum int) string {
	if maximum <= 0 || maximum > 255 {
		maximum = 255
	}
	return strings.TrimPrefix(property.Name(r, maximum, ""), "-")
}

func shorten(s string, maximum int) string {
	if len(s) > maximum {
		return s[:maximum]
	}
	return s
}

func alphanumeric(s string) string {
	return strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' {
			return r
		}
		return -1
	}, s)
}

func randomBase36(n int) string { return randomOf("abcdefghijklmnopqrstuvwxyz0123456789", n) }

func randomHex(n int) string { return randomOf("0123456789abcdef", n) }

func randomOf(alphabet string, n int) string {
	b := make([]byte, n)
	for i := range b {
		b[i] = alphabet[rand.IntN(len(alphabet))] //nolint:gosec // a name, not a secret
	}
	return string(b)
}

// NestedName returns the name of a nested stack: its suffix has no lower-case letters.
// https://docs.aws.amazon.com/AWSCloudFormation/latest/UserGuide/using-cfn-nested-stacks.html
func NestedName(stackName, logicalID string) string {
	const most, random = 128, 12
	head := stackName + "-" + logicalID
	return head[:min(len(head), most-random-1)] + "-" + wire.RandomName(random)
}
