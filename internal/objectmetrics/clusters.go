package objectmetrics

import (
	"github.com/prometheus/client_golang/prometheus"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1alpha1 "github.com/aws-operator/aws-operator/api/cluster/v1alpha1"
	"github.com/aws-operator/aws-operator/pkg/operatorkit"
)

// condition is a condition of a Cluster.
type condition struct {
	cluster client.ObjectKey
	name    string
}

// addCluster adds what only Clusters have.
func (t *tally) addCluster(cluster *clusterv1alpha1.Cluster, n *counts) {
	key := client.ObjectKeyFromObject(cluster)
	n.addStacks(len(cluster.Status.PendingChanges))
	for i := range cluster.Status.Stacks {
		n.addStacks(0, cluster.Status.Stacks[i].Status)
	}
	t.nodes[key] = cluster.Status.Nodes
	if backup := cluster.Status.Backup; backup != nil && backup.LastTime != nil && !cluster.Spec.Backup.Disabled {
		t.backups[key] = backup.LastTime.Time
	}
	if backup := cluster.Status.Backup; backup != nil && backup.Bucket != nil {
		t.bucketBackups[key] = backup.Bucket.LastTime.Time
	}
	for _, name := range clusterv1alpha1.UpkeepConditions() {
		if one := operatorkit.FindCondition(cluster, name); one != nil && one.Status != metav1.ConditionTrue {
			t.conditions[condition{key, name}] = one.Reason
		}
	}
	if expiry := cluster.Status.Certificates; expiry != nil {
		t.certificates[key] = expiry // and the stage of a rotation
	}
	if etcd := cluster.Status.Etcd; etcd != nil && etcd.Space != nil && etcd.Space.SizeBytes > 0 {
		t.etcd[key] = etcd.Space
	}
	t.addRollout("Cluster", cluster, cluster.Status.Rollout)
}

// reportUpkeep sends the metrics about the upkeep of Clusters.
func (t *tally) reportUpkeep(gauge func(desc *prometheus.Desc, value float64, labels ...string)) {
	for cluster, expiry := range t.certificates {
		for of, at := range map[string]*metav1.Time{"cas": expiry.CAsExpire, "slots": expiry.SlotsExpire} {
			if at != nil {
				gauge(certificatesDesc, float64(at.Unix()), cluster.Namespace, cluster.Name, of)
			}
		}
		if rotation := expiry.Rotation; rotation != nil && rotation.Stage != clusterv1alpha1.RotationDone && rotation.Started != nil {
			gauge(rotationDesc, float64(rotation.Started.Unix()), cluster.Namespace, cluster.Name, string(rotation.Stage))
		}
	}
	for cluster, space := range t.etcd {
		gauge(etcdSizeDesc, float64(space.SizeBytes), cluster.Namespace, cluster.Name)
		if space.QuotaBytes > 0 {
			gauge(etcdQuotaDesc, float64(space.QuotaBytes), cluster.Namespace, cluster.Name)
		}
	}
	for cluster, at := range t.backups {
		gauge(backupDesc, float64(at.Unix()), cluster.Namespace, cluster.Name)
	}
	for cluster, at := range t.bucketBackups {
		gauge(bucketBackupDesc, float64(at.Unix()), cluster.Namespace, cluster.Name)
	}
	for of, reason := range t.conditions {
		gauge(conditionDesc, 1, of.cluster.Namespace, of.cluster.Name, of.name, reason)
	}
}
