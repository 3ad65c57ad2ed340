package cloudformation

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"sync"

	"go.yaml.in/yaml/v3"

	"github.com/aws-operator/aws-operator/internal/cfn/schema"
	"github.com/aws-operator/aws-operator/internal/cfn/template"
	"github.com/aws-operator/aws-operator/internal/simulator/cloudformation/eval"
)

// parsedTemplate is a validated template.
type parsedTemplate struct {
	template        *template.Template
	body, processed string
	dependencies    map[string][]string
}

// parsedCache caches parsed templates by their text, because a stack is created, described and
// updated with the same template, and many stacks may share it.
type parsedCache struct {
	mu    sync.Mutex
	items map[string]*parsedTemplate
}

const cachedTemplates = 64

func (c *parsedCache) get(body string) *parsedTemplate {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.items[body]
}

func (c *parsedCache) put(p *parsedTemplate) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.items == nil || len(c.items) >= cachedTemplates {
		c.items = map[string]*parsedTemplate{}
	}
	c.items[p.body] = p
}

// parse parses and validates a template. It returns AWS's errors.
func (e *Engine) parse(body string) (*parsedTemplate, error) {
	if p := e.parsed.get(body); p != nil {
		return p, nil
	}
	t, err := template.Parse("template", []byte(body))
	if err != nil {
		return nil, invalid("%s", parseText(body, err))
	}
	p := &parsedTemplate{template: t, body: body, processed: body}
	if len(t.Transforms) > 0 || len(t.Macros) > 0 {
		if p.template, err = transformed(t); err != nil {
			return nil, refused(err)
		}
		p.processed = string(p.template.JSON())
	}
	if err := e.checkTemplate(p.template); err != nil {
		return nil, err
	}
	p.dependencies = p.template.Dependencies()
	if cycle := circular(p.dependencies); len(cycle) > 0 {
		return nil, invalid("Circular dependency between resources: [%s]", strings.Join(cycle, ", "))
	}
	e.parsed.put(p)
	return p, nil
}

var yamlLine = regexp.MustCompile(`line (\d+)`)

// parseText returns AWS's message for a parser's error.
func parseText(body string, err error) string {
	syntax := yamlSyntax
	if strings.HasPrefix(strings.TrimSpace(body), "{") {
		syntax = jsonSyntax
	}
	if text := syntax(body); text != "" {
		return text
	}
	var problems template.Problems
	if !errors.As(err, &problems) || len(problems) == 0 {
		return "Template format error: " + err.Error()
	}
	return problemText(problems[0])
}

// jsonSyntax returns the position of a JSON syntax error, or nothing.
func jsonSyntax(body string) string {
	var v any
	var syntax *json.SyntaxError
	if err := json.Unmarshal([]byte(body), &v); !errors.As(err, &syntax) {
		return ""
	}
	line, column := position(body, int(syntax.Offset))
	return fmt.Sprintf("Template format error: JSON not well-formed. (line %d, column %d)", line, column)
}

// yamlSyntax returns the position at which a text is not YAML or not a map, or nothing.
func yamlSyntax(body string) string {
	var v yaml.Node
	if err := yaml.Unmarshal([]byte(body), &v); err != nil {
		line := "1"
		if m := yamlLine.FindStringSubmatch(err.Error()); m != nil {
			line = m[1]
		}
		return "Template format error: YAML not well-formed. (line " + line + ", column 1)"
	}
	if v.Kind == 0 || v.Kind == yaml.DocumentNode && v.Content[0].Kind != yaml.MappingNode {
		return "Template format error: unsupported structure."
	}
	return ""
}

func problemText(p template.Problem) string {
	parts := strings.Split(p.Path, "/")
	switch {
	case strings.HasPrefix(p.Message, "a template has no section "):
		return "Invalid template property or properties [" + parts[0] + "]"
	case strings.HasSuffix(p.Message, " has no Type") && len(parts) > 1:
		return "Template format error: [/Resources/" + parts[1] + "] Every Resources object must contain a Type member."
	case strings.Contains(p.Message, "has an unknown attribute "):
		return "Invalid template resource property '" + parts[len(parts)-1] + "'"
	}
	return "Template format error: " + p.Message
}

func position(text string, offset int) (line, column int) {
	before := text[:min(offset, len(text))]
	return strings.Count(before, "\n") + 1, len(before) - strings.LastIndexByte(before, '\n')
}

var alphanumericName = regexp.MustCompile(`^[A-Za-z0-9]+$`)

