package terraform

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/aws-operator/aws-operator/internal/cfn/template"
	"github.com/aws-operator/aws-operator/internal/cluster/model"
	"github.com/aws-operator/aws-operator/internal/cluster/render"
)

// module is the configuration while it is made.
type module struct {
	// folder is where data files are, from the configuration's.
	folder string
	scopes []*scope
	// data are the data sources of the account, by address.
	data map[string]*block
	// marks are those of the base stack's outputs.
	marks map[string]meaning
	// files are the data files by path.
	files map[string][]byte
	// secrets are the data files that only their owner may read, by path.
	secrets map[string][]byte
	// slotsNeed are the addresses of what must be in the bucket before slots boot.
	slotsNeed []string
	// owners are the CloudFormation resources that resources were made from, by address.
	owners map[string]string
}

// scope is a stack of the configuration.
type scope struct {
	module *module
	stack  *render.Stack
	// base is whether it is the base stack.
	base bool
	// resources by logical ID.
	resources map[string]*made
	// data and locals are its own.
	data   []*block
	locals []member
	// before are the addresses of what must be there before machines boot.
	before []string
	// bundle is what the machines boot from, nil for none.
	bundle *bundled
	// objects are what Terraform puts into the bucket.
	objects []*made
	// seen collects what is referred to, while a resource is translated.
	seen map[*made]bool
}

// made is what a CloudFormation resource becomes.
type made struct {
	// logicalID is the resource's in its stack; what CloudFormation does not make has none.
	logicalID string
	// address is the main resource's.
	address string
	row     *row
	// blocks are the resources, the main one first; parts are the others' addresses.
	blocks []*block
	parts  []string
	// refers are those that it refers to, after the addresses of what else must be there before it.
	refers map[*made]bool
	after  []string
	// waits are those that DependsOn names.
	waits []*made
}

// pseudo are pseudo parameters and what they are in Terraform:
// https://docs.aws.amazon.com/AWSCloudFormation/latest/TemplateReference/pseudo-parameter-reference.html
var pseudo = map[string]struct{ source, attribute string }{
	"AWS::AccountId": {"aws_caller_identity", "account_id"},
	"AWS::Region":    {"aws_region", "id"}, // its name; the attribute of that name is another's in version 6
	"AWS::Partition": {"aws_partition", "partition"},
	"AWS::URLSuffix": {"aws_partition", "dns_suffix"},
}

// current returns a reference to a data source of the account.
func (m *module) current(source, attribute string) expression {
	address := "data." + source + ".current"
	m.data[address] = &block{kind: "data", labels: []string{source, "current"}}
	return reference(address+"."+attribute, attribute)
}

// refer translates a Ref, or where there is an attribute a Fn::GetAtt.
func (s *scope) refer(target, attribute string) (expression, error) {
	if p, ok := pseudo[target]; ok {
		return s.module.current(p.source, p.attribute), nil
	}
	if target == "AWS::StackName" {
		return text(s.stack.Name), nil
	}
	if parameter := s.stack.Template.Parameters[target]; parameter != nil {
		return s.parameter(parameter)
	}
	to := s.resources[target]
	if to == nil {
		return expression{}, fmt.Errorf("%s, to which Ref or Fn::GetAtt refers, cannot be resolved", target)
	}
	name := to.row.ref
	if attribute != "" {
		name = to.row.attributes[attribute]
	}
	if name == "" {
		return expression{}, fmt.Errorf(
			"%s of %s (%s) has no counterpart; give it one in package terraform's table",
			map[bool]string{true: "Ref", false: "the attribute " + attribute}[attribute == ""],
			target,
			s.stack.Template.Resources[target].Type,
		)
	}
	s.module.refersTo(to)
	return reference(to.address+"."+name, snake(target)+"_"+name), nil
}

// refersTo notes a reference with the resource that is being translated, in whichever stack that
// is.
func (m *module) refersTo(to *made) {
	for _, s := range m.scopes {
		if s.seen != nil {
			s.seen[to] = true
		}
	}
}

// parameter translates a parameter: its value, or what the parameter of Systems Manager holds that
// it names.
func (s *scope) parameter(p *template.Parameter) (expression, error) {
	value, given := s.stack.Parameters[p.Name]
	if !given {
		var ok bool
		if value, ok = p.Default.Scalar(); !ok {
			return expression{}, fmt.Errorf("the parameter %s has no value", p.Name)
		}
	}
	switch {
	case p.NoEcho:
		return expression{}, fmt.Errorf("the parameter %s is secret, and would be in Terraform's state", p.Name)
	case p.IsSSM():
		name := plain(s.stack.Name) + "_" + snake(p.Name)
		source := &block{kind: "data", labels: []string{"aws_ssm_parameter", name}}
		source.set("name", text(value))
		if !slices.ContainsFunc(s.data, func(b *block) bool { return b.labels[1] == name }) {
			s.data = append(s.data, source)
		}
		// The other attribute, value, would hide the image's ID in plans: none of these parameters
		// is secret.
		held := reference("data.aws_ssm_parameter."+name+".insecure_value", snake(p.Name))
		if p.IsList() {
			return call("split", text(","), held), nil
		}
		return held, nil
	case p.IsList():
		var items []expression
		for one := range strings.SplitSeq(value, ",") {
			items = append(items, s.module.marked(strings.TrimSpace(one)))
		}
		return list(items), nil
	}
	return s.module.marked(value), nil
}

// output translates an output of the stack.
func (s *scope) output(name string) (expression, error) {
	output := s.stack.Template.Outputs[name]
	if output == nil {
		return expression{}, fmt.Errorf("stack %s has no output %s", s.stack.Name, name)
	}
	value, err := s.value(output.Value)
	if err != nil {
		return expression{}, fmt.Errorf("output %s of stack %s: %w", name, s.stack.Name, err)
	}
	if name == model.OutputAPIAddress { // As in model.APIAddress: AWS keeps the case of the load balancer's name.
		value = call("lower", value)
	}
	return value, nil
}

// declare makes the stack's resources known by their addresses, so that they can be referred to.
func (s *scope) declare() error {
	s.resources = map[string]*made{}
	for _, id := range slices.Sorted(maps.Keys(s.stack.Template.Resources)) {
		r := s.stack.Template.Resources[id]
		row := table[r.Type]
		if row == nil {
			return fmt.Errorf(
				"stack %s: %s is of type %s, which has no counterpart; give it one in package terraform's table", s.stack.Name, id, r.Type,
			)
		}
		name := nameOf(s.stack.Name, s.base, id, r.Type)
		s.resources[id] = &made{logicalID: id, address: row.to + "." + name, row: row}
		if err := s.module.own(row.to+"."+name, s.stack.Name+"/"+id); err != nil {
			return err
		}
	}
	return nil
}

// own takes an address. It returns an error if it is another's.
func (m *module) own(address, owner string) error {
	if other := m.owners[address]; other != "" {
		return fmt.Errorf("%s and %s would both be %s; rename the instance group", other, owner, address)
	}
	m.owners[address] = owner
	return nil
}
