package operatorkit

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"golang.org/x/sync/errgroup"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apiextensions "k8s.io/apiextensions-apiserver/pkg/client/clientset/clientset/typed/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"
)

// EnsureCRDs applies the definitions concurrently (server-side, as the given
// field owner) and waits until they are established and listed by discovery.
// Those that exist as given it only reads, because the API server validates and
// compiles a whole definition for each write, also for one that changes nothing. It
// tries again if the API server is too busy to answer in time. It returns an
// error if a definition cannot be applied, if its names conflict with another
// definition, or if the context ends first; use one with a deadline.
func EnsureCRDs(ctx context.Context, cfg *rest.Config, fieldOwner string, crds ...*apiextensionsv1.CustomResourceDefinition) error {
	clients, err := apiextensions.NewForConfig(cfg)
	if err != nil {
		return fmt.Errorf("make a client for CRDs: %w", err)
	}
	group, applying := errgroup.WithContext(ctx)
	for _, crd := range crds {
		group.Go(func() error {
			if err := ensureCRD(applying, clients.CustomResourceDefinitions(), fieldOwner, crd); err != nil {
				return fmt.Errorf("CRD %s: %w", crd.Name, err)
			}
			return nil
		})
	}
	if err := group.Wait(); err != nil {
		return err
	}
	return waitForDiscovery(ctx, cfg, crds)
}

// discoveryInterval is how often discovery is polled.
const discoveryInterval = 20 * time.Millisecond

// waitForDiscovery waits until discovery lists the definitions' kinds. A
// controller that starts before that would wait for 10 seconds.
func waitForDiscovery(ctx context.Context, cfg *rest.Config, crds []*apiextensionsv1.CustomResourceDefinition) error {
	httpClient, err := rest.HTTPClientFor(cfg)
	if err != nil {
		return fmt.Errorf("make a client for discovery: %w", err)
	}
	mapper, err := apiutil.NewDynamicRESTMapper(cfg, httpClient)
	if err != nil {
		return fmt.Errorf("make a client for discovery: %w", err)
	}
	for _, crd := range crds {
		for _, version := range crd.Spec.Versions {
			if !version.Served {
				continue
			}
			kind := schema.GroupKind{Group: crd.Spec.Group, Kind: crd.Spec.Names.Kind}
			var last error
			err := wait.PollUntilContextCancel(ctx, discoveryInterval, true, func(context.Context) (bool, error) {
				_, last = mapper.RESTMapping(kind, version.Name)
				return last == nil, nil
			})
			if err != nil {
				return fmt.Errorf("CRD %s: wait until discovery lists the kind: %w", crd.Name, errors.Join(err, last))
			}
		}
	}
	return nil
}

func ensureCRD(
	ctx context.Context,
	c apiextensions.CustomResourceDefinitionInterface,
	fieldOwner string,
	crd *apiextensionsv1.CustomResourceDefinition,
) error {
	data, err := applyConfiguration(crd)
	if err != nil {
		return err
	}
	for {
		err := findOrApply(ctx, c, fieldOwner, crd, data)
		switch {
		case errors.Is(err, errDeleted):
		case tooBusy(err):
			select {
			case <-ctx.Done():
				return err
			case <-time.After(busyInterval):
			}
		default:
			return err
		}
	}
}

// busyInterval is how long EnsureCRDs leaves a busy API server alone.
const busyInterval = time.Second

// tooBusy reports whether the API server was too busy to answer the request. It
// gives a request 34 seconds (for a write) or its --request-timeout.
func tooBusy(err error) bool {
	return apierrors.IsTimeout(err) || apierrors.IsServerTimeout(err) || apierrors.IsTooManyRequests(err) ||
		apierrors.IsServiceUnavailable(err)
}

// findOrApply applies the definition unless it is there, and waits until it is established.
func findOrApply(
	ctx context.Context, c apiextensions.CustomResourceDefinitionInterface, fieldOwner string,
	crd *apiextensionsv1.CustomResourceDefinition, data []byte,
) error {
	found, err := c.Get(ctx, crd.Name, metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err):
	case err != nil:
		return fmt.Errorf("read: %w", err)
	case isAs(found, crd):
		return waitForCRD(ctx, c, found)
	}
	return applyCRD(ctx, c, fieldOwner, crd.Name, data)
}

