package terraform

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/aws-operator/aws-operator/internal/cfn/template"
)

// row is how a CloudFormation type is mapped.
type row struct {
	// to is the Terraform type.
	to string
	// ref is the attribute that Ref means, attributes those that Fn::GetAtt means.
	ref        string
	attributes map[string]string
	// properties are the rules for the type's properties.
	properties fields
	// tagged is whether CloudFormation puts the stack's tags on it.
	tagged bool
	// named is the greatest length of name_prefix where CloudFormation makes a name up from the
	// logical ID; 0 leaves it to the provider.
	named int
	// awaited is whether who refers to it waits for all resources that it becomes.
	awaited bool
	// finally puts to the resource what no property asks for.
	finally func(*target) error
	// snapshot is the argument that keeps a snapshot of what is deleted, empty if the type has
	// none.
	snapshot string
}

// fields are rules by the names of properties.
type fields map[string]rule

// rule puts the value of a property where it belongs in Terraform.
type rule func(t *target, value *template.Node) error

// target is where rules put values: a block of what a resource becomes.
type target struct {
	*scope
	of    *made
	block *block
}

// main returns a reference to an attribute of the main resource.
func (t *target) main(attribute string) expression {
	return raw(t.of.address + "." + attribute)
}

// part adds a further resource to what the resource becomes. The suffix, if any, tells several of
// one type apart.
func (t *target) part(resource, suffix string) (*target, error) {
	_, name, _ := strings.Cut(t.of.address, ".")
	if suffix != "" {
		name += "_" + suffix
	}
	address := resource + "." + name
	if err := t.module.own(address, t.stack.Name+"/"+t.of.logicalID); err != nil {
		return nil, err
	}
	b := &block{kind: "resource", labels: []string{resource, name}}
	t.of.blocks = append(t.of.blocks, b)
	t.of.parts = append(t.of.parts, address)
	return &target{scope: t.scope, of: t.of, block: b}, nil
}

// apply applies the rules to a map of properties.
func (f fields) apply(t *target, n *template.Node) error {
	if n == nil {
		return nil
	}
	if n.Kind != template.Map {
		return fmt.Errorf("a %s is in the place of properties", n.Kind)
	}
	for _, field := range n.Fields {
		one := f[field.Key]
		if one == nil {
			return at("."+field.Key, errors.New("the property has no counterpart; give it one in package terraform's table"))
		}
		if field.Value.IsNoValue() {
			continue
		}
		if err := one(t, field.Value); err != nil {
			return at("."+field.Key, err)
		}
	}
	return nil
}

// misfit is what could not be mapped, and where it stands below the resource's properties.
type misfit struct {
	path string
	why  error
}

// Error names the place.
func (m *misfit) Error() string { return strings.TrimPrefix(m.path, ".") + ": " + m.why.Error() }

// Unwrap returns the reason.
func (m *misfit) Unwrap() error { return m.why }

// at puts a place before what went wrong there.
func at(place string, err error) error {
	if err == nil {
		return nil
	}
	if below, ok := errors.AsType[*misfit](err); ok {
		return &misfit{place + below.path, below.why}
	}
	return &misfit{place, err}
}

// argument makes a property an argument.
func argument(name string) rule {
	return func(t *target, n *template.Node) error {
		value, err := t.value(n)
		if err != nil {
			return err
		}
		t.block.set(name, value)
		return nil
	}
}

// plainly makes a property an argument that is a number or a boolean, also where CloudFormation has
// it as a text.
func plainly(name string) rule {
	return func(t *target, n *template.Node) error {
		value, err := t.value(n)
		if err != nil {
			return err
		}
		if literal, ok := value.literal(); ok {
			_, notNumber := strconv.ParseFloat(literal, 64)
			if notNumber != nil && literal != "true" && literal != "false" {
				return fmt.Errorf("%q is neither a number nor true or false", literal)
			}
			value = raw(literal)
		}
		t.block.set(name, value)
		return nil
	}
}

// oneOf makes a property an argument whose value is another where the property has a certain value.
func oneOf(name string, values map[string]string) rule {
	return func(t *target, n *template.Node) error {
		literal, _ := n.Scalar()
		value, ok := values[literal]
		if !ok {
			return fmt.Errorf("the value %q has no counterpart", literal)
		}
		t.block.set(name, raw(value))
		return nil
	}
}

