package template

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// MaxParameterValue is the maximum size of a parameter's value in bytes, from
// https://docs.aws.amazon.com/AWSCloudFormation/latest/UserGuide/cloudformation-limits.html.
const MaxParameterValue = 4096

// IsList reports whether the parameter's value is a comma-separated list, so that a Ref to it
// returns a list.
func (p *Parameter) IsList() bool {
	return p.Type == "CommaDelimitedList" || strings.HasPrefix(p.Type, "List<") ||
		strings.HasPrefix(p.Type, "AWS::SSM::Parameter::Value<List<") ||
		p.Type == "AWS::SSM::Parameter::Value<CommaDelimitedList>"
}

// IsSSM reports whether the parameter's value names a parameter of Systems Manager, whose value
// CloudFormation uses instead.
func (p *Parameter) IsSSM() bool { return strings.HasPrefix(p.Type, "AWS::SSM::Parameter::Value<") }

// Accepts returns an error if a value violates the parameter's constraints. The rules are those of
// https://docs.aws.amazon.com/AWSCloudFormation/latest/UserGuide/parameters-section-structure.html.
func (p *Parameter) Accepts(value string) error {
	if len(value) > MaxParameterValue {
		return fmt.Errorf("the value of parameter %s is %d bytes long; CloudFormation allows %d", p.Name, len(value), MaxParameterValue)
	}
	values := []string{value}
	if p.IsList() && !p.IsSSM() {
		values = strings.Split(value, ",")
		for i := range values {
			values[i] = strings.TrimSpace(values[i])
		}
	}
	for _, one := range values {
		if err := p.acceptsOne(one); err != nil {
			return err
		}
	}
	return nil
}

func (p *Parameter) acceptsOne(value string) error {
	switch {
	case len(p.AllowedValues) > 0 && !slices.Contains(p.AllowedValues, value):
		return p.broken(value, "is not one of "+strings.Join(p.AllowedValues, ", "))
	case p.MinLength != nil && utf8.RuneCountInString(value) < *p.MinLength:
		return p.broken(value, fmt.Sprintf("is shorter than %d", *p.MinLength))
	case p.MaxLength != nil && utf8.RuneCountInString(value) > *p.MaxLength:
		return p.broken(value, fmt.Sprintf("is longer than %d", *p.MaxLength))
	}
	if p.AllowedPattern != "" {
		// CloudFormation uses Java's regular expressions; AWS checks those that Go cannot compile.
		pattern, err := regexp.Compile("^(?:" + p.AllowedPattern + ")$")
		if err == nil && !pattern.MatchString(value) {
			return p.broken(value, "does not match "+p.AllowedPattern)
		}
	}
	if p.Type != "Number" && p.Type != "List<Number>" {
		return nil
	}
	number, err := strconv.ParseFloat(value, 64)
	switch {
	case err != nil:
		return p.broken(value, "is not a number")
	case p.MinValue != nil && number < *p.MinValue:
		return p.broken(value, fmt.Sprintf("is less than %v", *p.MinValue))
	case p.MaxValue != nil && number > *p.MaxValue:
		return p.broken(value, fmt.Sprintf("is more than %v", *p.MaxValue))
	}
	return nil
}

// broken describes the violated constraint, without the value if it is secret.
func (p *Parameter) broken(value, why string) error {
	shown := strconv.Quote(value)
	if p.NoEcho {
		shown = "(not shown)"
	}
	text := fmt.Sprintf("the value %s of parameter %s %s", shown, p.Name, why)
	if p.ConstraintDescription != "" {
		text += ": " + p.ConstraintDescription
	}
	return errors.New(text)
}

// parameterTypes are those of
// https://docs.aws.amazon.com/AWSCloudFormation/latest/UserGuide/cloudformation-supplied-parameter-types.html.
var parameterTypes = allParameterTypes()

func allParameterTypes() []string {
	listable := []string{
		"AWS::EC2::AvailabilityZone::Name", "AWS::EC2::Image::Id", "AWS::EC2::Instance::Id",
		"AWS::EC2::SecurityGroup::GroupName", "AWS::EC2::SecurityGroup::Id", "AWS::EC2::Subnet::Id",
		"AWS::EC2::VPC::Id", "AWS::EC2::Volume::Id", "AWS::Route53::HostedZone::Id",
	}
	types := []string{
		"String", "Number", "CommaDelimitedList", "List<Number>", "List<String>", "AWS::EC2::KeyPair::KeyName",
		"AWS::SSM::Parameter::Name", "AWS::SSM::Parameter::Value<String>",
		"AWS::SSM::Parameter::Value<List<String>>", "AWS::SSM::Parameter::Value<CommaDelimitedList>",
		"AWS::SSM::Parameter::Value<AWS::EC2::KeyPair::KeyName>",
	}
	for _, name := range listable {
		types = append(types, name, "List<"+name+">",
			"AWS::SSM::Parameter::Value<"+name+">", "AWS::SSM::Parameter::Value<List<"+name+">>")
	}
	return types
}

// parameter checks one declaration.
func (c *checker) parameter(p *Parameter) {
	path := "Parameters/" + p.Name
	c.alphanumeric(p.Pos, path, "parameter", p.Name)
	if !slices.Contains(parameterTypes, p.Type) {
		c.problem(p.Pos, path+"/Type", "parameter "+p.Name+" has the unknown type "+p.Type, Closest(p.Type, parameterTypes))
		return
	}
	if _, err := regexp.Compile(p.AllowedPattern); err != nil && strings.Contains(err.Error(), "missing closing") {
		c.problem(p.Pos, path+"/AllowedPattern", "the AllowedPattern of parameter "+p.Name+" is not a regular expression", "")
	}
	if c.t.Resources[p.Name] != nil {
		c.problem(p.Pos, path, "a parameter and a resource are both named "+p.Name, "")
	}
	value, ok := p.Default.Scalar()
	if !ok {
		return
	}
	if err := p.Accepts(value); err != nil {
		c.problem(p.Default.Pos, path+"/Default", err.Error(), "")
	}
}
