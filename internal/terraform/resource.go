package terraform

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/aws-operator/aws-operator/internal/cfn/template"
	"github.com/aws-operator/aws-operator/internal/cluster/model"
)

// translate makes a CloudFormation resource what it is in Terraform.
func (s *scope) translate(id string) error {
	r, of := s.stack.Template.Resources[id], s.resources[id]
	err := s.build(r, of)
	if err == nil {
		return nil
	}
	if m, ok := errors.AsType[*misfit](err); ok {
		return fmt.Errorf("stack %s: %s (%s): %s: %w", s.stack.Name, id, r.Type, strings.TrimPrefix(m.path, "."), m.why)
	}
	return fmt.Errorf("stack %s: %s (%s): %w", s.stack.Name, id, r.Type, err)
}

func (s *scope) build(r *template.Resource, of *made) error {
	_, name, _ := strings.Cut(of.address, ".")
	main := &block{kind: "resource", labels: []string{of.row.to, name}}
	of.blocks = []*block{main}
	t := &target{scope: s, of: of, block: main}
	s.seen = map[*made]bool{}
	defer func() { s.seen = nil }()
	if err := of.row.properties.apply(t, r.Properties); err != nil {
		return err
	}
	of.refers = s.seen
	if of.row.named > 0 {
		main.set("name_prefix", text(model.ShortName(of.row.named-1, s.stack.Name, r.LogicalID)+"-"))
	}
	if of.row.tagged && !hasTags(main) {
		main.set("tags", s.commonTags())
	}
	if of.row.finally != nil {
		if err := of.row.finally(t); err != nil {
			return err
		}
	}
	return s.attributesOf(t, r)
}

// hasTags reports whether the stack's tags are put to a resource already, in whichever form.
func hasTags(b *block) bool {
	return slices.ContainsFunc(b.arguments, func(m member) bool { return m.name == "tags" }) || b.labels[0] == "aws_autoscaling_group"
}

// attributesOf translates a resource's attributes other than its properties.
func (s *scope) attributesOf(t *target, r *template.Resource) error {
	switch {
	case r.Condition != "":
		return fmt.Errorf("the condition %s has no counterpart", r.Condition)
	case r.CreationPolicy != nil:
		return errors.New("CreationPolicy has no counterpart")
	case r.Metadata != nil:
		return errors.New("metadata have no counterpart")
	}
	// UpdatePolicy is left out: where Terraform owns the machines, our own engine replaces them. So
	// is UpdateReplacePolicy, as Terraform has one policy for what is destroyed; a replacement is
	// in the plan that a user approves.
	switch r.DeletionPolicy {
	case "", "Delete":
	case "Retain", "RetainExceptOnCreate":
		t.block.one("lifecycle").set("prevent_destroy", raw("true"))
	case "Snapshot":
		if t.of.row.snapshot == "" {
			return errors.New("the DeletionPolicy Snapshot has no counterpart")
		}
		t.block.set(t.of.row.snapshot, raw("true"))
	default:
		return fmt.Errorf("the DeletionPolicy %s has no counterpart", r.DeletionPolicy)
	}
	for _, id := range r.DependsOn {
		on := s.resources[id]
		if on == nil {
			return fmt.Errorf("DependsOn names %s, which does not exist", id)
		}
		t.of.after = append(t.of.after, on.address)
		t.of.waits = append(t.of.waits, on)
	}
	return nil
}

// order gives a resource its depends_on: what DependsOn names, and of what it refers to the
// resources besides the main one where these are awaited. What Terraform knows from references is
// left out.
func (of *made) order() {
	addresses := slices.Clone(of.after)
	for _, on := range of.waits {
		addresses = append(addresses, on.parts...)
	}
	for on := range of.refers {
		if on.row != nil && on.row.awaited && on != of {
			addresses = append(addresses, on.parts...)
		}
		addresses = slices.DeleteFunc(addresses, func(a string) bool { return a == on.address })
	}
	slices.Sort(addresses)
	addresses = slices.Compact(addresses)
	if len(addresses) == 0 {
		return
	}
	items := make([]string, 0, len(addresses))
	for _, a := range addresses {
		items = append(items, a+",\n")
	}
	of.blocks[0].set("depends_on", raw("[\n"+strings.Join(items, "")+"]"))
}

// all returns all resources of the stack: CloudFormation's by logical ID, then the objects.
func (s *scope) all() []*made {
	all := make([]*made, 0, len(s.resources)+len(s.objects))
	for _, id := range slices.Sorted(maps.Keys(s.resources)) {
		all = append(all, s.resources[id])
	}
	return append(all, s.objects...)
}
