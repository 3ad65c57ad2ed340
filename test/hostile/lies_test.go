package hostile

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"

	"github.com/aws-operator/aws-operator/internal/cluster/workload"
	"github.com/aws-operator/aws-operator/internal/patience"
)

const (
	// answers is the number of responses of a cluster that lies.
	answers = 150
	// mostHeap is by how many bytes the live heap may grow because of it.
	mostHeap = 128 << 20
	// mostNodes is the number of nodes that are kept of a cluster at most.
	mostNodes = 10_000
)

// own are the instances of the cluster, as EC2 knows them.
var own = map[string]workload.Identity{
	"i-own1": {PrivateDNSName: "ip-10-0-0-1.ec2.internal", Address: "10.0.0.1", Group: "g", Slot: workload.NoSlot},
	"i-own2": {PrivateDNSName: "ip-10-0-0-2.ec2.internal", Address: "10.0.0.2", Slot: 0},
}

// A workload cluster's API gives forged and duplicate Nodes, endless lists, redirects, malformed and
// huge responses, and storms of events. Only the cluster's own instances have Nodes, what the
// operator keeps is bounded, no redirect is followed, and other clusters are still observed. When
// the API responds as it should, the operator observes it again.
func TestLyingClustersReachOnlyTheirOwnInstances(t *testing.T) {
	campaign(t, 4, func(t *testing.T, _ uint64, random *rand.Rand) { //nolint:thelper // it is the test of a seed
		trap := &atomic.Int32{}
		elsewhere := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { trap.Add(1) }))
		t.Cleanup(elsewhere.Close) // after the operator's connections, which are registered later
		liar := &liar{random: random, elsewhere: elsewhere.URL}
		lying := httptest.NewServer(liar)
		t.Cleanup(lying.Close)
		honest := httptest.NewServer(http.HandlerFunc(respondHonestly))
		t.Cleanup(honest.Close)

		clusters := workload.New(workload.Options{
			Clock: hasty{},
			Config: func(_ types.NamespacedName, kubeconfig []byte) (*rest.Config, error) {
				return &rest.Config{Host: string(kubeconfig), BearerToken: "secret"}, nil
			},
		})
		clusters.IdentifyWith(func(_ context.Context, _ types.NamespacedName, ids []string) (map[string]workload.Identity, error) {
			found := map[string]workload.Identity{}
			for _, id := range ids {
				if identity, ok := own[id]; ok {
					found[id] = identity
				}
			}
			return found, nil
		})
		before := heap()
		cluster := connect(t, clusters, "liar", lying.URL)
		other := connect(t, clusters, "honest", honest.URL)
		patience.Until(t, "the cluster has lied", func() error {
			checkNodes(t, clusters, cluster)
			if served := liar.served.Load(); served < answers {
				return fmt.Errorf("%d responses", served)
			}
			return nil
		})
		if grown := heap() - before; grown > mostHeap {
			t.Errorf("the live heap has grown by %d MiB", grown>>20)
		}
		if n := trap.Load(); n != 0 {
			t.Errorf("%d requests followed redirects", n)
		}
		if reachable, problem := other.Reachable(); !reachable {
			t.Errorf("another cluster is unreachable: %s", problem)
		}
		liar.redeemed.Store(true)
		lying.CloseClientConnections() // ends what it has not finished
		patience.Until(t, "the operator observes the cluster again", func() error {
			node, ok := cluster.NodeOf("i-own1")
			if reachable, problem := cluster.Reachable(); !reachable || !ok || !node.Ready {
				return fmt.Errorf("reachable: %t, %s; node: %+v", reachable, problem, node)
			}
			return nil
		})
	})
}

func connect(t *testing.T, clusters *workload.Clusters, name, url string) *workload.Cluster {
	t.Helper()
	key := types.NamespacedName{Namespace: "a", Name: name}
	cluster, err := clusters.Connect(key, []byte(url))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { clusters.Close(key) })
	return cluster
}

// checkNodes checks that Nodes have only instances of the cluster, and those as EC2 knows them.
func checkNodes(t *testing.T, clusters *workload.Clusters, cluster *workload.Cluster) {
	t.Helper()
	nodes := cluster.Nodes()
	if len(nodes) > mostNodes {
		t.Fatalf("%d nodes are kept", len(nodes))
	}
	for i := range nodes {
		node := &nodes[i]
		if node.InstanceID == "" && node.Group == "" && node.Slot == workload.NoSlot {
			continue
		}
		if identity, ok := own[node.InstanceID]; !ok || identity.Group != node.Group || identity.Slot != node.Slot {
			t.Fatalf("Node %.80s counts as instance %.80q of group %.80q or slot %d", node.Name, node.InstanceID, node.Group, node.Slot)
		}
	}
	if _, node, ok := clusters.NodeOf("i-victim"); ok {
		t.Fatalf("the instance of another owner has Node %.80s", node.Name)
	}
}

// heap returns the size of what is reachable.
func heap() int64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// hasty is a clock whose timers expire soon, so that retries do not take the time that they do
// otherwise.
type hasty struct{ clock.RealClock }

// NewTimer returns a timer that expires after a millisecond.
func (h hasty) NewTimer(time.Duration) clock.Timer { return h.RealClock.NewTimer(time.Millisecond) }