// isAs reports whether a definition of the API server is as wanted. Others may add labels and
// annotations.
func isAs(found, wanted *apiextensionsv1.CustomResourceDefinition) bool {
	wanted = wanted.DeepCopy()
	apiextensionsv1.SetObjectDefaults_CustomResourceDefinition(wanted)
	return equality.Semantic.DeepEqual(found.Spec, wanted.Spec) &&
		includes(found.Labels, wanted.Labels) && includes(found.Annotations, wanted.Annotations)
}

func includes(all, some map[string]string) bool {
	for key, value := range some {
		if is, ok := all[key]; !ok || is != value {
			return false
		}
	}
	return true
}

// applyCRD applies the definition and waits until it is established.
func applyCRD(
	ctx context.Context, c apiextensions.CustomResourceDefinitionInterface, fieldOwner, name string, data []byte,
) error {
	applied, err := c.Patch(ctx, name, types.ApplyPatchType, data, metav1.PatchOptions{FieldManager: fieldOwner, Force: new(true)})
	if err != nil {
		return fmt.Errorf("apply: %w", err)
	}
	return waitForCRD(ctx, c, applied)
}

// errDeleted means that the definition was being deleted and must be applied again.
var errDeleted = errors.New("it was deleted while it was being established")

func waitForCRD(
	ctx context.Context, c apiextensions.CustomResourceDefinitionInterface, applied *apiextensionsv1.CustomResourceDefinition,
) error {
	for {
		ready, err := established(applied)
		if ready || err != nil {
			return err
		}
		if applied, err = nextCRD(ctx, c, applied); err != nil {
			return err
		}
	}
}

// nextCRD returns the definition after its next change, or its current state if
// the watch ended.
func nextCRD(
	ctx context.Context, c apiextensions.CustomResourceDefinitionInterface, crd *apiextensionsv1.CustomResourceDefinition,
) (*apiextensionsv1.CustomResourceDefinition, error) {
	watcher, err := c.Watch(ctx, metav1.ListOptions{
		FieldSelector:   fields.OneTermEqualSelector(metav1.ObjectNameField, crd.Name).String(),
		ResourceVersion: crd.ResourceVersion,
	})
	if err != nil {
		return nil, fmt.Errorf("watch: %w", err)
	}
	defer watcher.Stop()
	select {
	case <-ctx.Done():
		return nil, fmt.Errorf("wait until it is established: %w", context.Cause(ctx))
	case e, open := <-watcher.ResultChan():
		changed, ok := e.Object.(*apiextensionsv1.CustomResourceDefinition)
		switch {
		case open && e.Type == watch.Deleted:
			return nil, errDeleted
		case open && ok:
			return changed, nil
		}
	}
	now, err := c.Get(ctx, crd.Name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil, errDeleted
	}
	if err != nil {
		return nil, fmt.Errorf("wait until it is established: %w", err)
	}
	return now, nil
}

// established reports whether the API server serves the definition. It returns
// an error if the definition's names conflict with another definition.
func established(crd *apiextensionsv1.CustomResourceDefinition) (bool, error) {
	if crd.DeletionTimestamp != nil { // It is served until its deletion completes.
		return false, nil
	}
	ready := false
	for _, c := range crd.Status.Conditions {
		switch {
		case c.Type == apiextensionsv1.NamesAccepted && c.Status == apiextensionsv1.ConditionFalse:
			return false, fmt.Errorf("its names are not accepted: %s", c.Message)
		case c.Type == apiextensionsv1.Established && c.Status == apiextensionsv1.ConditionTrue:
			ready = true
		}
	}
	return ready, nil
}

// applyConfiguration encodes a definition for server-side apply, without its status.
func applyConfiguration(crd *apiextensionsv1.CustomResourceDefinition) ([]byte, error) {
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(crd)
	if err != nil {
		return nil, fmt.Errorf("encode: %w", err)
	}
	delete(content, "status")
	content["apiVersion"], content["kind"] = apiextensionsv1.SchemeGroupVersion.String(), "CustomResourceDefinition"
	data, err := json.Marshal(content)
	if err != nil {
		return nil, fmt.Errorf("encode: %w", err)
	}
	return data, nil
}
