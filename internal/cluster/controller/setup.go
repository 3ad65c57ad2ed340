package controller

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/selection"
	"k8s.io/client-go/rest"
	toolscache "k8s.io/client-go/tools/cache"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"github.com/aws-operator/aws-operator/api/cluster/v1alpha1"
	"github.com/aws-operator/aws-operator/internal/cluster/controller/conditions"
	"github.com/aws-operator/aws-operator/internal/cluster/controller/fleets"
	"github.com/aws-operator/aws-operator/internal/cluster/controller/objects"
	"github.com/aws-operator/aws-operator/internal/cluster/model"
	"github.com/aws-operator/aws-operator/pkg/operatorkit"
)

// crdTimeout bounds how long the API server may take to serve the CRDs.
const crdTimeout = 2 * time.Minute

// Setup ensures that the CustomResourceDefinitions of clusters and the options' Releases exist, and
// adds the controllers of Clusters, InstanceGroups and Fleets to the manager and their types to its scheme.
// Call it before the manager starts. It uses ctx only until it returns.
func Setup(ctx context.Context, mgr ctrl.Manager, options Options) error {
	if err := options.complete(); err != nil {
		return err
	}
	if !options.KindsExist {
		if err := EnsureKinds(ctx, mgr.GetConfig(), options.Releases); err != nil {
			return err
		}
	}
	if err := v1alpha1.AddToScheme(mgr.GetScheme()); err != nil {
		return fmt.Errorf("register the types of clusters: %w", err)
	}
	direct, err := directClient(mgr.GetConfig(), client.Options{HTTPClient: mgr.GetHTTPClient(), Mapper: mgr.GetRESTMapper()})
	if err != nil {
		return err
	}
	o := newOperator(options, mgr.GetClient(), direct, mgr.GetEventRecorder(fieldOwner))
	if err := objects.AddIndexes(ctx, mgr.GetFieldIndexer()); err != nil {
		return err
	}
	if err := o.watchClusterAPI(mgr); err != nil {
		return err
	}
	if err := o.addClusters(mgr); err != nil {
		return err
	}
	if err := o.addGroups(mgr); err != nil {
		return err
	}
	if err := fleets.Setup(mgr, fleets.Options{
		Direct: direct, Shard: options.Shard, Namespaces: inNamespaces(options.WatchNamespaces),
		Metrics: options.Metrics, Clock: options.Clock, BackgroundLimiter: options.BackgroundLimiter,
	}); err != nil {
		return err
	}
	if err := o.watchSecrets(ctx, mgr); err != nil {
		return err
	}
	if options.Events != nil {
		options.Events.Subscribe(o.observe)
		options.Events.ExpectInstances(o.draining.Expect)
	}
	if options.Identities != nil {
		options.Identities.Subscribe(o.identityChanged)
		options.Identities.CountUsers(o.usersOf)
	}
	options.Workload.Subscribe(o.observeWorkload)
	if err := mgr.Add(options.Workload); err != nil {
		return fmt.Errorf("add the connections to workload clusters: %w", err)
	}
	if err := mgr.Add(o.drains); err != nil {
		return fmt.Errorf("add the drains of nodes: %w", err)
	}
	return nil
}

// EnsureKinds applies the CustomResourceDefinitions of clusters, waits until the API server serves them, and creates the
// Releases that do not exist.
func EnsureKinds(ctx context.Context, config *rest.Config, releases []*v1alpha1.Release) error {
	crds, err := v1alpha1.CustomResourceDefinitions()
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, crdTimeout)
	defer cancel()
	if err := operatorkit.EnsureCRDs(ctx, config, fieldOwner, crds...); err != nil {
		return fmt.Errorf("create the CRDs of clusters: %w", err)
	}
	direct, err := directClient(config, client.Options{})
	if err != nil {
		return err
	}
	return installReleases(ctx, direct, releases)
}

// directClient creates a client that bypasses the cache.
func directClient(config *rest.Config, options client.Options) (client.Client, error) {
	options.Scheme = runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{corev1.AddToScheme, v1alpha1.AddToScheme, metav1.AddMetaToScheme} {
		if err := add(options.Scheme); err != nil {
			return nil, fmt.Errorf("register types: %w", err)
		}
	}
	direct, err := client.New(config, options)
	if err != nil {
		return nil, fmt.Errorf("create a client: %w", err)
	}
	return direct, nil
}

// installReleases creates the missing Releases. It does not change existing ones.
func installReleases(ctx context.Context, direct client.Client, releases []*v1alpha1.Release) error {
	for _, one := range releases {
		if err := direct.Create(ctx, one.DeepCopy()); err != nil && !apierrors.IsAlreadyExists(err) {
			return fmt.Errorf("create Release %s: %w", one.Name, err)
		}
	}
	return nil
}

