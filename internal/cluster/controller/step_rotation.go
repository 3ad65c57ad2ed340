package controller

import (
	"bytes"
	"context"
	"encoding/pem"
	"fmt"
	"maps"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/aws-operator/aws-operator/api/cluster/v1alpha1"
	"github.com/aws-operator/aws-operator/internal/cluster/controller/approval"
	"github.com/aws-operator/aws-operator/internal/cluster/controller/credentials"
	"github.com/aws-operator/aws-operator/internal/cluster/controller/models"
	"github.com/aws-operator/aws-operator/internal/cluster/controller/outcomes"
	"github.com/aws-operator/aws-operator/internal/cluster/controller/stackcache"
	"github.com/aws-operator/aws-operator/internal/cluster/model"
	"github.com/aws-operator/aws-operator/internal/cluster/pki"
	"github.com/aws-operator/aws-operator/internal/cluster/record"
	"github.com/aws-operator/aws-operator/internal/cluster/rotation"
	"github.com/aws-operator/aws-operator/internal/cluster/stacks"
	"github.com/aws-operator/aws-operator/internal/cluster/workload"
	"github.com/aws-operator/aws-operator/pkg/operatorkit"
)

// reasonRotation is the reason of Events about a rotation of CAs.
const reasonRotation = "CertificateRotation"

// rotationStep moves the rotation of a Cluster's CAs and keys from stage to stage. The stage is stored with the keys,
// and never read from a status. The earlier steps, and the controller of InstanceGroups, replace the instances. The
// step does not wait for them: a Cluster is Ready while the nodes of its groups are replaced.
type rotationStep struct{ *operator }

// Name returns the step's name.
func (s rotationStep) Name() string { return "rotation" }

// EnsureCreated begins a rotation on request, and advances it when everything that its stage replaces was replaced and
// is healthy.
func (s rotationStep) EnsureCreated(ctx context.Context, cluster *v1alpha1.Cluster) operatorkit.Outcome {
	cas, err := s.credentials.EnsureCAs(ctx, cluster)
	if err != nil {
		return credentials.Failed(err)
	}
	if cas.Rotation.Stage == "" {
		return s.begin(ctx, cluster, &cas)
	}
	seen, outcome := s.observe(ctx, cluster, &cas)
	if seen == nil {
		return outcome
	}
	stage := cas.Rotation.Stage
	next, why := rotation.Next(stage, seen)
	if next != stage && seen.Unhealthy == "" { // The API servers are asked last, because that is slow.
		seen.Unhealthy = s.unhealthy(ctx, cluster)
		next, why = rotation.Next(stage, seen)
	}
	if next == stage {
		certificatesOf(cluster).Rotation.Message = why
		return operatorkit.Done().RequeueAfter(turnPoll)
	}
	return s.advance(ctx, cluster, stage, next)
}

// begin creates the next CAs if a rotation is requested, or if the current ones are old.
func (s rotationStep) begin(ctx context.Context, cluster *v1alpha1.Cluster, cas *credentials.CAs) operatorkit.Outcome {
	request, why := dueRotation(cluster.Spec.Certificates, cas, s.options.Clock.Now())
	if why == "" || cluster.Status.Version == "" || s.options.Brief {
		return operatorkit.Done()
	}
	if err := s.credentials.Rotate(ctx, cluster, request); err != nil {
		return credentials.Failed(err)
	}
	s.recorder.Eventf(cluster, nil, corev1.EventTypeNormal, reasonRotation, "Rotate",
		"Rotating the cluster's CAs and keys, %s: %s", why, describeStage(v1alpha1.RotationTrust))
	return s.again(ctx, cluster)
}

// dueRotation returns the request for which a rotation must begin, empty if the age of the CAs is the reason, and why;
// empty if none must.
func dueRotation(spec *v1alpha1.Certificates, cas *credentials.CAs, now time.Time) (request, why string) {
	switch {
	case spec == nil:
		return "", ""
	case cas.Rotation.Due(spec.Rotate):
		return spec.Rotate, "as spec.certificates.rotate requests"
	case spec.RotateBefore != nil && cas.Expiry.Sub(now) < spec.RotateBefore.Duration:
		return "", "because the first CA expires on " + cas.Expiry.UTC().Format(time.DateOnly)
	default:
		return "", ""
	}
}

