package controller

import (
	"context"
	"fmt"
	"hash/fnv"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/aws-operator/aws-operator/api/cluster/v1alpha1"
	"github.com/aws-operator/aws-operator/internal/awsapi"
	"github.com/aws-operator/aws-operator/internal/cfn/stack"
	"github.com/aws-operator/aws-operator/internal/cluster/bootstrap/bundle"
	"github.com/aws-operator/aws-operator/internal/cluster/controller/apply"
	"github.com/aws-operator/aws-operator/internal/cluster/controller/approval"
	"github.com/aws-operator/aws-operator/internal/cluster/controller/credentials"
	"github.com/aws-operator/aws-operator/internal/cluster/controller/directory"
	"github.com/aws-operator/aws-operator/internal/cluster/controller/instances"
	"github.com/aws-operator/aws-operator/internal/cluster/controller/models"
	"github.com/aws-operator/aws-operator/internal/cluster/controller/outcomes"
	"github.com/aws-operator/aws-operator/internal/cluster/controller/stackcache"
	"github.com/aws-operator/aws-operator/internal/cluster/model"
	"github.com/aws-operator/aws-operator/internal/cluster/offerings"
	"github.com/aws-operator/aws-operator/internal/cluster/record"
	"github.com/aws-operator/aws-operator/internal/cluster/stacks"
	"github.com/aws-operator/aws-operator/internal/cluster/workload"
	"github.com/aws-operator/aws-operator/pkg/operatorkit"
)

// groupStackStep manages the group's bundle and stack.
type groupStackStep struct{ *operator }

// Name returns the step's name.
func (s groupStackStep) Name() string { return "stack" }

// EnsureCreated moves the group's stack toward the spec. It first continues a change in progress:
// its instances are signaled even if the spec is invalid.
func (s groupStackStep) EnsureCreated(ctx context.Context, group *v1alpha1.InstanceGroup) operatorkit.Outcome {
	cluster, err := s.objects.ClusterOf(ctx, group)
	if err != nil {
		return operatorkit.Fail(err)
	}
	if cluster == nil {
		return operatorkit.Wait(0, "ClusterNotFound", "The Cluster no longer exists.")
	}
	known, err := record.Decode(group.Status.Stack)
	if err != nil {
		return operatorkit.Fail(err)
	}
	requeueAfter, problem := s.signal(ctx, group, s.targets.Of(cluster), &known, known.History().Made(known.Status))
	outcome := s.converge(ctx, group, models.AsRun(cluster))
	if unseen := outcome.Kind() == operatorkit.KindStall || outcome.IsDegraded(); unseen && known.Status == record.StatusUpdating &&
		group.Status.Stack.Status == record.StatusUpdating {
		past := known.History() // Something is wrong with the desired change, so nothing else detects a rollback.
		_, _ = s.signal(ctx, group, s.targets.Of(cluster), &known, past.Now)
	}
	if problem != nil && !outcome.IsDone() {
		outcome = outcomes.Join(outcome, problem)
	}
	return outcomes.RequeueAfterMin(outcome, requeueAfter)
}

// converge moves the group's stack toward the spec. The Cluster has the Release that it runs.
func (s groupStackStep) converge(ctx context.Context, group *v1alpha1.InstanceGroup, cluster *v1alpha1.Cluster) operatorkit.Outcome {
	release, err := s.objects.Release(ctx, cluster)
	if err != nil {
		return operatorkit.Wait(0, "ReleaseNotFound", fmt.Sprintf("There is no Release %q, which the nodes of Cluster %s need.", cluster.Spec.Release, cluster.Name)).
			Degraded()
	}
	name := model.GroupStackName(cluster.Name, group.Name)
	s.ownGroup(cluster.Status.Account, cluster.Spec.Region, name, group)
	cas, err := s.credentials.EnsureCAs(ctx, cluster)
	if err != nil {
		_ = groupNodesStep(s).EnsureCreated(ctx, group) // The later steps do not run now.
		return credentials.Failed(err)
	}
	key, digest := stackcache.Key{UID: group.UID, Stack: name}, s.inputs(group, cluster, release, &cas)
	if s.stacks.IsSettled(key, digest, group.Status.Stack) {
		return operatorkit.Done()
	}
	s.stacks.Unsettle(key)
	if outcome := s.nameIsFree(ctx, group); !outcome.IsDone() {
		return outcome
	}
	resolved, err := s.models.Resolve(ctx, cluster, release)
	if err != nil {
		return s.clusterUnresolved(err)
	}
	outcome := approval.WithCommand(group, "instancegroup", s.ensure(ctx, group, cluster, resolved, &cas))
	if outcome.IsDone() {
		s.stacks.Settle(key, s.inputs(group, cluster, release, &cas), group.Status.Stack)
	} else { // The later steps do not run now.
		_ = groupNodesStep(s).EnsureCreated(ctx, group)
	}
	return outcome
}

