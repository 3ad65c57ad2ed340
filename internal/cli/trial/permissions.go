package trial

import "github.com/aws-operator/aws-operator/internal/permissions"

// Permissions makes a choice of policies the one for a user of the command.
func Permissions(choice *permissions.Choice) {
	choice.Kinds, choice.Events = nil, ""
	choice.Clusters, choice.Trial = true, true
	choice.ClusterNames = []string{stackName, clusterName}
	choice.Queues, choice.Buckets = []string{queuePrefix + "*"}, []string{stackName + "-*"}
}