// advance moves to the next stage.
func (s rotationStep) advance(ctx context.Context, cluster *v1alpha1.Cluster, from, to v1alpha1.RotationStage) operatorkit.Outcome {
	if to == v1alpha1.RotationDone {
		if outcome := s.forgetTrust(ctx, cluster); !outcome.IsDone() {
			return outcome
		}
	}
	if err := s.credentials.Advance(ctx, cluster, from, to); err != nil {
		return credentials.Failed(err)
	}
	s.recorder.Eventf(
		cluster, nil, corev1.EventTypeNormal, reasonRotation, "Rotate", "The rotation is in stage %s: %s", to, describeStage(to),
	)
	return s.again(ctx, cluster)
}

// again reports the state of the rotation, and reconciles the Cluster and its InstanceGroups with the CAs and keys that
// are now to be used.
func (s rotationStep) again(ctx context.Context, cluster *v1alpha1.Cluster) operatorkit.Outcome {
	s.bucket.Changed(cluster.UID)
	cas, err := s.credentials.EnsureCAs(ctx, cluster)
	if err != nil {
		return credentials.Failed(err)
	}
	s.reportRotation(certificatesOf(cluster), cas.Rotation)
	groups, err := s.objects.GroupsOf(ctx, keyOf(cluster))
	if err != nil {
		return operatorkit.Fail(err)
	}
	for i := range groups {
		s.groups.Enqueue(keyOf(&groups[i]))
	}
	return operatorkit.Done().RequeueAfter(plannedPoll)
}

// describeStage says in a sentence what a stage does.
func describeStage(stage v1alpha1.RotationStage) string {
	switch stage {
	case v1alpha1.RotationTrust:
		return "The control plane's nodes are replaced, and trust the new CAs and keys in addition to the old ones."
	case v1alpha1.RotationIssue:
		return "The control plane's nodes are replaced, and issue certificates and tokens with the new CAs and keys."
	case v1alpha1.RotationRenew:
		return "The nodes of instance groups are replaced, and get certificates and tokens of the new CAs and keys."
	case v1alpha1.RotationForget:
		return "All nodes are replaced, and trust only the new CAs and keys."
	default:
		return "The old CAs and keys are no longer trusted."
	}
}

// reportRotation reports the state of a rotation in the status.
func (o *operator) reportRotation(status *v1alpha1.CertificatesStatus, state pki.Rotation) {
	before := status.Rotation
	if state.Stage != "" {
		status.Rotation = &v1alpha1.CertificateRotation{
			Requested: state.Requested, Stage: state.Stage, Started: new(metav1.NewTime(state.Started)),
			Message: describeStage(state.Stage),
		}
		if before != nil && before.Stage == state.Stage && before.Requested == state.Requested {
			status.Rotation.Message = before.Message
		}
		return
	}
	if before == nil || before.Stage == v1alpha1.RotationDone {
		return
	}
	status.Rotation = &v1alpha1.CertificateRotation{
		Requested: before.Requested, Stage: v1alpha1.RotationDone, Started: before.Started,
		Finished: new(metav1.NewTime(o.options.Clock.Now())), Message: describeStage(v1alpha1.RotationDone),
	}
}

// observe returns the state of the Cluster's nodes, nil and an outcome if it is unknown.
func (s rotationStep) observe(
	ctx context.Context, cluster *v1alpha1.Cluster, cas *credentials.CAs,
) (*rotation.Observed, operatorkit.Outcome) {
	slots, nodes, outcome := s.observeSlots(ctx, cluster, cas)
	if slots == nil {
		return nil, outcome
	}
	groups, err := s.objects.GroupsOf(ctx, keyOf(cluster))
	if err != nil {
		return nil, operatorkit.Fail(err)
	}
	seen, known := &rotation.Observed{Slots: slots}, map[string]bool{}
	for i := range groups {
		known[groups[i].Name] = true
		one, outcome := s.observeGroup(ctx, cluster, &groups[i], cas, nodes)
		if !outcome.IsDone() {
			return nil, outcome
		}
		seen.Groups = append(seen.Groups, one)
	}
	for i := range nodes {
		if nodes[i].Slot == workload.NoSlot && nodes[i].Group != "" && !known[nodes[i].Group] {
			seen.Strays = append(seen.Strays, nodes[i].Name)
		}
	}
	return seen, operatorkit.Done()
}