// clusterUnresolved returns the outcome of a group whose Cluster must be corrected.
func (s groupStackStep) clusterUnresolved(err error) operatorkit.Outcome {
	if _, ok := model.AsProblems(err); ok {
		return operatorkit.Wait(0, "ClusterInvalid", "The Cluster's spec must be corrected first.").Degraded()
	}
	return outcomes.Failed(err)
}

// inputs hashes everything that the group's stack depends on.
func (s groupStackStep) inputs(
	group *v1alpha1.InstanceGroup, cluster *v1alpha1.Cluster, release *v1alpha1.Release, cas *credentials.CAs,
) uint64 {
	sum := fnv.New64a() // Writes to a hash never fail.
	allowed := group.Annotations[apply.AllowAnnotation]
	_, _ = fmt.Fprintf(sum, "%x|%d|%s|", s.models.Digest(cluster, release).Sum64(), group.Generation, allowed)
	models.AddOutputs(sum, cluster.Status.Outputs)
	_, _ = sum.Write(cas.Certificate)
	return sum.Sum64()
}

// ensure stores nodeup and the bundle, and moves the stack toward the spec.
func (s groupStackStep) ensure(
	ctx context.Context, group *v1alpha1.InstanceGroup, cluster *v1alpha1.Cluster, resolved *model.Cluster, cas *credentials.CAs,
) operatorkit.Outcome {
	shape, err := model.ResolveGroup(resolved, group)
	if err != nil {
		return outcomes.Unresolved(err)
	}
	if group.Status.Stack == nil {
		group.Status.Stack = &v1alpha1.StackStatus{}
	}
	group.Status.Stack.Name = shape.StackName
	known, err := record.Decode(group.Status.Stack)
	if err != nil {
		return operatorkit.Fail(err)
	}
	key := stackcache.Key{UID: group.UID, Stack: shape.StackName}
	made, err := s.stacks.Render(key, s.inputs(group, cluster, resolved.Release, cas), known.Machines, func() (*stacks.Made, error) {
		return stacks.Group(resolved, shape, cluster.Status.Outputs, cas.Certificate, &known, s.bucket.NodeupHash)
	})
	if err != nil {
		return notMade("instance group "+group.Name, err)
	}
	wanted, sent, before := made.Machines, false, operatorkit.Done()
	outputs, outcome := s.apply.Ensure(ctx, group, s.targets.Of(cluster), group.Status.Stack, made.Stack, apply.Options{
		Manual: approval.IsManual(group.Spec.UpdatePolicy, cluster.Spec.UpdatePolicy),
		Parts:  known.History().Now.Changed(&wanted),
		Limit:  s.targets.Limit(cluster),
		Prepare: func(ctx context.Context, known *record.Stack) error {
			if err := s.outputs.Confirm(ctx, cluster); err != nil {
				return err
			}
			if before = s.notNewer(ctx, cluster, known, resolved.Release, shape.StackName); !before.IsDone() {
				return errNotPrepared
			}
			if before = s.offered(ctx, cluster, known, offerings.OfGroup(shape)); !before.IsDone() {
				return errNotPrepared
			}
			if err := s.ownsCAs(ctx, cluster, cas, known, &wanted); err != nil {
				return err
			}
			if err := s.storeNodeup(ctx, cluster, shape, group.Status.Stack, known, &wanted); err != nil {
				return err
			}
			if before = plan(known, &wanted); !before.IsDone() {
				return errNotPrepared
			}
			sent = true
			known.History().Begin(wanted, s.nodesOf(group))
			known.Planned = nil
			if made.Bundle == nil {
				group.Status.Stack.Bundle = wanted.Bundle
				return nil
			}
			return s.storeBundle(ctx, cluster, group.Status.Stack, known, made.Bundle, wanted.Nodeup)
		},
		Resume: func(known *record.Stack, sent time.Time) { known.History().Resume(wanted, s.nodesOf(group), sent) },
	})
	if !before.IsDone() {
		return before
	}
	if asg := outputs[instances.OutputGroup]; asg != "" {
		group.Status.AutoScalingGroup = asg
	}
	return s.follow(ctx, group, cluster, wanted, sent, outcome)
}

