package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"k8s.io/client-go/kubernetes"
)

// counts are numbers of occurrences, by name.
type counts map[string]int

// calls returns the operator's AWS calls, by "service/Operation".
func (o *operator) calls(ctx context.Context) (counts, error) {
	response, err := get(ctx, "http://"+o.metrics+"/metrics")
	if err != nil {
		return nil, err
	}
	defer func() { _ = response.Body.Close() }()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		return nil, fmt.Errorf("read the operator's metrics: %w", err)
	}
	return count(body, "aws_operator_api_requests_total", func(labels map[string]string) string {
		return labels["service"] + "/" + labels["operation"]
	})
}

// serverRequests returns the requests to the management cluster's API server, by "VERB
// resource/subresource".
func (w *suite) serverRequests(ctx context.Context) (counts, error) {
	client, err := kubernetes.NewForConfig(w.plane.RESTConfig())
	if err != nil {
		return nil, fmt.Errorf("create a client: %w", err)
	}
	body, err := client.RESTClient().Get().AbsPath("/metrics").DoRaw(ctx)
	if err != nil {
		return nil, fmt.Errorf("read the API server's metrics: %w", err)
	}
	return count(body, "apiserver_request_total", func(labels map[string]string) string {
		if labels["resource"] == "" || labels["verb"] == "WATCH" {
			return ""
		}
		name := labels["verb"] + " " + labels["resource"]
		if labels["subresource"] != "" {
			name += "/" + labels["subresource"]
		}
		return name
	})
}

var metricLabel = regexp.MustCompile(`(\w+)="([^"]*)"`)

// count sums the samples of a metric by the name of their labels; it ignores those with an empty
// name.
func count(metrics []byte, metric string, name func(labels map[string]string) string) (counts, error) {
	all := counts{}
	for line := range strings.Lines(string(metrics)) {
		labels, ok := strings.CutPrefix(line, metric+"{")
		if !ok {
			continue
		}
		labels, value, _ := strings.Cut(strings.TrimSpace(labels), "} ")
		n, err := strconv.ParseFloat(value, 64)
		if err != nil {
			return nil, fmt.Errorf("read metric %s: %w", metric, err)
		}
		of := map[string]string{}
		for _, label := range metricLabel.FindAllStringSubmatch(labels, -1) {
			of[label[1]] = label[2]
		}
		if called := name(of); called != "" {
			all[called] += int(n)
		}
	}
	return all, nil
}

// since returns the increase since before, divided by n, largest first: "a 3, b 0.5". It omits
// values below 0.1.
func (c counts) since(before counts, n int) string {
	const least = 0.1
	each := func(name string) float64 { return float64(c[name]-before[name]) / float64(n) }
	names := slices.SortedFunc(maps.Keys(c), func(a, b string) int { return cmp.Or(cmp.Compare(each(b), each(a)), cmp.Compare(a, b)) })
	var parts []string
	for _, name := range names {
		if each(name) >= least {
			parts = append(parts, fmt.Sprintf("%s %.3g", name, each(name)))
		}
	}
	return strings.Join(parts, ", ")
}
