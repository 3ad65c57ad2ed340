package workload

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"

	"github.com/aws-operator/aws-operator/internal/patience"
)

// lie connects to a cluster whose API is a handler, and waits until it counts as unreachable
// because of a problem.
func lie(t *testing.T, api http.HandlerFunc, problem string) *Cluster {
	t.Helper()
	server := httptest.NewServer(api)
	t.Cleanup(server.Close)
	clusters := New(Options{Config: func(types.NamespacedName, []byte) (*rest.Config, error) {
		return &rest.Config{Host: server.URL, BearerToken: "secret"}, nil
	}})
	key := types.NamespacedName{Namespace: "a", Name: "liar"}
	cluster, err := clusters.Connect(key, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { clusters.Close(key) })
	patience.Until(t, "the cluster is unreachable since "+problem, func() error {
		if reachable, why := cluster.Reachable(); reachable || why != problem || !cluster.Refused() {
			return fmt.Errorf("it is reachable: %t, %s", reachable, why)
		}
		return nil
	})
	return cluster
}

func TestEndlessListOfNodesIsNotReadToItsEnd(t *testing.T) {
	var mu sync.Mutex
	served, most := 0, 0
	cluster := lie(t, func(w http.ResponseWriter, req *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		if req.URL.Query().Get("continue") == "" {
			served = 0
		}
		nodes := make([]string, pageSize)
		for i := range nodes {
			nodes[i] = fmt.Sprintf(`{"metadata":{"name":"n-%d"}}`, served+i)
		}
		served += pageSize
		most = max(most, served)
		_, _ = fmt.Fprintf(w, `{"kind":"NodeList","metadata":{"continue":"more"},"items":[%s]}`, strings.Join(nodes, ","))
	}, errTooManyNodes.Error())
	mu.Lock()
	defer mu.Unlock()
	if most > maxNodes+pageSize {
		t.Errorf("the operator read %d nodes, and at most %d are allowed", most, maxNodes)
	}
	if kept := len(cluster.Nodes()); kept != 0 {
		t.Errorf("%d nodes of an incomplete list are kept", kept)
	}
}

func TestNodesWithTooMuchContentAreNotKept(t *testing.T) {
	content := strings.Repeat("x", 1<<20)
	lie(t, func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, `{"kind":"NodeList","items":[`)
		for i := range 40 {
			if i > 0 {
				_, _ = io.WriteString(w, ",")
			}
			_, _ = fmt.Fprintf(w, `{"metadata":{"name":"n-%d","labels":{"a":%q}}}`, i, content)
		}
		_, _ = io.WriteString(w, `]}`)
	}, errNodesTooLarge.Error())
}

// Following a redirect would send the operator's credentials to an address that the workload cluster
// chooses.
func TestRedirectsOfAWorkloadClusterAreNotFollowed(t *testing.T) {
	var requests atomic.Int32
	other := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { requests.Add(1) }))
	defer other.Close()
	for _, code := range []int{http.StatusMovedPermanently, http.StatusFound, http.StatusTemporaryRedirect, http.StatusPermanentRedirect} {
		lie(t, func(w http.ResponseWriter, req *http.Request) { http.Redirect(w, req, other.URL, code) }, errRedirect.Error())
	}
	if n := requests.Load(); n != 0 {
		t.Errorf("%d requests followed a redirect", n)
	}
}

type respond func(*http.Request) *http.Response

func (r respond) RoundTrip(request *http.Request) (*http.Response, error) { return r(request), nil }

type endless struct{}

func (endless) Read(into []byte) (int, error) { return len(into), nil }

