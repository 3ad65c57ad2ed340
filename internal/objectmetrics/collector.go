package objectmetrics

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"

	clusterv1alpha1 "github.com/aws-operator/aws-operator/api/cluster/v1alpha1"
	servicev1alpha1 "github.com/aws-operator/aws-operator/api/service/v1alpha1"
	"github.com/aws-operator/aws-operator/pkg/operatorkit"
)

// Visit receives an object, which it must not change, and its kind.
type Visit func(kind schema.GroupKind, obj client.Object)

// Source visits every object of some kinds. It reads caches only.
type Source func(ctx context.Context, visit Visit) error

// Cached returns the source of the kinds of some lists, whose informers a cache already has.
func Cached(cache client.Reader, scheme *runtime.Scheme, lists ...client.ObjectList) Source {
	return func(ctx context.Context, visit Visit) error {
		for _, empty := range lists {
			kind, err := apiutil.GVKForObject(empty, scheme)
			if err != nil {
				return fmt.Errorf("find the kind of %T: %w", empty, err)
			}
			kind.Kind = strings.TrimSuffix(kind.Kind, "List")
			list, ok := empty.DeepCopyObject().(client.ObjectList)
			if !ok {
				return fmt.Errorf("copy %T: it is no list", empty)
			}
			if err := cache.List(ctx, list, client.UnsafeDisableDeepCopy); err != nil {
				return fmt.Errorf("list %s: %w", kind.Kind, err)
			}
			err = meta.EachListItem(list, func(item runtime.Object) error {
				if obj, ok := item.(client.Object); ok {
					visit(kind.GroupKind(), obj)
				}
				return nil
			})
			if err != nil {
				return fmt.Errorf("read a list of %s: %w", kind.Kind, err)
			}
		}
		return nil
	}
}

// Where returns the source of those objects of which another process does not report.
func (s Source) Where(ours func(client.Object) bool) Source {
	return func(ctx context.Context, visit Visit) error {
		return s(ctx, func(kind schema.GroupKind, obj client.Object) {
			if ours(obj) {
				visit(kind, obj)
			}
		})
	}
}

// Collector reports the objects of its sources. It is a manager.Runnable of the leader: the caches of
// the other replicas have the same objects, which must not count twice.
type Collector struct {
	registerer prometheus.Registerer
	log        logr.Logger

	mu      sync.Mutex
	sources []Source
}

// New returns a collector that registers itself while it runs, and logs sources that fail.
func New(registerer prometheus.Registerer, log logr.Logger) *Collector {
	return &Collector{registerer: registerer, log: log}
}

// Add adds a source.
func (c *Collector) Add(source Source) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.sources = append(c.sources, source)
}

// Start reports objects until the context ends. It returns an error if the metrics are already
// registered.
func (c *Collector) Start(ctx context.Context) error {
	s := &scrapes{Collector: c, ctx: ctx}
	if err := c.registerer.Register(s); err != nil {
		return fmt.Errorf("register the metrics of objects: %w", err)
	}
	defer c.registerer.Unregister(s)
	<-ctx.Done()
	return nil
}

// NeedLeaderElection makes only the leader report objects.
func (c *Collector) NeedLeaderElection() bool { return true }

var (
	objectsDesc = prometheus.NewDesc("aws_operator_objects",
		"Objects whose condition Ready or Stalled has a status; Ready is Unknown and Stalled False if absent.",
		[]string{"group", "kind", "namespace", "condition", "status"}, nil)
	notReadyDesc = prometheus.NewDesc("aws_operator_not_ready_since_timestamp_seconds",
		"Earliest Unix time since which an object is not Ready; absent if all are.",
		[]string{"group", "kind"}, nil)
	driftedDesc = prometheus.NewDesc("aws_operator_drifted_objects",
		"Objects whose condition Drifted is True, of kinds that are checked for drift.",
		[]string{"group", "kind"}, nil)
	backupDesc = prometheus.NewDesc("aws_operator_cluster_last_backup_timestamp_seconds",
		"Unix time of the last backup; absent without one, and while backups are disabled.",
		[]string{"namespace", "name"}, nil)
	bucketBackupDesc = prometheus.NewDesc("aws_operator_cluster_last_bucket_backup_timestamp_seconds",
		"Unix time of the last backup in the bucket; absent without one.",
		[]string{"namespace", "name"}, nil)
	conditionDesc = prometheus.NewDesc("aws_operator_cluster_condition_not_true",
		"1 for each condition of a Cluster about its upkeep that is not True.",
		[]string{"namespace", "name", "condition", "reason"}, nil)
	etcdSizeDesc = prometheus.NewDesc("aws_operator_cluster_etcd_size_bytes",
		"Size of etcd's database; absent if the API server does not report it.",
		[]string{"namespace", "name"}, nil)
	etcdQuotaDesc = prometheus.NewDesc("aws_operator_cluster_etcd_quota_bytes",
		"Size of etcd's database at which etcd refuses writes; absent without a quota.",
		[]string{"namespace", "name"}, nil)
	certificatesDesc = prometheus.NewDesc("aws_operator_cluster_certificate_expiry_timestamp_seconds",
		"Unix time at which the first certificate expires, of the CAs or the slots.",
		[]string{"namespace", "name", "of"}, nil)
	rotationDesc = prometheus.NewDesc("aws_operator_cluster_rotation_start_timestamp_seconds",
		"Unix time at which a rotation of CAs began; absent without one.",
		[]string{"namespace", "name", "stage"}, nil)
	pendingDesc = prometheus.NewDesc("aws_operator_pending_changes",
		"Changes of stacks that wait for approval.",
		[]string{"group", "kind", "namespace"}, nil)
	runningDesc = prometheus.NewDesc("aws_operator_stack_operations_running",
		"Stacks that CloudFormation creates, updates, deletes or rolls back.",
		[]string{"group", "kind", "namespace"}, nil)
	nodesDesc = prometheus.NewDesc("aws_operator_cluster_nodes",
		"Nodes of a Cluster: desired, ready and updated.",
		[]string{"namespace", "name", "status"}, nil)
	rolloutDesc = prometheus.NewDesc("aws_operator_rollout_start_timestamp_seconds",
		"Unix time at which a rollout began that is Rolling, RollingBack or Stopped; else absent.",
		[]string{"kind", "namespace", "name", "state"}, nil)
	rolloutNodesDesc = prometheus.NewDesc("aws_operator_rollout_nodes",
		"Nodes of a rollout that is not complete, updated and in total.",
		[]string{"kind", "namespace", "name", "status"}, nil)
)

