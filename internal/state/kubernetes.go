package state

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/aws-operator/aws-operator/api/cluster/v1alpha1"
	"github.com/aws-operator/aws-operator/internal/cluster/pki"
	"github.com/aws-operator/aws-operator/internal/manifest"
)

// management stores clusters in a management cluster, where the operator applies them.
type management struct {
	api       client.WithWatch
	namespace string
	options   Options
}

var errNoKubeconfig = errors.New("no kubeconfig for a management cluster: set KUBECONFIG")

// Kubeconfig returns how to reach the cluster of the current kubeconfig, and the namespace of its
// context.
func Kubeconfig() (config *rest.Config, namespace string, err error) {
	loaded := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(clientcmd.NewDefaultClientConfigLoadingRules(), nil)
	config, err = loaded.ClientConfig()
	if clientcmd.IsEmptyConfig(err) {
		return nil, "", errNoKubeconfig
	}
	if err != nil {
		return nil, "", fmt.Errorf("find the management cluster: %w", err)
	}
	namespace, _, err = loaded.Namespace()
	if err != nil {
		return nil, "", fmt.Errorf("find the namespace of the kubeconfig's context: %w", err)
	}
	config.QPS = -1 // The API server's priority and fairness is the only limit.
	return config, namespace, nil
}

func openManagement(options Options) (*management, error) {
	config, namespace, err := Kubeconfig()
	if errors.Is(err, errNoKubeconfig) {
		return nil, fmt.Errorf("%w, or name a folder or a bucket with --state", err)
	}
	if err != nil {
		return nil, err
	}
	config.UserAgent = options.UserAgent
	scheme := runtime.NewScheme()
	if err := errors.Join(clientgoscheme.AddToScheme(scheme), v1alpha1.AddToScheme(scheme)); err != nil {
		return nil, fmt.Errorf("register the kinds: %w", err)
	}
	api, err := client.NewWithWatch(config, client.Options{Scheme: scheme})
	if err != nil {
		return nil, fmt.Errorf("reach the management cluster: %w", err)
	}
	return &management{api: api, namespace: cmp.Or(options.Namespace, namespace, DefaultNamespace), options: options}, nil
}

func (m *management) client() client.WithWatch { return m.api }

func (m *management) namespaceOf(given string) string { return cmp.Or(given, m.namespace) }

func (m *management) clusters(ctx context.Context) ([]string, error) {
	all, err := m.definitions(ctx)
	if err != nil {
		return nil, err
	}
	names := make([]string, len(all))
	for i, c := range all {
		names[i] = c.Name
	}
	slices.Sort(names)
	return names, nil
}

func (m *management) definitions(ctx context.Context) ([]*v1alpha1.Cluster, error) {
	var list v1alpha1.ClusterList
	if err := m.api.List(ctx, &list, client.InNamespace(m.namespace)); err != nil {
		return nil, m.explain("list clusters", err)
	}
	all := make([]*v1alpha1.Cluster, len(list.Items))
	for i := range list.Items {
		all[i] = &list.Items[i]
	}
	return all, nil
}

func (m *management) releases(ctx context.Context) ([]*v1alpha1.Release, error) {
	var list v1alpha1.ReleaseList
	if err := m.api.List(ctx, &list); err != nil {
		return nil, m.explain("list releases", err)
	}
	releases := make([]*v1alpha1.Release, 0, len(list.Items))
	for i := range list.Items {
		releases = append(releases, &list.Items[i])
	}
	slices.SortFunc(releases, func(a, b *v1alpha1.Release) int { return strings.Compare(a.Name, b.Name) })
	return releases, nil
}

func (m *management) load(ctx context.Context, cluster string, secrets bool) (*Objects, error) {
	o := &Objects{Cluster: &v1alpha1.Cluster{}}
	switch err := m.api.Get(ctx, client.ObjectKey{Namespace: m.namespace, Name: cluster}, o.Cluster); {
	case apierrors.IsNotFound(err):
		others, err := m.clusters(ctx)
		if err != nil {
			return nil, err
		}
		return nil, &NotFoundError{Kind: "cluster", Name: cluster, State: Kubernetes + ", namespace " + m.namespace, Others: others}
	case err != nil:
		return nil, m.explain("read the cluster "+cluster, err)
	}
	var groups v1alpha1.InstanceGroupList
	if err := m.api.List(ctx, &groups, client.InNamespace(m.namespace)); err != nil {
		return nil, m.explain("list instance groups", err)
	}
	for i := range groups.Items {
		if groups.Items[i].Spec.Cluster == cluster {
			o.Groups = append(o.Groups, &groups.Items[i])
		}
	}
	slices.SortFunc(o.Groups, func(a, b *v1alpha1.InstanceGroup) int { return strings.Compare(a.Name, b.Name) })
	var err error
	if o.Releases, err = m.releases(ctx); err != nil || !secrets {
		return o, err
	}
	for _, suffix := range append(slices.Clone(caSuffixes), pki.SuffixRotation, pki.SuffixKubeconfig) {
		secret := &corev1.Secret{}
		err := m.api.Get(ctx, client.ObjectKey{Namespace: m.namespace, Name: cluster + suffix}, secret)
		if apierrors.IsNotFound(err) {
			continue // The operator has not created it yet.
		}
		if err != nil {
			return nil, m.explain("read the Secret "+cluster+suffix, err)
		}
		o.Secrets = append(o.Secrets, secret)
	}
	return o, nil
}

