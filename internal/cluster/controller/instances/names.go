package instances

import (
	"strings"

	"github.com/aws-operator/aws-operator/api/cluster/v1alpha1"
	"github.com/aws-operator/aws-operator/internal/cluster/model"
	"github.com/aws-operator/aws-operator/internal/cluster/workload"
)

// OutputGroup is the group stack's output that holds the Auto Scaling group's name.
const OutputGroup = "AutoScalingGroup"

// groupSuffix separates a stack's name from the rest of the name that CloudFormation gives the Auto
// Scaling group in it: STACK-LOGICALID-UNIQUE, where the last part has no hyphen.
// https://docs.aws.amazon.com/AWSCloudFormation/latest/TemplateReference/aws-properties-name.html
const groupSuffix = "-" + OutputGroup + "-"

// StackOf returns the stack of an Auto Scaling group by the group's name, "" if the operator did
// not create it.
func StackOf(name string) string {
	at := strings.LastIndex(name, groupSuffix)
	if at < 0 || strings.Contains(name[at+len(groupSuffix):], "-") {
		return ""
	}
	return name[:at]
}

// SlotOf returns the slot with a stack name, or NoSlot.
func SlotOf(cluster *v1alpha1.Cluster, stack string) int {
	for slot := range model.SlotCount(cluster) {
		if model.SlotStackName(cluster.Name, slot) == stack {
			return slot
		}
	}
	return workload.NoSlot
}