// observeSlots compares the nodes of all slots with what the stage needs. It returns these, and the nodes of the Cluster; nil
// and an outcome if they are unknown.
func (o *operator) observeSlots(
	ctx context.Context, cluster *v1alpha1.Cluster, cas *credentials.CAs,
) ([]rotation.Machines, []workload.Node, operatorkit.Outcome) {
	connection := o.options.Workload.Get(keyOf(cluster))
	if connection == nil {
		return nil, nil, operatorkit.Done().RequeueAfter(turnPoll)
	}
	release, err := o.objects.Release(ctx, cluster)
	if err != nil {
		return nil, nil, operatorkit.Fail(err)
	}
	resolved, err := o.resolve(ctx, cluster, release, cas.Keys)
	if err != nil {
		return nil, nil, outcomes.Unresolved(err)
	}
	nodes := connection.Nodes()
	slots := make([]rotation.Machines, len(resolved.Slots))
	for slot := range slots {
		if slots[slot], err = o.observeSlot(cluster, resolved, slot, nodes); err != nil {
			return nil, nil, notMade(fmt.Sprintf("slot %d", slot), err)
		}
	}
	return slots, nodes, operatorkit.Done()
}

// observeSlot compares a slot's node with what the stage needs.
func (o *operator) observeSlot(
	cluster *v1alpha1.Cluster, resolved *model.Cluster, slot int, nodes []workload.Node,
) (rotation.Machines, error) {
	name := resolved.Slots[slot].StackName
	status := record.Find(cluster, name)
	known, err := record.Decode(status)
	if err != nil {
		return rotation.Machines{}, err
	}
	made, err := stacks.Slot(resolved, slot, cluster.Status.Outputs, &known, o.bucket.NodeupHash)
	if err != nil {
		return rotation.Machines{}, err //nolint:wrapcheck // notMade tells the errors
	}
	one := rotation.Machines{Name: fmt.Sprintf("slot %d", slot), Desired: 1}
	inputs := slotsStep{o}.inputs(cluster, resolved.Release, resolved.Keys)
	one.Settled = o.stacks.IsSettled(stackcache.Key{UID: cluster.UID, Stack: name}, inputs, status)
	count(&one, nodes, made.Machines.Bundle, func(n *workload.Node) bool { return n.Slot == slot })
	return one, nil
}

// observeGroup compares the nodes of an instance group with what the stage needs.
func (s rotationStep) observeGroup(
	ctx context.Context, cluster *v1alpha1.Cluster, group *v1alpha1.InstanceGroup, cas *credentials.CAs, nodes []workload.Node,
) (rotation.Machines, operatorkit.Outcome) {
	one := rotation.Machines{Name: "instance group " + group.Name, Desired: int(group.Spec.ExpectedNodes())}
	runs := models.AsRun(cluster)
	release, err := s.objects.Release(ctx, runs)
	if err != nil {
		return one, operatorkit.Fail(err)
	}
	resolved, err := s.models.Resolve(ctx, runs, release)
	if err != nil {
		return one, outcomes.Unresolved(err)
	}
	shape, err := model.ResolveGroup(resolved, group)
	if err != nil {
		one.Held = "its spec is invalid"
		return one, operatorkit.Done()
	}
	known, err := record.Decode(group.Status.Stack)
	if err != nil {
		return one, operatorkit.Fail(err)
	}
	made, err := stacks.Group(resolved, shape, cluster.Status.Outputs, cas.Certificate, &known, s.bucket.NodeupHash)
	if err != nil {
		return one, notMade(one.Name, err)
	}
	inputs := groupStackStep(s).inputs(group, runs, release, cas)
	one.Settled = s.stacks.IsSettled(stackcache.Key{UID: group.UID, Stack: shape.StackName}, inputs, group.Status.Stack) &&
		!record.IsRolling(group.Status.Rollout)
	count(&one, nodes, made.Machines.Bundle, func(n *workload.Node) bool { return n.Group == group.Name })
	if !one.Settled || one.Current < one.Nodes {
		one.Held = held(group, cluster)
	}
	return one, operatorkit.Done()
}

