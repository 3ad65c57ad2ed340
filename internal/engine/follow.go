package engine

import (
	"context"
	"errors"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/aws-operator/aws-operator/api/cluster/v1alpha1"
)

// Progress is how far a cluster is.
type Progress struct {
	// Time is when it was so.
	Time time.Time
	// Cluster is the Cluster, nil when it is gone; not to be changed, as the others.
	Cluster *v1alpha1.Cluster
	// Groups are its InstanceGroups, by name.
	Groups []v1alpha1.InstanceGroup
	// News are the Events about them since the last time, the oldest first.
	News []News
}

// News is an Event about a cluster or an instance group.
type News struct {
	Time time.Time
	// Kind and Name are those of the object.
	Kind, Name string
	// Warning says that something is wrong.
	Warning bool
	// Reason is one word, Message a sentence.
	Reason, Message string
}

// StalledError says that a person must act before a cluster becomes what was asked for.
type StalledError struct {
	// Kind and Name are those of the object, Reason and Message what its condition says.
	Kind, Name, Reason, Message string
}

// Error says what is the matter.
func (e *StalledError) Error() string { return fmt.Sprintf("%s %s: %s", e.Kind, e.Name, e.Message) }

// FollowOptions say whom to follow. Client, Cluster and Goal are required.
type FollowOptions struct {
	// Client reaches the objects.
	Client client.WithWatch
	// Cluster is the Cluster.
	Cluster types.NamespacedName
	Goal    Goal
	// Observe is told how far things are whenever that changes; nobody is unless set.
	Observe func(Progress)
	// Settle is how long the goal must hold; a second unless set.
	Settle time.Duration
	// Clock is the machine's unless set.
	Clock clock.WithTicker
}

// Follow returns when the goal is reached. It errs with a [StalledError] when a person must act, when the objects cannot be
// read, and when ctx ends first.
func Follow(ctx context.Context, o FollowOptions) error {
	return errors.ErrUnsupported
}
