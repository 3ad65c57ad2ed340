package inprocess

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	autoscalingtypes "github.com/aws/aws-sdk-go-v2/service/autoscaling/types"
	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"

	"github.com/aws-operator/aws-operator/api/cluster/v1alpha1"
	"github.com/aws-operator/aws-operator/internal/awsapi"
	"github.com/aws-operator/aws-operator/internal/cluster/live"
	"github.com/aws-operator/aws-operator/internal/cluster/model"
	"github.com/aws-operator/aws-operator/internal/cluster/programs"
	"github.com/aws-operator/aws-operator/internal/kubeapi"
	"github.com/aws-operator/aws-operator/internal/state"
	"github.com/aws-operator/aws-operator/pkg/operatorkit"
)

// State stores a cluster's definition, status and Secrets. *state.State implements it.
type State interface {
	// Load returns a cluster and its objects.
	Load(ctx context.Context, cluster string) (*state.Objects, error)
	// Lock keeps other clients from changing the cluster until unlock is called. It returns an
	// error if another client holds the lock.
	Lock(ctx context.Context, cluster, purpose string) (unlock func() error, err error)
	// Save writes an object with its metadata and status.
	Save(ctx context.Context, cluster string, object client.Object) error
	// Remove removes an object that no longer exists.
	Remove(ctx context.Context, cluster string, object client.Object) error
}

// Goal is the state of a cluster at which a run ends.
type Goal string

// Goals.
const (
	// Ready is reached when the Cluster and all of its InstanceGroups are ready for their current
	// specs.
	Ready Goal = "Ready"
	// Gone is reached when none of them exists any more. [Run] deletes the Cluster.
	Gone Goal = "Gone"
)

// Options are the options of [Run]. State, Cluster and Goal are required.
type Options struct {
	State State
	// Cluster is the Cluster's name.
	Cluster string
	Goal    Goal
	// Purpose is shown to others who want to change the cluster in the meantime, for example
	// "apply".
	Purpose string

	// AWS configures access to AWS. Empty fields are from the SDK's environment and shared files.
	// The region is the cluster's.
	AWS awsapi.Options
	// NodeupDir is the folder of nodeup-linux-amd64 and nodeup-linux-arm64, with which instances
	// boot. The default is the folder of this program.
	NodeupDir string

	// Observe receives every change of the progress. It is optional.
	Observe func(Progress)
	// Logger is the logger of the controllers. The default discards everything.
	Logger logr.Logger
	// Clock is the clock. The default is the real one.
	Clock clock.WithTicker
	// Poll is how often to poll AWS while changes are in progress. The default is 5 seconds.
	Poll time.Duration
	// Settle is how long the goal must hold. The default is one second.
	Settle time.Duration
	// Workload returns the configuration for a workload cluster's kubeconfig. The default is the
	// kubeconfig's current context.
	Workload func(key types.NamespacedName, kubeconfig []byte) (*rest.Config, error)
}

// Run runs the controllers until the cluster reaches the goal. It locks the state. It returns an
// error if the state cannot be read or written, or AWS rejects the credentials, and a
// [StalledError] if a user must act. If ctx ends first, it returns an error, and the same run
// continues later.
func Run(ctx context.Context, o Options) (err error) {
	o.setDefaults()
	unlock, err := o.State.Lock(ctx, o.Cluster, o.Purpose)
	if err != nil {
		return err //nolint:wrapcheck // a sentence with the holder
	}
	defer func() { err = errors.Join(err, unlock()) }()
	r := &run{Options: o, keeper: newKeeper(o.State, o.Cluster)}
	r.api = kubeapi.New(kubeapi.Options{Kubernetes: apiVersion, Clock: o.Clock, Observe: r.keeper.observe})
	defer r.api.Close()
	ctx, end := context.WithCancelCause(ctx)
	defer end(nil)
	r.config = restOf(r.keeper.through(r.api.Trusted(), end))
	if err := r.load(ctx); err != nil {
		return err
	}
	mgr, err := r.manager(ctx)
	if err != nil {
		return err
	}
	if err := r.begin(ctx); err != nil {
		return err
	}
	return r.follow(ctx, end, mgr)
}

// restOf returns a configuration for a handler in this process.
func restOf(handler http.Handler) *rest.Config {
	return &rest.Config{Host: "http://state", Transport: direct{handler}, QPS: -1}
}

// apiVersion is the version of Kubernetes whose API is served: that of the client libraries.
const apiVersion = "v1.36.3"

const (
	defaultPoll   = 5 * time.Second
	defaultSettle = time.Second
)

