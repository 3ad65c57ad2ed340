package dashboards

import (
	"encoding/json"
	"fmt"
)

// docs is where readers of a dashboard find the guide.
const docs = "https://github.com/aws-operator/aws-operator/blob/main/docs/"

// Dashboard is a dashboard.
type Dashboard struct {
	// Name is the name of its file, and the last part of its UID.
	Name, Title, Description string
	Variables                []Variable
	Panels                   []Panel
}

// Variable is a selection of values of a label, in all queries.
type Variable struct {
	// Name is the name of the variable, and Values the query for its values.
	Name, Label, Values string
}

// Panel is a panel: a number, or a graph.
type Panel struct {
	Title, Description string
	// Unit is the unit in Grafana's words.
	Unit string
	// Number makes it a number, with the last value.
	Number bool
	// Runbook is the page and section of docs/ that says what to do.
	Runbook string
	// Warn and Alarm are the values at which the number or the line is yellow and red; none if 0. If Alarm is below
	// Warn, low values are bad.
	Warn, Alarm float64
	Queries     []Query
}

// Query is a query of a panel. Its legend has labels in double braces.
type Query struct {
	Expr, Legend string
	// Exemplars shows the traces of durations.
	Exemplars bool
}

// Sizes in the 24 columns of Grafana's grid.
const (
	columns                   = 24
	numberWidth, numberHeight = 4, 4
	graphWidth, graphHeight   = 12, 8
)

type object = map[string]any

// prometheus is the data source that the reader chooses.
var prometheus = object{"type": "prometheus", "uid": "${datasource}"}

// JSON returns the dashboard as Grafana imports it. It follows the schema of
// https://github.com/grafana/grafana-foundation-sdk
func (d Dashboard) JSON() ([]byte, error) {
	variables := []object{{"name": "datasource", "label": "Data source", "type": "datasource", "query": "prometheus", "hide": 0}}
	for _, v := range d.Variables {
		variables = append(variables, v.object())
	}
	content := object{
		"uid": "aws-operator-" + d.Name, "title": d.Title, "description": d.Description, "tags": []string{"aws-operator"},
		"schemaVersion": 39, "editable": true, "graphTooltip": 1, "timezone": "browser", "refresh": "1m",
		"time":       object{"from": "now-6h", "to": "now"},
		"templating": object{"list": variables}, "annotations": object{"list": []object{}},
		"panels": d.panels(),
		"links": []object{
			{
				"title": "aws-operator", "type": "dashboards", "tags": []string{"aws-operator"}, "asDropdown": false, "icon": "external link",
				"tooltip": "", "url": "", "targetBlank": false, "includeVars": true, "keepTime": true,
			},
			link("Runbooks", "guide/alerts.md"), link("Metrics", "reference/metrics.md"),
		},
	}
	data, err := json.MarshalIndent(content, "", "  ")
	if err != nil {
		return nil, fmt.Errorf("encode the dashboard %s: %w", d.Name, err)
	}
	return append(data, '\n'), nil
}

func (v Variable) object() object {
	return object{
		"name": v.Name, "label": v.Label, "type": "query", "datasource": prometheus, "definition": v.Values,
		"query": object{"query": v.Values, "refId": "Values"}, "refresh": 2, "sort": 1,
		"multi": true, "includeAll": true, "allValue": ".*", "current": object{"text": "All", "value": "$__all"}, "hide": 0,
	}
}

// panels lays the panels out in rows: numbers first, then graphs in the order of the description.
func (d Dashboard) panels() []object {
	var all []object
	x, y, rowHeight := 0, 0, 0
	for i, p := range d.Panels {
		width, height := graphWidth, graphHeight
		if p.Number {
			width, height = numberWidth, numberHeight
		}
		if x+width > columns || rowHeight != 0 && height != rowHeight {
			x, y = 0, y+rowHeight
		}
		rowHeight = height
		panel := p.object()
		panel["id"], panel["gridPos"] = i+1, object{"x": x, "y": y, "w": width, "h": height}
		all, x = append(all, panel), x+width
	}
	return all
}

func (p Panel) object() object {
	defaults := object{"unit": p.Unit, "min": 0, "thresholds": p.thresholds(), "color": object{"mode": "thresholds"}}
	panel := object{
		"title": p.Title, "description": p.Description, "datasource": prometheus, "type": "stat",
		"options": object{
			"reduceOptions": object{"calcs": []string{"lastNotNull"}, "fields": "", "values": false}, "colorMode": "value",
			"graphMode": "none", "justifyMode": "auto", "textMode": "auto", "orientation": "auto", "wideLayout": true,
			"showPercentChange": false, "percentChangeColorMode": "standard",
		},
		"fieldConfig": object{"defaults": defaults, "overrides": []object{}},
	}
	if !p.Number {
		panel["type"] = "timeseries"
		panel["options"] = object{
			"legend":  object{"displayMode": "list", "placement": "bottom", "showLegend": true, "calcs": []string{}},
			"tooltip": object{"mode": "multi", "sort": "desc"},
		}
		custom := object{"drawStyle": "line", "fillOpacity": 10, "showPoints": "never"}
		if p.Warn != 0 || p.Alarm != 0 {
			custom["thresholdsStyle"] = object{"mode": "line"}
		}
		defaults["color"], defaults["custom"] = object{"mode": "palette-classic"}, custom
	}
	if p.Runbook != "" {
		panel["links"] = []object{link("What to do", p.Runbook)}
	}
	var targets []object
	for i, q := range p.Queries {
		target := object{"refId": string(rune('A' + i)), "datasource": prometheus, "expr": q.Expr, "legendFormat": q.Legend}
		if q.Exemplars {
			target["exemplar"] = true
		}
		target["instant"], target["range"] = p.Number, !p.Number
		targets = append(targets, target)
	}
	panel["targets"] = targets
	return panel
}

// thresholds returns Grafana's steps, from the lowest value up.
func (p Panel) thresholds() object {
	step := func(color string, from any) object { return object{"color": color, "value": from} }
	steps := []object{step("green", nil)}
	switch {
	case p.Alarm != 0 && p.Alarm < p.Warn:
		steps = []object{step("red", nil), step("yellow", p.Alarm), step("green", p.Warn)}
	default:
		if p.Warn != 0 {
			steps = append(steps, step("yellow", p.Warn))
		}
		if p.Alarm != 0 {
			steps = append(steps, step("red", p.Alarm))
		}
	}
	return object{"mode": "absolute", "steps": steps}
}

// link returns a link to a page of docs/.
func link(title, page string) object {
	return object{
		"title": title, "type": "link", "url": docs + page, "targetBlank": true, "tags": []string{}, "asDropdown": false,
		"icon": "doc", "tooltip": "", "includeVars": false, "keepTime": false,
	}
}
