package plan

import (
	"strings"

	cfnstack "github.com/aws-operator/aws-operator/internal/cfn/stack"
)

// drift prints what differs from the deployed templates.
func (o *printer) drift(p *Plan) {
	if p.Summary.Drift == nil {
		return
	}
	o.line("\nDrift:")
	var same []string
	for i := range p.Stacks {
		s := &p.Stacks[i]
		switch found := s.Drift; {
		case found == nil:
		case found.Status == cfnstack.InSync:
			same = append(same, s.Name)
		case found.Status == cfnstack.Drifted:
			o.line("  %s", o.paint(magenta, "stack "+s.Name+" ("+s.title()+") differs from its template"))
			for j := range found.Resources {
				o.drifted(&found.Resources[j])
			}
			if found.Update != "" {
				o.line("    %s", o.paint(yellow, found.Update))
			}
			if found.Omitted > 0 {
				o.line("    and %s", number(found.Omitted, "further resource", "further resources"))
			}
		default:
			o.line("  %s", o.paint(yellow, "stack "+s.Name+" ("+s.title()+") was not checked: "+found.Message))
		}
	}
	if len(same) > 0 {
		o.line("  %s", o.paint(dim, "No drift: "+strings.Join(same, ", ")+"."))
	}
	if p.Summary.Drift.Checked == 0 {
		o.line("  %s", o.paint(dim, "No stack is deployed."))
	}
	if p.Summary.Drift.Drifted > 0 {
		o.line("  An update changes only what differs between two templates: it does not set other properties back.")
		o.line("  Undo the changes in AWS, or write the actual values into the definitions.")
	}
}

// drifted prints how a resource differs.
func (o *printer) drifted(r *cfnstack.DriftedResource) {
	name := r.Resource + " (" + r.Type + ", " + r.PhysicalID + ")"
	if r.Deleted {
		o.line("    %s", o.paint(red, name+" was deleted"))
		return
	}
	o.line("    %s", name)
	for i := range r.Properties {
		o.line("      %s", r.Properties[i].Sentence())
	}
	if r.Omitted > 0 {
		o.line("      and %s", number(r.Omitted, "further difference", "further differences"))
	}
}
