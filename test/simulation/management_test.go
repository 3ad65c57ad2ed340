package simulation

import (
	"io"
	"log"
	"net/http"
	"net/netip"
	"sync/atomic"
	"testing"
	"time"

	"k8s.io/client-go/rest"

	"github.com/aws-operator/aws-operator/internal/kubeapi"
)

// managementAddress is the address of the management cluster.
var managementAddress = netip.MustParseAddrPort("192.0.2.10:80")

// newManagement serves a management cluster in the network until the test ends. While it is frozen,
// watches report nothing.
func newManagement(t *testing.T, n *network, frozen *atomic.Bool) *rest.Config {
	t.Helper()
	api := kubeapi.New(kubeapi.Options{Kubernetes: "v1.36.3"})
	socket, err := n.listen(managementAddress)
	if err != nil {
		t.Fatal(err)
	}
	server := &http.Server{Handler: api.Trusted(), ReadHeaderTimeout: time.Minute, ErrorLog: log.New(io.Discard, "", 0)}
	go func() { _ = server.Serve(socket) }()
	transport := &http.Transport{DialContext: n.dial, MaxIdleConnsPerHost: 16}
	t.Cleanup(func() {
		api.Close()
		transport.CloseIdleConnections()
		_ = server.Close()
	})
	return &rest.Config{Host: "http://" + managementAddress.String(), Transport: gentle{transport, frozen}, QPS: -1}
}

// gentle ends the responses of canceled requests without an error: watches of metadata leave a
// goroutine behind that wants to report the error (k8s.io/apimachinery/pkg/watch.Filter), and a
// bubble does not end before its goroutines.
type gentle struct {
	next   http.RoundTripper
	frozen *atomic.Bool
}

func (g gentle) RoundTrip(req *http.Request) (*http.Response, error) {
	response, err := g.next.RoundTrip(req)
	if err == nil {
		response.Body = gentleBody{response.Body, req, g.frozen}
	}
	return response, err
}

type gentleBody struct {
	io.ReadCloser
	req    *http.Request
	frozen *atomic.Bool
}

func (b gentleBody) Read(into []byte) (int, error) {
	n, err := b.ReadCloser.Read(into)
	for b.req.URL.Query().Has("watch") && b.frozen.Load() && b.req.Context().Err() == nil {
		time.Sleep(time.Second)
	}
	if err != nil && b.req.Context().Err() != nil {
		err = io.EOF
	}
	return n, err
}
