package identity

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/aws-operator/aws-operator/api/identity/v1alpha1"
	"github.com/aws-operator/aws-operator/internal/awsapi"
	"github.com/aws-operator/aws-operator/pkg/operatorkit"
)

// Options configure [Identities]. Client and Own are required.
type Options struct {
	// Client reads AWSIdentities and Namespaces from the cache.
	Client client.Reader
	// Own is the account and region of the operator's own credentials.
	Own awsapi.Place
	// Required refuses objects without an identity.
	Required bool
}

// Identities resolves objects to the identities that they use. It is safe for concurrent use.
type Identities struct {
	options Options

	mu sync.RWMutex
	// externalIDs are the external IDs by the name of the AWSIdentity.
	externalIDs map[string]externalID
	subscribers []func(context.Context, Change)
	users       []func(ctx context.Context, identity string) ([]string, error)
}

// externalID is an external ID and where it was read.
type externalID struct {
	from  v1alpha1.SecretKey
	value string
}

// New returns identities of which no external ID is known.
func New(options Options) *Identities {
	return &Identities{options: options, externalIDs: map[string]externalID{}}
}

// Wish is what an object asks for.
type Wish struct {
	// Namespace is the object's namespace.
	Namespace string
	// Name is the AWSIdentity that the object names; empty for its namespace's.
	Name string
	// Region is the region that the object names; empty for its namespace's, or the default.
	Region string
	// Tagged asks for the tags of the object, and Tags are its annotation with them.
	Tagged bool
	Tags   string
	// OwnRegions lets an object without an identity use any region of the operator's own account.
	OwnRegions bool
}

// WishOf returns what the annotations of an object ask for.
func WishOf(obj client.Object) Wish {
	annotations := obj.GetAnnotations()
	return Wish{
		Namespace: obj.GetNamespace(), Name: annotations[v1alpha1.IdentityAnnotation], Region: annotations[v1alpha1.RegionAnnotation],
		Tagged: true, Tags: annotations[v1alpha1.TagsAnnotation],
	}
}

// RefusedError means that the operator must not act for an object.
type RefusedError struct {
	// Reason is a CamelCase word for a condition.
	Reason string
	// Message is a sentence that says what to do.
	Message string
	// Temporary is true if the operator soon knows more without a user's action.
	Temporary bool
}

// Error returns the message.
func (e *RefusedError) Error() string { return e.Message }

// Outcome returns the outcome for an object that the operator must not act for.
func Outcome(err error) operatorkit.Outcome {
	refused, ok := errors.AsType[*RefusedError](err)
	switch {
	case !ok:
		return operatorkit.Fail(err)
	case refused.Temporary:
		return operatorkit.Wait(time.Second, refused.Reason, refused.Message)
	default:
		return operatorkit.Stall(refused.Reason, refused.Message)
	}
}

// Change reports that what objects resolve to may have changed: of all objects of a namespace, or
// of all that use an identity.
type Change struct{ Namespace, Identity string }

// Subscribe calls fn at every change. Call it before the manager starts. fn must return quickly, and
// when its context ends, which it does with the operator: until then, the operator does not stop.
func (i *Identities) Subscribe(fn func(context.Context, Change)) {
	i.subscribers = append(i.subscribers, fn)
}

// CountUsers registers a function that lists the objects that use an identity. Call it before the
// manager starts.
func (i *Identities) CountUsers(fn func(ctx context.Context, identity string) ([]string, error)) {
	i.users = append(i.users, fn)
}

// Of returns how the operator acts for an object. The error is a [*RefusedError] if it must not.
func (i *Identities) Of(ctx context.Context, wish Wish) (Use, error) {
	namespace := &corev1.Namespace{}
	err := i.options.Client.Get(ctx, client.ObjectKey{Name: wish.Namespace}, namespace, client.UnsafeDisableDeepCopy)
	switch {
	case apierrors.IsNotFound(err): // the namespace is newer than the cache, and may name an identity
		return Use{}, &RefusedError{"NamespaceUnknown", "Waiting until the operator has read the namespace " + wish.Namespace + ".", true}
	case err != nil:
		return Use{}, fmt.Errorf("read namespace %s: %w", wish.Namespace, err)
	}
	wish.Name = NameFor(namespace, wish)
	wish.Region = cmp.Or(wish.Region, defaultOf(namespace, v1alpha1.RegionAnnotation))
	if wish.Name == "" {
		use, err := i.own(wish)
		return tagged(use, err, nil, namespace, wish)
	}
	found := &v1alpha1.AWSIdentity{}
	err = i.options.Client.Get(ctx, client.ObjectKey{Name: wish.Name}, found, client.UnsafeDisableDeepCopy)
	switch {
	case apierrors.IsNotFound(err):
		return Use{}, &RefusedError{Reason: "IdentityNotFound", Message: fmt.Sprintf(
			"There is no AWSIdentity %s; create it, or name another one by the annotation %s.", wish.Name, v1alpha1.IdentityAnnotation)}
	case err != nil:
		return Use{}, fmt.Errorf("read AWSIdentity %s: %w", wish.Name, err)
	}
	use, err := i.use(found, namespace, wish)
	return tagged(use, err, found.Spec.Tags, namespace, wish)
}

// tagged adds the tags to how the operator acts for an object.
func tagged(use Use, err error, ofIdentity map[string]string, namespace *corev1.Namespace, wish Wish) (Use, error) {
	if err != nil || !wish.Tagged {
		return use, err
	}
	use.Tags, err = Tags(ofIdentity, namespace, wish.Tags)
	return use, err
}

// Cached is [Identities.Of] for callers without a context: it reads only from the cache.
func (i *Identities) Cached(wish Wish) (Use, error) { return i.Of(context.Background(), wish) }