func (o *Options) setDefaults() {
	if o.Clock == nil {
		o.Clock = clock.RealClock{}
	}
	if o.Logger.GetSink() == nil {
		o.Logger = logr.Discard()
	}
	o.Poll = cmp.Or(o.Poll, defaultPoll)
	o.Settle = cmp.Or(o.Settle, defaultSettle)
	o.AWS.UserAgent = cmp.Or(o.AWS.UserAgent, "aws-operator")
	o.NodeupDir = programs.Beside(o.NodeupDir)
}

// run is one run.
type run struct {
	Options

	keeper *keeper
	api    *kubeapi.Server
	config *rest.Config
	client client.WithWatch
	// key is the Cluster's key, target its account and region: the credentials' own account unless
	// it has a role.
	key    types.NamespacedName
	region string
	target awsapi.Target
	// clients are the AWS clients, and events polls for instances that wait to be drained.
	clients *awsapi.Clients
	events  *polled
}

// load loads the objects of the state into the API, and those that the operator requires.
func (r *run) load(ctx context.Context) error {
	crds, err := v1alpha1.CustomResourceDefinitions()
	if err != nil {
		return fmt.Errorf("read the definitions of the kinds: %w", err)
	}
	if err := operatorkit.EnsureCRDs(ctx, r.config, "aws-operator", crds...); err != nil {
		return fmt.Errorf("serve the kinds: %w", err)
	}
	scheme := runtime.NewScheme()
	if err := errors.Join(clientgoscheme.AddToScheme(scheme), v1alpha1.AddToScheme(scheme)); err != nil {
		return fmt.Errorf("register types: %w", err)
	}
	if r.client, err = client.NewWithWatch(r.config, client.Options{Scheme: scheme}); err != nil {
		return fmt.Errorf("make a client: %w", err)
	}
	objects, err := r.State.Load(ctx, r.Cluster)
	if err != nil {
		return err //nolint:wrapcheck // a sentence that names what is missing
	}
	if err := r.refuseStages(objects); err != nil {
		return err
	}
	for _, object := range objects.All() {
		if err := r.loadObject(scheme, object); err != nil {
			return err
		}
	}
	r.keeper.loaded()
	return nil
}

// refuseStages returns an error if the cluster's CAs are to be rotated, or encryption is to be added to it: a run ends
// before the nodes of a stage were replaced.
func (r *run) refuseStages(objects *state.Objects) error {
	if r.Goal != Ready {
		return nil
	}
	cas, err := objects.CAs(r.Clock)
	if err != nil {
		return nil //nolint:nilerr // The controllers report what is wrong with CAs.
	}
	if asked := objects.Cluster.Spec.Certificates; asked != nil && cas.Rotation().Due(asked.Rotate) {
		return fmt.Errorf("cluster %s: %s", r.Cluster, model.RotationNeedsOperator)
	}
	if state := cas.Encryption(); model.AddsEncryption(objects.Cluster, state.Stage) || state.InProgress() {
		return fmt.Errorf("cluster %s: %s", r.Cluster, model.EncryptionNeedsOperator)
	}
	return nil
}

func (r *run) loadObject(scheme *runtime.Scheme, object client.Object) error {
	gvk, err := apiutil.GVKForObject(object, scheme)
	if err != nil {
		return fmt.Errorf("find the kind of %s: %w", object.GetName(), err)
	}
	if cluster, ok := object.(*v1alpha1.Cluster); ok {
		r.key, r.region = client.ObjectKeyFromObject(cluster), cluster.Spec.Region
		if role := cluster.Spec.Role; role != nil && role.ARN != "" {
			r.target = awsapi.Target{Region: r.region, RoleARN: role.ARN, ExternalID: role.ExternalID}
		}
		namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: cluster.Namespace}}
		if err := r.api.Put(namespace); err != nil {
			return fmt.Errorf("make the namespace %s: %w", cluster.Namespace, err)
		}
	}
	if conditioned, ok := object.(operatorkit.Conditioned); ok { // It was just read for this run.
		unseen(object, conditioned)
	}
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(object)
	if err != nil {
		return fmt.Errorf("read %s %s: %w", gvk.Kind, object.GetName(), err)
	}
	loaded := &unstructured.Unstructured{Object: content}
	loaded.SetGroupVersionKind(gvk)
	if err := r.api.Load(loaded); err != nil {
		return fmt.Errorf("load %s %s from the state: %w", gvk.Kind, object.GetName(), err)
	}
	return nil
}

