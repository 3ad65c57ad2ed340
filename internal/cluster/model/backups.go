package model

import (
	"fmt"

	"github.com/aws-operator/aws-operator/api/cluster/v1alpha1"
)

// NoBackups returns a warning if etcd of a cluster without an operator is not backed up, empty if it
// is.
func NoBackups(cluster *v1alpha1.Cluster) string {
	if cluster.Spec.Backup.Bucket != nil || UsesEKS(cluster) {
		return ""
	}
	return fmt.Sprintf("Cluster %s has no backups of etcd: spec.backup.bucket is not set, and only a running operator takes snapshots of its volumes. "+
		"To have its control plane make backups, set spec.backup.bucket: {}.", cluster.Name)
}