func TestResponseWithoutEndIsNotReadToItsEnd(t *testing.T) {
	transport := guard{respond(func(*http.Request) *http.Response {
		return &http.Response{StatusCode: http.StatusOK, Body: io.NopCloser(endless{})}
	})}
	read := func(query string, limit int64) (int64, error) {
		t.Helper()
		response, err := transport.RoundTrip(httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/api/v1/pods"+query, http.NoBody))
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = response.Body.Close() }()
		return io.CopyN(io.Discard, response.Body, limit)
	}
	if n, err := read("", 2*maxResponse); !errors.Is(err, errResponseTooLarge) || n > maxResponse {
		t.Errorf("%d bytes were read, and the error is %v", n, err)
	}
	if n, err := read("?watch=true", maxResponse+1); err != nil {
		t.Errorf("a watch ended after %d bytes with %v", n, err)
	}
}

func TestWatchedNodesAreBounded(t *testing.T) {
	cluster, err := connect(types.NamespacedName{Name: "a"}, &rest.Config{Host: "http://127.0.0.1:1"}, New(Options{}))
	if err != nil {
		t.Fatal(err)
	}
	node := func(i int) *Node { return &Node{Name: fmt.Sprint(i), Slot: NoSlot} }
	for i := range maxNodes {
		if err := cluster.put(node(i)); err != nil {
			t.Fatalf("node %d of %d: %v", i, maxNodes, err)
		}
	}
	if err := cluster.put(node(0)); err != nil {
		t.Errorf("a change of a node: %v", err)
	}
	if err := cluster.put(node(maxNodes)); !errors.Is(err, errTooManyNodes) {
		t.Errorf("one more node: %v", err)
	}
	cluster.remove(node(0))
	if err := cluster.put(node(maxNodes)); err != nil {
		t.Errorf("one more node after another was deleted: %v", err)
	}
	large := &Node{Name: "1", Slot: NoSlot, Labels: map[string]string{"a": strings.Repeat("x", maxKept)}}
	if err := cluster.put(large); !errors.Is(err, errNodesTooLarge) {
		t.Errorf("a node with a large label: %v", err)
	}
	if kept := len(cluster.Nodes()); kept != maxNodes {
		t.Errorf("%d nodes are kept, want %d", kept, maxNodes)
	}
}

func TestPagesOfNodes(t *testing.T) {
	for name, c := range map[string]struct {
		text, names, continues string
		fails                  bool
	}{
		"a page": {
			text:  `{"kind":"NodeList","apiVersion":"v1","metadata":{"continue":"c"},"items":[{"metadata":{"name":"a"}},{"metadata":{"name":"b"}}]}`,
			names: "a b", continues: "c",
		},
		"nodes before metadata": {text: `{"kind":"NodeList","items":[{"metadata":{"name":"a"}}],"metadata":{"continue":"c"}}`, names: "a", continues: "c"},
		"no nodes":              {text: `{"kind":"NodeList","items":null}`},
		"unknown fields":        {text: `{"kind":"NodeList","more":{"a":[1]},"items":[]}`},
		"another kind":          {text: `{"kind":"Status","status":"Success"}`, fails: true},
		"no list":               {text: `[]`, fails: true},
		"nodes by name":         {text: `{"kind":"NodeList","items":{"a":{}}}`, fails: true},
		"an end in the middle":  {text: `{"kind":"NodeList","items":[{"metadata":{"name":"a"}}`, names: "a", fails: true},
		"not JSON":              {text: `<html>`, fails: true},
		"a node of another type": {
			text: `{"kind":"NodeList","items":[{"metadata":[]}]}`, fails: true,
		},
		"a node that is too large": {
			text: `{"kind":"NodeList","items":[{"metadata":{"name":"` + strings.Repeat("a", maxNode) + `"}}]}`, fails: true,
		},
	} {
		t.Run(name, func(t *testing.T) {
			var names []string
			page, err := readPage(strings.NewReader(c.text), func(node *corev1.Node) error {
				names = append(names, node.Name)
				return nil
			})
			if got := strings.Join(names, " "); got != c.names || err == nil && page.Continue != c.continues || (err != nil) != c.fails {
				t.Errorf("nodes %q, continue %q, error %v", got, page.Continue, err)
			}
		})
	}
}
