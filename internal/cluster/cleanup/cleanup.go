package cleanup

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/clock"

	"github.com/aws-operator/aws-operator/api/cluster/v1alpha1"
	"github.com/aws-operator/aws-operator/internal/awsapi"
	"github.com/aws-operator/aws-operator/internal/cluster/model"
	"github.com/aws-operator/aws-operator/internal/cluster/workload"
	"github.com/aws-operator/aws-operator/pkg/operatorkit"
)

const (
	// KeepSnapshotsAnnotation on a Cluster keeps the final snapshots of etcd's volumes.
	KeepSnapshotsAnnotation = v1alpha1.Group + "/keep-etcd-snapshots"
	// LeaveAnnotation on a Cluster lets its deletion continue although resources remain or cannot
	// be deleted.
	LeaveAnnotation = v1alpha1.Group + "/leave-leftovers"
)

const (
	// askedFor is how long the cluster's own controllers have to delete their load balancers.
	askedFor = 3 * time.Minute
	// callTimeout bounds a call to the workload cluster.
	callTimeout = 10 * time.Second
	// pollInterval is the initial polling interval during deletions. After patience, the deletion
	// reports the remaining resources and polls less often.
	pollInterval     = 3 * time.Second
	slowPollInterval = 30 * time.Second
	patience         = 10 * time.Minute
	// sweepAgain is the polling interval for leftovers of the stacks.
	sweepAgain = 15 * time.Second
)

// Clients provides the cleaner's AWS clients. *awsapi.Clients implements it.
type Clients interface {
	Leftovers(t awsapi.Target) awsapi.Leftovers
	LoadBalancers(t awsapi.Target) awsapi.LoadBalancers
	ClassicLoadBalancers(t awsapi.Target) awsapi.ClassicLoadBalancers
	Records(t awsapi.Target) awsapi.Records
}

// Cleaner deletes leftovers of clusters. It keeps no state: each call reads what exists.
type Cleaner struct {
	clients  Clients
	operator string
	clock    clock.PassiveClock
	log      logr.Logger
}

// New returns a cleaner. Operator is the operator's name in the tags of the clusters' stacks.
func New(clients Clients, operator string, clk clock.PassiveClock, log logr.Logger) *Cleaner {
	return &Cleaner{clients: clients, operator: operator, clock: clk, log: log}
}

// collector starts a collection of a cluster's leftovers.
func (c *Cleaner) collector(cluster *v1alpha1.Cluster, target awsapi.Target) *collector {
	return &collector{
		name: cluster.Name, namespace: cluster.Namespace, operator: c.operator,
		vpc: cluster.Status.Outputs[model.OutputVPC], zone: cluster.Status.Outputs[model.OutputHostedZone],
		deleteVolumes: cluster.Spec.VolumePolicy == v1alpha1.VolumesDelete,
		keepSnapshots: cluster.Annotations[KeepSnapshotsAnnotation] == "true",
		ec2:           c.clients.Leftovers(target), balancers: c.clients.LoadBalancers(target),
		classic: c.clients.ClassicLoadBalancers(target), records: c.clients.Records(target),
	}
}

// BeforeNodes makes the cluster's own controllers delete the load balancers of its Services, while
// the cluster's API responds and for three minutes at most. Remaining ones are deleted later.
func (c *Cleaner) BeforeNodes(ctx context.Context, cluster *v1alpha1.Cluster, _ awsapi.Target, to *workload.Cluster) operatorkit.Outcome {
	if to == nil || cluster.DeletionTimestamp == nil || c.clock.Since(cluster.DeletionTimestamp.Time) > askedFor {
		return operatorkit.Done()
	}
	if reachable, _ := to.Reachable(); !reachable {
		return operatorkit.Done()
	}
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	services, err := to.Core().Services(metav1.NamespaceAll).List(ctx, metav1.ListOptions{})
	if err != nil { // The API became unavailable.
		c.log.Info(
			"The cluster's Services cannot be listed; the operator deletes its load balancers.",
			"cluster",
			cluster.Name,
			"why",
			err.Error(),
		)
		return operatorkit.Done()
	}
	var going []string
	for i := range services.Items {
		service := &services.Items[i]
		if service.Spec.Type != corev1.ServiceTypeLoadBalancer {
			continue
		}
		if service.DeletionTimestamp == nil {
			err := to.Core().Services(service.Namespace).Delete(ctx, service.Name, metav1.DeleteOptions{})
			if err != nil && !apierrors.IsNotFound(err) {
				c.log.Info(
					"A Service cannot be deleted; the operator deletes its load balancer.", "service", service.Name, "why", err.Error(),
				)
				continue
			}
		}
		if len(service.Finalizers) > 0 {
			going = append(going, service.Namespace+"/"+service.Name)
		}
	}
	if len(going) > 0 {
		return operatorkit.Wait(
			pollInterval,
			"RemovingLoadBalancers",
			"The cluster is deleting the load balancers of its Services: "+strings.Join(going, ", ")+".",
		)
	}
	return operatorkit.Done()
}

