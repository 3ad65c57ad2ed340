package controller

import (
	"context"
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/aws-operator/aws-operator/api/cluster/v1alpha1"
	"github.com/aws-operator/aws-operator/internal/cluster/controller/conditions"
	"github.com/aws-operator/aws-operator/internal/cluster/controller/credentials"
	"github.com/aws-operator/aws-operator/internal/cluster/controller/outcomes"
	"github.com/aws-operator/aws-operator/internal/cluster/encryption"
	"github.com/aws-operator/aws-operator/internal/cluster/model"
	"github.com/aws-operator/aws-operator/internal/cluster/pki"
	"github.com/aws-operator/aws-operator/internal/cluster/rewrite"
	"github.com/aws-operator/aws-operator/pkg/operatorkit"
)

// reasonEncryption is the reason of Events about the encryption of resources in etcd.
const reasonEncryption = "EncryptionInEtcd"

// Reasons of the condition ResourcesEncrypted.
const (
	reasonEncrypted      = "Encrypted"
	reasonBeingEncrypted = "BeingEncrypted"
	reasonNotRewritten   = "ObjectsNotRewritten"
)

const (
	// rewriteMost is how many objects a reconcile writes again, and rewritePoll when the next one follows: they bound
	// the load on the cluster's API.
	rewriteMost, rewritePoll = 50, time.Second
	// rewriteTimeout bounds what a reconcile writes.
	rewriteTimeout = 20 * time.Second
	// rewriteAgain is when another pass follows one in which some objects could not be written.
	rewriteAgain = time.Minute
)

// encryptionStep adds spec.api.encryption to a Cluster that exists, stage by stage. The stage is stored with the CAs, and
// never read from a status. The earlier steps replace the instances. The step does not wait for them: a Cluster is Ready
// meanwhile.
type encryptionStep struct{ *operator }

// Name returns the step's name.
func (s encryptionStep) Name() string { return "encryption" }

// EnsureCreated begins the encryption when the spec has it, and advances it when the stage is complete.
func (s encryptionStep) EnsureCreated(ctx context.Context, cluster *v1alpha1.Cluster) operatorkit.Outcome {
	if cluster.Spec.API.Encryption == nil {
		operatorkit.RemoveCondition(cluster, conditions.Encrypted)
		cluster.Status.Encryption = nil
		return operatorkit.Done()
	}
	cas, err := s.credentials.EnsureCAs(ctx, cluster)
	if err != nil {
		return credentials.Failed(err)
	}
	state := cas.Encryption
	if state.Stage == v1alpha1.EncryptionPlain && (cluster.Status.Version == "" || s.options.Brief) {
		return operatorkit.Done()
	}
	if state.Stage == v1alpha1.EncryptionPlain {
		state.Started = s.now()
		return s.advance(ctx, cluster, v1alpha1.EncryptionPlain, v1alpha1.EncryptionReadable, state)
	}
	if !state.InProgress() {
		s.report(cluster, state)
		return operatorkit.Done()
	}
	var seen *encryption.Observed
	var outcome operatorkit.Outcome
	if state.Stage == v1alpha1.EncryptionRewriting {
		seen, outcome = s.rewrite(ctx, cluster, state)
	} else {
		seen, outcome = s.observe(ctx, cluster, &cas)
	}
	if seen == nil {
		return outcome
	}
	next, why := encryption.Next(state.Stage, seen)
	if next == state.Stage {
		s.report(cluster, state)
		cluster.Status.Encryption.Message = why
		s.progress(cluster, reasonBeingEncrypted, why)
		return operatorkit.Done().RequeueAfter(turnPoll)
	}
	return s.advance(ctx, cluster, state.Stage, next, state)
}

// now returns the current time as a Secret stores it.
func (s encryptionStep) now() *time.Time {
	return new(s.options.Clock.Now().UTC().Truncate(time.Second))
}

// advance moves to the next stage.
func (s encryptionStep) advance(
	ctx context.Context, cluster *v1alpha1.Cluster, from, to v1alpha1.EncryptionStage, state pki.Encryption,
) operatorkit.Outcome {
	state.Stage = to
	switch to {
	case v1alpha1.EncryptionRewriting: // All slots encrypt now.
		at, err := s.revision(ctx, cluster)
		if err != nil {
			return outcomes.Failed(err)
		}
		state.Revision = at
	case v1alpha1.EncryptionDone:
		state.Finished = s.now()
	default:
	}
	if err := s.credentials.AdvanceEncryption(ctx, cluster, from, state); err != nil {
		return credentials.Failed(err)
	}
	s.passes.Drop(cluster.UID)
	s.recorder.Eventf(cluster, nil, corev1.EventTypeNormal, reasonEncryption, "Encrypt",
		"The encryption of resources in etcd is in stage %s: %s", to, encryption.Describe(to))
	cas, err := s.credentials.EnsureCAs(ctx, cluster)
	if err != nil {
		return credentials.Failed(err)
	}
	s.report(cluster, cas.Encryption)
	return operatorkit.Done().RequeueAfter(plannedPoll)
}