// ownsCAs returns an error if instances would trust another CA than before, and that one is not what the cluster's bucket
// has: the Secrets may be from a backup, which the Cluster's controller reports, too.
func (s groupStackStep) ownsCAs(
	ctx context.Context, cluster *v1alpha1.Cluster, cas *credentials.CAs, known *record.Stack, wanted *record.Machines,
) error {
	if model.UsesEKS(cluster) || !slices.Contains(known.History().Now.Changed(wanted), bundle.PartAPI) {
		return nil
	}
	return s.bucket.Of(cluster).Owned(ctx, cas.Origin, cas.Fingerprint)
}

// storeNodeup stores the nodeup of a change, unless it is stored: before the change is planned, because another
// operator that continues it may not have this nodeup.
func (s groupStackStep) storeNodeup(
	ctx context.Context, cluster *v1alpha1.Cluster, shape *model.Group, status *v1alpha1.StackStatus,
	known *record.Stack, wanted *record.Machines,
) error {
	if model.UsesEKS(cluster) { // It has no bucket: its nodes boot with user data alone.
		return nil
	}
	withBundle := known.Nodeup == wanted.Nodeup && status.Bundle == wanted.Bundle
	if withBundle || known.IsPlanned(wanted) {
		return nil
	}
	return s.bucket.PutNodeup(ctx, cluster, shape.Spec.Architecture)
}

// notNewer is done when new nodes with a Release are not newer than a control plane whose Release is not
// known: it is being created, or the Cluster's status was lost. If it was lost, the stack of a group that
// exists waits.
func (o *operator) notNewer(
	ctx context.Context, cluster *v1alpha1.Cluster, known *record.Stack, release *v1alpha1.Release, name string,
) operatorkit.Outcome {
	if cluster.Status.Release != "" || known.History().Now != nil && known.History().Now.Release == release.Name {
		return operatorkit.Done()
	}
	older := o.hasOlderSlot(cluster, release)
	if !older && known.Digest == "" {
		status, err := o.stackStatus(ctx, cluster, name)
		if err != nil {
			return outcomes.Failed(err)
		}
		if !stackStands(status) {
			return operatorkit.Done()
		}
	}
	return operatorkit.Wait(outcomes.EventPoll, "ControlPlaneFirst", fmt.Sprintf(
		"The group's nodes get release %s when the whole control plane runs it, which is not known yet.", release.Name,
	))
}

// hasOlderSlot reports whether a node of the control plane has an older version of Kubernetes than a
// Release.
func (o *operator) hasOlderSlot(cluster *v1alpha1.Cluster, release *v1alpha1.Release) bool {
	connection := o.options.Workload.Get(keyOf(cluster))
	if connection == nil {
		return false
	}
	versions := []string{release.Spec.Kubernetes}
	for _, node := range connection.Nodes() {
		if node.Slot != workload.NoSlot {
			versions = append(versions, node.Version)
		}
	}
	return lowest(versions) != release.Spec.Kubernetes
}

func (o *operator) ownGroup(account, region, name string, group *v1alpha1.InstanceGroup) {
	stack := directory.Stack{Account: account, Region: region, Name: name}
	o.directory.Own(stack, directory.Owner{Group: true, Key: keyOf(group), UID: group.UID})
}

