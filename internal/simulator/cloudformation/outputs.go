package cloudformation

import (
	"maps"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"

	"github.com/aws-operator/aws-operator/internal/cfn/template"
	"github.com/aws-operator/aws-operator/internal/simulator/cloudformation/eval"
	"github.com/aws-operator/aws-operator/internal/simulator/property"
)

// publishOutputs evaluates a revision's outputs and publishes its exports. If it fails, it changes
// nothing.
func (s *stack) publishOutputs(rev *revision) error {
	sc := s.scope(rev)
	outputs := make([]types.Output, 0, len(rev.template.Outputs))
	exports := map[string]string{}
	for _, name := range slices.Sorted(maps.Keys(rev.template.Outputs)) {
		declared := rev.template.Outputs[name]
		if !sc.Active(declared.Condition) {
			continue
		}
		output, err := evaluateOutput(sc, declared)
		if err != nil {
			return err
		}
		if output.ExportName != nil {
			exports[*output.ExportName] = aws.ToString(output.OutputValue)
		}
		outputs = append(outputs, output)
	}
	if err := s.space.setExports(s, exports); err != nil {
		return err
	}
	s.outputs = outputs
	return nil
}

func evaluateOutput(sc *eval.Scope, declared *template.Output) (types.Output, error) {
	v, err := sc.Value(declared.Value)
	if err != nil {
		return types.Output{}, err
	}
	text, ok := property.Text(v)
	if !ok {
		return types.Output{}, eval.Errorf("Template format error: The Value field of every Outputs member must evaluate to a String")
	}
	out := types.Output{OutputKey: aws.String(declared.Name), OutputValue: aws.String(text), Description: optional(declared.Description)}
	if declared.ExportName == nil {
		return out, nil
	}
	name, err := sc.Value(declared.ExportName)
	if err != nil {
		return types.Output{}, err
	}
	exportName, ok := property.Text(name)
	if !ok || exportName == "" {
		return types.Output{}, eval.Errorf(
			"Template format error: Output %s is malformed. The Name field of every Export member must be specified and must be a String.",
			declared.Name,
		)
	}
	out.ExportName = aws.String(exportName)
	return out, nil
}

// setExports replaces a stack's exports.
// https://docs.aws.amazon.com/AWSCloudFormation/latest/UserGuide/using-cfn-stack-exports.html
func (sp *space) setExports(s *stack, wanted map[string]string) error {
	sp.mu.Lock()
	defer sp.mu.Unlock()
	for name, value := range wanted {
		x := sp.exports[name]
		switch {
		case x == nil:
		case x.owner != s:
			return eval.Errorf("Export with name %s is already exported by stack %s", name, x.owner.name)
		case x.value != value && len(x.users) > 0:
			return eval.Errorf("Cannot update export %s as it is in use by %s", name, x.userNames())
		}
	}
	for name, x := range sp.exports {
		if _, keep := wanted[name]; x.owner == s && !keep && len(x.users) > 0 {
			return eval.Errorf("Cannot delete export %s as it is in use by %s", name, x.userNames())
		}
	}
	for name, x := range sp.exports {
		if _, keep := wanted[name]; x.owner == s && !keep {
			delete(sp.exports, name)
		}
	}
	for name, value := range wanted {
		if x := sp.exports[name]; x != nil {
			x.value = value
			continue
		}
		sp.exports[name] = &export{name: name, value: value, owner: s, users: map[*stack]bool{}}
	}
	return nil
}

func (x *export) userNames() string {
	names := []string{}
	for user := range x.users {
		names = append(names, user.name)
	}
	slices.Sort(names)
	return strings.Join(names, " and ")
}

// importValue returns an export's value.
func (sp *space) importValue(name string) (any, error) {
	sp.mu.RLock()
	defer sp.mu.RUnlock()
	x := sp.exports[name]
	if x == nil {
		return nil, eval.Errorf("No export named %s found", name)
	}
	return x.value, nil
}

// inUse returns the name of an export that other stacks import, and those stacks.
func (sp *space) inUse(s *stack) (name, users string) {
	sp.mu.RLock()
	defer sp.mu.RUnlock()
	for _, name := range slices.Sorted(maps.Keys(sp.exports)) {
		if x := sp.exports[name]; x.owner == s && len(x.users) > 0 {
			return name, x.userNames()
		}
	}
	return "", ""
}

// checkImports resolves every Fn::ImportValue of the revision and registers the stack as a user of
// the exports.
func (s *stack) checkImports() error {
	names, err := s.imports(s.revision)
	if err != nil {
		return err
	}
	s.space.mu.Lock()
	defer s.space.mu.Unlock()
	for _, x := range s.space.exports {
		delete(x.users, s)
	}
	for _, name := range names {
		x := s.space.exports[name]
		if x == nil {
			return eval.Errorf("No export named %s found", name)
		}
		x.users[s] = true
	}
	return nil
}

// imports returns the names of the exports that a revision imports.
func (s *stack) imports(rev *revision) ([]string, error) {
	f := importFinder{scope: s.staticScope(rev)}
	for id := range rev.activeIDs() {
		if err := f.visit(rev.template.Resources[id].Properties); err != nil {
			return nil, err
		}
	}
	for _, o := range rev.template.Outputs {
		if !f.scope.Active(o.Condition) {
			continue
		}
		if err := f.visit(o.Value); err != nil {
			return nil, err
		}
	}
	return f.names, nil
}

// importFinder collects the names in Fn::ImportValue below nodes. Of Fn::If it visits only the
// branch that applies.
type importFinder struct {
	scope *eval.Scope
	names []string
}

func (f *importFinder) visit(n *template.Node) error {
	if n == nil {
		return nil
	}
	below := slices.Clone(n.Items)
	for _, field := range n.Fields {
		below = append(below, field.Value)
	}
	switch {
	case n.Func == "Fn::ImportValue":
		return f.found(n.Arg)
	case n.Func == "Fn::If" && len(n.Arg.Items) == 3 && f.scope.Conditions[n.Arg.Items[0].Text]:
		below = append(below, n.Arg.Items[1])
	case n.Func == "Fn::If" && len(n.Arg.Items) == 3:
		below = append(below, n.Arg.Items[2])
	default:
		below = append(below, n.Arg)
	}
	for _, node := range below {
		if err := f.visit(node); err != nil {
			return err
		}
	}
	return nil
}

func (f *importFinder) found(arg *template.Node) error {
	v, err := f.scope.Value(arg)
	if err != nil {
		return err
	}
	if name, ok := property.Text(v); ok {
		f.names = append(f.names, name)
	}
	return nil
}
