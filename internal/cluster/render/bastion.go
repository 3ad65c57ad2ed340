package render

import (
	"encoding/json"
	"fmt"
	"maps"

	"github.com/aws-operator/aws-operator/api/cluster/v1alpha1"
	"github.com/aws-operator/aws-operator/internal/cluster/model"
)

// bastionID is the prefix of the logical IDs of the bastions' resources.
const bastionID = "Bastion"

// bastion returns the data of the bastions: instances in public subnets with only the users' keys.
func bastion(c *model.Cluster) (*machine, error) {
	userData, err := bastionUserData(c.Spec.SSH.AuthorizedKeys)
	if err != nil {
		return nil, err
	}
	m := &machine{
		ID: bastionID, InstanceType: c.Spec.Bastion.InstanceType,
		SecurityGroups: []string{"!GetAtt " + groupBastion + ".GroupId"},
		PublicAddress:  true,
		Volumes:        disks(v1alpha1.Volume{Type: v1alpha1.VolumeGP3, SizeGiB: bastionDiskGiB}, nil),
		UserData:       userData,
		MinSize:        c.Spec.Bastion.Replicas, MaxSize: c.Spec.Bastion.Replicas,
	}
	for _, s := range c.SubnetsOf(v1alpha1.SubnetPublic) {
		id, err := subnet(s)
		if err != nil {
			return nil, err
		}
		m.Subnets = append(m.Subnets, id)
	}
	of := maps.Clone(c.Tags)
	of[model.TagRole] = model.RoleBastion
	m.Tags = named(c.Name+"-bastion", of)
	m.DiskTags = m.Tags
	return m, nil
}

const bastionDiskGiB = 8

// bastionUserData adds the users' keys to the image's default user with cloud-init:
// https://docs.cloud-init.io/en/latest/reference/modules.html#ssh
func bastionUserData(keys []string) (string, error) {
	if len(keys) == 0 {
		return "", nil
	}
	list, err := json.Marshal(keys)
	if err != nil {
		return "", fmt.Errorf("write the bastions' user data: %w", err)
	}
	return "#cloud-config\nssh_authorized_keys: " + string(list) + "\n", nil
}
