package alerts_test

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/grafana/grafana-foundation-sdk/go/cog/plugins"
	grafana "github.com/grafana/grafana-foundation-sdk/go/dashboard"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/promql/parser"
)

// dashboard is what the tests read of a dashboard.
type dashboard struct {
	UID, Title string
	Templating struct {
		List []struct {
			Name, Type, AllValue string
			Query                any
		}
	}
	Panels []panel
	Links  []struct{ URL string }
}

type panel struct {
	Title, Description string
	FieldConfig        struct{ Defaults struct{ Unit string } }
	Targets            []struct {
		Expr, LegendFormat string
		Instant            bool
	}
	Links []struct{ URL string }
}

// dashboards returns the dashboards of the chart, as their JSON and as the tests read them, by name.
func dashboards(t *testing.T) (texts map[string][]byte, all map[string]dashboard) {
	t.Helper()
	files, err := filepath.Glob("../../config/chart/aws-operator/dashboards/*.json")
	if err != nil || len(files) == 0 {
		t.Fatalf("there are no dashboards: %v", err)
	}
	texts, all = map[string][]byte{}, map[string]dashboard{}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var d dashboard
		if err := json.Unmarshal(text, &d); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		name := strings.TrimSuffix(filepath.Base(file), ".json")
		texts[name], all[name] = text, d
	}
	return texts, all
}

