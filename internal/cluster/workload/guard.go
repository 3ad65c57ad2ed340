package workload

import (
	"fmt"
	"io"
	"net/http"
	"strconv"
)

// A workload cluster's API is under the control of that cluster's administrators. What the operator
// accepts from it is bounded, so that one cluster cannot exhaust the memory that all share.
const (
	// maxResponse is the size in bytes of the largest response other than a watch. The pods of the
	// system namespace of 5,000 nodes have about 100 MiB. The decoder of watches accepts 16 MiB for
	// an event.
	maxResponse = 128 << 20
	// maxNode is the size in bytes of the largest Node in a list. It is more than etcd stores for an
	// object: https://etcd.io/docs/v3.6/dev-guide/limit/
	maxNode = 2 << 20
	// maxNodes is twice the number of nodes that Kubernetes supports:
	// https://kubernetes.io/docs/setup/best-practices/cluster-large/
	maxNodes = 10_000
	// maxKept is the size in bytes of what is kept of all nodes: 3 KiB for each of maxNodes.
	maxKept = 32 << 20
)

// refusalError is why the operator does not use what an API responds, as the end of a sentence.
type refusalError string

// Error returns the reason.
func (e refusalError) Error() string { return string(e) }

const errRedirect = refusalError("it redirects to another address, which the operator does not follow")

var (
	errResponseTooLarge = refusalError(fmt.Sprintf("a response has more than %d MiB", maxResponse>>20))
	errNodeTooLarge     = refusalError(fmt.Sprintf("a node has more than %d MiB", maxNode>>20))
	errTooManyNodes     = refusalError(fmt.Sprintf("it has more than %d nodes, twice as many as Kubernetes supports", maxNodes))
	errNodesTooLarge    = refusalError(fmt.Sprintf("the names, labels and addresses of its nodes have more than %d MiB", maxKept>>20))
)

// guard bounds the size of responses, and refuses redirects: a client would repeat the request,
// with its credentials, at an address that the cluster chooses. API servers do not redirect.
type guard struct{ next http.RoundTripper }

// RoundTrip sends the request.
func (g guard) RoundTrip(request *http.Request) (*http.Response, error) {
	response, err := g.next.RoundTrip(request)
	if err != nil {
		return response, err //nolint:wrapcheck // the client wraps it
	}
	switch watches, _ := strconv.ParseBool(request.URL.Query().Get("watch")); {
	case response.StatusCode >= http.StatusMultipleChoices && response.StatusCode < http.StatusBadRequest &&
		response.Header.Get("Location") != "":
		_ = response.Body.Close()
		return nil, errRedirect
	case !watches && response.StatusCode != http.StatusSwitchingProtocols: // those may last
		response.Body = &bounded{response.Body, maxResponse}
	}
	return response, nil
}

// WrappedRoundTripper returns what sends the requests; client-go looks for it.
func (g guard) WrappedRoundTripper() http.RoundTripper { return g.next }

// bounded is a body that returns an error once it is too large.
type bounded struct {
	io.ReadCloser

	left int
}

func (b *bounded) Read(into []byte) (int, error) {
	n, err := b.ReadCloser.Read(into)
	if b.left -= n; b.left < 0 {
		return 0, errResponseTooLarge
	}
	return n, err //nolint:wrapcheck // io.EOF must stay as it is
}

// kept is the size of what is kept of nodes.
type kept struct{ nodes, bytes int }

func (k *kept) add(n *Node)    { k.nodes++; k.bytes += n.size() }
func (k *kept) remove(n *Node) { k.nodes--; k.bytes -= n.size() }

// excess returns an error if it is more than the operator keeps of one cluster.
func (k *kept) excess() error {
	switch {
	case k.nodes > maxNodes:
		return errTooManyNodes
	case k.bytes > maxKept:
		return errNodesTooLarge
	default:
		return nil
	}
}

// size is the approximate size in bytes of the fields that the workload cluster determines.
func (n *Node) size() int {
	size := len(n.Name) + len(n.UID) + len(n.Claimed) + len(n.ProviderID) + len(n.Bundle) + len(n.Version)
	for key, value := range n.Labels {
		size += len(key) + len(value)
	}
	for _, address := range n.addresses {
		size += len(address)
	}
	if r := n.AuditLog; r != nil {
		size += len(r.Status) + len(r.Reason) + len(r.Message)
	}
	return size
}
