package main

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"k8s.io/client-go/kubernetes"
)

// counts is how often each of something happened.
type counts map[string]int

// awsCalls returns the calls that AWS has had, by "service/Operation".
func (w *world) awsCalls() counts { return maps.Clone(w.simulator.Calls()) }

var metricLabel = regexp.MustCompile(`(\w+)="([^"]*)"`)

// serverRequests returns the requests that the management cluster's API server has had, by "VERB resource/subresource".
func (w *world) serverRequests(ctx context.Context) (counts, error) {
	client, err := kubernetes.NewForConfig(w.plane.RESTConfig())
	if err != nil {
		return nil, fmt.Errorf("make a client: %w", err)
	}
	body, err := client.RESTClient().Get().AbsPath("/metrics").DoRaw(ctx)
	if err != nil {
		return nil, fmt.Errorf("ask the API server what it counts: %w", err)
	}
	all := counts{}
	for line := range strings.Lines(string(body)) {
		labels, ok := strings.CutPrefix(line, "apiserver_request_total{")
		if !ok {
			continue
		}
		labels, value, _ := strings.Cut(strings.TrimSpace(labels), "} ")
		n, err := strconv.ParseFloat(value, 64)
		if err != nil {
			return nil, fmt.Errorf("read what the API server counts: %w", err)
		}
		of := map[string]string{}
		for _, label := range metricLabel.FindAllStringSubmatch(labels, -1) {
			of[label[1]] = label[2]
		}
		if of["resource"] == "" || of["verb"] == "WATCH" {
			continue
		}
		name := of["verb"] + " " + of["resource"]
		if of["subresource"] != "" {
			name += "/" + of["subresource"]
		}
		all[name] += int(n)
	}
	return all, nil
}

// since returns what was added to before, per one of n, most first: "a 3, b 0.5". What is less than a tenth is left out.
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
