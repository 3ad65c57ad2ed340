package objectmetrics_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/go-logr/logr/funcr"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	clusterv1alpha1 "github.com/aws-operator/aws-operator/api/cluster/v1alpha1"
	servicev1alpha1 "github.com/aws-operator/aws-operator/api/service/v1alpha1"
	"github.com/aws-operator/aws-operator/internal/objectmetrics"
	"github.com/aws-operator/aws-operator/internal/patience"
)

// start is 2026-01-02T03:04:05Z, 1767323045.
var start = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

// kind returns a scheme with a kind of a service.
func kind(t *testing.T, name string) *runtime.Scheme {
	t.Helper()
	scheme := runtime.NewScheme()
	if err := servicev1alpha1.AddObjectToScheme(scheme, name); err != nil {
		t.Fatal(err)
	}
	return scheme
}

// meta returns the metadata of an object that was created some minutes after the start.
func meta(namespace, name string, minutes int) metav1.ObjectMeta {
	created := metav1.NewTime(start.Add(time.Duration(minutes) * time.Minute))
	return metav1.ObjectMeta{Namespace: namespace, Name: name, CreationTimestamp: created}
}

// condition returns a condition whose status changed some minutes after the start.
func condition(name string, status metav1.ConditionStatus, minutes int) metav1.Condition {
	changed := metav1.NewTime(start.Add(time.Duration(minutes) * time.Minute))
	return metav1.Condition{Type: name, Status: status, Reason: "Test", LastTransitionTime: changed}
}

// object returns an object of a service.
func object(at metav1.ObjectMeta, conditions ...metav1.Condition) client.Object {
	return &servicev1alpha1.Object{ObjectMeta: at, Status: servicev1alpha1.ObjectStatus{Conditions: conditions}}
}

// started runs a collector of the sources until the test ends.
func started(t *testing.T, log logr.Logger, sources ...objectmetrics.Source) *prometheus.Registry {
	t.Helper()
	registry := prometheus.NewRegistry()
	collector := objectmetrics.New(registry, log)
	for _, source := range sources {
		collector.Add(source)
	}
	run(t, registry, collector)
	return registry
}

// run starts a collector, waits until it is registered, and returns what stops it.
func run(t *testing.T, registry *prometheus.Registry, collector *objectmetrics.Collector) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- collector.Start(ctx) }()
	patience.Until(t, "the collector to be registered", func() error {
		if described(registry) == 0 {
			return errors.New("it is not")
		}
		return nil
	})
	stopped := false
	stop = func() {
		if stopped {
			return
		}
		stopped = true
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	}
	t.Cleanup(stop)
	return stop
}

// described returns the number of metrics in a registry.
func described(registry *prometheus.Registry) int {
	descs := make(chan *prometheus.Desc, 100)
	registry.Describe(descs)
	return len(descs)
}

func compare(t *testing.T, registry *prometheus.Registry, want string, names ...string) {
	t.Helper()
	if err := testutil.GatherAndCompare(registry, strings.NewReader(want), names...); err != nil {
		t.Error(err)
	}
}

