package state

import (
	"context"
	"errors"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/aws-operator/aws-operator/api/cluster/v1alpha1"
)

// Kubernetes is the reference of the state in the management cluster.
const Kubernetes = "k8s"

// DefaultNamespace is the namespace of objects that name none.
const DefaultNamespace = "default"

// Options are settings that are not in the reference of a state.
type Options struct {
	// Namespace is the namespace of the objects. The default is DefaultNamespace, in a management
	// cluster the namespace of the kubeconfig's context.
	Namespace string
	// KMSKey is the key that encrypts objects in a bucket. The default is the bucket's own.
	KMSKey string
	// Releases is a folder with files of Releases for all states in a folder or a bucket; empty for
	// none. A Release of the state itself comes first, a built-in one last.
	Releases string
	// UserAgent is appended to the user agent of AWS calls.
	UserAgent string
	// Clock is the clock, the real one if nil.
	Clock clock.PassiveClock
}

// ReleasesVariable is the environment variable with the folder of Options.Releases. Local mode sets
// it, because its machines have other programs than the built-in Releases name.
const ReleasesVariable = "AWS_OPERATOR_RELEASES"

// State stores clusters. It is safe for concurrent use.
type State struct {
	ref string
	keeper
}

// keeper is a type of state.
type keeper interface {
	lister
	loader
	changer
}

type lister interface {
	clusters(ctx context.Context) ([]string, error)
	// definitions returns all clusters, without their status if that is kept elsewhere.
	definitions(ctx context.Context) ([]*v1alpha1.Cluster, error)
	releases(ctx context.Context) ([]*v1alpha1.Release, error)
}

type loader interface {
	client() client.WithWatch
	namespaceOf(given string) string
	// load returns the objects of a cluster. With strict, it includes Secrets, and returns an error
	// if anything is incomplete.
	load(ctx context.Context, cluster string, strict bool) (*Objects, error)
}

type changer interface {
	replace(ctx context.Context, objects []client.Object) ([]Change, error)
	lock(ctx context.Context, cluster, purpose string) (unlock func() error, err error)
	save(ctx context.Context, cluster string, object client.Object) error
	remove(ctx context.Context, cluster string, object client.Object) error
}

// Objects are a cluster and the objects that belong to it.
type Objects struct {
	// Cluster is the cluster, with its status.
	Cluster *v1alpha1.Cluster
	// Groups are its instance groups by name, with their status.
	Groups []*v1alpha1.InstanceGroup
	// Releases are all Releases of the state, by name. They include built-in ones only in a
	// management cluster.
	Releases []*v1alpha1.Release
	// Secrets are the cluster's Secrets: its CAs, and its kubeconfig if there is one.
	Secrets []*corev1.Secret
}

// All returns all objects, the Releases first and the instance groups after their cluster.
func (o *Objects) All() []client.Object {
	var all []client.Object
	for _, release := range o.Releases {
		all = append(all, release)
	}
	for _, secret := range o.Secrets {
		all = append(all, secret)
	}
	all = append(all, o.Cluster)
	for _, group := range o.Groups {
		all = append(all, group)
	}
	return all
}

// Action is what Replace did with an object.
type Action string

// Actions.
const (
	// Created means that the object did not exist.
	Created Action = "created"
	// Changed means that the object existed and was different.
	Changed Action = "changed"
	// Unchanged means that the object existed and was the same.
	Unchanged Action = "unchanged"
)

// Change is what Replace did with an object.
type Change struct {
	// Object is the object as it is now.
	Object client.Object
	// Action is what was done.
	Action Action
}

// Open opens the state of a reference: a folder, s3://bucket/prefix, or k8s. It reads and creates
// nothing yet: a folder that does not exist has no clusters.
func Open(ctx context.Context, ref string, options Options) (*State, error) {
	if options.Clock == nil {
		options.Clock = clock.RealClock{}
	}
	s := &State{ref: strings.TrimRight(ref, "/")} // A folder's name follows in messages.
	switch scheme, rest, found := strings.Cut(ref, "://"); {
	case ref == "":
		return nil, errors.New("name a state: a folder, s3://bucket/prefix, or k8s")
	case ref == Kubernetes:
		k, err := openManagement(options)
		if err != nil {
			return nil, err
		}
		s.keeper = k
	case found && scheme == "s3":
		b, err := openBucket(ctx, rest, options)
		if err != nil {
			return nil, err
		}
		s.keeper = newFiles(ref, b, options)
	case found:
		return nil, fmt.Errorf("the state %s is of an unknown type; name a folder, s3://bucket/prefix, or k8s", ref)
	default:
		s.keeper = newFiles(ref, &directory{root: ref}, options)
	}
	return s, nil
}

// String returns the reference of the state.
func (s *State) String() string { return s.ref }

// Kubernetes returns the client of the management cluster, whose operator applies clusters; nil for
// any other state.
func (s *State) Kubernetes() client.WithWatch { return s.client() }

// Namespace returns the namespace of objects without one.
func (s *State) Namespace() string { return s.namespaceOf("") }

// Clusters returns the names of all clusters, sorted.
func (s *State) Clusters(ctx context.Context) ([]string, error) { return s.clusters(ctx) }

// Releases returns all Releases of the state, by name.
func (s *State) Releases(ctx context.Context) ([]*v1alpha1.Release, error) { return s.releases(ctx) }

// Load returns a cluster and its objects. It returns a *NotFoundError if the cluster does not
// exist, and an error if keys are missing, unless the cluster is being deleted or is in a
// management cluster.
//
// The generation of an object grows with every change of its spec. An instance group whose file a
// user removed, but which still has AWS resources, is one that is being deleted.
func (s *State) Load(ctx context.Context, cluster string) (*Objects, error) {
	return s.load(ctx, cluster, true)
}

// Definition is Load without Secrets, for read-only commands. It also returns incomplete clusters.
func (s *State) Definition(ctx context.Context, cluster string) (*Objects, error) {
	return s.load(ctx, cluster, false)
}

// Replace writes the specs and metadata of Clusters, InstanceGroups and Releases, never a status.
// It creates the CAs of a new cluster, unless an operator does. It validates all objects like the
// API server before it writes any, and returns an *InvalidError if one is invalid. It returns a
// *LockedError if another client is changing a cluster.
func (s *State) Replace(ctx context.Context, objects []client.Object) ([]Change, error) {
	return s.replace(ctx, objects)
}

// Lock keeps other clients from changing a cluster until unlock is called, for a purpose such as
// "apply". It returns a *LockedError if another client holds the lock. Locking again by the same
// State succeeds, and only the first holder's unlock releases the lock.
func (s *State) Lock(ctx context.Context, cluster, purpose string) (unlock func() error, err error) {
	return s.lock(ctx, cluster, purpose)
}

// Save writes the state of a Cluster or InstanceGroup that is not part of its definition (status,
// finalizers, deletion timestamp), or a Secret. The caller must hold the Lock. In a management
// cluster, Save does nothing, since the operator writes there.
func (s *State) Save(ctx context.Context, cluster string, object client.Object) error {
	return s.save(ctx, cluster, object)
}

// Remove removes a Cluster, an InstanceGroup or a Secret, with its status. It succeeds if the
// object does not exist. With the last object of a cluster, it removes the cluster's folder. The
// caller must hold the Lock. In a management cluster, Remove deletes the object.
func (s *State) Remove(ctx context.Context, cluster string, object client.Object) error {
	return s.remove(ctx, cluster, object)
}