// inner makes a property a block, and a list of properties one block each. What Terraform asks for
// besides is put to each.
func inner(name string, of fields, besides ...func(*block)) rule {
	return func(t *target, n *template.Node) error {
		return each(n, func(_ int, item *template.Node) error {
			b := t.block.add(name)
			for _, put := range besides {
				put(b)
			}
			return of.apply(&target{scope: t.scope, of: t.of, block: b}, item)
		})
	}
}

// here puts what is below a property where the property itself would be.
func here(of fields) rule {
	return func(t *target, n *template.Node) error {
		return each(n, func(_ int, item *template.Node) error { return of.apply(t, item) })
	}
}

// within puts a property into a block that it shares with others.
func within(name string, of rule) rule {
	return func(t *target, n *template.Node) error {
		return of(&target{scope: t.scope, of: t.of, block: t.block.one(name)}, n)
	}
}

// each visits a list, or a single value as if it were one.
func each(n *template.Node, visit func(int, *template.Node) error) error {
	if n.Kind != template.List {
		return visit(0, n)
	}
	for i, item := range n.Items {
		if item.IsNoValue() {
			continue
		}
		if err := visit(i, item); err != nil {
			return at("["+strconv.Itoa(i)+"]", err)
		}
	}
	return nil
}

// keyed makes a list of keys and values arguments by their keys.
func keyed(of fields) rule {
	return func(t *target, n *template.Node) error {
		return each(n, func(_ int, item *template.Node) error {
			key, _ := item.Get("Key").Scalar()
			if of[key] == nil {
				return fmt.Errorf("the attribute %q has no counterpart; give it one in package terraform's table", key)
			}
			return of[key](t, item.Get("Value"))
		})
	}
}

// ofBucket makes a property of a bucket a resource of its own, which names the bucket.
func ofBucket(resource string, of fields) rule {
	return func(t *target, n *template.Node) error {
		part, err := t.part(resource, "")
		if err != nil {
			return err
		}
		part.block.set("bucket", t.main("id"))
		return of.apply(part, n)
	}
}

// split makes each of a list a resource of its own, named by one of its properties.
func split(resource, link, attribute, name string, of fields) rule {
	return func(t *target, n *template.Node) error {
		return each(n, func(_ int, item *template.Node) error {
			suffix, ok := item.Get(name).Scalar()
			if !ok {
				return at("."+name, errors.New("it must be a plain string, since it names the resource"))
			}
			part, err := t.part(resource, snake(suffix))
			if err != nil {
				return err
			}
			part.block.set(link, t.main(attribute))
			return of.apply(part, item)
		})
	}
}

// only makes the only one of a list an argument.
func only(name string) rule {
	return func(t *target, n *template.Node) error {
		if n.Kind != template.List || len(n.Items) != 1 {
			return errors.New("there must be exactly one, since Terraform supports no more")
		}
		return argument(name)(t, n.Items[0])
	}
}

// dropped leaves a property out. The reason is for readers of the table.
func dropped(reason string) rule {
	return func(*target, *template.Node) error {
		if reason == "" {
			return errors.New("it is left out without a reason")
		}
		return nil
	}
}

// tags makes a list of keys and values a map.
func tags(name string) rule {
	return func(t *target, n *template.Node) error {
		members, err := t.tagMembers(n)
		if err != nil {
			return err
		}
		t.block.set(name, object(members))
		return nil
	}
}

// tagMembers returns tags as members of a map.
func (s *scope) tagMembers(n *template.Node) ([]member, error) {
	var members []member
	err := each(n, func(_ int, item *template.Node) error {
		key, ok := item.Get("Key").Scalar()
		if !ok || item.Get("Value") == nil {
			return errors.New("a tag has no key or no value")
		}
		value, err := s.value(item.Get("Value"))
		members = append(members, member{key, value})
		return err
	})
	return members, err
}

// stackTags makes a list of tags a map with the stack's.
func stackTags(t *target, n *template.Node) error {
	members, err := t.tagMembers(n)
	if err != nil {
		return err
	}
	t.block.set("tags", call("merge", t.commonTags(), object(members)))
	return nil
}

// commonTags are the stack's tags.
func (s *scope) commonTags() expression { return raw("local." + plain(s.stack.Name) + "_tags") }