func TestObjectsAreCountedByConditions(t *testing.T) {
	scheme := kind(t, "SQSQueue")
	queues := fake.NewClientBuilder().WithScheme(scheme).WithObjects(
		object(meta("blue", "ready", 0), condition("Ready", metav1.ConditionTrue, 1), condition("Drifted", metav1.ConditionFalse, 1)),
		object(meta("blue", "drifted", 0), condition("Ready", metav1.ConditionTrue, 1), condition("Drifted", metav1.ConditionTrue, 1)),
		object(meta("blue", "stalled", 0), condition("Ready", metav1.ConditionFalse, 10), condition("Stalled", metav1.ConditionTrue, 10)),
		object(meta("green", "new", 20)), // the operator has not seen it yet
		object(meta("green", "creating", 2), condition("Ready", metav1.ConditionFalse, 3)),
	).Build()
	topics := fake.NewClientBuilder().WithScheme(kind(t, "SNSTopic")).WithObjects(
		object(meta("blue", "ready", 0), condition("Ready", metav1.ConditionTrue, 1)),
	).Build()
	registry := started(t, logr.Discard(),
		objectmetrics.Cached(queues, scheme, &servicev1alpha1.ObjectList{}),
		objectmetrics.Cached(topics, kind(t, "SNSTopic"), &servicev1alpha1.ObjectList{}),
	)
	compare(t, registry, `
# HELP aws_operator_drifted_objects Objects whose condition Drifted is True, of kinds that are checked for drift.
# TYPE aws_operator_drifted_objects gauge
aws_operator_drifted_objects{group="service-operator.aws",kind="SQSQueue"} 1
# HELP aws_operator_not_ready_since_timestamp_seconds Earliest Unix time since which an object is not Ready; absent if all are.
# TYPE aws_operator_not_ready_since_timestamp_seconds gauge
aws_operator_not_ready_since_timestamp_seconds{group="service-operator.aws",kind="SQSQueue"} 1.767323225e+09
# HELP aws_operator_objects Objects whose condition Ready or Stalled has a status; Ready is Unknown and Stalled False if absent.
# TYPE aws_operator_objects gauge
aws_operator_objects{condition="Ready",group="service-operator.aws",kind="SNSTopic",namespace="blue",status="False"} 0
aws_operator_objects{condition="Ready",group="service-operator.aws",kind="SNSTopic",namespace="blue",status="True"} 1
aws_operator_objects{condition="Ready",group="service-operator.aws",kind="SNSTopic",namespace="blue",status="Unknown"} 0
aws_operator_objects{condition="Ready",group="service-operator.aws",kind="SQSQueue",namespace="blue",status="False"} 1
aws_operator_objects{condition="Ready",group="service-operator.aws",kind="SQSQueue",namespace="blue",status="True"} 2
aws_operator_objects{condition="Ready",group="service-operator.aws",kind="SQSQueue",namespace="blue",status="Unknown"} 0
aws_operator_objects{condition="Ready",group="service-operator.aws",kind="SQSQueue",namespace="green",status="False"} 1
aws_operator_objects{condition="Ready",group="service-operator.aws",kind="SQSQueue",namespace="green",status="True"} 0
aws_operator_objects{condition="Ready",group="service-operator.aws",kind="SQSQueue",namespace="green",status="Unknown"} 1
aws_operator_objects{condition="Stalled",group="service-operator.aws",kind="SNSTopic",namespace="blue",status="False"} 1
aws_operator_objects{condition="Stalled",group="service-operator.aws",kind="SNSTopic",namespace="blue",status="True"} 0
aws_operator_objects{condition="Stalled",group="service-operator.aws",kind="SQSQueue",namespace="blue",status="False"} 2
aws_operator_objects{condition="Stalled",group="service-operator.aws",kind="SQSQueue",namespace="blue",status="True"} 1
aws_operator_objects{condition="Stalled",group="service-operator.aws",kind="SQSQueue",namespace="green",status="False"} 2
aws_operator_objects{condition="Stalled",group="service-operator.aws",kind="SQSQueue",namespace="green",status="True"} 0
`, "aws_operator_objects", "aws_operator_not_ready_since_timestamp_seconds", "aws_operator_drifted_objects")
}

func TestBackupsOfClustersAreReported(t *testing.T) {
	scheme := runtime.NewScheme()
	if err := clusterv1alpha1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	last := metav1.NewTime(start)
	clusters := fake.NewClientBuilder().WithScheme(scheme).WithObjects(
		&clusterv1alpha1.Cluster{
			ObjectMeta: meta("blue", "saved", 0),
			Status:     clusterv1alpha1.ClusterStatus{Backup: &clusterv1alpha1.BackupStatus{LastTime: &last}},
		},
		&clusterv1alpha1.Cluster{
			ObjectMeta: meta("blue", "new", 0),
			Status:     clusterv1alpha1.ClusterStatus{Backup: &clusterv1alpha1.BackupStatus{}},
		},
		&clusterv1alpha1.Cluster{
			ObjectMeta: meta("blue", "disabled", 0),
			Spec:       clusterv1alpha1.ClusterSpec{Backup: clusterv1alpha1.EtcdBackup{Disabled: true}},
			Status:     clusterv1alpha1.ClusterStatus{Backup: &clusterv1alpha1.BackupStatus{LastTime: &last}},
		},
		&clusterv1alpha1.Cluster{ObjectMeta: meta("green", "without", 0)},
	).Build()
	registry := started(t, logr.Discard(),
		objectmetrics.Cached(clusters, scheme, &clusterv1alpha1.ClusterList{}, &clusterv1alpha1.InstanceGroupList{}))
	compare(t, registry, `
# HELP aws_operator_cluster_last_backup_timestamp_seconds Unix time of the last backup; absent without one, and while backups are disabled.
# TYPE aws_operator_cluster_last_backup_timestamp_seconds gauge
aws_operator_cluster_last_backup_timestamp_seconds{name="saved",namespace="blue"} 1.767323045e+09
`, "aws_operator_cluster_last_backup_timestamp_seconds")
}

