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
	// KeepSnapshotsAnnotation on a Cluster keeps the last snapshots of etcd's volumes.
	KeepSnapshotsAnnotation = v1alpha1.Group + "/keep-etcd-snapshots"
	// LeaveAnnotation on a Cluster lets its deletion go on although something is left over or cannot be removed.
	LeaveAnnotation = v1alpha1.Group + "/leave-leftovers"
)

const (
	// askedFor is how long the cluster's own controllers get to take down their load balancers.
	askedFor = 3 * time.Minute
	// callTimeout bounds a call of the workload cluster.
	callTimeout = 10 * time.Second
	// lookAgain is when to look at what is going, at first; patience is after what time of the deletion it is told
	// that something does not go, and looked at more rarely.
	lookAgain       = 3 * time.Second
	lookAgainRarely = 30 * time.Second
	patience        = 10 * time.Minute
	// sweepAgain is when to look again for what should not be.
	sweepAgain = 15 * time.Second
)

// Clients gives the cleaner its AWS clients; *awsapi.Clients does.
type Clients interface {
	Leftovers(t awsapi.Target) awsapi.Leftovers
	LoadBalancers(t awsapi.Target) awsapi.LoadBalancers
	ClassicLoadBalancers(t awsapi.Target) awsapi.ClassicLoadBalancers
	Records(t awsapi.Target) awsapi.Records
}

// Cleaner removes what clusters left. It keeps no state: each call looks at what there is.
type Cleaner struct {
	clients  Clients
	operator string
	clock    clock.PassiveClock
	log      logr.Logger
}

// New returns a cleaner. Operator is the operator's name as it is in the tags of the clusters' stacks.
func New(clients Clients, operator string, clk clock.PassiveClock, log logr.Logger) *Cleaner {
	return &Cleaner{clients: clients, operator: operator, clock: clk, log: log}
}

// hunt begins a look for what a cluster left.
func (c *Cleaner) hunt(cluster *v1alpha1.Cluster, target awsapi.Target) *hunt {
	return &hunt{
		name: cluster.Name, namespace: cluster.Namespace, operator: c.operator,
		vpc: cluster.Status.Outputs[model.OutputVPC], zone: cluster.Status.Outputs[model.OutputHostedZone],
		deleteVolumes: cluster.Spec.VolumePolicy == v1alpha1.VolumesDelete, keepSnapshots: cluster.Annotations[KeepSnapshotsAnnotation] == "true",
		ec2: c.clients.Leftovers(target), balancers: c.clients.LoadBalancers(target),
		classic: c.clients.ClassicLoadBalancers(target), records: c.clients.Records(target),
	}
}

// BeforeNodes asks the cluster's own controllers to take down the load balancers of its Services, as long as
// the cluster answers and for three minutes at most: what is left is removed later.
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
	if err != nil { // It went while it was asked: then there is nobody to ask.
		c.log.Info("The cluster's Services cannot be listed; its load balancers are removed without it.", "cluster", cluster.Name, "why", err.Error())
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
				c.log.Info("A Service cannot be deleted; its load balancer is removed without it.", "service", service.Name, "why", err.Error())
				continue
			}
		}
		if len(service.Finalizers) > 0 {
			going = append(going, service.Namespace+"/"+service.Name)
		}
	}
	if len(going) > 0 {
		return operatorkit.Wait(lookAgain, "RemovingLoadBalancers", "The cluster takes down the load balancers of its Services: "+strings.Join(going, ", ")+".")
	}
	return operatorkit.Done()
}

// AfterNodes removes what is left of the cluster in AWS beside its stacks. A cluster that never had a network had no
// machine that could have made anything; what carries its name may be another's, who has the name in AWS.
func (c *Cleaner) AfterNodes(ctx context.Context, cluster *v1alpha1.Cluster, target awsapi.Target) operatorkit.Outcome {
	h := c.hunt(cluster, target)
	if h.vpc == "" {
		return operatorkit.Done()
	}
	for _, step := range []func(context.Context) error{
		h.classicBalancers, h.loadBalancers, h.targetGroups, h.interfaces, h.groups, h.volumes, h.names,
	} {
		if err := step(ctx); err != nil {
			failure := awsapi.Explain(err)
			return operatorkit.Fail(err).Explain(failure.Reason, "What the cluster left in AWS cannot be removed: "+failure.Message)
		}
	}
	for _, removed := range h.removed {
		c.log.Info("Removed what the cluster had left.", "cluster", cluster.Name, "what", removed)
	}
	return c.remaining(cluster, h)
}

// remaining says what did not go, if anything did not.
func (c *Cleaner) remaining(cluster *v1alpha1.Cluster, h *hunt) operatorkit.Outcome {
	late := cluster.DeletionTimestamp != nil && c.clock.Since(cluster.DeletionTimestamp.Time) > patience
	switch {
	case len(h.waits) == 0 && len(h.refused) == 0:
		return operatorkit.Done()
	case cluster.Annotations[LeaveAnnotation] == "true":
		c.log.Info("What the cluster had left stays.", "cluster", cluster.Name, "what", list(append(h.waits, h.refused...)))
		return operatorkit.Done()
	case len(h.refused) > 0:
		return operatorkit.Wait(lookAgainRarely, "LeftoversRefused", "AWS refuses to remove what the cluster made by itself: "+list(h.refused)+"."+leaveAdvice).Degraded()
	case late:
		return operatorkit.Wait(lookAgainRarely, "LeftoversInUse", "What the cluster made by itself is still in use, and so cannot be removed: "+list(h.waits)+"."+leaveAdvice).Degraded()
	default:
		return operatorkit.Wait(lookAgain, "RemovingLeftovers", "What the cluster made in AWS by itself is going: "+list(h.waits)+".")
	}
}

// leaveAdvice ends a message that something does not go.
const leaveAdvice = " Remove it, or annotate the Cluster with " + LeaveAnnotation + "=true to leave it."

// Sweep says what is left when the stacks are gone, and removes etcd's last snapshots.
func (c *Cleaner) Sweep(ctx context.Context, cluster *v1alpha1.Cluster, target awsapi.Target) operatorkit.Outcome {
	h := c.hunt(cluster, target)
	if !h.keepSnapshots {
		if err := h.snapshots(ctx, cluster); err != nil {
			failure := awsapi.Explain(err)
			return operatorkit.Fail(err).Explain(failure.Reason, "The snapshots of etcd's volumes cannot be removed: "+failure.Message)
		}
	}
	left, err := h.leftOver(ctx)
	if err != nil {
		failure := awsapi.Explain(err)
		return operatorkit.Fail(err).Explain(failure.Reason, "Whether anything is left in AWS cannot be told: "+failure.Message)
	}
	if len(left) == 0 {
		return operatorkit.Done()
	}
	message := fmt.Sprintf("The stacks are gone, but this is still tagged with the cluster's name: %s.", list(left))
	if cluster.Annotations[LeaveAnnotation] == "true" {
		c.log.Info(message, "cluster", cluster.Name)
		return operatorkit.Done()
	}
	return operatorkit.Wait(sweepAgain, "LeftOver", message+leaveAdvice).Degraded()
}

// list tells things for people, cut at ten.
func list(things []string) string {
	const most = 10
	slices.Sort(things)
	if len(things) > most {
		return strings.Join(things[:most], ", ") + fmt.Sprintf(" and %d more", len(things)-most)
	}
	return strings.Join(things, ", ")
}