// replace validates all objects with the API server before it changes any.
func (m *management) replace(ctx context.Context, objects []client.Object) ([]Change, error) {
	if _, err := clustersOf(ctx, objects); err != nil {
		return nil, err
	}
	invalid := &InvalidError{}
	for _, object := range objects {
		if given := object.GetNamespace(); given != "" && given != m.namespace && !isRelease(object) {
			invalid.Problems = append(invalid.Problems, Problem{object, fmt.Errorf(
				"%s: metadata.namespace is %s, but the namespace of clusters is %s: set --namespace %s, or leave it out of the manifest",
				kindAndName(object), given, m.namespace, given)})
			continue
		}
		if _, err := m.put(ctx, object, true); err != nil {
			if !apierrors.IsInvalid(err) && !apierrors.IsBadRequest(err) {
				return nil, err
			}
			invalid.Problems = append(invalid.Problems, Problem{object, err})
		}
	}
	if len(invalid.Problems) > 0 {
		return nil, invalid
	}
	var changes []Change
	for _, object := range objects {
		change, err := m.put(ctx, object, false)
		if err != nil {
			return changes, err
		}
		changes = append(changes, change)
	}
	return changes, nil
}

func isRelease(object client.Object) bool {
	_, ok := object.(*v1alpha1.Release)
	return ok
}

// put creates an object, or updates the spec, labels and annotations of the existing one.
func (m *management) put(ctx context.Context, given client.Object, dry bool) (Change, error) {
	object, _ := given.DeepCopyObject().(client.Object) // a copy is of the same type
	if !isRelease(object) {
		object.SetNamespace(m.namespaceOf(object.GetNamespace()))
	}
	old, _ := reflect.TypeAssert[client.Object](reflect.New(reflect.TypeOf(object).Elem())) // a pointer to the same type
	err := m.api.Get(ctx, client.ObjectKeyFromObject(object), old)
	if apierrors.IsNotFound(err) {
		object.SetResourceVersion("")
		var options []client.CreateOption
		if dry {
			options = append(options, client.DryRunAll)
		}
		if err := m.api.Create(ctx, object, options...); err != nil {
			return Change{}, m.explain("write "+kindAndName(object), err)
		}
		return Change{object, Created}, nil
	}
	if err != nil {
		return Change{}, m.explain("read "+kindAndName(object), err)
	}
	return m.update(ctx, old, object, dry)
}

// mostConflicts is how many times an object may change between reading and writing it, since the
// operator keeps writing its status.
const mostConflicts = 10

// update sets the spec, the labels and the annotations of an object. It retries after concurrent
// changes, unless they change the spec.
func (m *management) update(ctx context.Context, old, given client.Object, dry bool) (Change, error) {
	var options []client.UpdateOption
	if dry {
		options = append(options, client.DryRunAll)
	}
	generation := old.GetGeneration()
	for conflicts := 0; ; conflicts++ {
		now, _ := old.DeepCopyObject().(client.Object)
		setSpec(now, given)
		now.SetLabels(overlaid(old.GetLabels(), given.GetLabels()))
		now.SetAnnotations(overlaid(old.GetAnnotations(), given.GetAnnotations()))
		err := m.api.Update(ctx, now, options...)
		switch {
		case err == nil && sameSpec(old, now) && maps.Equal(old.GetLabels(), now.GetLabels()) &&
			maps.Equal(old.GetAnnotations(), now.GetAnnotations()):
			return Change{now, Unchanged}, nil
		case err == nil:
			return Change{now, Changed}, nil
		case !apierrors.IsConflict(err) || conflicts == mostConflicts:
			return Change{}, m.explain("write "+kindAndName(given), err)
		}
		if again := m.api.Get(ctx, client.ObjectKeyFromObject(given), old); again != nil || old.GetGeneration() != generation {
			return Change{}, m.explain("write "+kindAndName(given), cmp.Or(again, err))
		}
	}
}

func kindAndName(object client.Object) string {
	content, err := manifest.Definition(object)
	if err != nil {
		return object.GetName()
	}
	return fmt.Sprintf("%s %s", content["kind"], object.GetName())
}

func setSpec(object, from client.Object) {
	switch o := object.(type) {
	case *v1alpha1.Cluster:
		if from, ok := from.(*v1alpha1.Cluster); ok {
			o.Spec = from.Spec
		}
	case *v1alpha1.InstanceGroup:
		if from, ok := from.(*v1alpha1.InstanceGroup); ok {
			o.Spec = from.Spec
		}
	case *v1alpha1.Release:
		if from, ok := from.(*v1alpha1.Release); ok {
			o.Spec = from.Spec
		}
	}
}