func TestConditionsAndBucketBackupsOfClustersAreReported(t *testing.T) {
	scheme := runtime.NewScheme()
	if err := clusterv1alpha1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	condition := func(name string, status metav1.ConditionStatus, reason string) metav1.Condition {
		return metav1.Condition{Type: name, Status: status, Reason: reason}
	}
	clusters := fake.NewClientBuilder().WithScheme(scheme).WithObjects(
		&clusterv1alpha1.Cluster{
			ObjectMeta: meta("blue", "late", 0),
			Status: clusterv1alpha1.ClusterStatus{
				Backup: &clusterv1alpha1.BackupStatus{Bucket: &clusterv1alpha1.BucketBackups{LastTime: metav1.NewTime(start)}},
				Conditions: []metav1.Condition{
					condition("BackedUpToBucket", metav1.ConditionFalse, "BackupLate"),
					condition("AuditLogShipped", metav1.ConditionUnknown, "NotReported"),
					condition("CertificatesValid", metav1.ConditionTrue, "Valid"), condition("Ready", metav1.ConditionFalse, "Failed"),
				},
			},
		},
		&clusterv1alpha1.Cluster{ObjectMeta: meta("green", "without", 0)},
	).Build()
	registry := started(t, logr.Discard(),
		objectmetrics.Cached(clusters, scheme, &clusterv1alpha1.ClusterList{}, &clusterv1alpha1.InstanceGroupList{}))
	compare(t, registry, `
# HELP aws_operator_cluster_condition_not_true 1 for each condition of a Cluster about its upkeep that is not True.
# TYPE aws_operator_cluster_condition_not_true gauge
aws_operator_cluster_condition_not_true{condition="AuditLogShipped",name="late",namespace="blue",reason="NotReported"} 1
aws_operator_cluster_condition_not_true{condition="BackedUpToBucket",name="late",namespace="blue",reason="BackupLate"} 1
# HELP aws_operator_cluster_last_bucket_backup_timestamp_seconds Unix time of the last backup in the bucket; absent without one.
# TYPE aws_operator_cluster_last_bucket_backup_timestamp_seconds gauge
aws_operator_cluster_last_bucket_backup_timestamp_seconds{name="late",namespace="blue"} 1.767323045e+09
`, "aws_operator_cluster_condition_not_true", "aws_operator_cluster_last_bucket_backup_timestamp_seconds")
}

func TestExpiryOfCertificatesIsReported(t *testing.T) {
	scheme := runtime.NewScheme()
	if err := clusterv1alpha1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	expiry := metav1.NewTime(start)
	clusters := fake.NewClientBuilder().WithScheme(scheme).WithObjects(
		&clusterv1alpha1.Cluster{
			ObjectMeta: meta("blue", "up", 0),
			Status: clusterv1alpha1.ClusterStatus{Certificates: &clusterv1alpha1.CertificatesStatus{
				CAsExpire: &expiry, SlotsExpire: new(metav1.NewTime(start.Add(-time.Minute))),
				Rotation: &clusterv1alpha1.CertificateRotation{Stage: clusterv1alpha1.RotationRenew, Started: &expiry},
			}},
		},
		&clusterv1alpha1.Cluster{
			ObjectMeta: meta("blue", "new", 0),
			Status:     clusterv1alpha1.ClusterStatus{Certificates: &clusterv1alpha1.CertificatesStatus{CAsExpire: &expiry}},
		},
		&clusterv1alpha1.Cluster{ObjectMeta: meta("green", "without", 0)},
	).Build()
	registry := started(t, logr.Discard(),
		objectmetrics.Cached(clusters, scheme, &clusterv1alpha1.ClusterList{}, &clusterv1alpha1.InstanceGroupList{}))
	compare(t, registry, `
# HELP aws_operator_cluster_certificate_expiry_timestamp_seconds Unix time at which the first certificate expires, of the CAs or the slots.
# TYPE aws_operator_cluster_certificate_expiry_timestamp_seconds gauge
aws_operator_cluster_certificate_expiry_timestamp_seconds{name="new",namespace="blue",of="cas"} 1.767323045e+09
aws_operator_cluster_certificate_expiry_timestamp_seconds{name="up",namespace="blue",of="cas"} 1.767323045e+09
aws_operator_cluster_certificate_expiry_timestamp_seconds{name="up",namespace="blue",of="slots"} 1.767322985e+09
# HELP aws_operator_cluster_rotation_start_timestamp_seconds Unix time at which a rotation of CAs began; absent without one.
# TYPE aws_operator_cluster_rotation_start_timestamp_seconds gauge
aws_operator_cluster_rotation_start_timestamp_seconds{name="up",namespace="blue",stage="Renew"} 1.767323045e+09
`, "aws_operator_cluster_certificate_expiry_timestamp_seconds", "aws_operator_cluster_rotation_start_timestamp_seconds")
}