// scrapes collects while the operator leads, which is until ctx ends.
type scrapes struct {
	*Collector
	ctx context.Context //nolint:containedctx // prometheus.Collector has none
}

// Describe implements prometheus.Collector.
func (s *scrapes) Describe(descs chan<- *prometheus.Desc) {
	for _, desc := range []*prometheus.Desc{
		objectsDesc, notReadyDesc, driftedDesc, backupDesc, bucketBackupDesc, conditionDesc, certificatesDesc,
		rotationDesc, etcdSizeDesc, etcdQuotaDesc,
		pendingDesc, runningDesc, nodesDesc, rolloutDesc, rolloutNodesDesc,
	} {
		descs <- desc
	}
}

// Collect implements prometheus.Collector. What a source that fails has visited still counts.
func (s *scrapes) Collect(metrics chan<- prometheus.Metric) {
	s.mu.Lock()
	sources := s.sources
	s.mu.Unlock()
	found := newTally()
	for _, source := range sources {
		if err := source(s.ctx, found.add); err != nil {
			s.log.Error(err, "Could not read objects for metrics")
		}
	}
	found.report(metrics)
}

// tally is what one scrape found.
type tally struct {
	objects  map[series]*counts
	notReady map[schema.GroupKind]time.Time
	drifted  map[schema.GroupKind]int
	backups  map[client.ObjectKey]time.Time
	// bucketBackups are the times of the newest backups in buckets.
	bucketBackups map[client.ObjectKey]time.Time
	// conditions are the reasons of conditions that are not True.
	conditions map[condition]string
	// certificates are the times at which those of Clusters expire.
	certificates map[client.ObjectKey]*clusterv1alpha1.CertificatesStatus
	etcd         map[client.ObjectKey]*clusterv1alpha1.EtcdSpaceStatus
	nodes        map[client.ObjectKey]clusterv1alpha1.NodeCount
	rollouts     map[owner]*clusterv1alpha1.RolloutStatus
}

// owner is a Cluster or an InstanceGroup.
type owner struct {
	kind string
	key  client.ObjectKey
}

// series is a kind in a namespace.
type series struct {
	kind      schema.GroupKind
	namespace string
}

// counts are numbers of objects by the status of a condition, and of their changes and stacks.
type counts struct {
	ready, stalled   map[metav1.ConditionStatus]int
	pending, running int
}

// addStacks counts the changes of an object that wait for approval, and its stacks by their status.
func (c *counts) addStacks(pending int, statuses ...string) {
	c.pending += pending
	for _, status := range statuses {
		// REVIEW_IN_PROGRESS is a stack of which only a change set exists.
		if strings.HasSuffix(status, "_IN_PROGRESS") && status != "REVIEW_IN_PROGRESS" {
			c.running++
		}
	}
}

func newTally() *tally {
	return &tally{
		objects: map[series]*counts{}, notReady: map[schema.GroupKind]time.Time{}, drifted: map[schema.GroupKind]int{},
		bucketBackups: map[client.ObjectKey]time.Time{}, conditions: map[condition]string{},
		backups: map[client.ObjectKey]time.Time{}, certificates: map[client.ObjectKey]*clusterv1alpha1.CertificatesStatus{},
		etcd:  map[client.ObjectKey]*clusterv1alpha1.EtcdSpaceStatus{},
		nodes: map[client.ObjectKey]clusterv1alpha1.NodeCount{}, rollouts: map[owner]*clusterv1alpha1.RolloutStatus{},
	}
}