func (o *operator) addClusters(mgr ctrl.Manager) error {
	selector, err := newClusterSelector(o)
	if err != nil {
		return err
	}
	o.clusters, err = operatorkit.NewReconciler(operatorkit.Options[*v1alpha1.Cluster]{
		Client: o.client, Pipelines: selector, Admit: o.admit, Finalizer: finalizer, PausedAnnotation: v1alpha1.PausedAnnotation,
		Paused: o.clusterPaused, ExplainPause: o.explainClusterPause, Summarize: o.capi.SummarizeCluster,
		ReconcilePaused: o.reconcileClusterPaused, DeferStatusWrite: conditions.IsClusterProgress,
		Metrics: o.options.Metrics, Clock: o.options.Clock, MaxConcurrentReconciles: o.options.MaxConcurrentReconciles,
		BackgroundLimiter: o.options.BackgroundLimiter,
	})
	if err != nil {
		return fmt.Errorf("create the controller of Clusters: %w", err)
	}
	err = o.clusters.SetupWithManager(mgr,
		source.Kind(mgr.GetCache(), &v1alpha1.InstanceGroup{}, o.clusterOfGroup(), groupChangedPredicate()),
		source.Kind(mgr.GetCache(), &v1alpha1.Release{}, o.clustersOfRelease()),
	)
	if err != nil {
		return fmt.Errorf("add the controller of Clusters: %w", err)
	}
	return nil
}

func (o *operator) addGroups(mgr ctrl.Manager) error {
	var err error
	o.groups, err = operatorkit.NewReconciler(operatorkit.Options[*v1alpha1.InstanceGroup]{
		Client: o.client, Pipelines: newGroupSelector(o), Admit: o.admitGroup, Finalizer: finalizer,
		PausedAnnotation: v1alpha1.PausedAnnotation, Paused: o.groupPaused, ExplainPause: o.explainGroupPause,
		Summarize:       o.summarizeGroup,
		ReconcilePaused: o.reconcileGroupPaused, DeferStatusWrite: conditions.IsGroupProgress,
		Metrics: o.options.Metrics, Clock: o.options.Clock, MaxConcurrentReconciles: o.options.MaxConcurrentReconciles,
		BackgroundLimiter: o.options.BackgroundLimiter,
	})
	if err != nil {
		return fmt.Errorf("create the controller of InstanceGroups: %w", err)
	}
	if err := o.groups.SetupWithManager(
		mgr, source.Kind(mgr.GetCache(), &v1alpha1.Cluster{}, o.groupsOfCluster(), clusterChangedPredicate()),
	); err != nil {
		return fmt.Errorf("add the controller of InstanceGroups: %w", err)
	}
	return nil
}

// watchSecrets watches the metadata of the Clusters' Secrets.
func (o *operator) watchSecrets(ctx context.Context, mgr ctrl.Manager) error {
	ours, err := labels.NewRequirement(model.TagCluster, selection.Exists, nil)
	if err != nil {
		return fmt.Errorf("select the Secrets of clusters: %w", err)
	}
	secret := &metav1.PartialObjectMetadata{}
	secret.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("Secret"))
	options := cache.Options{
		HTTPClient: mgr.GetHTTPClient(), Scheme: mgr.GetScheme(), Mapper: mgr.GetRESTMapper(),
		DefaultTransform:  cache.TransformStripManagedFields(),
		ByObject:          map[client.Object]cache.ByObject{secret: {Label: labels.NewSelector().Add(*ours)}},
		DefaultNamespaces: inNamespaces(o.options.WatchNamespaces),
		NewInformer:       o.options.Shard.NewInformer(clusterOfSecret),
	}
	secrets, err := cache.New(mgr.GetConfig(), options)
	if err != nil {
		return fmt.Errorf("create the cache of Secrets: %w", err)
	}
	informer, err := secrets.GetInformer(ctx, secret, cache.BlockUntilSynced(false))
	if err != nil {
		return fmt.Errorf("watch Secrets: %w", err)
	}
	_, err = informer.AddEventHandler(toolscache.ResourceEventHandlerFuncs{
		UpdateFunc: func(was, is any) {
			if versionOf(was) != versionOf(is) {
				o.secretChanged(is)
			}
		},
		DeleteFunc: o.secretChanged,
	})
	if err != nil {
		return fmt.Errorf("watch Secrets: %w", err)
	}
	if err := mgr.Add(secrets); err != nil {
		return fmt.Errorf("add the cache of Secrets: %w", err)
	}
	return nil
}

func versionOf(obj any) string {
	if o, ok := obj.(client.Object); ok {
		return o.GetResourceVersion()
	}
	return ""
}

func inNamespaces(namespaces []string) map[string]cache.Config {
	if len(namespaces) == 0 {
		return nil
	}
	in := map[string]cache.Config{}
	for _, namespace := range namespaces {
		in[namespace] = cache.Config{}
	}
	return in
}
