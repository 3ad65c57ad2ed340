package stack

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"

	"github.com/aws-operator/aws-operator/internal/cfn/dynamic"
	"github.com/aws-operator/aws-operator/internal/cfn/template"
	"github.com/aws-operator/aws-operator/internal/plural"
)

// DriftedResource is a resource that differs from the template. Texts are cut, so that a report fits
// into an object's status.
type DriftedResource struct {
	// Resource is the logical ID, Type the CloudFormation type, PhysicalID the name in AWS.
	Resource   string `json:"resource"`
	Type       string `json:"type"`
	PhysicalID string `json:"physicalID"`
	// Deleted is true if the resource does not exist any more.
	Deleted bool `json:"deleted,omitempty"`
	// Properties are the properties that differ; Omitted is the number of further ones.
	Properties []DriftedProperty `json:"properties,omitempty"`
	Omitted    int               `json:"omitted,omitempty"`
}

// DriftedProperty is a property whose value differs from the template.
type DriftedProperty struct {
	// Path is the path of the property, such as RedrivePolicy/maxReceiveCount.
	Path string `json:"path"`
	// Difference is CloudFormation's term: NOT_EQUAL, REMOVE or, of elements of lists, ADD.
	// https://docs.aws.amazon.com/AWSCloudFormation/latest/APIReference/API_PropertyDifference.html
	Difference string `json:"difference"`
	// Expected is the value that the template sets, Actual the one in AWS. Values that are secret, or
	// may be, are "****".
	Expected string `json:"expected,omitempty"`
	Actual   string `json:"actual,omitempty"`
}

const (
	// maxDriftedResources and maxDriftedProperties limit a report: the latter the properties of all its
	// resources.
	maxDriftedResources, maxDriftedProperties = 10, 30
	// maxDriftText limits a path, a value and an ID, in bytes.
	maxDriftText = 256
)

// driftReport is what a check found.
type driftReport struct {
	resources []DriftedResource
	omitted   int
}

// reportDrift describes the resources of a stack that differ.
func (e *Engine) reportDrift(request *DriftRequest, found []types.StackResourceDrift) *driftReport {
	report := &driftReport{}
	secrets := e.secretsOf(request)
	left := maxDriftedProperties
	slices.SortFunc(found, func(a, b types.StackResourceDrift) int {
		return strings.Compare(aws.ToString(a.LogicalResourceId), aws.ToString(b.LogicalResourceId))
	})
	for i := range found {
		if aws.ToString(found[i].StackId) != request.Owner.StackID {
			continue
		}
		if len(report.resources) == maxDriftedResources {
			report.omitted++
			continue
		}
		one := secrets.resource(&found[i], left)
		left -= len(one.Properties)
		report.resources = append(report.resources, one)
	}
	return report
}

// drift is the report as the result of a check.
func (r *driftReport) drift(failed, more bool, remedy string) *Drift {
	var said []string
	for i := range r.resources {
		said = append(said, r.resources[i].sentence())
	}
	if r.omitted > 0 || more {
		said = append(said, "Further resources differ.")
	}
	if failed {
		said = append(said, "CloudFormation could not check every resource.")
	}
	return &Drift{
		Status: Drifted, Reason: ReasonDrifted, Resources: r.resources, Omitted: r.omitted,
		Message: strings.TrimSpace(clip(strings.Join(said, " "), maxSummary) + " " + remedy),
	}
}

// sentence says how a resource differs.
func (r *DriftedResource) sentence() string {
	name := fmt.Sprintf("%s (%s, %s)", r.Resource, r.Type, r.PhysicalID)
	if r.Deleted {
		return name + " was deleted outside of CloudFormation."
	}
	var said []string
	for i := range r.Properties {
		said = append(said, r.Properties[i].Sentence())
	}
	if r.Omitted > 0 {
		said = append(said, "and "+plural.Count(r.Omitted, "further difference"))
	}
	return name + " was changed outside of CloudFormation: " + strings.Join(said, ", ") + "."
}

// Sentence says how the property differs, without a period.
func (p *DriftedProperty) Sentence() string {
	switch types.DifferenceType(p.Difference) {
	case types.DifferenceTypeAdd:
		return fmt.Sprintf("%s was added with the value %s", p.Path, p.Actual)
	case types.DifferenceTypeRemove:
		return fmt.Sprintf("%s was removed and should be %s", p.Path, p.Expected)
	case types.DifferenceTypeNotEqual:
		return fmt.Sprintf("%s is %s and should be %s", p.Path, p.Actual, p.Expected)
	default:
		return fmt.Sprintf("%s is %s and should be %s", p.Path, p.Actual, p.Expected)
	}
}

// secrets knows which values of a stack's properties must not be shown.
type secrets struct {
	engine   *Engine
	template *template.Template
	// hidden are the names of NoEcho parameters, and values their values.
	hidden map[string]bool
	values []string
}

// minSecret is the length of the shortest value of a NoEcho parameter that is searched for in other
// values: shorter ones appear everywhere.
const minSecret = 4

