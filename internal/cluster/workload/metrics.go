package workload

import (
	"context"
	"fmt"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/metrics"
)

// hostOfAll is the host of all workload clusters in the metric rest_client_requests_total.
const hostOfAll = "workload-clusters"

// CountTogether makes client-go count the requests to all API servers but that of the management
// cluster under one host. Otherwise each workload cluster would leave series of metrics behind when it
// is deleted. Call it once, before the process makes clients: it changes a variable of client-go. It
// returns an error if the address in the configuration is invalid.
func CountTogether(management *rest.Config) error {
	at, _, err := rest.DefaultServerUrlFor(management)
	if err != nil {
		return fmt.Errorf("read the address of the management cluster: %w", err)
	}
	metrics.RequestResult = together{next: metrics.RequestResult, management: at.Host}
	return nil
}

// together counts requests with few hosts.
type together struct {
	next       metrics.ResultMetric
	management string
}

// Increment counts a request.
func (t together) Increment(ctx context.Context, code, method, host string) {
	if host != t.management {
		host = hostOfAll
	}
	t.next.Increment(ctx, code, method, host)
}
