package controller

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	toolscache "k8s.io/client-go/tools/cache"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1alpha1 "github.com/aws-operator/aws-operator/api/service/v1alpha1"
	"github.com/aws-operator/aws-operator/internal/cfn/schema"
	"github.com/aws-operator/aws-operator/internal/service/catalog"
	"github.com/aws-operator/aws-operator/internal/service/model"
	"github.com/aws-operator/aws-operator/internal/service/render"
	"github.com/aws-operator/aws-operator/pkg/operatorkit"
)

// crdTimeout limits the wait until the API server serves the built-in kinds.
const crdTimeout = 2 * time.Minute

// EnsureKinds applies the CustomResourceDefinitions of the built-in kinds, and waits until the API server serves them.
func EnsureKinds(ctx context.Context, config *rest.Config) error {
	models, err := catalog.Models(schema.Default())
	if err != nil {
		return err
	}
	return ensureCRDs(ctx, config, models)
}

// Setup applies the CustomResourceDefinitions of the built-in kinds and adds the controllers of AWS
// services to the manager: of the built-in kinds, ModelDefinitions and CloudFormationTemplates. It
// registers the types that it needs in the manager's scheme. Call it before the manager starts; ctx
// is used only until it returns.
func Setup(ctx context.Context, mgr ctrl.Manager, options Options) error {
	if err := options.complete(); err != nil {
		return err
	}
	models, err := catalog.Models(options.Registry)
	if err != nil {
		return err
	}
	if !options.KindsExist {
		if err := ensureCRDs(ctx, mgr.GetConfig(), models); err != nil {
			return err
		}
	}
	if err := v1alpha1.AddToScheme(mgr.GetScheme()); err != nil {
		return fmt.Errorf("register types: %w", err)
	}
	s, err := newService(ctx, mgr, options, models)
	if err != nil {
		return err
	}
	if err := s.addControllers(); err != nil {
		return err
	}
	if options.Events != nil {
		options.Events.Subscribe(s.observe)
	}
	if options.Identities != nil {
		options.Identities.Subscribe(s.identityChanged)
		options.Identities.CountUsers(s.usersOf)
	}
	if options.ObjectMetrics != nil {
		options.ObjectMetrics.Add(s.visitObjects)
	}
	if err := mgr.Add(s); err != nil {
		return fmt.Errorf("add modeled kinds to the manager: %w", err)
	}
	return nil
}

// ensureCRDs applies the CustomResourceDefinitions of all built-in kinds.
func ensureCRDs(ctx context.Context, config *rest.Config, models []*model.Model) error {
	crds, err := v1alpha1.CustomResourceDefinitions()
	if err != nil {
		return err
	}
	for _, m := range models {
		crds = append(crds, m.CRD())
	}
	ctx, cancel := context.WithTimeout(ctx, crdTimeout)
	defer cancel()
	if err := operatorkit.EnsureCRDs(ctx, config, fieldOwner, crds...); err != nil {
		return fmt.Errorf("apply the built-in kinds: %w", err)
	}
	return nil
}

// newService creates what all kinds share.
func newService(ctx context.Context, mgr ctrl.Manager, options Options, models []*model.Model) (*service, error) {
	s := &service{
		options: options, manager: mgr, directory: newDirectory(), builtIn: models,
		kinds: map[string]*kind{}, definedBy: map[string]string{}, failure: make(chan error, 1),
		events: mgr.GetEventRecorder("modeldefinition"),
	}
	s.roles = newRoles(s)
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{corev1.AddToScheme, apiextensionsv1.AddToScheme, metav1.AddMetaToScheme} {
		if err := add(scheme); err != nil {
			return nil, fmt.Errorf("register types: %w", err)
		}
	}
	cacheOptions, err := additionalCacheOptions(options.WatchNamespaces, options.Shard)
	if err != nil {
		return nil, err
	}
	cacheOptions.HTTPClient, cacheOptions.Scheme, cacheOptions.Mapper = mgr.GetHTTPClient(), scheme, mgr.GetRESTMapper()
	if s.additional, err = cache.New(mgr.GetConfig(), cacheOptions); err != nil {
		return nil, fmt.Errorf("create the cache of additional resources: %w", err)
	}
	if err := s.watchAdditional(ctx); err != nil {
		return nil, err
	}
	if options.ServiceAccountIssuer != "" {
		if err := s.watchServiceAccounts(ctx); err != nil {
			return nil, err
		}
	}
	sourceOptions := sourceCacheOptions(options.WatchNamespaces)
	sourceOptions.HTTPClient, sourceOptions.Scheme, sourceOptions.Mapper = mgr.GetHTTPClient(), scheme, mgr.GetRESTMapper()
	if s.sources, err = cache.New(mgr.GetConfig(), sourceOptions); err != nil {
		return nil, fmt.Errorf("create the cache of ConfigMaps and Secrets with values: %w", err)
	}
	if err := s.watchSources(ctx); err != nil {
		return nil, err
	}
	for _, one := range []cache.Cache{s.additional, s.sources} {
		if err := mgr.Add(one); err != nil {
			return nil, fmt.Errorf("add a cache of ConfigMaps and Secrets to the manager: %w", err)
		}
	}
	s.direct, err = client.New(
		mgr.GetConfig(), client.Options{HTTPClient: mgr.GetHTTPClient(), Scheme: scheme, Mapper: mgr.GetRESTMapper()},
	)
	if err != nil {
		return nil, fmt.Errorf("create a client: %w", err)
	}
	return s, nil
}