// held returns why the instances of a group are not replaced at present, empty if they are.
func held(group *v1alpha1.InstanceGroup, cluster *v1alpha1.Cluster) string {
	switch {
	case operatorkit.HasPausedAnnotation(group, v1alpha1.PausedAnnotation):
		return "it is paused"
	case !group.DeletionTimestamp.IsZero():
		return "it is being deleted"
	case approval.IsManual(group.Spec.UpdatePolicy, cluster.Spec.UpdatePolicy) && len(group.Status.PendingChanges) > 0:
		return "its change waits for approval"
	default:
		return ""
	}
}

// count counts nodes that booted with a bundle.
func count(into *rotation.Machines, nodes []workload.Node, bundle string, its func(*workload.Node) bool) {
	for i := range nodes {
		if !its(&nodes[i]) {
			continue
		}
		into.Nodes++
		if !record.Boots(&nodes[i], bundle) {
			continue
		}
		into.Current++
		if nodes[i].Ready {
			into.Ready++
		}
	}
}

// unhealthy returns what is wrong with the slots, empty if nothing is.
func (o *operator) unhealthy(ctx context.Context, cluster *v1alpha1.Cluster) string {
	problems := o.slotsHealth(ctx, cluster)
	for _, slot := range slices.Sorted(maps.Keys(problems)) {
		if problems[slot] != "" {
			return fmt.Sprintf("slot %d: %s", slot, problems[slot])
		}
	}
	return ""
}

// authenticationConfig is where API servers publish which CAs they trust, for API servers behind them. They only add
// to it, and write it again when it is deleted:
// https://github.com/kubernetes/kubernetes/blob/v1.36.3/pkg/controlplane/controller/clusterauthenticationtrust/cluster_authentication_trust_controller.go
const authenticationConfig = "extension-apiserver-authentication"

// forgetTrust is done when the old CAs are not in the ConfigMap of the API servers. It deletes the ConfigMap if they
// are.
func (s rotationStep) forgetTrust(ctx context.Context, cluster *v1alpha1.Cluster) operatorkit.Outcome {
	connection := s.options.Workload.Get(keyOf(cluster))
	cas, err := s.credentials.CAs(ctx, cluster)
	if err != nil {
		return credentials.Failed(err)
	}
	if connection == nil {
		return operatorkit.Wait(turnPoll, "NotConnected", "The operator is not connected to the cluster's API.").WithoutEvent()
	}
	ctx, cancel := context.WithTimeout(ctx, workloadTimeout)
	defer cancel()
	published := connection.Core().ConfigMaps(metav1.NamespaceSystem)
	found, err := published.Get(ctx, authenticationConfig, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return operatorkit.Done()
	}
	if err != nil {
		return outcomes.Failed(err)
	}
	superseded := cas.Superseded()
	if superseded == nil || !trusts(found, superseded.Certificates) {
		return operatorkit.Done()
	}
	err = published.Delete(ctx, authenticationConfig, metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &found.UID}})
	if err != nil && !apierrors.IsNotFound(err) && !apierrors.IsConflict(err) {
		return outcomes.Failed(err)
	}
	return operatorkit.Done()
}

// trusts reports whether a ConfigMap contains one of the certificates.
func trusts(config *corev1.ConfigMap, certificates [][]byte) bool {
	for _, text := range config.Data {
		for block, rest := pem.Decode([]byte(text)); block != nil; block, rest = pem.Decode(rest) {
			if slices.ContainsFunc(certificates, func(c []byte) bool { return bytes.Equal(c, block.Bytes) }) {
				return true
			}
		}
	}
	return false
}

// EnsureDeleted has nothing to do: the keys are deleted with the others.
func (s rotationStep) EnsureDeleted(context.Context, *v1alpha1.Cluster) operatorkit.Outcome {
	return operatorkit.Done()
}
