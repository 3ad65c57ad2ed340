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

// Options say what is not in the reference of a state.
type Options struct {
	// Namespace is that of the objects; DefaultNamespace when empty, and in the management cluster
	// that of the kubeconfig's context.
	Namespace string
	// KMSKey is the key that objects in a bucket are encrypted with; the bucket's own default when
	// empty.
	KMSKey string
	// UserAgent is appended to that of calls of AWS.
	UserAgent string
	// Clock tells the time; the real one when nil.
	Clock clock.PassiveClock
}

// State is where clusters are kept. It is safe for use by many goroutines.
type State struct {
	ref string
	keeper
}

// keeper is one way to keep clusters.
type keeper interface {
	loader
	changer
}

type loader interface {
	client() client.WithWatch
	namespaceOf(given string) string
	clusters(ctx context.Context) ([]string, error)
	releases(ctx context.Context) ([]*v1alpha1.Release, error)
	// load returns what there is; with strict, what is incomplete is an error, and Secrets are
	// among it.
	load(ctx context.Context, cluster string, strict bool) (*Objects, error)
}

type changer interface {
	replace(ctx context.Context, objects []client.Object) ([]Change, error)
	lock(ctx context.Context, cluster, purpose string) (unlock func() error, err error)
	save(ctx context.Context, cluster string, object client.Object) error
	remove(ctx context.Context, cluster string, object client.Object) error
}

// Objects are a cluster and what belongs to it.
type Objects struct {
	// Cluster is the cluster, with its status.
	Cluster *v1alpha1.Cluster
	// Groups are its instance groups by name, with their status.
	Groups []*v1alpha1.InstanceGroup
	// Releases are all that the state holds, by name; built-in ones are not among them unless they
	// are in a management cluster.
	Releases []*v1alpha1.Release
	// Secrets are the cluster's: its authorities, and its kubeconfig if there is one.
	Secrets []*corev1.Secret
}

// All returns all of them, the Releases first and the instance groups after their cluster.
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
	// Created means that the object was not there.
	Created Action = "created"
	// Changed means that it was there and said something else.
	Changed Action = "changed"
	// Unchanged means that it was there and said the same.
	Unchanged Action = "unchanged"
)

// Change is what Replace did with an object.
type Change struct {
	// Object is the object as it is now.
	Object client.Object
	// Action is what was done.
	Action Action
}

// Open opens the state of a reference: a folder, s3://bucket/prefix, or k8s. It reads nothing yet,
// and makes nothing: a folder that is not there holds no clusters.
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

// Kubernetes returns the client of the management cluster, whose operator does the applying; nil of
// any other state.
func (s *State) Kubernetes() client.WithWatch { return s.client() }

// Namespace returns that of objects that name none.
func (s *State) Namespace() string { return s.namespaceOf("") }

// Clusters returns the names of all clusters, sorted.
func (s *State) Clusters(ctx context.Context) ([]string, error) { return s.clusters(ctx) }

// Releases returns all Releases that the state holds, by name.
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

// Definition is Load without Secrets, for those who only look: it returns what there is of a
// cluster.
func (s *State) Definition(ctx context.Context, cluster string) (*Objects, error) {
	return s.load(ctx, cluster, false)
}

// Replace writes the specs of Clusters, InstanceGroups and Releases, and what their metadata says;
// never a status. A cluster that is new gets its authorities, unless an operator makes them. All
// objects are checked as the API server would before anything is written: the error is an
// *InvalidError then. It is a *LockedError if another client is changing a cluster.
func (s *State) Replace(ctx context.Context, objects []client.Object) ([]Change, error) {
	return s.replace(ctx, objects)
}

// Lock keeps others from changing a cluster until unlock is called, for a purpose in words such as
// "apply". The error is a *LockedError if another client does. Taking it again while it is held by
// the same State succeeds, and leaves unlocking to the first holder.
func (s *State) Lock(ctx context.Context, cluster, purpose string) (unlock func() error, err error) {
	return s.lock(ctx, cluster, purpose)
}

// Save writes what the engine knows of a Cluster or InstanceGroup beside its definition (status,
// finalizers, when its deletion was asked for), or a Secret. It belongs under a Lock. In a
// management cluster it does nothing: there the operator writes.
func (s *State) Save(ctx context.Context, cluster string, object client.Object) error {
	return s.save(ctx, cluster, object)
}

// Remove removes a Cluster, an InstanceGroup or a Secret, with its status; what is not there is
// removed already. With the last object of a cluster its folder goes. It belongs under a Lock. In a
// management cluster it asks for the object's deletion.
func (s *State) Remove(ctx context.Context, cluster string, object client.Object) error {
	return s.remove(ctx, cluster, object)
}