// watchAdditional enqueues an object when something that was made for it changes or is deleted.
func (s *service) watchAdditional(ctx context.Context) error {
	for _, obj := range []client.Object{&corev1.ConfigMap{}, &corev1.Secret{}, &corev1.Service{}} {
		informer, err := s.additional.GetInformer(ctx, obj, cache.BlockUntilSynced(false))
		if err != nil {
			return fmt.Errorf("watch %T: %w", obj, err)
		}
		_, err = informer.AddEventHandler(toolscache.ResourceEventHandlerFuncs{
			UpdateFunc: func(old, changed any) {
				if contentOf(old) != contentOf(changed) {
					s.enqueueOwner(changed)
				}
			},
			DeleteFunc: s.enqueueOwner,
		})
		if err != nil {
			return fmt.Errorf("watch %T: %w", obj, err)
		}
	}
	return nil
}

// watchServiceAccounts enqueues the objects that grant access to a service account when the
// ServiceAccount is created, or its annotation changes.
func (s *service) watchServiceAccounts(ctx context.Context) error {
	informer, err := s.additional.GetInformer(ctx, &corev1.ServiceAccount{}, cache.BlockUntilSynced(false))
	if err != nil {
		return fmt.Errorf("watch ServiceAccounts: %w", err)
	}
	enqueue := func(obj any) {
		if account, ok := obj.(client.Object); ok {
			s.enqueue(s.directory.dependents(roleKey(account.GetNamespace(), render.Grantee{Name: account.GetName()}))...)
		}
	}
	_, err = informer.AddEventHandler(toolscache.ResourceEventHandlerFuncs{
		AddFunc: enqueue,
		UpdateFunc: func(old, changed any) {
			if roleOf(old) != roleOf(changed) {
				enqueue(changed)
			}
		},
		DeleteFunc: func(obj any) {
			if unknown, ok := obj.(toolscache.DeletedFinalStateUnknown); ok {
				obj = unknown.Obj
			}
			enqueue(obj)
		},
	})
	if err != nil {
		return fmt.Errorf("watch ServiceAccounts: %w", err)
	}
	return nil
}

// roleOf returns the role that the annotation of a cached ServiceAccount names.
func roleOf(obj any) string {
	account, ok := obj.(client.Object)
	if !ok {
		return ""
	}
	return account.GetAnnotations()[v1alpha1.RoleAnnotation]
}

// contentOf returns the content digest of a cached object.
func contentOf(obj any) string {
	made, ok := obj.(client.Object)
	if !ok {
		return ""
	}
	return made.GetAnnotations()[contentDigest]
}

// enqueueOwner enqueues the object for which something was made.
func (s *service) enqueueOwner(obj any) {
	if unknown, ok := obj.(toolscache.DeletedFinalStateUnknown); ok {
		obj = unknown.Obj
	}
	made, ok := obj.(client.Object)
	if !ok {
		return
	}
	if owner := metav1.GetControllerOf(made); owner != nil && owner.APIVersion == v1alpha1.GroupVersion.String() {
		s.enqueue(objectKey{Kind: owner.Kind, NamespacedName: types.NamespacedName{Namespace: made.GetNamespace(), Name: owner.Name}})
	}
}

// addControllers adds the controllers of ModelDefinitions and CloudFormationTemplates.
func (s *service) addControllers() error {
	var err error
	s.definitions, err = operatorkit.NewReconciler(operatorkit.Options[*v1alpha1.ModelDefinition]{
		Client: s.manager.GetClient(), Finalizer: v1alpha1.Finalizer, PausedAnnotation: v1alpha1.PausedAnnotation,
		Pipelines: operatorkit.NewPipeline[*v1alpha1.ModelDefinition](definitionStep{service: s}),
		Metrics:   s.options.Metrics, Clock: s.options.Clock, MaxConcurrentReconciles: 4,
		Owns: s.ownsDefinition, Follow: definitionStep{service: s}.follow,
	})
	if err != nil {
		return fmt.Errorf("create the controller of ModelDefinitions: %w", err)
	}
	if err := s.definitions.SetupWithManager(s.manager); err != nil {
		return fmt.Errorf("add the controller of ModelDefinitions: %w", err)
	}
	s.templates, err = operatorkit.NewReconciler(operatorkit.Options[*v1alpha1.CloudFormationTemplate]{
		Client: s.manager.GetClient(), Finalizer: v1alpha1.Finalizer, PausedAnnotation: v1alpha1.PausedAnnotation,
		Pipelines: operatorkit.NewPipeline[*v1alpha1.CloudFormationTemplate](templateStep{service: s}),
		Metrics:   s.options.Metrics, Clock: s.options.Clock, MaxConcurrentReconciles: 4,
		Owns: s.owns, Follow: templateStep{service: s}.follow,
	})
	if err != nil {
		return fmt.Errorf("create the controller of CloudFormationTemplates: %w", err)
	}
	if err := s.templates.SetupWithManager(s.manager); err != nil {
		return fmt.Errorf("add the controller of CloudFormationTemplates: %w", err)
	}
	return nil
}