// Grafana generates the types of the SDK from its schemas.
func TestDashboardsMatchGrafanasSchema(t *testing.T) {
	plugins.RegisterDefaultPlugins() // with the schemas of the panels' options and of Prometheus' queries
	texts, _ := dashboards(t)
	for name, text := range texts {
		var d grafana.Dashboard
		// Without errors, the SDK returns an empty list of them rather than nil.
		if err := d.UnmarshalJSONStrict(text); err != nil && err.Error() != "" {
			t.Errorf("%s: %v", name, err)
		}
		if err := d.Validate(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// Links lead to pages and sections of the docs.
func TestPanelsAreExplained(t *testing.T) {
	_, all := dashboards(t)
	var links []string
	for _, d := range all {
		for _, link := range d.Links {
			links = append(links, link.URL)
		}
		for _, p := range d.Panels {
			if p.Title == "" || p.Description == "" || p.FieldConfig.Defaults.Unit == "" {
				t.Errorf("the panel %q of %s lacks a title, a description or a unit", p.Title, d.Title)
			}
			for _, link := range p.Links {
				links = append(links, link.URL)
			}
		}
	}
	for _, link := range links {
		page, section, _ := strings.Cut(link, "#")
		if page == "" {
			continue // to dashboards with a tag
		}
		_, file, found := strings.Cut(page, "/blob/main/")
		text, err := os.ReadFile("../../" + file)
		if !found || err != nil {
			t.Errorf("%s is no page of the repository: %v", link, err)
		}
		if section != "" && !slices.Contains(anchors(string(text)), section) {
			t.Errorf("%s is no section of the page", link)
		}
	}
}

// anchors returns the anchors of the headings of a page.
func anchors(page string) (all []string) {
	for _, heading := range regexp.MustCompile(`(?m)^#+ (.*)$`).FindAllStringSubmatch(page, -1) {
		all = append(all, strings.ReplaceAll(strings.ToLower(heading[1]), " ", "-"))
	}
	return all
}

// withoutData are the queries that have no data in the run, or graphs with zeros only, and why.
var withoutData = map[string]string{}

// Each query of each panel, and each variable, has data in a run of the operator that creates clusters and
// services, rolls nodes, finds drift, waits for approval, fails and is throttled. Graphs have values other than 0.
func TestDashboardsShowARun(t *testing.T) {
	p := scrapeARun(t)
	_, all := dashboards(t)
	queries := map[string]bool{}
	for name, d := range all {
		for selection, values := range map[string]func(...string) string{"all values": nil, "each value": anyOf} {
			variables := p.variables(t, d, values)
			for _, panel := range d.Panels {
				for _, target := range panel.Targets {
					at := fmt.Sprintf("%s, %s: %s", name, panel.Title, target.Expr)
					result := p.evaluate(t, interpolate(target.Expr, variables), target.Instant)
					_, known := withoutData[target.Expr]
					if has := hasData(result); has == known {
						t.Errorf("%s, with %s: has data is %t: %.300s", at, selection, has, result)
					}
					queries[target.Expr] = true
					p.checkSelectors(t, at, interpolate(target.Expr, variables))
					checkLegend(t, at, target.LegendFormat, result)
				}
			}
		}
	}
	for expr, reason := range withoutData {
		if !queries[expr] {
			t.Errorf("no panel has the query %s, which has no data because %s", expr, reason)
		}
	}
	t.Logf("%d queries", len(queries))
}

// notInTheRun are the metrics of alerts that the run does not have, and why.
var notInTheRun = map[string]string{
	"aws_operator_cluster_etcd_size_bytes":  "fake machines run no etcd; TestSpaceOfEtcdIsReported has the metric",
	"aws_operator_cluster_etcd_quota_bytes": "fake machines run no etcd; TestSpaceOfEtcdIsReported has the metric",
}

// Alerts use metrics that exist.
func TestAlertsUseMetricsOfARun(t *testing.T) {
	p := scrapeARun(t)
	for _, rule := range alerts(t, "everything") {
		expr, err := parser.NewParser(parser.Options{}).ParseExpr(rule.Expr)
		if err != nil {
			t.Fatal(err)
		}
		for _, selector := range selectors(expr) {
			exists := len(p.series(t, labels.MustNewMatcher(labels.MatchEqual, labels.MetricName, selector.Name))) > 0
			if reason, known := notInTheRun[selector.Name]; exists == known {
				t.Errorf("%s: that the operator has the metric %s is %t; the exception is %q", rule.Alert, selector.Name, exists, reason)
			}
		}
	}
}

// valuesPattern matches Grafana's function for the values of a label:
// https://grafana.com/docs/grafana/latest/datasources/prometheus/template-variables/
var valuesPattern = regexp.MustCompile(`^label_values\((.*), (\w+)\)$`)

// variables returns the texts with which Grafana replaces the variables of a dashboard: those of all values, or the
// values that their queries return, chosen one by one.
func (p *scraped) variables(t *testing.T, d dashboard, chosen func(...string) string) map[string]string {
	t.Helper()
	variables := map[string]string{
		// The least interval of the data source is that of the scrapes:
		// https://grafana.com/docs/grafana/latest/datasources/prometheus/template-variables/#use-__rate_interval
		"__rate_interval": max(step+scrapeInterval, 4*scrapeInterval).String(),
		"datasource":      "prometheus",
	}
	for _, v := range d.Templating.List {
		if v.Type == "datasource" {
			continue
		}
		query, _ := v.Query.(map[string]any)
		text, _ := query["query"].(string)
		match := valuesPattern.FindStringSubmatch(text)
		if match == nil {
			t.Fatalf("%s: the query %q of the variable %s is not label_values(SERIES, LABEL)", d.Title, text, v.Name)
		}
		matchers, err := parser.NewParser(parser.Options{}).ParseMetricSelector(interpolate(match[1], variables))
		if err != nil {
			t.Fatalf("%s: the variable %s: %v", d.Title, v.Name, err)
		}
		var values []string
		for _, series := range p.series(t, matchers...) {
			if value := series.Get(match[2]); value != "" && !slices.Contains(values, value) {
				values = append(values, value)
			}
		}
		if len(values) == 0 {
			t.Errorf("%s: the variable %s has no values", d.Title, v.Name)
		}
		variables[v.Name] = v.AllValue
		if chosen != nil {
			variables[v.Name] = chosen(values...)
		}
	}
	return variables
}

// anyOf is how Grafana writes several values of a variable in a query of Prometheus.
func anyOf(values ...string) string {
	for i, value := range values {
		values[i] = strings.ReplaceAll(regexp.QuoteMeta(value), `\`, `\\`)
	}
	if len(values) == 1 {
		return values[0]
	}
	return "(" + strings.Join(values, "|") + ")"
}

// interpolate replaces the variables in a query.
func interpolate(query string, variables map[string]string) string {
	return regexp.MustCompile(`\$\{?(\w+)\}?`).ReplaceAllStringFunc(query, func(name string) string {
		if value, ok := variables[strings.Trim(name, "${}")]; ok {
			return value
		}
		return name // which is no PromQL
	})
}

// hasData reports whether a result has a number, and over time one that is not 0.
func hasData(result parser.Value) bool {
	switch result := result.(type) {
	case promql.Vector:
		return slices.ContainsFunc(result, func(s promql.Sample) bool { return !math.IsNaN(s.F) })
	case promql.Matrix:
		return slices.ContainsFunc(result, func(s promql.Series) bool {
			return slices.ContainsFunc(s.Floats, func(p promql.FPoint) bool { return p.F < 0 || p.F > 0 })
		})
	default:
		return false
	}
}

// checkLegend checks that series have the labels of a legend.
func checkLegend(t *testing.T, at, legend string, result parser.Value) {
	t.Helper()
	matrix, ok := result.(promql.Matrix)
	for _, match := range regexp.MustCompile(`\{\{(\w+)\}\}`).FindAllStringSubmatch(legend, -1) {
		lacks := func(s promql.Series) bool { return s.Metric.Get(match[1]) == "" }
		if !ok || len(matrix) > 0 && !slices.ContainsFunc(matrix, func(s promql.Series) bool { return !lacks(s) }) {
			t.Errorf("%s: no series has the label %s of the legend", at, match[1])
		}
	}
}

// selectors returns the selectors of series in an expression.
func selectors(expr parser.Expr) (all []*parser.VectorSelector) {
	parser.Inspect(expr, func(node parser.Node, _ []parser.Node) error {
		if selector, ok := node.(*parser.VectorSelector); ok {
			all = append(all, selector)
		}
		return nil
	})
	return all
}

// checkSelectors checks that the metrics of a query exist and have the labels by which it selects, so that a query with
// a default value is also checked.
func (p *scraped) checkSelectors(t *testing.T, at, query string) {
	t.Helper()
	expr, err := parser.NewParser(parser.Options{}).ParseExpr(query)
	if err != nil {
		t.Fatalf("%s: %v", at, err)
	}
	for _, selector := range selectors(expr) {
		matchers := []*labels.Matcher{labels.MustNewMatcher(labels.MatchEqual, labels.MetricName, selector.Name)}
		for _, matcher := range selector.LabelMatchers {
			if matcher.Name != labels.MetricName {
				matchers = append(matchers, labels.MustNewMatcher(labels.MatchNotEqual, matcher.Name, ""))
			}
		}
		if len(p.series(t, matchers...)) == 0 {
			t.Errorf("%s: no series has the name %s and the labels of the selector", at, selector.Name)
		}
	}
}

// step is the time between two points of a graph.
const step = 5 * time.Second