func TestChangesAndStacksAreCounted(t *testing.T) {
	scheme := runtime.NewScheme()
	if err := clusterv1alpha1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	waiting := []clusterv1alpha1.PendingChange{{Stack: "waits"}}
	queues, clusters := kind(t, "SQSQueue"), fake.NewClientBuilder().WithScheme(scheme).WithObjects(
		&clusterv1alpha1.Cluster{ObjectMeta: meta("blue", "up", 0), Status: clusterv1alpha1.ClusterStatus{
			PendingChanges: waiting,
			Stacks: []clusterv1alpha1.StackStatus{
				{Status: "UPDATE_IN_PROGRESS"}, {Status: "CREATE_COMPLETE"}, {Status: "ROLLBACK_IN_PROGRESS"},
			},
		}},
		&clusterv1alpha1.InstanceGroup{ObjectMeta: meta("blue", "new", 0)},
		&clusterv1alpha1.InstanceGroup{ObjectMeta: meta("blue", "workers", 0), Status: clusterv1alpha1.InstanceGroupStatus{
			PendingChanges: waiting, Stack: &clusterv1alpha1.StackStatus{Status: "DELETE_IN_PROGRESS"},
		}},
	).Build()
	object := func(namespace, status string, pending ...servicev1alpha1.PendingChange) client.Object {
		return &servicev1alpha1.Object{ObjectMeta: meta(namespace, strings.ToLower(status), 0), Status: servicev1alpha1.ObjectStatus{
			ResourceStatus: status, PendingChanges: pending,
		}}
	}
	registry := started(t, logr.Discard(),
		objectmetrics.Cached(clusters, scheme, &clusterv1alpha1.ClusterList{}, &clusterv1alpha1.InstanceGroupList{}),
		objectmetrics.Cached(fake.NewClientBuilder().WithScheme(queues).WithObjects(
			object("blue", "CREATE_IN_PROGRESS"), object("blue", "REVIEW_IN_PROGRESS", servicev1alpha1.PendingChange{Stack: "imports"}),
			object("green", "UPDATE_COMPLETE"),
		).Build(), queues, &servicev1alpha1.ObjectList{}),
	)
	compare(t, registry, `
# HELP aws_operator_pending_changes Changes of stacks that wait for approval.
# TYPE aws_operator_pending_changes gauge
aws_operator_pending_changes{group="cluster-operator.aws",kind="Cluster",namespace="blue"} 1
aws_operator_pending_changes{group="cluster-operator.aws",kind="InstanceGroup",namespace="blue"} 1
aws_operator_pending_changes{group="service-operator.aws",kind="SQSQueue",namespace="blue"} 1
aws_operator_pending_changes{group="service-operator.aws",kind="SQSQueue",namespace="green"} 0
# HELP aws_operator_stack_operations_running Stacks that CloudFormation creates, updates, deletes or rolls back.
# TYPE aws_operator_stack_operations_running gauge
aws_operator_stack_operations_running{group="cluster-operator.aws",kind="Cluster",namespace="blue"} 2
aws_operator_stack_operations_running{group="cluster-operator.aws",kind="InstanceGroup",namespace="blue"} 1
aws_operator_stack_operations_running{group="service-operator.aws",kind="SQSQueue",namespace="blue"} 1
aws_operator_stack_operations_running{group="service-operator.aws",kind="SQSQueue",namespace="green"} 0
`, "aws_operator_pending_changes", "aws_operator_stack_operations_running")
}