// report reports a state in the status and in the condition. It keeps what a stage waits for.
func (s encryptionStep) report(cluster *v1alpha1.Cluster, state pki.Encryption) {
	before := cluster.Status.Encryption
	cluster.Status.Encryption = nil
	if state.Stage == "" || state.Stage == v1alpha1.EncryptionDone {
		message := encryption.Describe(v1alpha1.EncryptionDone)
		if cluster.Spec.ControlPlane.RestoreSnapshot != "" {
			message += " If the snapshot that the cluster was restored from has some in plain text, write these again."
		}
		operatorkit.SetCondition(cluster, metav1.Condition{
			Type: conditions.Encrypted, Status: metav1.ConditionTrue, Reason: reasonEncrypted, Message: message,
		})
	}
	if state.Stage == "" {
		return
	}
	cluster.Status.Encryption = &v1alpha1.EncryptionStatus{
		Stage: state.Stage, Started: timeOf(state.Started), Finished: timeOf(state.Finished), Message: encryption.Describe(state.Stage),
	}
	if state.Stage == v1alpha1.EncryptionDone {
		return
	}
	if before != nil && before.Stage == state.Stage {
		cluster.Status.Encryption.Message = before.Message
	}
	s.progress(cluster, reasonBeingEncrypted, cluster.Status.Encryption.Message)
}

// timeOf converts a time, nil if there is none.
func timeOf(at *time.Time) *metav1.Time {
	if at == nil {
		return nil
	}
	return new(metav1.NewTime(*at))
}

// progress sets the condition of a stage.
func (s encryptionStep) progress(cluster *v1alpha1.Cluster, reason, message string) {
	operatorkit.SetCondition(cluster, metav1.Condition{
		Type: conditions.Encrypted, Status: metav1.ConditionFalse, Reason: reason,
		Message: fmt.Sprintf("The encryption of resources in etcd is in stage %s. %s", cluster.Status.Encryption.Stage, message),
	})
}

// observe returns the state of the slots, nil and an outcome if it is unknown.
func (s encryptionStep) observe(
	ctx context.Context, cluster *v1alpha1.Cluster, cas *credentials.CAs,
) (*encryption.Observed, operatorkit.Outcome) {
	slots, _, outcome := s.observeSlots(ctx, cluster, cas)
	if slots == nil {
		return nil, outcome
	}
	seen := &encryption.Observed{Slots: slots}
	// The API servers are asked last, because that is slow.
	if next, _ := encryption.Next(cas.Encryption.Stage, seen); next != cas.Encryption.Stage {
		seen.Unhealthy = s.unhealthy(ctx, cluster)
	}
	if len(model.LeavingSlots(cluster)) > 0 { // Their API servers write, too.
		seen.Unhealthy = "a slot is leaving it"
	}
	return seen, operatorkit.Done()
}

// revision returns the resource version from which on all objects are written encrypted.
func (s encryptionStep) revision(ctx context.Context, cluster *v1alpha1.Cluster) (uint64, error) {
	connection := s.options.Workload.Get(keyOf(cluster))
	if connection == nil {
		return 0, errors.New("the operator is not connected to the cluster's API")
	}
	api, err := connection.Rewritable()
	if err != nil {
		return 0, err
	}
	ctx, cancel := context.WithTimeout(ctx, workloadTimeout)
	defer cancel()
	return rewrite.Revision(ctx, api)
}

// rewrite writes some objects again, and returns whether all were written; nil and an outcome if not.
func (s encryptionStep) rewrite(
	ctx context.Context, cluster *v1alpha1.Cluster, state pki.Encryption,
) (*encryption.Observed, operatorkit.Outcome) {
	s.report(cluster, state)
	connection := s.options.Workload.Get(keyOf(cluster))
	if connection == nil {
		return nil, operatorkit.Done().RequeueAfter(turnPoll)
	}
	api, err := connection.Rewritable()
	if err != nil {
		return nil, operatorkit.Fail(err)
	}
	pass, ok := s.passes.Get(cluster.UID)
	if !ok {
		pass = &rewrite.Pass{}
		s.passes.Keep(cluster.UID, pass)
	}
	ctx, cancel := context.WithTimeout(ctx, rewriteTimeout)
	defer cancel()
	complete, err := pass.Advance(ctx, api, model.EncryptedResources(cluster.Spec.API.Encryption), state.Revision, rewriteMost)
	if complete {
		s.passes.Drop(cluster.UID)
	}
	switch {
	case complete && err == nil:
		return &encryption.Observed{Rewritten: true}, operatorkit.Done()
	case complete: // Some objects could not be written.
		cluster.Status.Encryption.Message = outcomes.Capital(err.Error()) + ". This is tried again every minute."
		s.progress(cluster, reasonNotRewritten, cluster.Status.Encryption.Message)
		return nil, operatorkit.Done().RequeueAfter(rewriteAgain)
	case err != nil:
		cluster.Status.Encryption.Message = "Waiting for the cluster's API: " + err.Error() + "."
		s.progress(cluster, reasonBeingEncrypted, cluster.Status.Encryption.Message)
		return nil, operatorkit.Done().RequeueAfter(turnPoll)
	default:
		cluster.Status.Encryption.Message = fmt.Sprintf("Of %d objects so far, %d were written again.", pass.Seen, pass.Written)
		s.progress(cluster, reasonBeingEncrypted, cluster.Status.Encryption.Message)
		return nil, operatorkit.Done().RequeueAfter(rewritePoll)
	}
}

// EnsureDeleted removes the condition. The state is deleted with the CAs.
func (s encryptionStep) EnsureDeleted(_ context.Context, cluster *v1alpha1.Cluster) operatorkit.Outcome {
	operatorkit.RemoveCondition(cluster, conditions.Encrypted)
	return operatorkit.Done()
}
