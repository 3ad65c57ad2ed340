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
	toolscache "k8s.io/client-go/tools/cache"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1alpha1 "github.com/aws-operator/aws-operator/api/service/v1alpha1"
	"github.com/aws-operator/aws-operator/internal/service/catalog"
	"github.com/aws-operator/aws-operator/internal/service/model"
	"github.com/aws-operator/aws-operator/pkg/operatorkit"
)

// crdTimeout bounds how long the API server may take to serve the built-in kinds.
const crdTimeout = time.Minute

// Setup makes sure that the CustomResourceDefinitions of the built-in kinds exist and gives the
// manager what serves AWS services: the built-in kinds, ModelDefinitions and
// CloudFormationTemplates. It adds the types it needs to the manager's scheme. Call it before the
// manager starts, and let ctx live until then only.
func Setup(ctx context.Context, mgr ctrl.Manager, options Options) error {
	if err := options.complete(); err != nil {
		return err
	}
	models, err := catalog.Models(options.Registry)
	if err != nil {
		return err
	}
	if err := ensureCRDs(ctx, mgr, models); err != nil {
		return err
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
	if err := mgr.Add(s); err != nil {
		return fmt.Errorf("add modelled kinds to the manager: %w", err)
	}
	return nil
}

// ensureCRDs applies the definitions of all built-in kinds.
func ensureCRDs(ctx context.Context, mgr ctrl.Manager, models []*model.Model) error {
	crds, err := v1alpha1.CustomResourceDefinitions()
	if err != nil {
		return err
	}
	for _, m := range models {
		crds = append(crds, m.CRD())
	}
	ctx, cancel := context.WithTimeout(ctx, crdTimeout)
	defer cancel()
	if err := operatorkit.EnsureCRDs(ctx, mgr.GetConfig(), fieldOwner, crds...); err != nil {
		return fmt.Errorf("make the built-in kinds: %w", err)
	}
	return nil
}

// newService makes what all kinds share.
func newService(ctx context.Context, mgr ctrl.Manager, options Options, models []*model.Model) (*service, error) {
	s := &service{
		options: options, manager: mgr, directory: newDirectory(), builtIn: models,
		kinds: map[string]*kind{}, definedBy: map[string]string{}, failure: make(chan error, 1),
	}
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{corev1.AddToScheme, apiextensionsv1.AddToScheme, metav1.AddMetaToScheme} {
		if err := add(scheme); err != nil {
			return nil, fmt.Errorf("register types: %w", err)
		}
	}
	cacheOptions, err := additionalCacheOptions(options.WatchNamespaces)
	if err != nil {
		return nil, err
	}
	cacheOptions.HTTPClient, cacheOptions.Scheme, cacheOptions.Mapper = mgr.GetHTTPClient(), scheme, mgr.GetRESTMapper()
	if s.additional, err = cache.New(mgr.GetConfig(), cacheOptions); err != nil {
		return nil, fmt.Errorf("make the cache of additional resources: %w", err)
	}
	if err := s.watchAdditional(ctx); err != nil {
		return nil, err
	}
	if err := mgr.Add(s.additional); err != nil {
		return nil, fmt.Errorf("add the cache of additional resources to the manager: %w", err)
	}
	s.direct, err = client.New(mgr.GetConfig(), client.Options{HTTPClient: mgr.GetHTTPClient(), Scheme: scheme, Mapper: mgr.GetRESTMapper()})
	if err != nil {
		return nil, fmt.Errorf("make a client: %w", err)
	}
	return s, nil
}

// watchAdditional looks at an object again when something made for it was changed or deleted.
func (s *service) watchAdditional(ctx context.Context) error {
	for _, obj := range []client.Object{&corev1.ConfigMap{}, &corev1.Secret{}, &corev1.Service{}} {
		informer, err := s.additional.GetInformer(ctx, obj, cache.BlockUntilSynced(false))
		if err != nil {
			return fmt.Errorf("watch %T: %w", obj, err)
		}
		_, err = informer.AddEventHandler(toolscache.ResourceEventHandlerFuncs{
			UpdateFunc: func(old, changed any) {
				if contentOf(old) != contentOf(changed) {
					s.wakeOwner(changed)
				}
			},
			DeleteFunc: s.wakeOwner,
		})
		if err != nil {
			return fmt.Errorf("watch %T: %w", obj, err)
		}
	}
	return nil
}

// contentOf returns the digest of what an object in the cache holds.
func contentOf(obj any) string {
	made, ok := obj.(client.Object)
	if !ok {
		return ""
	}
	return made.GetAnnotations()[contentDigest]
}

// wakeOwner looks again at the object for which something was made.
func (s *service) wakeOwner(obj any) {
	if unknown, ok := obj.(toolscache.DeletedFinalStateUnknown); ok {
		obj = unknown.Obj
	}
	made, ok := obj.(client.Object)
	if !ok {
		return
	}
	if owner := metav1.GetControllerOf(made); owner != nil && owner.APIVersion == v1alpha1.GroupVersion.String() {
		s.wake(objectKey{Kind: owner.Kind, NamespacedName: types.NamespacedName{Namespace: made.GetNamespace(), Name: owner.Name}})
	}
}

// addControllers adds the controllers of ModelDefinitions and CloudFormationTemplates.
func (s *service) addControllers() error {
	var err error
	s.definitions, err = operatorkit.NewReconciler(operatorkit.Options[*v1alpha1.ModelDefinition]{
		Client: s.manager.GetClient(), Finalizer: v1alpha1.Finalizer, PausedAnnotation: v1alpha1.PausedAnnotation,
		Pipelines: operatorkit.NewPipeline[*v1alpha1.ModelDefinition](definitionStep{service: s}),
		Metrics:   s.options.Metrics, Clock: s.options.Clock, MaxConcurrentReconciles: 4,
	})
	if err != nil {
		return fmt.Errorf("make the controller of ModelDefinitions: %w", err)
	}
	if err := s.definitions.SetupWithManager(s.manager); err != nil {
		return fmt.Errorf("add the controller of ModelDefinitions: %w", err)
	}
	writer, err := operatorkit.NewFieldsWriter[*v1alpha1.CloudFormationTemplate](s.manager.GetClient(), "output")
	if err != nil {
		return fmt.Errorf("make the writer of CloudFormationTemplates: %w", err)
	}
	s.templates, err = operatorkit.NewReconciler(operatorkit.Options[*v1alpha1.CloudFormationTemplate]{
		Client: s.manager.GetClient(), Finalizer: v1alpha1.Finalizer, PausedAnnotation: v1alpha1.PausedAnnotation,
		Pipelines: operatorkit.NewPipeline[*v1alpha1.CloudFormationTemplate](templateStep{service: s}), Writer: writer,
		Metrics: s.options.Metrics, Clock: s.options.Clock, MaxConcurrentReconciles: 4,
	})
	if err != nil {
		return fmt.Errorf("make the controller of CloudFormationTemplates: %w", err)
	}
	if err := s.templates.SetupWithManager(s.manager); err != nil {
		return fmt.Errorf("add the controller of CloudFormationTemplates: %w", err)
	}
	return nil
}
