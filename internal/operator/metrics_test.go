package operator_test

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"sigs.k8s.io/controller-runtime/pkg/metrics"

	"github.com/aws-operator/aws-operator/internal/golden"
)

const metricsHead = `# Metrics reference

This page lists the operator's own metrics, which ` + "`--metrics-bind-address`" + ` serves at ` + "`/metrics`" + `. A test gathers them from a running
operator, and fails when this page differs; ` + "`make golden-update`" + ` writes the page. [The guide](../guide/install.md#monitor-the-operator) shows
how to scrape them, and what to alert on. [Dashboards](../guide/dashboards.md) show them in Grafana.

A histogram ` + "`NAME`" + ` has the time series ` + "`NAME_bucket`, `NAME_sum` and `NAME_count`" + `. Durations are in seconds. Those of reconciles
and of calls have exemplars, in the OpenMetrics format, if the operator exports [traces](traces.md).

- Every replica reports its own calls and operations. Only the leader reports the gauges of objects, from its caches: a scrape calls no API.
  With ` + "`--shards`" + `, each shard reports those of its objects, and all these metrics have the label ` + "`shard`" + `.
- An operation of a stack counts when the operator sent it and knows its beginning and its end: from CloudFormation's event, or from a poll
  within twice the poll interval. Operations of other clients, continued rollbacks, and those that ended long before a restart or the end
  of a pause do not count.
- Only Clusters have time series of their own, and InstanceGroups during a rollout.
- There are also the metrics [of controller-runtime](https://book.kubebuilder.io/reference/metrics-reference), such as
  ` + "`leader_election_master_status`" + `, and those of the Go runtime and the process.

| name | type | labels | meaning |
| --- | --- | --- | --- |
`

// descPattern matches a prometheus.Desc, whose fields only its text shows.
var descPattern = regexp.MustCompile(`^Desc\{fqName: "([^"]+)", help: ("(?:[^"\\]|\\.)*"), .*variableLabels: \{(.*)\}\}$`)

// metricsPage returns the page with the metrics of the registry of this process, those without time
// series too. Their type follows from the name, which those with time series prove.
func metricsPage(t *testing.T) []byte {
	t.Helper()
	registry, ok := metrics.Registry.(prometheus.Collector)
	if !ok {
		t.Fatalf("%T cannot describe its metrics", metrics.Registry)
	}
	descs := make(chan *prometheus.Desc)
	go func() {
		registry.Describe(descs)
		close(descs)
	}()
	var rows []string
	for desc := range descs {
		match := descPattern.FindStringSubmatch(desc.String())
		if match == nil {
			t.Errorf("cannot parse %s", desc)
			continue
		}
		help, err := strconv.Unquote(match[2])
		if err != nil {
			t.Error(err)
		}
		labels := ""
		if match[3] != "" {
			labels = "`" + strings.ReplaceAll(match[3], ",", "`, `") + "`"
		}
		if name := match[1]; strings.HasPrefix(name, "aws_operator_") {
			rows = append(rows, fmt.Sprintf("| `%s` | %s | %s | %s |\n", name, metricType(name), labels, help))
		}
	}
	slices.Sort(rows)
	gathered, err := metrics.Registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, family := range gathered {
		name, kind := family.GetName(), strings.ToLower(family.GetType().String())
		if strings.HasPrefix(name, "aws_operator_") && kind != metricType(name) {
			t.Errorf("%s is a %s, and not a %s as its name says", name, kind, metricType(name))
		}
	}
	return []byte(metricsHead + strings.Join(rows, ""))
}

// metricType returns the type of a metric of the operator, by its name.
func metricType(name string) string {
	switch {
	case strings.HasSuffix(name, "_total"):
		return "counter"
	case strings.HasSuffix(name, "_seconds") && !strings.HasSuffix(name, "_timestamp_seconds"):
		return "histogram"
	default:
		return "gauge"
	}
}

// scrape returns what an operator serves, in the format that a client accepts.
func scrape(t *testing.T, url, accept string) string {
	t.Helper()
	_, body, err := fetch(t, url, accept)
	if err != nil {
		t.Fatal(err)
	}
	return body
}

// checkMetrics waits until an operator that leads reports a queue in a namespace, and compares its
// metrics with the page.
func checkMetrics(t *testing.T, url, namespace string, ended <-chan error) {
	t.Helper()
	for _, series := range []string{
		`aws_operator_objects{condition="Ready",group="service-operator.aws",kind="SQSQueue",namespace="` + namespace + `",status="True"} 1`,
		`aws_operator_objects{condition="Stalled",group="service-operator.aws",kind="SQSQueue",namespace="` + namespace + `",status="False"} 1`,
		`aws_operator_stack_operation_duration_seconds_count{operation="create",result="done"} `,
	} {
		await(t, series, ended, func() bool { return strings.Contains(scrape(t, url, ""), series) })
	}
	golden.Equal(t, "../../../docs/reference/metrics.md", metricsPage(t))
}
