package render

import (
	"fmt"
	"maps"

	"github.com/aws-operator/aws-operator/api/cluster/v1alpha1"
	"github.com/aws-operator/aws-operator/internal/cluster/model"
)

// NodeClass returns the spec of the EC2NodeClass from which Karpenter launches the nodes of a group: what
// the group's launch template has. It returns an error if the base stack's outputs lack one that it needs.
// https://karpenter.sh/docs/concepts/nodeclasses/
func NodeClass(c *model.Cluster, g *model.Group, base map[string]string, userData string) (map[string]any, error) {
	h := &handover{outputs: base, values: map[string]string{}}
	profile := h.read(model.OutputWorkerInstanceProfile)
	groups := []any{map[string]any{"id": h.read(model.OutputWorkerSecurityGroup)}}
	for _, id := range g.Spec.SecurityGroups {
		groups = append(groups, map[string]any{"id": id})
	}
	subnets := make([]any, len(g.Subnets))
	for i, s := range g.Subnets {
		id := s.ID
		if id == "" {
			id = h.read(model.OutputSubnet(s))
		}
		subnets[i] = map[string]any{"id": id}
	}
	if err := h.err(); err != nil {
		return nil, err
	}
	image := map[string]any{"id": g.Image.ID}
	if g.Image.ID == "" {
		image = map[string]any{"ssmParameter": g.Image.Parameter}
	}
	tags := map[string]any{model.TagCluster: c.Name}
	for key, value := range userTags(c, g) {
		tags[key] = value
	}
	return map[string]any{
		"amiFamily":                  "Custom", // so that Karpenter passes the user data on as it is
		"amiSelectorTerms":           []any{image},
		"associatePublicIPAddress":   len(g.Subnets) > 0 && g.Subnets[0].Role == v1alpha1.SubnetPublic,
		"blockDeviceMappings":        blockDevices(disks(g.Spec.RootVolume, g.Spec.Volumes)),
		"instanceProfile":            profile,
		"metadataOptions":            map[string]any{"httpEndpoint": "enabled", "httpTokens": "required", "httpPutResponseHopLimit": int64(1)},
		"securityGroupSelectorTerms": groups,
		"subnetSelectorTerms":        subnets,
		"tags":                       tags,
		"userData":                   userData,
	}, nil
}

// userTags returns the tags that users gave the cluster and the group. The operator's own tags of the group
// are for its Auto Scaling group's instances.
func userTags(c *model.Cluster, g *model.Group) map[string]string {
	of := maps.Clone(c.Spec.Tags)
	if of == nil {
		of = map[string]string{}
	}
	maps.Copy(of, g.Spec.Tags)
	return of
}

// blockDevices returns volumes as Karpenter's block device mappings. The first is the root volume.
func blockDevices(volumes []v1alpha1.DataVolume) []any {
	devices := make([]any, len(volumes))
	for i := range volumes {
		v := &volumes[i]
		ebs := map[string]any{
			"deleteOnTermination": true, "encrypted": true, "volumeType": string(v.Type), "volumeSize": fmt.Sprintf("%dGi", v.SizeGiB),
		}
		if v.IOPS != 0 {
			ebs["iops"] = int64(v.IOPS)
		}
		if v.ThroughputMiBps != 0 {
			ebs["throughput"] = int64(v.ThroughputMiBps)
		}
		device := map[string]any{"deviceName": v.Device, "ebs": ebs}
		if i == 0 {
			device["rootVolume"] = true
		}
		devices[i] = device
	}
	return devices
}
