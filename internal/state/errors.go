package state

import (
	"fmt"
	"strings"

	"sigs.k8s.io/controller-runtime/pkg/client"
)

// NotFoundError means that an object does not exist. It lists those that do.
type NotFoundError struct {
	// Kind and Name identify the object.
	Kind, Name string
	// State is the reference of the state.
	State string
	// Others are the names of existing objects.
	Others []string
}

// Error names the object and the existing ones.
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

// AmbiguousError means that a name is that of several clusters in kops.
type AmbiguousError struct {
	// Name is the name in kops.
	Name string
	// Clusters are the names of the clusters.
	Clusters []string
}

// Error names the clusters and the remedy.
func (e *AmbiguousError) Error() string {
	return fmt.Sprintf(
		"%s is the name in kops of %d clusters, %s: use the name of one of them",
		e.Name, len(e.Clusters), strings.Join(e.Clusters, " and "),
	)
}

// LockedError means that another client is changing a cluster.
type LockedError struct {
	// Cluster is the name of the cluster.
	Cluster string
	// Holder describes the client, the time and the purpose.
	Holder Holder
	// Remedy is what to do, a sentence without a period.
	Remedy string
}

// Error returns the holder, the time, the purpose and the remedy.
func (e *LockedError) Error() string {
	return fmt.Sprintf("cluster %s is being changed by %s; %s", e.Cluster, e.Holder, e.Remedy)
}

// IncompleteError means that files of a cluster are missing.
type IncompleteError struct {
	// Cluster is the name of the cluster.
	Cluster string
	// Missing is what is missing, and Remedy what to do, each a sentence without a period.
	Missing, Remedy string
}

// Error returns what is missing and the remedy.
func (e *IncompleteError) Error() string {
	return fmt.Sprintf("cluster %s is not complete: %s; %s", e.Cluster, e.Missing, e.Remedy)
}

// InvalidError means that objects are invalid. None of the objects was written.
type InvalidError struct {
	// Problems are the problems of the objects.
	Problems []Problem
}

// Problem is a problem of an object.
type Problem struct {
	// Object is the object.
	Object client.Object
	// Err is the reason.
	Err error
}

// Error returns all problems, one line per object.
func (e *InvalidError) Error() string {
	lines := make([]string, len(e.Problems))
	for i, problem := range e.Problems {
		lines[i] = problem.Err.Error()
	}
	return strings.Join(lines, "\n")
}