// EnsureDeleted deletes the group's stack.
func (s groupStackStep) EnsureDeleted(ctx context.Context, group *v1alpha1.InstanceGroup) operatorkit.Outcome {
	name := model.GroupStackName(group.Spec.Cluster, group.Name)
	s.stacks.Unsettle(stackcache.Key{UID: group.UID, Stack: name})
	target, account, region, outcome := s.targetOf(ctx, group)
	if !outcome.IsDone() || account == "" {
		return outcome // Without an account, no stack was created.
	}
	s.ownGroup(account, region, name, group)
	if group.Status.Stack == nil {
		group.Status.Stack = &v1alpha1.StackStatus{Name: name}
	}
	// Deletion waits for a change in progress, which must not wait for signals.
	if known, err := record.Decode(group.Status.Stack); err == nil {
		past := known.History()
		_, _ = s.signal(ctx, group, target, &known, past.Next, past.Now)
	}
	return s.apply.Delete(ctx, group, target, name, group.Status.Stack, stack.DeleteOptions{OwnerTags: s.owner.GroupTags(group)})
}

// accountOfGroup returns the account of a group that is being deleted, empty if its Cluster is
// abandoned.
func (s groupStackStep) accountOfGroup(
	ctx context.Context, group *v1alpha1.InstanceGroup, cluster *v1alpha1.Cluster,
) (string, operatorkit.Outcome) {
	if isAbandoned(cluster) {
		s.recorder.Eventf(
			group,
			nil,
			corev1.EventTypeWarning,
			reasonAbandoned,
			"Delete",
			"The stack %s remains in region %s of the account of %s.",
			model.GroupStackName(cluster.Name, group.Name),
			cluster.Spec.Region,
			credentialsOf(cluster),
		)
		return "", operatorkit.Done()
	}
	if cluster.Status.Account != "" {
		return cluster.Status.Account, operatorkit.Done()
	}
	account, err := s.targets.Account(ctx, cluster, s.targets.Of(cluster))
	if explained := awsapi.Explain(err); err != nil && explained.Transient() {
		return "", operatorkit.Fail(err).Explain(explained.Reason, explained.Message)
	}
	if err != nil {
		return "", accountUnknown(cluster, err)
	}
	return account, operatorkit.Done()
}

// targetOf returns the account and region of the group's stack. A Cluster normally outlives its
// groups. If it was forcibly deleted, the stack's own ARN contains both, but not the role.
func (s groupStackStep) targetOf(
	ctx context.Context, group *v1alpha1.InstanceGroup,
) (target awsapi.Target, account, region string, outcome operatorkit.Outcome) {
	cluster, err := s.objects.ClusterOf(ctx, group)
	if err != nil {
		return target, "", "", operatorkit.Fail(err)
	}
	if cluster != nil {
		if outcome := s.targets.MayUse(cluster); !outcome.IsDone() && !isAbandoned(cluster) {
			return target, "", "", outcome
		}
		account, outcome := s.accountOfGroup(ctx, group, cluster)
		return s.targets.Of(cluster), account, cluster.Spec.Region, outcome
	}
	known, err := record.Decode(group.Status.Stack)
	if err != nil {
		return target, "", "", operatorkit.Fail(err)
	}
	if known.StackID == "" {
		// The group never had a stack, or lost its status. Without its Cluster, only the operator's own
		// account and region are known.
		return target, s.options.AccountID, s.options.Clients.Region(target), operatorkit.Done()
	}
	const arnParts = 6 // arn:partition:cloudformation:region:account:stack/…
	parts := strings.SplitN(known.StackID, ":", arnParts)
	if len(parts) != arnParts || parts[4] != s.options.AccountID {
		return target, "", "", operatorkit.Stall("ClusterNotFound", fmt.Sprintf(
			"The Cluster %q no longer exists, so the role that can delete the stack %s is unknown. Delete the stack, then remove the group's finalizer %s.",
			group.Spec.Cluster,
			known.StackID,
			finalizer,
		))
	}
	if parts[3] != s.options.Clients.Region(awsapi.Target{}) {
		target.Region = parts[3]
	}
	return target, parts[4], parts[3], operatorkit.Done()
}