func (e *Engine) secretsOf(request *DriftRequest) *secrets {
	s := &secrets{engine: e, hidden: map[string]bool{}}
	deployed, parameters, err := request.Deployed()
	if err != nil {
		return s
	}
	s.template = deployed
	for name, parameter := range s.template.Parameters {
		if !parameter.NoEcho {
			continue
		}
		s.hidden[name] = true
		value, given := parameters[name]
		if !given && parameter.Default != nil {
			value, _ = parameter.Default.Scalar()
		}
		if len(value) >= minSecret {
			s.values = append(s.values, value)
		}
	}
	return s
}

// resource describes a resource with at most so many properties.
func (s *secrets) resource(found *types.StackResourceDrift, limit int) DriftedResource {
	made := DriftedResource{
		Resource: clip(aws.ToString(found.LogicalResourceId), maxDriftText), Type: clip(aws.ToString(found.ResourceType), maxDriftText),
		PhysicalID: clip(aws.ToString(found.PhysicalResourceId), maxDriftText),
		Deleted:    found.StackResourceDriftStatus == types.StackResourceDriftStatusDeleted,
	}
	for i := range found.PropertyDifferences {
		if len(made.Properties) == limit {
			made.Omitted = len(found.PropertyDifferences) - limit
			break
		}
		p := &found.PropertyDifferences[i]
		path := strings.Split(strings.TrimPrefix(aws.ToString(p.PropertyPath), "/"), "/")
		one := DriftedProperty{
			Path: clip(strings.Join(path, "/"), maxDriftText), Difference: clip(string(p.DifferenceType), maxDriftText), Expected: hidden, Actual: hidden,
		}
		if !s.hides(found, path, aws.ToString(p.ExpectedValue), aws.ToString(p.ActualValue)) {
			one.Expected, one.Actual = clip(aws.ToString(p.ExpectedValue), maxDriftText), clip(aws.ToString(p.ActualValue), maxDriftText)
		}
		made.Properties = append(made.Properties, one)
	}
	return made
}

// hides reports whether the values of a property may be secret. It hides values of unknown types and
// resources.
func (s *secrets) hides(found *types.StackResourceDrift, path []string, texts ...string) bool {
	if s.template == nil {
		return true
	}
	resource := s.template.Resources[aws.ToString(found.LogicalResourceId)]
	kind, known := s.engine.options.Registry.Type(aws.ToString(found.ResourceType))
	if resource == nil || !known || s.inTemplate(resource.Properties, path) {
		return true
	}
	named := path
	if p := kind.At(path); p != nil && !p.Allows("string") && (p.Allows("boolean") || p.Allows("integer") || p.Allows("number")) {
		named = path[:len(path)-1] // such as ApiKeyRequired: a secret is a text
	}
	if kind.IsWriteOnly(path) || kind.IsSecret(path) || slices.ContainsFunc(named, namesSecret) {
		return true
	}
	return slices.ContainsFunc(texts, func(text string) bool {
		return dynamic.In(text) || slices.ContainsFunc(s.values, func(value string) bool { return strings.Contains(text, value) }) ||
			keysNameSecret(text)
	})
}

// inTemplate reports whether the template makes the property from a NoEcho parameter or a dynamic
// reference. The elements of a list may have another order in AWS, so that any of them counts, as
// does any part of a function.
func (s *secrets) inTemplate(n *template.Node, path []string) bool {
	for _, name := range path {
		if n == nil || n.Kind != template.Map {
			break
		}
		n = n.Get(name)
	}
	if n == nil {
		return false
	}
	for _, reference := range n.References() {
		if s.hidden[reference.Target] {
			return true
		}
	}
	return dynamic.In(string(n.AppendJSON(nil)))
}

// secretParts are parts of the names of properties, and of the keys in maps of users, whose values
// may be secret. Environments and user data hold whatever an application needs.
var secretParts = []string{
	"password", "passwd", "passphrase", "secret", "token", "credential", "privatekey", "apikey", "accesskey", "authorization",
	"connectionstring", "environment", "userdata", "variables",
}

func namesSecret(name string) bool {
	name = strings.ToLower(strings.NewReplacer("_", "", "-", "", ".", "").Replace(name))
	return slices.ContainsFunc(secretParts, func(part string) bool { return strings.Contains(name, part) })
}

// keysNameSecret reports whether a value is JSON with a key that names a secret, or a name or key
// of a pair that does, such as {"Name": "DB_PASSWORD", "Value": …}.
func keysNameSecret(text string) bool {
	var value any
	if json.Unmarshal([]byte(text), &value) != nil {
		return false
	}
	return valueNamesSecret(value)
}

func valueNamesSecret(value any) bool {
	switch v := value.(type) {
	case []any:
		return slices.ContainsFunc(v, valueNamesSecret)
	case map[string]any:
		for key, below := range v {
			name, isText := below.(string)
			pair := isText && (strings.EqualFold(key, "name") || strings.EqualFold(key, "key"))
			if namesSecret(key) || pair && namesSecret(name) || valueNamesSecret(below) {
				return true
			}
		}
	}
	return false
}

// clip returns a text on one line of at most limit bytes. Other clients choose values in AWS: control
// characters would garble a terminal.
func clip(text string, limit int) string {
	text = strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(text, "�"))
	if len(text) <= limit {
		return text
	}
	const more = " …"
	end := limit - len(more)
	for end > 0 && !utf8.RuneStart(text[end]) {
		end--
	}
	return text[:end] + more
}