func TestNodesAndRolloutsAreReported(t *testing.T) {
	scheme := runtime.NewScheme()
	if err := clusterv1alpha1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	began := metav1.NewTime(start)
	rollout := func(state clusterv1alpha1.RolloutState) *clusterv1alpha1.RolloutStatus {
		return &clusterv1alpha1.RolloutStatus{State: state, Started: &began, Updated: 1, Total: 3}
	}
	group := func(name string, state clusterv1alpha1.RolloutState) client.Object {
		return &clusterv1alpha1.InstanceGroup{ObjectMeta: meta("blue", name, 0), Status: clusterv1alpha1.InstanceGroupStatus{Rollout: rollout(state)}}
	}
	clusters := fake.NewClientBuilder().WithScheme(scheme).WithObjects(
		&clusterv1alpha1.Cluster{ObjectMeta: meta("blue", "up", 0), Status: clusterv1alpha1.ClusterStatus{
			Rollout: rollout(clusterv1alpha1.RolloutStopped), Nodes: clusterv1alpha1.NodeCount{Desired: 5, Ready: 4, Updated: 3},
		}},
		group("rolls", clusterv1alpha1.RolloutRolling), group("rolls-back", clusterv1alpha1.RolloutRollingBack),
		group("rolled", clusterv1alpha1.RolloutDone), group("rolled-back", clusterv1alpha1.RolloutRolledBack),
		&clusterv1alpha1.InstanceGroup{ObjectMeta: meta("blue", "new", 0)},
	).Build()
	registry := started(t, logr.Discard(),
		objectmetrics.Cached(clusters, scheme, &clusterv1alpha1.ClusterList{}, &clusterv1alpha1.InstanceGroupList{}))
	compare(t, registry, `
# HELP aws_operator_cluster_nodes Nodes of a Cluster: desired, ready and updated.
# TYPE aws_operator_cluster_nodes gauge
aws_operator_cluster_nodes{name="up",namespace="blue",status="desired"} 5
aws_operator_cluster_nodes{name="up",namespace="blue",status="ready"} 4
aws_operator_cluster_nodes{name="up",namespace="blue",status="updated"} 3
# HELP aws_operator_rollout_nodes Nodes of a rollout that is not complete, updated and in total.
# TYPE aws_operator_rollout_nodes gauge
aws_operator_rollout_nodes{kind="Cluster",name="up",namespace="blue",status="total"} 3
aws_operator_rollout_nodes{kind="Cluster",name="up",namespace="blue",status="updated"} 1
aws_operator_rollout_nodes{kind="InstanceGroup",name="rolls",namespace="blue",status="total"} 3
aws_operator_rollout_nodes{kind="InstanceGroup",name="rolls",namespace="blue",status="updated"} 1
aws_operator_rollout_nodes{kind="InstanceGroup",name="rolls-back",namespace="blue",status="total"} 3
aws_operator_rollout_nodes{kind="InstanceGroup",name="rolls-back",namespace="blue",status="updated"} 1
# HELP aws_operator_rollout_start_timestamp_seconds Unix time at which a rollout began that is Rolling, RollingBack or Stopped; else absent.
# TYPE aws_operator_rollout_start_timestamp_seconds gauge
aws_operator_rollout_start_timestamp_seconds{kind="Cluster",name="up",namespace="blue",state="Stopped"} 1.767323045e+09
aws_operator_rollout_start_timestamp_seconds{kind="InstanceGroup",name="rolls",namespace="blue",state="Rolling"} 1.767323045e+09
aws_operator_rollout_start_timestamp_seconds{kind="InstanceGroup",name="rolls-back",namespace="blue",state="RollingBack"} 1.767323045e+09
`, "aws_operator_cluster_nodes", "aws_operator_rollout_nodes", "aws_operator_rollout_start_timestamp_seconds")
}