// checkTemplate runs the validations that CloudFormation runs before it creates any resource.
func (e *Engine) checkTemplate(t *template.Template) error {
	if len(t.Resources) == 0 {
		return invalid("Template format error: At least one Resources member must be defined.")
	}
	counts := []struct {
		what       string
		have, most int
	}{
		{"resources", len(t.Resources), maxResources},
		{"parameters", len(t.Parameters), maxItems},
		{"outputs", len(t.Outputs), maxItems},
		{"mappings", len(fieldsOf(t.Mappings)), maxItems},
	}
	for _, c := range counts {
		if c.have > c.most {
			return invalid("Template format error: Number of %s, %d, is greater than maximum allowed, %d", c.what, c.have, c.most)
		}
	}
	if err := checkLengths(t); err != nil {
		return err
	}
	if v := t.FormatVersion; v != "" && v != "2010-09-09" {
		return invalid("Template format error: %s is not a supported value for AWSTemplateFormatVersion.", v)
	}
	for _, id := range slices.Sorted(maps.Keys(t.Resources)) {
		if !alphanumericName.MatchString(id) {
			return invalid("Template format error: Resource name %s is non alphanumeric.", id)
		}
	}
	if err := e.checkTypes(t); err != nil {
		return err
	}
	return e.checkReferences(t)
}

func fieldsOf(n *template.Node) []template.Field {
	if n == nil {
		return nil
	}
	return n.Fields
}

// checkLengths returns an error if a text or a mapping is too long. The words about the description are
// on record, the others are not.
// https://docs.aws.amazon.com/AWSCloudFormation/latest/UserGuide/cloudformation-limits.html
func checkLengths(t *template.Template) error {
	if len(t.Description) > maxDescription {
		return invalid("Template format error: 'Description' length is greater than %d.", maxDescription)
	}
	names := slices.Collect(maps.Keys(t.Resources))
	names = slices.AppendSeq(names, maps.Keys(t.Parameters))
	names = slices.AppendSeq(names, maps.Keys(t.Outputs))
	for _, mapping := range fieldsOf(t.Mappings) {
		names = append(names, mapping.Key)
		if n := len(fieldsOf(mapping.Value)); n > maxItems {
			return invalid(
				"Template format error: Number of attributes of mapping %s, %d, is greater than maximum allowed, %d", mapping.Key, n, maxItems,
			)
		}
	}
	for _, name := range slices.Sorted(slices.Values(names)) {
		if len(name) > maxName {
			return invalid("Template format error: Name '%s' is longer than %d characters", name, maxName)
		}
	}
	return nil
}

func (e *Engine) checkTypes(t *template.Template) error {
	var unknown []string
	for _, id := range slices.Sorted(maps.Keys(t.Resources)) {
		r := t.Resources[id]
		if e.knows(r.Type) || slices.Contains(unknown, r.Type) {
			continue
		}
		unknown = append(unknown, r.Type)
	}
	if len(unknown) > 0 {
		return invalid("Template format error: Unrecognized resource types: [%s]", strings.Join(unknown, ", "))
	}
	return nil
}

func (e *Engine) knows(kind string) bool {
	if strings.HasPrefix(kind, "Custom::") || kind == customType || kind == waitConditionType || kind == waitHandleType ||
		kind == stackType {
		return true
	}
	if _, ok := e.options.Providers[kind]; ok {
		return true
	}
	_, ok := e.registry.Type(kind)
	return ok
}

// checkReferences rejects Refs and GetAtts without a target.
func (e *Engine) checkReferences(t *template.Template) error {
	var unresolved []string
	for _, id := range slices.Sorted(maps.Keys(t.Resources)) {
		r := t.Resources[id]
		if c := r.Condition; c != "" && t.Conditions[c] == nil {
			return invalid("Template format error: Unresolved condition dependency %s in the Resources block of the template", c)
		}
		for _, other := range r.DependsOn {
			if t.Resources[other] == nil {
				unresolved = append(unresolved, other)
			}
		}
		missing, err := e.missing(t, references(r))
		if err != nil {
			return err
		}
		unresolved = append(unresolved, missing...)
	}
	if err := unresolvedIn("Resources", unresolved); err != nil {
		return err
	}
	return e.checkOutputs(t)
}

// missing returns the targets of references that are not in the template.
func (e *Engine) missing(t *template.Template, refs []template.Reference) ([]string, error) {
	var targets []string
	for _, ref := range refs {
		missing, err := e.checkReference(t, ref)
		if err != nil {
			return nil, err
		}
		if missing {
			targets = append(targets, ref.Target)
		}
	}
	return targets, nil
}

func unresolvedIn(block string, targets []string) error {
	if len(targets) == 0 {
		return nil
	}
	slices.Sort(targets)
	return invalid("Template format error: Unresolved resource dependencies [%s] in the %s block of the template",
		strings.Join(slices.Compact(targets), ", "), block)
}

func references(r *template.Resource) []template.Reference {
	var out []template.Reference
	for _, n := range []*template.Node{r.Properties, r.CreationPolicy, r.UpdatePolicy, r.Metadata} {
		if n != nil {
			out = append(out, n.References()...)
		}
	}
	return out
}

