package controller_test

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	eventsv1 "k8s.io/api/events/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/aws-operator/aws-operator/internal/service/render"
	"github.com/aws-operator/aws-operator/internal/simulator"
)

// writes counts the requests of an operator that change objects in a namespace.
type writes struct {
	next      http.RoundTripper
	namespace string
	mu        sync.Mutex
	sent      []string
}

func (c *writes) RoundTrip(r *http.Request) (*http.Response, error) {
	if _, what, ok := strings.Cut(r.URL.Path, "/namespaces/"+c.namespace+"/"); ok && r.Method != http.MethodGet {
		c.mu.Lock()
		c.sent = append(c.sent, r.Method+" "+what)
		c.mu.Unlock()
	}
	return c.next.RoundTrip(r)
}

func (c *writes) sorted() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Sorted(slices.Values(c.sent))
}

// An object costs the API server six requests until it is Ready: its own creation and these five.
func TestCreationCostsTheAPIServerFiveRequestsOfTheOperator(t *testing.T) {
	w := prepareSuite(t, simulator.Options{Latency: slow, Lag: simulator.NoLag}, render.Limits{})
	counted := &writes{namespace: w.namespace}
	w.wrap = func(next http.RoundTripper) http.RoundTripper {
		counted.next = next
		return counted
	}
	w.startOperator()
	w.apply(`
kind: DynamoDB
metadata: {name: orders}
spec: {hashAttribute: {name: id, type: S}, readCapacityUnits: 1, writeCapacityUnits: 1}
`)
	w.ready("DynamoDB", "orders")
	w.eventually("the Event of the result", func() error {
		var events eventsv1.EventList
		if err := w.client.List(t.Context(), &events, client.InNamespace(w.namespace)); err != nil {
			return err
		}
		for _, event := range events.Items {
			if event.Reason == "Ready" {
				return nil
			}
		}
		return fmt.Errorf("there are %d Events", len(events.Items))
	})
	want := []string{
		"PATCH dynamodbs/orders",
		"POST configmaps",
		"POST events",
		"PUT dynamodbs/orders/status",
		"PUT dynamodbs/orders/status",
	}
	if diff := cmp.Diff(want, counted.sorted()); diff != "" {
		t.Errorf("the operator's writes (-want +got):\n%s", diff)
	}
}
