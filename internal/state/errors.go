package state

import (
	"fmt"
	"strings"

	"sigs.k8s.io/controller-runtime/pkg/client"
)

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
		return fmt.Sprintf(
			"there is no %s %s in the state %s, nor any other; put it there with aws-operator replace -f FILE, or name another state with --state",
			e.Kind,
			e.Name,
			e.State,
		)
	}
	return fmt.Sprintf("there is no %s %s in the state %s; there is %s", e.Kind, e.Name, e.State, strings.Join(e.Others, ", "))
}

// LockedError says that another client is changing a cluster.
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

// IncompleteError says that files of a cluster are missing.
type IncompleteError struct {
	// Cluster is which.
	Cluster string
	// Missing is what is missing, and Remedy what to do, each a sentence without its full stop.
	Missing, Remedy string
}

// Error says what is missing and what to do.
func (e *IncompleteError) Error() string {
	return fmt.Sprintf("cluster %s is not complete: %s; %s", e.Cluster, e.Missing, e.Remedy)
}

// InvalidError says what is wrong with objects that were to be written. None of them was.
type InvalidError struct {
	// Problems are what is wrong, by object.
	Problems []Problem
}

// Problem is what is wrong with an object.
type Problem struct {
	// Object is which.
	Object client.Object
	// Err says what is wrong.
	Err error
}

// Error says everything that is wrong, a line for each object.
func (e *InvalidError) Error() string {
	lines := make([]string, len(e.Problems))
	for i, problem := range e.Problems {
		lines[i] = problem.Err.Error()
	}
	return strings.Join(lines, "\n")
}
