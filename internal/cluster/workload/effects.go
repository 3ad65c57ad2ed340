package workload

import (
	"net/http"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/types"
	utilnet "k8s.io/apimachinery/pkg/util/net"
)

// auditID is the response header with the ID that a request has in the cluster's audit log:
// https://kubernetes.io/docs/reference/config-api/apiserver-audit.v1/
const auditID = "Audit-Id"

// effects logs each request that changes something in a workload cluster: its verb and path, never
// its content.
type effects struct {
	next    http.RoundTripper
	cluster types.NamespacedName
	logger  logr.Logger // unless the request's context has one
}

// RoundTrip sends the request.
func (e effects) RoundTrip(request *http.Request) (*http.Response, error) {
	response, err := e.next.RoundTrip(request)
	switch request.Method {
	case http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete:
	default:
		return response, err
	}
	logger, missing := logr.FromContext(request.Context())
	if missing != nil {
		logger = e.logger
	}
	logger = logger.WithValues("cluster", e.cluster.String(), "verb", request.Method, "path", request.URL.Path)
	if err != nil {
		logger.Info("A workload cluster did not answer a request", "error", err.Error())
		return response, err
	}
	logger.Info("Called a workload cluster", "status", response.StatusCode, "requestID", response.Header.Get(auditID))
	return response, err
}

// WrappedRoundTripper returns what sends the requests; client-go looks for it.
func (e effects) WrappedRoundTripper() http.RoundTripper { return e.next }

var _ utilnet.RoundTripperWrapper = effects{}
