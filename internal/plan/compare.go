package plan

import (
	"maps"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/aws-operator/aws-operator/internal/cfn/diff"
	"github.com/aws-operator/aws-operator/internal/cfn/policy"
	"github.com/aws-operator/aws-operator/internal/cfn/schema"
	"github.com/aws-operator/aws-operator/internal/cfn/stack"
	"github.com/aws-operator/aws-operator/internal/cfn/template"
	"github.com/aws-operator/aws-operator/internal/cluster/model"
	"github.com/aws-operator/aws-operator/internal/cluster/render"
)

// Subject is one stack before it is compared.
type Subject struct {
	// Name is the name of the stack, Part its part of the cluster, Of its slot or instance group.
	Name string
	Part Part
	Of   string
	// Wanted is the rendered stack, nil for a stack to delete.
	Wanted *render.Stack
	// Deployed is the deployed stack, nil if there is none.
	Deployed *diff.Side
	// Same reports that the deployed stack is known to equal Wanted. Deployed is then optional.
	Same bool
	// Machines is the number of instances of the stack, Rolling how they are replaced if it is an
	// instance group.
	Machines int
	Rolling  *model.Rolling
	// Parts are the parts of the instances' bundle that differ, if known.
	Parts []string
	// After reports that its instances are replaced after those of the control plane.
	After bool
	// Allow has the dangerous changes that the user has allowed.
	Allow policy.Allow
	// Except are the properties and resources whose drift does not count.
	Except []stack.DriftException
	// Adopted is the existing resource that the stack imports if it is not deployed, nil for none.
	Adopted *Adopted
}

// Adopted is an existing resource.
type Adopted struct {
	// LogicalID is its name in the template, Identifier its primary identifier.
	LogicalID, Identifier string
	// Changes are the properties that the stack then changes.
	Changes []diff.PropertyChange
	// Refused says why the resource cannot be imported.
	Refused string
}

// Compare returns the changes of each stack, and the instances that are then replaced. It is pure.
func Compare(name string, subjects []Subject, registry *schema.Registry) *Plan {
	p := &Plan{Name: name}
	for i := range subjects {
		p.Stacks = append(p.Stacks, compareStack(&subjects[i], registry))
	}
	p.count()
	p.roll(subjects)
	p.Digest = p.digest(subjects)
	return p
}

// compareStack returns the changes of one stack.
func compareStack(s *Subject, registry *schema.Registry) Stack {
	made := Stack{Name: s.Name, Part: s.Part, Of: s.Of, Action: None}
	if s.Same || s.Wanted == nil && s.Deployed == nil {
		return made
	}
	if s.Adopted != nil && s.Deployed == nil {
		return importStack(s)
	}
	var before, after diff.Side
	if s.Deployed != nil {
		before = *s.Deployed
	}
	if s.Wanted != nil {
		after = *sideOf(s.Wanted)
	}
	changes := diff.Compare(before, after, registry)
	switch {
	case s.Deployed == nil:
		made.Action = Create
	case s.Wanted == nil:
		made.Action = Delete
	case !changes.Empty():
		made.Action = Update
	}
	for i := range changes.Changes {
		one := resourceOf(&changes.Changes[i])
		if one.Action == Create {
			one.Size = sizeOf(after.Template.Resources[one.LogicalID])
		}
		one.explainBundle(s.Parts)
		made.Resources = append(made.Resources, one)
	}
	if made.Action != Update {
		return made
	}
	for _, refusal := range policy.Check(changes, s.Allow) {
		made.Refused = append(made.Refused, refusal.Message)
	}
	made.newVersions(after.Template)
	for i := range made.Resources {
		made.Resources[i].settle(after.Template, s.Rolling)
	}
	slices.SortFunc(made.Resources, func(a, b Resource) int { return strings.Compare(a.LogicalID, b.LogicalID) })
	made.Tags = tagsOf(before.Tags, after.Tags)
	made.Parameters, made.Outputs, made.Sections = changes.ParametersChanged, changes.Outputs, changes.SectionsChanged
	return made
}