// overlaid returns the given labels or annotations, merged over the existing ones without those of
// the operator's own domains: other tools may have set the rest.
func overlaid(old, given map[string]string) map[string]string {
	all := map[string]string{}
	for key, value := range old {
		domain, _, _ := strings.Cut(key, "/")
		if domain != "aws-operator" && domain != v1alpha1.Group {
			all[key] = value
		}
	}
	maps.Copy(all, given)
	if len(all) == 0 {
		return nil
	}
	return all
}

// lock creates a Lease, which only one client can create.
func (m *management) lock(ctx context.Context, cluster, purpose string) (func() error, error) {
	h := holder(m.options.Clock, purpose)
	text, err := yaml.Marshal(h)
	if err != nil {
		return nil, fmt.Errorf("encode the lock's holder: %w", err)
	}
	lease := &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{
		Namespace: m.namespace, Name: cluster + "-" + fileLock, Annotations: map[string]string{holderAnnotation: string(text)},
	}}
	err = m.api.Create(ctx, lease)
	if apierrors.IsAlreadyExists(err) {
		there := &coordinationv1.Lease{}
		if err := m.api.Get(ctx, client.ObjectKeyFromObject(lease), there); err != nil {
			return nil, m.explain("read the lock of cluster "+cluster, err)
		}
		locked := &LockedError{Cluster: cluster, Remedy: fmt.Sprintf(
			"wait until it is done; if that process no longer exists, remove its lock with kubectl delete lease %s --namespace %s",
			lease.Name,
			lease.Namespace,
		)}
		_ = yaml.Unmarshal([]byte(there.Annotations[holderAnnotation]), &locked.Holder) // an unreadable annotation names no holder
		if !locked.Holder.exited() {
			return nil, locked
		}
		lease.ResourceVersion = there.ResourceVersion
		if err = m.api.Update(ctx, lease); apierrors.IsConflict(err) {
			return nil, locked
		}
	}
	if err != nil {
		return nil, m.explain("lock the cluster "+cluster, err)
	}
	ctx = context.WithoutCancel(ctx)
	return func() error {
		err := m.api.Delete(ctx, lease, client.Preconditions{UID: &lease.UID})
		if client.IgnoreNotFound(err) != nil && !apierrors.IsConflict(err) {
			return m.explain("release the lock of cluster "+cluster, err)
		}
		return nil
	}, nil
}

// holderAnnotation is the annotation of a lock's Lease with the holder.
const holderAnnotation = "aws-operator/holder"

func (m *management) save(context.Context, string, client.Object) error { return nil }

func (m *management) remove(ctx context.Context, _ string, object client.Object) error {
	if err := client.IgnoreNotFound(m.api.Delete(ctx, object)); err != nil {
		return m.explain("delete "+kindAndName(object), err)
	}
	return nil
}

// explain explains an error of the API server. Errors about invalid objects are returned unchanged.
func (m *management) explain(what string, err error) error {
	switch {
	case meta.IsNoMatchError(err) || apierrors.IsNotFound(err) &&
		strings.Contains(err.Error(), "the server could not find the requested resource"):
		return errors.New(
			"the management cluster does not serve these kinds: start the operator in it (aws-operator operator), or name another state with --state",
		)
	case apierrors.IsUnauthorized(err):
		return fmt.Errorf(
			"cannot %s: the management cluster does not accept the kubeconfig's credentials; they may have expired: renew them", what,
		)
	case apierrors.IsForbidden(err):
		return fmt.Errorf("cannot %s: you lack the permission in the management cluster: %s", what, reasonOf(err))
	case apierrors.IsConflict(err):
		return fmt.Errorf("cannot %s: another client has changed it meanwhile: check the change, and run the command again", what)
	case apierrors.IsInvalid(err):
		return &refusal{what: what, err: err}
	}
	return fmt.Errorf("cannot %s in the management cluster: %w", what, err)
}

// refusal is the API server's reason to reject an object.
type refusal struct {
	what string
	err  error
}

func (r *refusal) Error() string {
	status, ok := errors.AsType[*apierrors.StatusError](r.err)
	if !ok || status.ErrStatus.Details == nil || len(status.ErrStatus.Details.Causes) == 0 {
		return r.err.Error()
	}
	details := status.ErrStatus.Details
	causes := make([]string, 0, len(details.Causes))
	for _, cause := range details.Causes {
		if cause.Field == "" || cause.Field == "<nil>" {
			causes = append(causes, cause.Message)
			continue
		}
		causes = append(causes, cause.Field+": "+cause.Message)
	}
	return fmt.Sprintf("%s %s: %s", details.Kind, details.Name, strings.Join(causes, "; "))
}

func (r *refusal) Unwrap() error { return r.err }

func reasonOf(err error) string {
	if status, ok := errors.AsType[*apierrors.StatusError](err); ok {
		return status.ErrStatus.Message
	}
	return err.Error()
}
