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
	// Namespace is that of the objects; DefaultNamespace when empty, and in the management cluster that of the
	// kubeconfig's context.
	Namespace string
	// KMSKey is the key that objects in a bucket are encrypted with; the bucket's own default when empty.
	KMSKey string
	// UserAgent is appended to that of calls of AWS.
	UserAgent string
	// Clock tells the time; the real one when nil.
	Clock clock.PassiveClock
}

// State is where clusters are kept. It is safe for use by many goroutines.
type State struct{}

// Objects are a cluster and what belongs to it.
type Objects struct {
	// Cluster is the cluster, with its status.
	Cluster *v1alpha1.Cluster
	// Groups are its instance groups by name, with their status.
	Groups []*v1alpha1.InstanceGroup
	// Releases are all that the state holds, by name; built-in ones are not among them unless they are in a
	// management cluster.
	Releases []*v1alpha1.Release
	// Secrets are the cluster's: its authorities, and its kubeconfig if there is one.
	Secrets []*corev1.Secret
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

// NotFoundError says that there is no such object, and which ones there are.
type NotFoundError struct {
	// Kind and Name are the object's.
	Kind, Name string
	// State is the reference of the state.
	State string
	// Others are the names of those that there are.
	Others []string
}

// Error names what there is.
func (e *NotFoundError) Error() string {
	if len(e.Others) == 0 {
		return fmt.Sprintf("there is no %s %s in the state %s, nor any other; put it there with aws-operator replace -f FILE, or name another state with --state", e.Kind, e.Name, e.State)
	}
	return fmt.Sprintf("there is no %s %s in the state %s; there is %s", e.Kind, e.Name, e.State, strings.Join(e.Others, ", "))
}

// LockedError says that somebody else is changing a cluster.
type LockedError struct {
	// Cluster is which.
	Cluster string
	// Holder says who it is, since when, and for what.
	Holder Holder
	// Remedy is what to do, a sentence without its full stop.
	Remedy string
}

// Error says who holds the lock, since when, for what, and what to do.
func (e *LockedError) Error() string {
	return fmt.Sprintf("cluster %s is being changed by %s; %s", e.Cluster, e.Holder, e.Remedy)
}

// Open opens the state of a reference: a folder, s3://bucket/prefix, or k8s. It reads nothing yet, and makes
// nothing: a folder that is not there holds no clusters.
func Open(ctx context.Context, ref string, options Options) (*State, error) {
	return nil, errors.ErrUnsupported
}

// String returns the reference of the state.
func (s *State) String() string { return "" }

// Kubernetes returns the client of the management cluster, whose operator does the applying; nil of any other state.
func (s *State) Kubernetes() client.Client { return nil }

// Clusters returns the names of all clusters, sorted.
func (s *State) Clusters(ctx context.Context) ([]string, error) { return nil, errors.ErrUnsupported }

// Releases returns all Releases that the state holds, by name.
func (s *State) Releases(ctx context.Context) ([]*v1alpha1.Release, error) {
	return nil, errors.ErrUnsupported
}

// Load returns a cluster and what belongs to it. The error is a *NotFoundError if there is no such cluster. The
// generation of an object grows with every change of its spec, whoever made it.
func (s *State) Load(ctx context.Context, cluster string) (*Objects, error) {
	return nil, errors.ErrUnsupported
}

// Replace writes the specs of Clusters, InstanceGroups and Releases, and what their metadata says; never a status.
// A cluster that is new gets its authorities, unless an operator makes them. All objects are checked as the API
// server would before anything is written. The error is a *LockedError if somebody else is changing a cluster.
func (s *State) Replace(ctx context.Context, objects []client.Object) ([]Change, error) {
	return nil, errors.ErrUnsupported
}

// Lock keeps others from changing a cluster until unlock is called, for a purpose in words such as "apply". The error
// is a *LockedError if somebody else does. Taking it again while it is held by the same State succeeds, and leaves
// unlocking to the first holder.
func (s *State) Lock(ctx context.Context, cluster, purpose string) (unlock func() error, err error) {
	return nil, errors.ErrUnsupported
}

// Save writes what the engine knows of a Cluster or InstanceGroup beside its definition (status, finalizers, when its
// deletion was asked for), or a Secret. It belongs under a Lock.
func (s *State) Save(ctx context.Context, cluster string, object client.Object) error {
	return errors.ErrUnsupported
}

// Remove removes a Cluster, an InstanceGroup or a Secret, with its status; what is not there is removed already. With
// the last object of a cluster its folder goes. It belongs under a Lock.
func (s *State) Remove(ctx context.Context, cluster string, object client.Object) error {
	return errors.ErrUnsupported
}