// importStack returns the changes of a stack that imports a resource and creates its others.
func importStack(s *Subject) Stack {
	made := Stack{Name: s.Name, Part: s.Part, Of: s.Of, Action: Import}
	if s.Adopted.Refused != "" {
		made.Refused = []string{s.Adopted.Refused}
	}
	for _, id := range slices.Sorted(maps.Keys(s.Wanted.Template.Resources)) {
		r := s.Wanted.Template.Resources[id]
		one := Resource{LogicalID: id, Type: r.Type, Action: Create, Stateful: schema.IsStateful(r.Type), Size: sizeOf(r)}
		if id == s.Adopted.LogicalID {
			one = resourceOf(&diff.Change{LogicalID: id, Type: r.Type, Properties: s.Adopted.Changes})
			one.Action, one.Identifier = Import, s.Adopted.Identifier
		}
		made.Resources = append(made.Resources, one)
	}
	return made
}

var actions = map[diff.Action]Action{
	diff.Add: Create, diff.Update: Update, diff.Replace: Replace, diff.MayReplace: MayReplace, diff.Remove: Delete,
}

func resourceOf(c *diff.Change) Resource {
	r := Resource{LogicalID: c.LogicalID, Type: c.Type, Action: actions[c.Action], Stateful: c.Stateful, OldResource: c.OldResource}
	for _, p := range c.Properties {
		old, now := masked(p.Path, p.Old), masked(p.Path, p.New)
		if old != nil && now != nil && old.Text == diff.Hidden && now.Text == diff.Hidden && !template.Equal(p.Old, p.New) {
			now = template.NewString(diff.NewSecret)
		}
		r.Properties = append(r.Properties, Property{
			Path: p.Path, Old: old, New: now, Forces: p.ForcesReplacement, MayForce: p.MayReplace, Cause: p.Cause,
		})
	}
	return r
}

// explainBundle notes the parts of the bundle that differ with a launch template's user data.
func (r *Resource) explainBundle(parts []string) {
	for i := range r.Properties {
		if p := &r.Properties[i]; r.Type == typeLaunchTemplate && p.Path == "LaunchTemplateData/UserData" {
			p.Parts = parts
		}
	}
}

const (
	typeGroup          = "AWS::AutoScaling::AutoScalingGroup"
	typeNodegroup      = "AWS::EKS::Nodegroup"
	typeLaunchTemplate = "AWS::EC2::LaunchTemplate"
	typeIngress        = "AWS::EC2::SecurityGroupIngress"
	// latestVersion is an attribute of a launch template that changes with its content:
	// https://docs.aws.amazon.com/AWSCloudFormation/latest/TemplateReference/aws-resource-ec2-launchtemplate.html
	latestVersion = "LatestVersionNumber"
)

// newVersions adds a change to each reference to the newest version of a launch template that
// changes. The templates do not show it, since the reference stays the same.
func (s *Stack) newVersions(t *template.Template) {
	changed := map[string]bool{}
	for i := range s.Resources {
		r := &s.Resources[i]
		changed[r.LogicalID] = r.Type == typeLaunchTemplate && r.Action == Update &&
			slices.ContainsFunc(r.Properties, func(p Property) bool { return strings.HasPrefix(p.Path, "LaunchTemplateData") })
	}
	for _, id := range slices.Sorted(maps.Keys(t.Resources)) {
		for _, use := range Uses(t.Resources[id].Properties) {
			if !changed[use.Target] || use.Attribute != latestVersion {
				continue
			}
			r := s.Resource(id)
			if r == nil {
				s.Resources = append(s.Resources, Resource{LogicalID: id, Type: t.Resources[id].Type, Action: Update})
				r = &s.Resources[len(s.Resources)-1]
			}
			if r.Action != Create &&
				!slices.ContainsFunc(r.Properties, func(p Property) bool { return strings.HasPrefix(use.Path, p.Path) }) {
				r.Properties = append(r.Properties, Property{Path: use.Path, Cause: use.Target, MayForce: true})
			}
		}
	}
}

// choices matches the properties of an Auto Scaling group that list its instance types and subnets:
// an instance that still matches is not replaced. A group that begins or ceases to mix types has
// the launch template in another property.
var choices = regexp.MustCompile(`^(MixedInstancesPolicy|VPCZoneIdentifier|LaunchTemplate$)`)

