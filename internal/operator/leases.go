package operator

import (
	"errors"
	"fmt"
	"os"
	"strings"

	"k8s.io/apimachinery/pkg/util/rand"
	coordinationv1client "k8s.io/client-go/kubernetes/typed/coordination/v1"
	"k8s.io/client-go/tools/leaderelection/resourcelock"

	"github.com/aws-operator/aws-operator/internal/replicas"
)

// ownNamespace is the file with the namespace of a pod.
// https://kubernetes.io/docs/tasks/run-application/access-api-from-pod/
const ownNamespace = "/var/run/secrets/kubernetes.io/serviceaccount/namespace"

// leases is where the Leases of an operator are, and who this process is in them.
type leases struct {
	client                    coordinationv1client.CoordinationV1Interface
	namespace, name, identity string
}

func leasesOf(opts *Options) (leases, error) {
	l := leases{namespace: opts.LeaderElectionNamespace, name: "aws-operator-" + opts.ClusterName}
	if l.namespace == "" {
		own, err := os.ReadFile(ownNamespace)
		if err != nil {
			return l, errors.New("outside a cluster, several replicas need --leader-election-namespace, the namespace of their Leases")
		}
		l.namespace = strings.TrimSpace(string(own))
	}
	host, err := os.Hostname()
	if err != nil {
		return l, fmt.Errorf("name this replica: %w", err)
	}
	l.identity = strings.ToLower(host) + "-" + rand.String(5) // a container that restarts in its pod is another
	if l.client, err = coordinationv1client.NewForConfig(opts.RESTConfig); err != nil {
		return l, fmt.Errorf("make a client for Leases: %w", err)
	}
	return l, nil
}

// leaderLock returns the Lease of the leader; nil without leader election.
func leaderLock(opts *Options) (resourcelock.Interface, error) {
	if !opts.LeaderElect || opts.Shards > 1 {
		return nil, nil //nolint:nilnil // nil means that there is none
	}
	l, err := leasesOf(opts)
	if err != nil {
		return nil, err
	}
	return replicas.LeaderLock(l.client, l.namespace, l.name, l.identity), nil
}
