package render

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"slices"

	"github.com/aws-operator/aws-operator/internal/cfn/template"
)

// replacing are the properties of groups of instances whose changes replace the instances.
var replacing = map[string][]string{
	// CloudFormation replaces them:
	// https://docs.aws.amazon.com/AWSCloudFormation/latest/UserGuide/aws-attribute-updatepolicy.html.
	// The type's schema marks exactly these as conditionally create-only.
	"AWS::AutoScaling::AutoScalingGroup": {"VPCZoneIdentifier", "LaunchTemplate", "MixedInstancesPolicy", "LaunchConfigurationName"},
	// EKS replaces them at another version or launch template, and CloudFormation the whole node group
	// at the others: https://docs.aws.amazon.com/AWSCloudFormation/latest/TemplateReference/aws-resource-eks-nodegroup.html
	"AWS::EKS::Nodegroup": {
		"AmiType", "CapacityType", "ClusterName", "DiskSize", "InstanceTypes", "LaunchTemplate", "NodeRole", "NodegroupName",
		"ReleaseVersion", "RemoteAccess", "Subnets", "Version",
	},
}

// Shape returns a digest of everything in a stack of instances that replaces them when it changes,
// except the tags of disks and network interfaces: see [model.Group.DiskTags]. An update between
// two stacks with the same shape and disk tags replaces no instance.
func (s *Stack) Shape() string {
	sum := sha256.New() // Writing to a hash never fails.
	for _, name := range slices.Sorted(maps.Keys(s.Parameters)) {
		_, _ = fmt.Fprintf(sum, "%s=%q\n", name, s.Parameters[name])
	}
	for _, id := range slices.Sorted(maps.Keys(s.Template.Resources)) {
		switch r := s.Template.Resources[id]; r.Type {
		case "AWS::EC2::LaunchTemplate":
			_, _ = fmt.Fprintf(sum, "%s: %s\n", id, without(r.Properties.Get("LaunchTemplateData"), "TagSpecifications").AppendJSON(nil))
		case "AWS::AutoScaling::AutoScalingGroup", "AWS::EKS::Nodegroup":
			for _, name := range replacing[r.Type] {
				if value := r.Properties.Get(name); value != nil {
					_, _ = fmt.Fprintf(sum, "%s.%s: %s\n", id, name, value.AppendJSON(nil))
				}
			}
		}
	}
	return hex.EncodeToString(sum.Sum(nil)[:12])
}

// without returns a map without one of its members.
func without(n *template.Node, key string) *template.Node {
	if n == nil {
		return nil
	}
	reduced := *n
	reduced.Fields = slices.DeleteFunc(slices.Clone(n.Fields), func(f template.Field) bool { return f.Key == key })
	return &reduced
}