func (e *Engine) checkOutputs(t *template.Template) error {
	var unresolved []string
	for _, name := range slices.Sorted(maps.Keys(t.Outputs)) {
		o := t.Outputs[name]
		if o.Value == nil {
			return invalid("Template format error: Every Outputs member must contain a Value object")
		}
		if c := o.Condition; c != "" && t.Conditions[c] == nil {
			return invalid("Template format error: Unresolved condition dependency %s in the Outputs block of the template", c)
		}
		missing, err := e.missing(t, o.Value.References())
		if err != nil {
			return err
		}
		unresolved = append(unresolved, missing...)
	}
	return unresolvedIn("Outputs", unresolved)
}

// checkReference reports whether a reference's target is missing.
func (e *Engine) checkReference(t *template.Template, ref template.Reference) (missing bool, err error) {
	if strings.HasPrefix(ref.Target, "AWS::") {
		return !slices.Contains(pseudoParameters, ref.Target), nil
	}
	r := t.Resources[ref.Target]
	if ref.Attribute == "" {
		return r == nil && t.Parameters[ref.Target] == nil, nil
	}
	if r == nil {
		return false, invalid("Template error: instance of Fn::GetAtt references undefined resource %s", ref.Target)
	}
	if !e.hasAttribute(r.Type, ref.Attribute) {
		return false, invalid("Template error: resource %s does not support attribute type %s in Fn::GetAtt", ref.Target, ref.Attribute)
	}
	return false, nil
}

var pseudoParameters = []string{
	"AWS::AccountId", "AWS::NotificationARNs", "AWS::NoValue", "AWS::Partition", "AWS::Region", "AWS::StackId", "AWS::StackName",
	"AWS::URLSuffix",
}

func (e *Engine) hasAttribute(kind, attribute string) bool {
	switch kind {
	case stackType:
		return strings.HasPrefix(attribute, "Outputs.")
	case waitConditionType:
		return attribute == "Data"
	case waitHandleType:
		return false
	}
	t, ok := e.registry.Type(kind)
	if !ok || strings.Contains(attribute, "${") || slices.Contains(documentedAttributes[kind], attribute) {
		return true
	}
	head, _, _ := strings.Cut(attribute, ".")
	attributes := t.Attributes()
	return slices.Contains(attributes, attribute) || slices.Contains(attributes, head) || schemaless(t)
}

// documentedAttributes are properties that Fn::GetAtt returns although the schema does not declare
// them read-only. The types' own pages document them:
// https://docs.aws.amazon.com/AWSCloudFormation/latest/TemplateReference/aws-resource-sqs-queue.html
var documentedAttributes = map[string][]string{
	"AWS::SQS::Queue":         {"QueueName"},
	"AWS::SNS::Topic":         {"TopicName"},
	"AWS::EC2::Instance":      {"AvailabilityZone"},
	"AWS::EC2::VPC":           {"CidrBlock"},
	"AWS::EC2::Subnet":        {"AvailabilityZone", "CidrBlock", "OutpostArn", "VpcId"},
	"AWS::EC2::SecurityGroup": {"VpcId"},
}

func schemaless(t *schema.Type) bool { return t.Root == nil || len(t.Root.Properties) == 0 }

// circular returns the resources of a cycle, sorted as in AWS's message.
func circular(dependencies map[string][]string) []string {
	left := maps.Clone(dependencies)
	for {
		removed := false
		for id, needed := range left {
			if !slices.ContainsFunc(needed, func(other string) bool { _, ok := left[other]; return ok }) {
				delete(left, id)
				removed = true
			}
		}
		if !removed {
			return slices.Sorted(maps.Keys(left))
		}
	}
}

// onlyLanguageExtensions reports whether the template's only transform is the one that does not
// need CAPABILITY_AUTO_EXPAND.
// https://docs.aws.amazon.com/AWSCloudFormation/latest/TemplateReference/transform-aws-languageextensions.html
func onlyLanguageExtensions(t *template.Template) bool {
	return !slices.ContainsFunc(t.Transforms, func(name string) bool { return name != languageExtensions })
}

const languageExtensions = "AWS::LanguageExtensions"

// transformed applies the transforms that the simulator supports and rejects others.
func transformed(t *template.Template) (*template.Template, error) {
	for _, name := range t.Transforms {
		if name != languageExtensions {
			return nil, eval.Errorf("No transform named %s found.", qualified(name))
		}
	}
	if !slices.Contains(t.Transforms, languageExtensions) {
		return nil, eval.Errorf("Template format error: Fn::ForEach and Fn::Transform need a Transform")
	}
	return eval.ExpandLanguageExtensions(t)
}

func qualified(name string) string {
	if strings.HasPrefix(name, "AWS::") {
		return name
	}
	return "123456789012::" + name
}