// settle decides what a change of an Auto Scaling group does. A change that may replace a group
// according to its schema replaces, with the project's update policies, only its instances:
// https://docs.aws.amazon.com/AWSCloudFormation/latest/UserGuide/aws-attribute-updatepolicy.html
func (r *Resource) settle(t *template.Template, rolling *model.Rolling) {
	if r.Type == typeNodegroup {
		r.settleNodegroup()
		return
	}
	of := t.Resources[r.LogicalID]
	if r.Type != typeGroup || of == nil || r.Action != Update && r.Action != MayReplace {
		return
	}
	if willReplace, _ := of.UpdatePolicy.Get("AutoScalingReplacingUpdate").Get("WillReplace").Scalar(); willReplace == "true" {
		return
	}
	r.Action, r.OldResource = Update, ""
	for i := range r.Properties {
		p := &r.Properties[i]
		if p.MayForce && (rolling != nil || of.UpdatePolicy.Get("AutoScalingRollingUpdate") != nil) {
			fits := choices.MatchString(p.Path) && p.Cause == ""
			r.FitStay = fits && (r.FitStay || !r.Rolls)
			r.Rolls = true
		}
		p.MayForce = false
	}
}

// settleNodegroup decides what a change of a managed node group does. EKS replaces its nodes at another version or
// launch template, and CloudFormation the whole node group at the properties that its schema names:
// https://docs.aws.amazon.com/AWSCloudFormation/latest/TemplateReference/aws-resource-eks-nodegroup.html
func (r *Resource) settleNodegroup() {
	r.Rolls = r.Action == Replace
	for i := range r.Properties {
		p := &r.Properties[i]
		name, _, _ := strings.Cut(p.Path, "/")
		if r.Action == Update && (name == "LaunchTemplate" || name == "Version" || name == "ReleaseVersion") {
			r.Rolls, p.MayForce = true, false
		}
	}
}

// tagsOf returns the tags that differ.
func tagsOf(before, after map[string]string) []Value {
	all := maps.Clone(before)
	if all == nil {
		all = map[string]string{}
	}
	maps.Copy(all, after)
	var changed []Value
	for _, name := range slices.Sorted(maps.Keys(all)) {
		if old, now := before[name], after[name]; old != now {
			changed = append(changed, Value{Name: name, Old: old, New: now})
		}
	}
	return changed
}

// secretName matches the names of properties that hold secrets.
var secretName = regexp.MustCompile(`(?i)(password|secret|secretstring|authtoken|privatekey|apikey|accesskey|token)$`)

// masked hides a value by the name of its property, unless it is an expression.
func masked(path string, value *template.Node) *template.Node {
	if value == nil || value.Kind == template.Intrinsic {
		return value
	}
	name := path[strings.LastIndexByte(path, '/')+1:]
	switch {
	case value.IsScalar() && secretName.MatchString(name):
		return template.NewString(diff.Hidden)
	case value.Kind == template.Map:
		shown := *value
		shown.Fields = slices.Clone(value.Fields)
		for i := range shown.Fields {
			shown.Fields[i].Value = masked(path+"/"+shown.Fields[i].Key, shown.Fields[i].Value)
		}
		return &shown
	case value.Kind == template.List:
		shown := *value
		shown.Items = slices.Clone(value.Items)
		for i := range shown.Items {
			shown.Items[i] = masked(path+"/", shown.Items[i])
		}
		return &shown
	}
	return value
}

// count fills the summary.
func (p *Plan) count() {
	for i := range p.Stacks {
		if p.Stacks[i].Action != None {
			p.Summary.Stacks++
		}
		for j := range p.Stacks[i].Resources {
			switch p.Stacks[i].Resources[j].Action {
			case Create:
				p.Summary.Create++
			case Update:
				p.Summary.Update++
			case Replace:
				p.Summary.Replace++
			case MayReplace:
				p.Summary.MayReplace++
			case Delete:
				p.Summary.Delete++
			case Import:
				p.Summary.Import++
				if len(p.Stacks[i].Resources[j].Properties) > 0 {
					p.Summary.Update++
				}
			case None:
			}
		}
	}
}

// BootAtLeast is the minimum time that plans assume from the launch of an instance until its node
// is Ready: Ubuntu boots, nodeup downloads some 200 MB of artifacts and images, and the kubelet
// joins.
const BootAtLeast = time.Minute