// Only the leader runs the collector, and a process may lead more than once.
func TestObjectsAreReportedOnlyWhileItRuns(t *testing.T) {
	scheme, registry := kind(t, "SQSQueue"), prometheus.NewRegistry()
	queues := fake.NewClientBuilder().WithScheme(scheme).WithObjects(object(meta("blue", "jobs", 0))).Build()
	collector := objectmetrics.New(registry, logr.Discard())
	collector.Add(objectmetrics.Cached(queues, scheme, &servicev1alpha1.ObjectList{}))
	if !collector.NeedLeaderElection() {
		t.Error("every replica reports objects")
	}
	for range 2 {
		if n, err := testutil.GatherAndCount(registry); err != nil || n != 0 {
			t.Errorf("%d time series without a leader, %v", n, err)
		}
		stop := run(t, registry, collector)
		if n, err := testutil.GatherAndCount(registry, "aws_operator_objects"); err != nil || n != 5 {
			t.Errorf("%d time series of a leader, %v", n, err)
		}
		stop()
	}
}

// A scrape still has everything else.
func TestFailingSourceIsLogged(t *testing.T) {
	var logged []string
	log := funcr.New(func(_, args string) { logged = append(logged, args) }, funcr.Options{})
	registry := started(t, log,
		func(context.Context, objectmetrics.Visit) error { return errors.New("the cache is closed") },
		func(_ context.Context, visit objectmetrics.Visit) error {
			visit(schema.GroupKind{Kind: "Test"}, object(meta("blue", "odd", 0), condition("Ready", "Perhaps", 0)))
			return nil
		},
	)
	compare(t, registry, `
# HELP aws_operator_objects Objects whose condition Ready or Stalled has a status; Ready is Unknown and Stalled False if absent.
# TYPE aws_operator_objects gauge
aws_operator_objects{condition="Ready",group="",kind="Test",namespace="blue",status="False"} 0
aws_operator_objects{condition="Ready",group="",kind="Test",namespace="blue",status="True"} 0
aws_operator_objects{condition="Ready",group="",kind="Test",namespace="blue",status="Unknown"} 1
aws_operator_objects{condition="Stalled",group="",kind="Test",namespace="blue",status="False"} 1
aws_operator_objects{condition="Stalled",group="",kind="Test",namespace="blue",status="True"} 0
`, "aws_operator_objects")
	if len(logged) != 1 || !strings.Contains(logged[0], "the cache is closed") {
		t.Errorf("logged %q", logged)
	}
}

func TestSpaceOfEtcdIsReported(t *testing.T) {
	scheme := runtime.NewScheme()
	if err := clusterv1alpha1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	cluster := func(name string, size, quota int64) *clusterv1alpha1.Cluster {
		return &clusterv1alpha1.Cluster{ObjectMeta: meta("blue", name, 0), Status: clusterv1alpha1.ClusterStatus{
			Etcd: &clusterv1alpha1.EtcdStatus{Space: &clusterv1alpha1.EtcdSpaceStatus{SizeBytes: size, QuotaBytes: quota}},
		}}
	}
	clusters := fake.NewClientBuilder().WithScheme(scheme).
		WithObjects(cluster("up", 50, 100), cluster("unlimited", 60, 0), cluster("silent", 0, 100)).Build()
	registry := started(t, logr.Discard(),
		objectmetrics.Cached(clusters, scheme, &clusterv1alpha1.ClusterList{}, &clusterv1alpha1.InstanceGroupList{}))
	compare(t, registry, `
# HELP aws_operator_cluster_etcd_quota_bytes Size of etcd's database at which etcd refuses writes; absent without a quota.
# TYPE aws_operator_cluster_etcd_quota_bytes gauge
aws_operator_cluster_etcd_quota_bytes{name="up",namespace="blue"} 100
# HELP aws_operator_cluster_etcd_size_bytes Size of etcd's database; absent if the API server does not report it.
# TYPE aws_operator_cluster_etcd_size_bytes gauge
aws_operator_cluster_etcd_size_bytes{name="unlimited",namespace="blue"} 60
aws_operator_cluster_etcd_size_bytes{name="up",namespace="blue"} 50
`, "aws_operator_cluster_etcd_quota_bytes", "aws_operator_cluster_etcd_size_bytes")
}
