package plan

import (
	"github.com/aws-operator/aws-operator/internal/cluster/model"
	"github.com/aws-operator/aws-operator/internal/cluster/record"
	"github.com/aws-operator/aws-operator/internal/cluster/render"
)

// eksAddons plans the stack of the add-ons that EKS installs, which is created once a node is ready.
func (d *draft) eksAddons() error {
	if d.model.EKS() == nil {
		return nil
	}
	wanted, err := render.EKSAddons(d.model)
	if err != nil {
		return err //nolint:wrapcheck // it names the add-on
	}
	name := model.EKSAddonsStackName(d.model.Name)
	status := record.Find(d.in.Cluster, name)
	if wanted != nil {
		return d.add(Subject{Name: name, Part: EKSAddons, Wanted: wanted}, status, d.in.Cluster)
	}
	if status != nil && status.Status != "" && !d.alone {
		d.pending = append(d.pending, pending{subject: len(d.subjects), id: name})
		d.subjects = append(d.subjects, Subject{Name: name, Part: EKSAddons})
	}
	return nil
}