// defaultOf returns what a Namespace names: by an annotation, or by a label.
func defaultOf(namespace client.Object, key string) string {
	return cmp.Or(namespace.GetAnnotations()[key], namespace.GetLabels()[key])
}

// NameFor returns the name of the AWSIdentity of an object of a namespace; empty for none.
func NameFor(namespace client.Object, wish Wish) string {
	return cmp.Or(wish.Name, defaultOf(namespace, v1alpha1.IdentityAnnotation))
}

// own is how the operator acts for an object without an identity.
func (i *Identities) own(wish Wish) (Use, error) {
	use := Use{Place: i.options.Own}
	switch {
	case i.options.Required:
		return Use{}, &RefusedError{Reason: "IdentityRequired", Message: fmt.Sprintf(
			"Neither the object nor the namespace %s names an AWSIdentity, which the operator requires; annotate one of them with %s.",
			wish.Namespace, v1alpha1.IdentityAnnotation)}
	case wish.Region == "" || wish.Region == use.Place.Region:
	case wish.OwnRegions:
		use.Target.Region, use.Place.Region = wish.Region, wish.Region
	default:
		return Use{}, &RefusedError{Reason: "RegionNotAllowed", Message: fmt.Sprintf(
			"The object is to be in region %s, but without an AWSIdentity objects are in %s; name an AWSIdentity with that region by the annotation %s.",
			wish.Region, use.Place.Region, v1alpha1.IdentityAnnotation)}
	}
	return use, nil
}

// use is how the operator acts with an identity.
func (i *Identities) use(found *v1alpha1.AWSIdentity, namespace *corev1.Namespace, wish Wish) (Use, error) {
	allowed, err := allows(&found.Spec.AllowedNamespaces, namespace)
	if err != nil {
		return Use{}, &RefusedError{Reason: "IdentityInvalid", Message: fmt.Sprintf(
			"spec.allowedNamespaces.selector of AWSIdentity %s is invalid: %v.", found.Name, err)}
	}
	if !allowed {
		return Use{}, &RefusedError{Reason: "IdentityNotAllowed", Message: fmt.Sprintf(
			"Namespace %s may not use AWSIdentity %s; have an administrator add it to spec.allowedNamespaces.", namespace.Name, found.Name)}
	}
	regions := found.Spec.Regions
	if len(regions) == 0 {
		regions = []string{i.options.Own.Region}
	}
	region := cmp.Or(wish.Region, regions[0])
	if !slices.Contains(regions, region) {
		return Use{}, &RefusedError{Reason: "RegionNotAllowed", Message: fmt.Sprintf(
			"AWSIdentity %s allows the regions %s, not %s; name one of them, or have an administrator add it to spec.regions.",
			found.Name, strings.Join(regions, ", "), region)}
	}
	target := awsapi.Target{Region: region, RoleARN: found.Spec.RoleARN, SessionTags: awsapi.EncodeTags(found.Spec.SessionTags)}
	if secret := found.Spec.ExternalIDSecret; secret != nil {
		i.mu.RLock()
		known := i.externalIDs[found.Name]
		i.mu.RUnlock()
		if known.value == "" || known.from != *secret {
			return Use{}, &RefusedError{"IdentityNotReady", fmt.Sprintf(
				"Waiting until the operator has read the external ID of AWSIdentity %s from Secret %s/%s.", found.Name, secret.Namespace, secret.Name), true}
		}
		target.ExternalID = known.value
	}
	return Use{
		Identity: found.Name, Target: target, Place: target.Place(i.options.Own),
		ServiceRole: found.Spec.ServiceRoleARN, Boundary: found.Spec.PermissionsBoundary, Types: found.Spec.AllowedResourceTypes,
	}, nil
}

// allows reports whether the objects of a namespace may use an identity.
func allows(allowed *v1alpha1.AllowedNamespaces, namespace *corev1.Namespace) (bool, error) {
	if slices.Contains(allowed.Names, namespace.Name) {
		return true, nil
	}
	if allowed.Selector == nil {
		return false, nil
	}
	selector, err := metav1.LabelSelectorAsSelector(allowed.Selector)
	if err != nil {
		return false, err //nolint:wrapcheck // the caller names the field
	}
	return selector.Matches(labels.Set(namespace.Labels)), nil
}

// learn records the external ID of an identity. It reports whether it is another one than before.
func (i *Identities) learn(name string, from v1alpha1.SecretKey, value string) bool {
	i.mu.Lock()
	defer i.mu.Unlock()
	is := externalID{from: from, value: value}
	changed := i.externalIDs[name] != is
	i.externalIDs[name] = is
	return changed
}

// forget drops what is known of a deleted identity.
func (i *Identities) forget(name string) {
	i.mu.Lock()
	defer i.mu.Unlock()
	delete(i.externalIDs, name)
}

// tell passes a change to the subscribers.
func (i *Identities) tell(ctx context.Context, change Change) {
	for _, subscriber := range i.subscribers {
		subscriber(ctx, change)
	}
}

// Concerns reports whether a change may concern an object that asks for this. An object that names
// no identity may get that of its namespace.
func (i *Identities) Concerns(ctx context.Context, change Change, wish Wish) bool {
	if change.Identity == "" || wish.Name != "" {
		return wish.Namespace == change.Namespace || wish.Name == change.Identity && wish.Name != ""
	}
	namespace := &corev1.Namespace{}
	if err := i.options.Client.Get(ctx, client.ObjectKey{Name: wish.Namespace}, namespace, client.UnsafeDisableDeepCopy); err != nil {
		return false // its own event follows
	}
	return defaultOf(namespace, v1alpha1.IdentityAnnotation) == change.Identity
}