// AfterNodes deletes the cluster's remaining AWS resources outside its stacks. A cluster that never
// had a network had no instance that could have created any; resources with its name may belong to
// another cluster that has the name in AWS.
func (c *Cleaner) AfterNodes(ctx context.Context, cluster *v1alpha1.Cluster, target awsapi.Target) operatorkit.Outcome {
	h := c.collector(cluster, target)
	if h.vpc == "" {
		return operatorkit.Done()
	}
	for _, step := range []func(context.Context) error{
		h.instances, h.templates, h.classicBalancers, h.loadBalancers, h.targetGroups, h.interfaces, h.groups, h.volumes, h.names,
	} {
		if err := step(ctx); err != nil {
			failure := awsapi.Explain(err)
			return operatorkit.Fail(err).
				Explain(failure.Reason, "The cluster's remaining resources in AWS cannot be deleted: "+failure.Message)
		}
	}
	for _, removed := range h.removed {
		c.log.Info("Deleted the cluster's remaining resources.", "cluster", cluster.Name, "what", removed)
	}
	return c.remaining(cluster, h)
}

// remaining reports the resources that could not be deleted, if any.
func (c *Cleaner) remaining(cluster *v1alpha1.Cluster, h *collector) operatorkit.Outcome {
	late := cluster.DeletionTimestamp != nil && c.clock.Since(cluster.DeletionTimestamp.Time) > patience
	switch {
	case len(h.waits) == 0 && len(h.refused) == 0:
		return operatorkit.Done()
	case cluster.Annotations[LeaveAnnotation] == "true":
		c.log.Info(
			"The cluster's remaining resources are left in AWS.", "cluster", cluster.Name, "what", list(append(h.waits, h.refused...)),
		)
		return operatorkit.Done()
	case len(h.refused) > 0:
		return operatorkit.Wait(slowPollInterval, "LeftoversRefused", "AWS refuses to delete these resources, which the cluster's controllers created: "+list(h.refused)+"."+leaveAdvice).
			Degraded()
	case late:
		return operatorkit.Wait(slowPollInterval, "LeftoversInUse", "These resources, which the cluster's controllers created, are still in use and cannot be deleted: "+list(h.waits)+"."+leaveAdvice).
			Degraded()
	default:
		return operatorkit.Wait(
			pollInterval,
			"RemovingLeftovers",
			"Deleting resources that the cluster's controllers created in AWS: "+list(h.waits)+".",
		)
	}
}

// leaveAdvice ends a message about resources that cannot be deleted.
const leaveAdvice = " Delete them, or annotate the Cluster with " + LeaveAnnotation + "=true to leave them."

// Sweep reports what remains after the stacks are deleted, and deletes etcd's final snapshots.
func (c *Cleaner) Sweep(ctx context.Context, cluster *v1alpha1.Cluster, target awsapi.Target) operatorkit.Outcome {
	h := c.collector(cluster, target)
	if !h.keepSnapshots {
		if err := h.snapshots(ctx, cluster); err != nil {
			failure := awsapi.Explain(err)
			return operatorkit.Fail(err).Explain(failure.Reason, "The snapshots of etcd's volumes cannot be deleted: "+failure.Message)
		}
	}
	left, err := h.leftOver(ctx)
	if err != nil {
		failure := awsapi.Explain(err)
		return operatorkit.Fail(err).Explain(failure.Reason, "The cluster's remaining resources in AWS cannot be listed: "+failure.Message)
	}
	if len(left) == 0 {
		return operatorkit.Done()
	}
	message := fmt.Sprintf("The stacks are deleted, but these resources still have the cluster's tag: %s.", list(left))
	if cluster.Annotations[LeaveAnnotation] == "true" {
		c.log.Info(message, "cluster", cluster.Name)
		return operatorkit.Done()
	}
	return operatorkit.Wait(sweepAgain, "LeftOver", message+leaveAdvice).Degraded()
}

// list joins things for messages, at most ten.
func list(things []string) string {
	const most = 10
	slices.Sort(things)
	if len(things) > most {
		return strings.Join(things[:most], ", ") + fmt.Sprintf(" and %d more", len(things)-most)
	}
	return strings.Join(things, ", ")
}