// honestNode is the Node of an own instance.
func honestNode(id string) *corev1.Node {
	identity := own[id]
	return &corev1.Node{
		TypeMeta:   metav1.TypeMeta{Kind: "Node", APIVersion: "v1"},
		ObjectMeta: metav1.ObjectMeta{Name: identity.PrivateDNSName, ResourceVersion: honestVersion},
		Spec:       corev1.NodeSpec{ProviderID: "aws:///eu-central-1a/" + id},
		Status: corev1.NodeStatus{
			Addresses:  []corev1.NodeAddress{{Type: corev1.NodeInternalIP, Address: identity.Address}},
			Conditions: []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}},
		},
	}
}

// Resource versions of the API while it responds honestly, and while it lies.
const (
	honestVersion = "1"
	lyingVersion  = "7"
)

func list(version, next string, nodes ...*corev1.Node) []byte {
	page := corev1.NodeList{
		TypeMeta: metav1.TypeMeta{Kind: "NodeList", APIVersion: "v1"}, ListMeta: metav1.ListMeta{ResourceVersion: version, Continue: next},
	}
	for _, node := range nodes {
		page.Items = append(page.Items, *node)
	}
	text, err := json.Marshal(page)
	if err != nil {
		panic(err) // it is a list of nodes
	}
	return text
}

// respondHonestly lists the nodes of the own instances, and sends nothing to watches. As an API server
// does, it refuses to watch from a version that it does not know:
// https://kubernetes.io/docs/reference/using-api/api-concepts/#resource-versions.
func respondHonestly(w http.ResponseWriter, req *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	query := req.URL.Query()
	if !query.Has("watch") {
		_, _ = w.Write(list(honestVersion, "", honestNode("i-own1"), honestNode("i-own2")))
		return
	}
	if query.Get("resourceVersion") != honestVersion {
		w.WriteHeader(http.StatusGone)
		_, _ = io.WriteString(w, `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"Expired","code":410}`)
		return
	}
	w.WriteHeader(http.StatusOK)
	w.(http.Flusher).Flush() //nolint:forcetypeassert // the server's always is one
	<-req.Context().Done()
}

// liar is an API that lies, until it is redeemed.
type liar struct {
	mu        sync.Mutex
	random    *rand.Rand
	elsewhere string
	made      int

	served   atomic.Int32
	redeemed atomic.Bool
}

// ServeHTTP lies once.
func (l *liar) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	if l.redeemed.Load() {
		respondHonestly(w, req)
		return
	}
	defer l.served.Add(1)
	w.Header().Set("Content-Type", "application/json")
	l.mu.Lock()
	lie, nodes := l.random.IntN(12), l.nodes(1+l.random.IntN(400))
	l.mu.Unlock()
	switch {
	case lie == 0:
		http.Redirect(w, req, l.elsewhere+req.URL.Path, http.StatusTemporaryRedirect)
	case lie == 1:
		_, _ = io.WriteString(w, "<html>"+strings.Repeat("{", 100_000))
	case lie == 2:
		http.Error(w, strings.Repeat("a long error ", 10_000), http.StatusInternalServerError)
	case lie == 3:
		panic(http.ErrAbortHandler)
	case req.URL.Query().Has("watch"):
		l.storm(w, nodes)
	case lie == 4: // one huge node
		nodes[0].Labels = map[string]string{"a": strings.Repeat("x", 3<<20)}
		_, _ = w.Write(list(lyingVersion, "", nodes...))
	case lie < 8: // there is always more
		_, _ = w.Write(list(lyingVersion, "more", nodes...))
	default:
		_, _ = w.Write(list(lyingVersion, "", nodes...))
	}
}

// nodes returns forged Nodes.
func (l *liar) nodes(count int) []*corev1.Node {
	ids := []string{"i-own1", "i-own2"}
	all := make([]*corev1.Node, count)
	for i := range all {
		node := honestNode(pick(l.random, ids...))
		node.ResourceVersion = lyingVersion
		l.made++
		if l.random.IntN(10) > 0 {
			node.Name = fmt.Sprintf("n-%d", l.made)
		}
		switch l.random.IntN(4) {
		case 0:
			node.Spec.ProviderID = "aws:///eu-central-1a/i-victim"
		case 1:
			node.Spec.ProviderID = strings.Repeat("aws://", l.random.IntN(1000)) + fmt.Sprint("/i-", l.made)
		}
		node.Labels = map[string]string{
			"cluster-operator.aws/instance-group": pick(l.random, "g", "theirs", strings.Repeat("g", 2000)),
			"cluster-operator.aws/slot":           pick(l.random, "0", "1", "-1", "99999999999999999999"),
		}
		node.Status.Conditions[0].Status = pick(l.random, corev1.ConditionTrue, corev1.ConditionUnknown)
		all[i] = node
	}
	return all
}

// storm sends many events.
func (l *liar) storm(w io.Writer, nodes []*corev1.Node) {
	encoder := json.NewEncoder(w)
	for range 10 {
		for i, node := range slices.Backward(nodes) {
			event := map[string]any{"type": []string{"ADDED", "MODIFIED", "DELETED", "BOOKMARK", "NONSENSE"}[i%5], "object": node}
			if encoder.Encode(event) != nil {
				return
			}
		}
	}
	_, _ = io.WriteString(w, `{"type":"ERROR","object":{"kind":"Status","apiVersion":"v1","code":410}}{"type":`)
}