// unseen resets the conditions that an earlier run set on an object, since this run has to
// reconcile it first.
func unseen(object client.Object, conditioned operatorkit.Conditioned) {
	conditioned.SetConditions(slices.Clone(conditioned.GetConditions()))
	for _, conditionType := range []string{operatorkit.ConditionStalled, operatorkit.ConditionReconciling, operatorkit.ConditionSynced} {
		operatorkit.RemoveCondition(object, conditionType)
	}
	if operatorkit.FindCondition(object, operatorkit.ConditionReady) != nil {
		operatorkit.SetCondition(object, metav1.Condition{
			Type: operatorkit.ConditionReady, Status: metav1.ConditionUnknown, Reason: reasonUnseen,
			Message: "It is about to be reconciled.",
		})
	}
}

// reasonUnseen is the reason of conditions that this run has not determined yet.
const reasonUnseen = "NotLookedAt"

// begin deletes the Cluster if that is the goal.
func (r *run) begin(ctx context.Context) error {
	cluster := &v1alpha1.Cluster{}
	if err := r.client.Get(ctx, r.key, cluster); err != nil {
		return fmt.Errorf("read cluster %s: %w", r.Cluster, err)
	}
	if r.Goal == Ready {
		if cluster.DeletionTimestamp != nil {
			return fmt.Errorf("cluster %s is being deleted; finish the deletion with aws-operator delete cluster %s --yes", r.Cluster, r.Cluster)
		}
		return nil
	}
	if cluster.DeletionTimestamp == nil {
		if err := r.client.Delete(ctx, cluster); err != nil {
			return fmt.Errorf("delete cluster %s: %w", r.Cluster, err)
		}
	}
	if err := r.client.Get(ctx, r.key, cluster); !apierrors.IsNotFound(err) {
		return nil // The operator deletes its groups afterwards.
	}
	if err := r.client.DeleteAllOf(ctx, &v1alpha1.InstanceGroup{}, client.InNamespace(r.key.Namespace)); err != nil {
		return fmt.Errorf("delete the instance groups of cluster %s, which was never created: %w", r.Cluster, err)
	}
	return nil
}

// follow runs the controllers until the goal is reached, and ends with everything written.
func (r *run) follow(ctx context.Context, end context.CancelCauseFunc, mgr ctrl.Manager) error {
	var working sync.WaitGroup
	working.Go(func() {
		if err := mgr.Start(ctx); err != nil {
			end(fmt.Errorf("run the controllers: %w", err))
		}
	})
	err := Follow(ctx, FollowOptions{
		Client: r.client, Cluster: r.key, Goal: r.Goal, Observe: r.Observe, Settle: r.Settle, Clock: r.Clock,
	})
	if err == nil && r.Goal == Ready {
		err = r.awaitLeaving(ctx)
	}
	if cause := context.Cause(ctx); cause != nil {
		err = cause
	}
	end(errEnded)
	working.Wait()
	if err == nil && r.Goal == Gone {
		return r.keeper.removeAll(ctx)
	}
	if failed := r.keeper.flush(ctx); !errors.Is(err, failed) {
		err = errors.Join(err, failed)
	}
	return err
}

// awaitLeaving waits until no instance of the cluster is terminating. CloudFormation ends a
// rolling update before the last instance is drained, and an earlier run may have been killed
// before it learned of one. Without a run that drains it, an instance stays until its lifecycle
// hook times out.
func (r *run) awaitLeaving(ctx context.Context) error {
	cluster := &v1alpha1.Cluster{}
	if err := r.client.Get(ctx, r.key, cluster); err != nil {
		return fmt.Errorf("read cluster %s: %w", r.Cluster, err)
	}
	for {
		found, err := live.Find(ctx, r.clients, cluster)
		if err != nil {
			return err //nolint:wrapcheck // it names the call
		}
		if !slices.ContainsFunc(found.Groups, func(g live.Group) bool { return slices.ContainsFunc(g.Instances, isLeaving) }) {
			return nil
		}
		// A failed call is retried.
		_, _ = r.events.listener.SweepInstances(ctx, r.target)
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-r.Clock.After(r.Poll):
		}
	}
}

// isLeaving reports whether Auto Scaling is terminating an instance; those that it retains stay.
// https://docs.aws.amazon.com/autoscaling/ec2/userguide/ec2-auto-scaling-lifecycle.html
func isLeaving(i live.Instance) bool {
	return strings.HasPrefix(i.State, string(autoscalingtypes.LifecycleStateTerminating)) &&
		i.State != string(autoscalingtypes.LifecycleStateTerminatingRetained)
}

// errEnded is the cause with which the controllers stop at the end of a run.
var errEnded = errors.New("the run is over")
