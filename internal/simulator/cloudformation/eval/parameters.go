package eval

import (
	"errors"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/aws-operator/aws-operator/internal/cfn/template"
)

// Given is one parameter of a call.
type Given struct {
	// Value is the parameter's text.
	Value string
	// UsePrevious keeps the stack's current value.
	UsePrevious bool
}

// ParameterValue is a parameter with its value resolved.
type ParameterValue struct {
	// Text is the given value, or the default.
	Text string
	// Resolved is the value in Parameter Store, for types AWS::SSM::Parameter::…; empty otherwise.
	Resolved string
	// NoEcho hides the value in API responses.
	NoEcho bool
	// Value is what Ref returns: a string or []any.
	Value any
}

// ParameterInput is the input of [ResolveParameters].
type ParameterInput struct {
	// Template declares the parameters.
	Template *template.Template
	// Given are the call's parameters.
	Given map[string]Given
	// Previous are the stack's current values; nil for a new stack.
	Previous map[string]ParameterValue
	// ReadSSM reads Parameter Store. If it is nil, such parameters are refused. It returns an [Error] if
	// the caller may not read.
	ReadSSM func(name string) (string, error)
}

// ResolveParameters applies defaults and previous values and validates every parameter against its
// declaration. Errors have AWS's messages.
// https://docs.aws.amazon.com/AWSCloudFormation/latest/UserGuide/parameters-section-structure.html
func ResolveParameters(in ParameterInput) (map[string]ParameterValue, error) {
	if err := checkNames(in); err != nil {
		return nil, err
	}
	out := make(map[string]ParameterValue, len(in.Template.Parameters))
	for _, name := range slices.Sorted(maps.Keys(in.Template.Parameters)) {
		p := in.Template.Parameters[name]
		text, _ := textOf(in, p)
		v := ParameterValue{Text: text, NoEcho: p.NoEcho}
		if err := checkParameter(p, text); err != nil {
			return nil, err
		}
		if inner, ok := strings.CutPrefix(p.Type, "AWS::SSM::Parameter::Value<"); ok {
			stored, err := in.stored(text)
			if err != nil {
				return nil, err
			}
			v.Resolved = stored
			v.Value = typed(strings.TrimSuffix(inner, ">"), stored)
		} else {
			v.Value = typed(p.Type, text)
		}
		out[name] = v
	}
	return out, nil
}

// stored returns a value in Parameter Store.
func (in *ParameterInput) stored(name string) (string, error) {
	if in.ReadSSM != nil {
		value, err := in.ReadSSM(name)
		if _, denied := errors.AsType[*Error](err); err == nil || denied {
			return value, err
		}
	}
	return "", Errorf("Unable to fetch parameters [%s] from parameter store for this account.", name)
}

func checkNames(in ParameterInput) error {
	var unknown, missing []string
	for name := range in.Given {
		if in.Template.Parameters[name] == nil {
			unknown = append(unknown, name)
		}
	}
	if len(unknown) > 0 {
		slices.Sort(unknown)
		return Errorf("Parameters: [%s] do not exist in the template", strings.Join(unknown, ", "))
	}
	for name, p := range in.Template.Parameters {
		if _, ok := textOf(in, p); !ok {
			missing = append(missing, name)
		}
	}
	if len(missing) > 0 {
		slices.Sort(missing)
		return Errorf("Parameters: [%s] must have values", strings.Join(missing, ", "))
	}
	return nil
}

func textOf(in ParameterInput, p *template.Parameter) (string, bool) {
	given, ok := in.Given[p.Name]
	if ok && given.UsePrevious {
		previous, exists := in.Previous[p.Name]
		return previous.Text, exists
	}
	if ok {
		return given.Value, true
	}
	if p.Default == nil {
		return "", false
	}
	switch p.Default.Kind {
	case template.Bool:
		return strconv.FormatBool(p.Default.Bool), true
	case template.List:
		items := make([]string, len(p.Default.Items))
		for i, item := range p.Default.Items {
			items[i] = item.Text
		}
		return strings.Join(items, ","), true
	default:
		return p.Default.Text, true
	}
}

func isList(kind string) bool {
	return kind == "CommaDelimitedList" || strings.HasPrefix(kind, "List<")
}

func typed(kind, text string) any {
	if !isList(kind) {
		return text
	}
	out := []any{}
	if text == "" {
		return out
	}
	for item := range strings.SplitSeq(text, ",") {
		out = append(out, strings.TrimSpace(item))
	}
	return out
}

func checkParameter(p *template.Parameter, text string) error {
	values := []string{text}
	if isList(p.Type) && text != "" {
		values = strings.Split(text, ",")
	}
	for _, value := range values {
		if problem := checkValue(p, strings.TrimSpace(value)); problem != "" {
			if p.ConstraintDescription != "" {
				return Errorf("Parameter %s failed to satisfy constraint: %s", p.Name, p.ConstraintDescription)
			}
			return Errorf("Parameter '%s' %s", p.Name, problem)
		}
	}
	return nil
}

func checkValue(p *template.Parameter, value string) string {
	if len(p.AllowedValues) > 0 && !slices.Contains(p.AllowedValues, value) {
		return "must be one of AllowedValues"
	}
	if p.Type == "Number" || p.Type == "List<Number>" {
		return checkNumber(p, value)
	}
	if p.AllowedPattern != "" {
		re, err := regexp.Compile("^(?:" + p.AllowedPattern + ")$")
		if err == nil && !re.MatchString(value) {
			return "must match pattern " + p.AllowedPattern
		}
	}
	length := len([]rune(value))
	if p.MinLength != nil && length < *p.MinLength {
		return "must contain at least " + strconv.Itoa(*p.MinLength) + " characters"
	}
	if p.MaxLength != nil && length > *p.MaxLength {
		return "must contain at most " + strconv.Itoa(*p.MaxLength) + " characters"
	}
	return ""
}

func checkNumber(p *template.Parameter, value string) string {
	n, err := strconv.ParseFloat(value, 64)
	switch {
	case err != nil:
		return "must be a number"
	case p.MinValue != nil && n < *p.MinValue:
		return "must be a number not less than " + strconv.FormatFloat(*p.MinValue, 'f', -1, 64)
	case p.MaxValue != nil && n > *p.MaxValue:
		return "must be a number not greater than " + strconv.FormatFloat(*p.MaxValue, 'f', -1, 64)
	}
	return ""
}