// add counts an object.
func (t *tally) add(kind schema.GroupKind, obj client.Object) {
	at := series{kind: kind, namespace: obj.GetNamespace()}
	if t.objects[at] == nil {
		t.objects[at] = &counts{
			ready:   map[metav1.ConditionStatus]int{metav1.ConditionTrue: 0, metav1.ConditionFalse: 0, metav1.ConditionUnknown: 0},
			stalled: map[metav1.ConditionStatus]int{metav1.ConditionTrue: 0, metav1.ConditionFalse: 0},
		}
	}
	ready, since := metav1.ConditionUnknown, obj.GetCreationTimestamp().Time
	if known := operatorkit.FindCondition(obj, operatorkit.ConditionReady); known != nil {
		ready, since = known.Status, known.LastTransitionTime.Time
	}
	if _, known := t.objects[at].ready[ready]; !known {
		ready = metav1.ConditionUnknown
	}
	t.objects[at].ready[ready]++
	if earliest, ok := t.notReady[kind]; ready != metav1.ConditionTrue && (!ok || since.Before(earliest)) {
		t.notReady[kind] = since
	}
	stalled := metav1.ConditionFalse
	if known := operatorkit.FindCondition(obj, operatorkit.ConditionStalled); known != nil && known.Status == metav1.ConditionTrue {
		stalled = metav1.ConditionTrue
	}
	t.objects[at].stalled[stalled]++
	if known := operatorkit.FindCondition(obj, servicev1alpha1.ConditionDrifted); known != nil {
		drifted := 0 // a kind that is checked reports 0 rather than nothing
		if known.Status == metav1.ConditionTrue {
			drifted = 1
		}
		t.drifted[kind] += drifted
	}
	switch obj := obj.(type) {
	case *servicev1alpha1.Object:
		t.objects[at].addStacks(len(obj.Status.PendingChanges), obj.Status.ResourceStatus)
	case *clusterv1alpha1.Cluster:
		t.addCluster(obj, t.objects[at])
	case *clusterv1alpha1.InstanceGroup:
		status := ""
		if obj.Status.Stack != nil {
			status = obj.Status.Stack.Status
		}
		t.objects[at].addStacks(len(obj.Status.PendingChanges), status)
		t.addRollout(kind.Kind, obj, obj.Status.Rollout)
	}
}

// addRollout adds a rollout that is not complete.
func (t *tally) addRollout(kind string, obj client.Object, rollout *clusterv1alpha1.RolloutStatus) {
	if rollout == nil || rollout.Started == nil {
		return
	}
	switch rollout.State {
	case clusterv1alpha1.RolloutRolling, clusterv1alpha1.RolloutRollingBack, clusterv1alpha1.RolloutStopped:
		t.rollouts[owner{kind: kind, key: client.ObjectKeyFromObject(obj)}] = rollout
	case clusterv1alpha1.RolloutDone, clusterv1alpha1.RolloutRolledBack:
	}
}

// report sends the metrics.
func (t *tally) report(metrics chan<- prometheus.Metric) {
	gauge := func(desc *prometheus.Desc, value float64, labels ...string) {
		metrics <- prometheus.MustNewConstMetric(desc, prometheus.GaugeValue, value, labels...)
	}
	for at, n := range t.objects {
		for status, number := range n.ready {
			gauge(objectsDesc, float64(number), at.kind.Group, at.kind.Kind, at.namespace, operatorkit.ConditionReady, string(status))
		}
		for status, number := range n.stalled {
			gauge(objectsDesc, float64(number), at.kind.Group, at.kind.Kind, at.namespace, operatorkit.ConditionStalled, string(status))
		}
		gauge(pendingDesc, float64(n.pending), at.kind.Group, at.kind.Kind, at.namespace)
		gauge(runningDesc, float64(n.running), at.kind.Group, at.kind.Kind, at.namespace)
	}
	for kind, since := range t.notReady {
		gauge(notReadyDesc, float64(since.Unix()), kind.Group, kind.Kind)
	}
	for kind, number := range t.drifted {
		gauge(driftedDesc, float64(number), kind.Group, kind.Kind)
	}
	t.reportClusters(gauge)
}

// reportClusters sends the metrics of single Clusters and of rollouts.
func (t *tally) reportClusters(gauge func(desc *prometheus.Desc, value float64, labels ...string)) {
	for cluster, count := range t.nodes {
		for status, number := range map[string]int32{"desired": count.Desired, "ready": count.Ready, "updated": count.Updated} {
			gauge(nodesDesc, float64(number), cluster.Namespace, cluster.Name, status)
		}
	}
	for of, rollout := range t.rollouts {
		gauge(rolloutDesc, float64(rollout.Started.Unix()), of.kind, of.key.Namespace, of.key.Name, string(rollout.State))
		gauge(rolloutNodesDesc, float64(rollout.Updated), of.kind, of.key.Namespace, of.key.Name, "updated")
		gauge(rolloutNodesDesc, float64(rollout.Total), of.kind, of.key.Namespace, of.key.Name, "total")
	}
	t.reportUpkeep(gauge)
}
