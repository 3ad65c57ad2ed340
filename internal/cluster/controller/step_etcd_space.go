package controller

import (
	"context"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/aws-operator/aws-operator/api/cluster/v1alpha1"
	"github.com/aws-operator/aws-operator/internal/cluster/controller/conditions"
	"github.com/aws-operator/aws-operator/internal/cluster/controller/etcdspace"
	"github.com/aws-operator/aws-operator/pkg/operatorkit"
)

// etcdSpaceStep reports how full etcd is. It never makes a Cluster wait or fail.
type etcdSpaceStep struct{ *operator }

// Name returns the step's name.
func (s etcdSpaceStep) Name() string { return "etcd-space" }

// EnsureCreated measures etcd's database when that is due.
func (s etcdSpaceStep) EnsureCreated(ctx context.Context, cluster *v1alpha1.Cluster) operatorkit.Outcome {
	connection := s.options.Workload.Get(keyOf(cluster))
	if connection == nil {
		return operatorkit.Done()
	}
	if reachable, _ := connection.Reachable(); !reachable { // The condition APIReachable reports it.
		return operatorkit.Done()
	}
	now, quota := s.options.Clock.Now(), etcdspace.Quota(&cluster.Spec)
	if etcd := cluster.Status.Etcd; etcd != nil && etcd.Space != nil && etcd.Space.QuotaBytes == quota {
		next := etcdspace.Next(etcd.Space, cluster.Status.Conditions)
		if next.After(now) && !etcd.Space.CheckedAt.After(now) {
			return operatorkit.Done().RequeueAfter(next.Sub(now))
		}
	}
	size, err := connection.EtcdSize(ctx)
	if err != nil {
		log.FromContext(ctx).V(1).Info("The size of etcd's database is not known", "error", err.Error())
	}
	if cluster.Status.Etcd == nil {
		cluster.Status.Etcd = &v1alpha1.EtcdStatus{}
	}
	cluster.Status.Etcd.Space = &v1alpha1.EtcdSpaceStatus{SizeBytes: size, QuotaBytes: quota, CheckedAt: metav1.NewTime(now)}
	operatorkit.SetCondition(cluster, etcdspace.Condition(cluster.Status.Etcd.Space))
	next := etcdspace.Next(cluster.Status.Etcd.Space, cluster.Status.Conditions)
	return operatorkit.Done().RequeueAfter(next.Sub(now))
}

// EnsureDeleted removes the condition.
func (s etcdSpaceStep) EnsureDeleted(_ context.Context, cluster *v1alpha1.Cluster) operatorkit.Outcome {
	operatorkit.RemoveCondition(cluster, conditions.EtcdSpace)
	return operatorkit.Done()
}
