package operator_test

import (
	"compress/gzip"
	"encoding/hex"
	"io"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"sync"
	"testing"

	"github.com/go-logr/logr"
	collector "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	tracev1 "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"

	servicev1alpha1 "github.com/aws-operator/aws-operator/api/service/v1alpha1"
	"github.com/aws-operator/aws-operator/internal/tracing"
)

// spans are what a collector has received, by their IDs.
type spans struct {
	mu  sync.Mutex
	all map[string]*tracev1.Span
}

// ServeHTTP takes an export: https://opentelemetry.io/docs/specs/otlp/#otlphttp-request
func (s *spans) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var body io.Reader = r.Body
	if r.Header.Get("Content-Encoding") == "gzip" {
		unzipped, err := gzip.NewReader(r.Body)
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		body = unzipped
	}
	content, err := io.ReadAll(body)
	var request collector.ExportTraceServiceRequest
	if err == nil {
		err = proto.Unmarshal(content, &request)
	}
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, resource := range request.ResourceSpans {
		for _, scope := range resource.ScopeSpans {
			for _, span := range scope.Spans {
				s.all[string(span.SpanId)] = span
			}
		}
	}
}

// within reports whether a span of one name is below one of another name.
func (s *spans) within(name, above string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, span := range s.all {
		if span.Name != name {
			continue
		}
		for up := s.all[string(span.ParentSpanId)]; up != nil; up = s.all[string(up.ParentSpanId)] {
			if up.Name == above {
				return true
			}
		}
	}
	return false
}

// attribute returns an attribute of the first span of a name that has it.
func (s *spans) attribute(name, key string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, span := range s.all {
		for _, one := range span.Attributes {
			if span.Name == name && one.Key == key {
				return one.Value.GetStringValue()
			}
		}
	}
	return ""
}

// collect serves a collector, to which this process exports its traces until the test ends.
func collect(t *testing.T) *spans {
	t.Helper()
	received := &spans{all: map[string]*tracev1.Span{}}
	endpoint := httptest.NewServer(received)
	t.Cleanup(endpoint.Close)
	t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", endpoint.URL)
	t.Setenv("OTEL_BSP_SCHEDULE_DELAY", "50")
	stop, err := tracing.Start(t.Context(), "v0.0.0", logr.Discard())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(stop)
	return received
}

// check waits for a trace that leads from the reconcile of a queue through the step of its stack to the
// call of CloudFormation.
func (s *spans) check(t *testing.T, queue *servicev1alpha1.Object, ended <-chan error) {
	t.Helper()
	const reconcile, call = "Reconcile SQSQueue", "CloudFormation/CreateStack"
	await(t, "a trace from the reconcile to CloudFormation", ended, func() bool {
		return s.within(call, reconcile) && s.within(call, "stack")
	})
	for key, want := range map[string]string{
		"k8s.object.name": queue.Name, "k8s.namespace.name": queue.Namespace, "k8s.object.kind": "SQSQueue",
	} {
		if got := s.attribute(reconcile, key); got != want {
			t.Errorf("the reconcile's %s is %q, want %q", key, got, want)
		}
	}
	if got := s.attribute(call, "rpc.service"); got != "CloudFormation" {
		t.Errorf("the call's service is %q", got)
	}
}

// named returns the IDs of the traces with a span of a name.
func (s *spans) named(name string) map[string]bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	found := map[string]bool{}
	for _, span := range s.all {
		if span.Name == name {
			found[hex.EncodeToString(span.TraceId)] = true
		}
	}
	return found
}

// exemplarPattern matches the trace of an exemplar.
var exemplarPattern = regexp.MustCompile(`# \{trace_id="([0-9a-f]{32})"\}`)

// checkExemplars waits until histograms have exemplars with traces that the collector received. Only
// the OpenMetrics format has them.
func (s *spans) checkExemplars(t *testing.T, url string, ended <-chan error) {
	t.Helper()
	for series, span := range map[string]string{
		`aws_operator_reconcile_duration_seconds_bucket{kind="SQSQueue",`:                                    "Reconcile SQSQueue",
		`aws_operator_api_request_duration_seconds_bucket{operation="CreateStack",service="cloudformation",`: "CloudFormation/CreateStack",
	} {
		await(t, "an exemplar of "+series, ended, func() bool {
			traces := s.named(span)
			for line := range strings.Lines(scrape(t, url, "application/openmetrics-text; version=1.0.0")) {
				if match := exemplarPattern.FindStringSubmatch(line); match != nil && strings.HasPrefix(line, series) && traces[match[1]] {
					return true
				}
			}
			return false
		})
	}
	if text := scrape(t, url, ""); exemplarPattern.MatchString(text) {
		t.Error("the text format has exemplars, which its parsers refuse")
	}
}
