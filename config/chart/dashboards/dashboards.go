package dashboards

import "slices"

// Durations in seconds, for thresholds.
const (
	minute = 60
	hour   = 60 * minute
	day    = 24 * hour
)

// All returns the dashboards.
func All() []Dashboard { return []Dashboard{Fleet(), Clusters(), Operator()} }

var namespaces = Variable{Name: "namespace", Label: "Namespace", Values: `label_values(aws_operator_objects, namespace)`}

// Selections of series by the variables of a dashboard.
const (
	ofObjects    = `namespace=~"$namespace",kind=~"$kind"`
	ofCluster    = `namespace=~"$namespace",name=~"$cluster"`
	ofJob        = `job=~"$job"`
	ofJobAndKind = ofJob + `,kind=~"$kind"`
	// interval is the time over which Grafana computes rates.
	interval = `[$__rate_interval]`
)

// Fleet returns the dashboard of all objects: what is not ready, since when, and what waits for a user.
func Fleet() Dashboard {
	return Dashboard{
		Name: "fleet", Title: "aws-operator / Fleet",
		Description: "Which objects are not ready, since when, and which wait for a user.",
		Variables: []Variable{
			namespaces,
			{Name: "kind", Label: "Kind", Values: `label_values(aws_operator_objects{namespace=~"$namespace"}, kind)`},
		},
		Panels: slices.Concat(fleetNumbers(), fleetObjects(), fleetStacks()),
	}
}

// fleetNumbers returns how many objects there are, and in which state.
func fleetNumbers() []Panel {
	return []Panel{
		{
			Title: "Objects", Number: true, Unit: "short", Description: "All objects that the operator manages.",
			Queries: []Query{{Expr: `sum(aws_operator_objects{condition="Ready",` + ofObjects + `})`}},
		},
		{
			Title: "Not ready", Number: true, Unit: "short", Warn: 1,
			Description: "Objects that are being changed, or whose change fails.",
			Queries:     []Query{{Expr: `sum(aws_operator_objects{condition="Ready",status!="True",` + ofObjects + `})`}},
		},
		{
			Title: "Stalled", Number: true, Unit: "short", Alarm: 1, Runbook: "guide/alerts.md#awsoperatorobjectsstalled",
			Description: "Objects that need a user to act. The operator does not retry them.",
			Queries:     []Query{{Expr: `sum(aws_operator_objects{condition="Stalled",status="True",` + ofObjects + `})`}},
		},
		{
			Title: "Longest not ready", Number: true, Unit: "s", Warn: hour,
			Description: "For how long the first object of the kinds has not been ready, in any namespace. No data means that all are.",
			Queries:     []Query{{Expr: `time() - min(aws_operator_not_ready_since_timestamp_seconds{kind=~"$kind"})`}},
		},
		{
			Title: "Approvals pending", Number: true, Unit: "short", Warn: 1, Runbook: "guide/approval.md",
			Description: "Changes that wait for a user's approval.",
			Queries:     []Query{{Expr: `sum(aws_operator_pending_changes{` + ofObjects + `})`}},
		},
		{
			Title: "Stack operations running", Number: true, Unit: "short",
			Description: "Stacks that CloudFormation creates, updates, deletes or rolls back now.",
			Queries:     []Query{{Expr: `sum(aws_operator_stack_operations_running{` + ofObjects + `})`}},
		},
	}
}

// fleetObjects returns the graphs of objects by kind.
func fleetObjects() []Panel {
	return []Panel{
		{
			Title: "Objects by kind and readiness", Unit: "short",
			Description: "True is ready, False is not, Unknown has not been reconciled yet.",
			Queries: []Query{{
				Expr: `sum by (kind, status) (aws_operator_objects{condition="Ready",` + ofObjects + `}) > 0`, Legend: "{{kind}} {{status}}",
			}},
		},
		{
			Title: "Not ready for", Unit: "s",
			Description: "For how long the first object of a kind has not been ready, in any namespace.",
			Queries: []Query{{
				Expr:   `time() - min by (kind) (aws_operator_not_ready_since_timestamp_seconds{kind=~"$kind"})`,
				Legend: "{{kind}}",
			}},
		},
		{
			Title: "Stalled, by kind and namespace", Unit: "short", Runbook: "guide/alerts.md#awsoperatorobjectsstalled",
			Description: "Objects that need a user to act.",
			Queries: []Query{{
				Expr:   `sum by (kind, namespace) (aws_operator_objects{condition="Stalled",status="True",` + ofObjects + `}) > 0`,
				Legend: "{{kind}} in {{namespace}}",
			}},
		},
		{
			Title: "Approvals pending, by kind and namespace", Unit: "short", Runbook: "guide/approval.md",
			Description: "Changes that wait for a user's approval.",
			Queries: []Query{{
				Expr: `sum by (kind, namespace) (aws_operator_pending_changes{` + ofObjects + `}) > 0`, Legend: "{{kind}} in {{namespace}}",
			}},
		},
	}
}

// fleetStacks returns the graphs of the operations of CloudFormation, and of steps.
func fleetStacks() []Panel {
	return []Panel{
		{
			Title: "Stack operations running, by kind", Unit: "short",
			Description: "Stacks that CloudFormation creates, updates, deletes or rolls back.",
			Queries:     []Query{{Expr: `sum by (kind) (aws_operator_stack_operations_running{` + ofObjects + `}) > 0`, Legend: "{{kind}}"}},
		},
		{
			Title: "Duration of stack operations", Unit: "s",
			Description: "95 of 100 operations of the last hour took at most this, in all namespaces and kinds.",
			Queries: []Query{{
				Expr: `histogram_quantile(0.95, sum by (le, operation) ` +
					`(rate(aws_operator_stack_operation_duration_seconds_bucket[1h])))`,
				Legend: "{{operation}}",
			}},
		},
		{
			Title: "Stack operations per hour", Unit: "short",
			Description: "Operations that ended, in all namespaces and kinds. CloudFormation rolled back those that failed.",
			Queries: []Query{{
				Expr:   `sum by (operation, result) (increase(aws_operator_stack_operation_duration_seconds_count[1h]))`,
				Legend: "{{operation}} {{result}}",
			}},
		},
		{
			Title: "Failed steps", Unit: "ops",
			Description: "Steps of reconciles that end with an error and are retried. The operator's log has the errors.",
			Queries: []Query{{
				Expr: `sum by (kind, step) (rate(aws_operator_step_duration_seconds_count{outcome="fail",kind=~"$kind"}` +
					`[$__rate_interval]))`,
				Legend: "{{kind}} {{step}}",
			}},
		},
	}
}

// Clusters returns the dashboard of clusters: nodes, rollouts, backups, certificates and drift.
func Clusters() Dashboard {
	return Dashboard{
		Name: "clusters", Title: "aws-operator / Clusters",
		Description: "Whether clusters have their nodes, where rollouts are, and what expires.",
		Variables: []Variable{
			namespaces,
			{Name: "cluster", Label: "Cluster", Values: `label_values(aws_operator_cluster_nodes{namespace=~"$namespace"}, name)`},
			{
				Name: "kind", Label: "Rollouts and drift of",
				Values: `label_values(aws_operator_objects{namespace=~"$namespace",group="cluster-operator.aws"}, kind)`,
			},
		},
		Panels: slices.Concat(clusterNumbers(), clusterNodes(), clusterUpkeep()),
	}
}

// clusterNumbers returns the clusters' worst values.
func clusterNumbers() []Panel {
	return []Panel{
		{
			Title: "Nodes not ready", Number: true, Unit: "short", Warn: 1,
			Description: "Nodes that clusters should have, and that are not Ready.",
			Queries: []Query{{
				Expr: `sum(aws_operator_cluster_nodes{status="desired",` + ofCluster + `})` +
					` - sum(aws_operator_cluster_nodes{status="ready",` + ofCluster + `})`,
			}},
		},
		{
			Title: "Rollouts", Number: true, Unit: "short", Warn: 1, Description: "Replacements of nodes that are not complete.",
			Queries: []Query{{Expr: `count(aws_operator_rollout_start_timestamp_seconds{` + ofObjects + `}) or vector(0)`}},
		},
		{
			Title: "Rollouts stopped", Number: true, Unit: "short", Alarm: 1,
			Description: "Replacements that need a user to act: status.rollout.message of the object says why.",
			Queries:     []Query{{Expr: `count(aws_operator_rollout_start_timestamp_seconds{state="Stopped",` + ofObjects + `}) or vector(0)`}},
		},
		{
			Title: "Oldest backup", Number: true, Unit: "s", Warn: day, Alarm: 2 * day, Runbook: "guide/alerts.md#awsoperatorbackupold",
			Description: "Age of the last backup of etcd, of the cluster for which it is highest.",
			Queries:     []Query{{Expr: `time() - min(aws_operator_cluster_last_backup_timestamp_seconds{` + ofCluster + `})`}},
		},
		{
			Title: "First certificates expire in", Number: true, Unit: "s", Warn: 90 * day, Alarm: 60 * day,
			Runbook:     "guide/alerts.md#awsoperatorcertificatesexpire",
			Description: "When certificates have expired, API servers and etcd do not accept each other any more.",
			Queries:     []Query{{Expr: `min(aws_operator_cluster_certificate_expiry_timestamp_seconds{` + ofCluster + `}) - time()`}},
		},
		{
			Title: "Drifted", Number: true, Unit: "short", Warn: 1, Runbook: "guide/alerts.md#awsoperatordrift",
			Description: "Clusters and groups in any namespace with resources that were changed outside of CloudFormation. " +
				"No data until the first check.",
			Queries: []Query{{Expr: `sum(aws_operator_drifted_objects{group="cluster-operator.aws",kind=~"$kind"})`}},
		},
	}
}

// clusterNodes returns the graphs of nodes and rollouts.
func clusterNodes() []Panel {
	return []Panel{
		{
			Title: "Nodes", Unit: "short", Description: "Updated nodes run the current configuration.",
			Queries: []Query{{Expr: `sum by (name, status) (aws_operator_cluster_nodes{` + ofCluster + `})`, Legend: "{{name}} {{status}}"}},
		},
		{
			Title: "Progress of rollouts", Unit: "percentunit",
			Description: "Which part of the nodes is replaced. A rollout disappears when it is done.",
			Queries: []Query{{
				Expr: `max by (kind, namespace, name) (aws_operator_rollout_nodes{status="updated",` + ofObjects + `}) ` +
					`/ max by (kind, namespace, name) (aws_operator_rollout_nodes{status="total",` + ofObjects + `})`,
				Legend: "{{kind}} {{namespace}}/{{name}}",
			}},
		},
		{
			Title: "Age of rollouts", Unit: "s",
			Description: "Time since the first node was replaced. Draining a node takes ten minutes at most by default.",
			Queries: []Query{{
				Expr:   `time() - max by (kind, namespace, name, state) (aws_operator_rollout_start_timestamp_seconds{` + ofObjects + `})`,
				Legend: "{{kind}} {{namespace}}/{{name}} {{state}}",
			}},
		},
	}
}

// clusterUpkeep returns the graphs of backups, certificates and drift.
func clusterUpkeep() []Panel {
	return []Panel{
		{
			Title: "Age of backups", Unit: "s", Alarm: 2 * day, Runbook: "guide/alerts.md#awsoperatorbackupold",
			Description: "Time since the last backup of etcd. Clusters without a backup have no line.",
			Queries: []Query{{
				Expr:   `time() - max by (namespace, name) (aws_operator_cluster_last_backup_timestamp_seconds{` + ofCluster + `})`,
				Legend: "{{namespace}}/{{name}}",
			}},
		},
		{
			Title: "Certificates expire in", Unit: "s", Warn: 90 * day, Alarm: 60 * day, Runbook: "guide/alerts.md#awsoperatorcertificatesexpire",
			Description: "Time until the first certificate of the CAs or of the slots expires.",
			Queries: []Query{{
				Expr:   `min by (namespace, name, of) (aws_operator_cluster_certificate_expiry_timestamp_seconds{` + ofCluster + `}) - time()`,
				Legend: "{{namespace}}/{{name}} {{of}}",
			}},
		},
		{
			Title: "Drift, by kind", Unit: "short", Runbook: "guide/alerts.md#awsoperatordrift",
			Description: "Objects of all kinds, in any namespace, with resources that were changed outside of CloudFormation.",
			Queries:     []Query{{Expr: `sum by (kind) (aws_operator_drifted_objects)`, Legend: "{{kind}}"}},
		},
	}
}

// Operator returns the dashboard of the operator's own work: its calls of AWS, its queues, and its memory.
func Operator() Dashboard {
	return Dashboard{
		Name: "operator", Title: "aws-operator / Operator and AWS",
		Description: "Whether the operator keeps up, and whether AWS lets it.",
		Variables: []Variable{
			{Name: "job", Label: "Job", Values: `label_values(aws_operator_api_requests_total, job)`},
			{Name: "kind", Label: "Kind", Values: `label_values(aws_operator_reconcile_duration_seconds_count{job=~"$job"}, kind)`},
		},
		Panels: slices.Concat(operatorNumbers(), operatorCalls(), operatorWork()),
	}
}

// operatorNumbers returns whether the operator works now.
func operatorNumbers() []Panel {
	return []Panel{
		{
			Title: "Leaders", Number: true, Unit: "short", Warn: 1, Alarm: 0.5, Runbook: "guide/alerts.md#awsoperatordown",
			Description: "Pods that lead, and so reconcile: one for each operator.",
			Queries:     []Query{{Expr: `sum(leader_election_master_status{name=~"aws-operator-.*",` + ofJob + `})`}},
		},
		{
			Title: "Throttled calls", Number: true, Unit: "ops", Alarm: 0.1, Runbook: "guide/alerts.md#awsoperatorthrottled",
			Description: "Calls per second that AWS refuses because of their rate.",
			Queries:     []Query{{Expr: `sum(rate(aws_operator_api_throttled_total{` + ofJob + `}` + interval + `))`}},
		},
		{
			Title: "Objects that wait", Number: true, Unit: "short", Description: "Objects in the queues of the controllers.",
			Queries: []Query{{Expr: `sum(workqueue_depth{` + ofJob + `})`}},
		},
	}
}

// operatorCalls returns the graphs of calls of AWS.
func operatorCalls() []Panel {
	return []Panel{
		{
			Title: "Calls of AWS", Unit: "ops", Description: "Attempts of calls per second, with retries.",
			Queries: []Query{{
				Expr:   `sum by (service, operation) (rate(aws_operator_api_requests_total{` + ofJob + `}` + interval + `)) > 0`,
				Legend: "{{service}} {{operation}}",
			}},
		},
		{
			Title: "Calls of AWS that fail, by code", Unit: "ops",
			Description: "AWS's error codes; network means that there was no response.",
			Queries: []Query{{
				Expr:   `sum by (service, operation, code) (rate(aws_operator_api_requests_total{code!="200",` + ofJob + `}` + interval + `))`,
				Legend: "{{service}} {{operation}} {{code}}",
			}},
		},
		{
			Title: "Throttled calls, by operation", Unit: "ops", Alarm: 0.1, Runbook: "guide/alerts.md#awsoperatorthrottled",
			Description: "Attempts per second that AWS refuses because of their rate. The operator retries them.",
			Queries: []Query{{
				Expr:   `sum by (service, operation) (rate(aws_operator_api_throttled_total{` + ofJob + `}` + interval + `))`,
				Legend: "{{service}} {{operation}}",
			}},
		},
		{
			Title: "Wait for the call budget", Unit: "s", Runbook: "guide/install.md#set-the-aws-request-budget",
			Description: "95 of 100 attempts waited at most this for the operator's own budget of the service.",
			Queries:     []Query{{Expr: p95("service", "aws_operator_api_budget_wait_seconds", ofJob), Legend: "{{service}}"}},
		},
		{
			Title: "Duration of calls of AWS", Unit: "s",
			Description: "95 of 100 attempts took at most this, without the wait for the budget.",
			Queries:     []Query{{Expr: p95("service", "aws_operator_api_request_duration_seconds", ofJob), Legend: "{{service}}", Exemplars: true}},
		},
	}
}

// operatorWork returns the graphs of events, queues, reconciles and memory.
func operatorWork() []Panel {
	return []Panel{
		{
			Title: "Lag of events", Unit: "s", Description: "95 of 100 events of CloudFormation arrived after at most this.",
			Queries: []Query{{
				Expr:   `histogram_quantile(0.95, sum by (le) (rate(aws_operator_event_lag_seconds_bucket{` + ofJob + `}` + interval + `)))`,
				Legend: "lag",
			}},
		},
		{
			Title: "Events and sweeps", Unit: "ops",
			Description: "Events that arrived, sweeps over all stacks, and changes that only a sweep found: events that were lost.",
			Queries: []Query{
				{Expr: `sum by (result) (rate(aws_operator_events_total{` + ofJob + `}` + interval + `))`, Legend: "event {{result}}"},
				{Expr: `sum by (result) (rate(aws_operator_sweeps_total{` + ofJob + `}` + interval + `))`, Legend: "sweep {{result}}"},
				{Expr: `sum(rate(aws_operator_sweep_differences_total{` + ofJob + `}` + interval + `))`, Legend: "found by a sweep"},
			},
		},
		{
			Title: "Queue depth", Unit: "short", Description: "Objects that wait for a reconcile, by controller.",
			Queries: []Query{{Expr: `sum by (controller) (workqueue_depth{` + ofJob + `}) > 0`, Legend: "{{controller}}"}},
		},
		{
			Title: "Queue latency", Unit: "s", Description: "95 of 100 objects waited at most this for a reconcile.",
			Queries: []Query{{Expr: p95("controller", "workqueue_queue_duration_seconds", ofJob), Legend: "{{controller}}"}},
		},
		{
			Title: "Duration of reconciles", Unit: "s", Description: "95 of 100 reconciles took at most this.",
			Queries: []Query{{Expr: p95("kind", "aws_operator_reconcile_duration_seconds", ofJobAndKind), Legend: "{{kind}}", Exemplars: true}},
		},
		{
			Title: "Reconciles, by outcome", Unit: "ops",
			Description: "fail is an error that is retried, stall needs a user; behind, yielded and conflict follow soon.",
			Queries: []Query{{
				Expr:   `sum by (outcome) (rate(aws_operator_reconcile_duration_seconds_count{` + ofJobAndKind + `}` + interval + `))`,
				Legend: "{{outcome}}",
			}},
		},
		{
			Title: "Writes to the API server", Unit: "ops",
			Description: "Writes of reconciled objects: their finalizer or their status.",
			Queries: []Query{{
				Expr:   `sum by (kind, what) (rate(aws_operator_reconcile_writes_total{` + ofJobAndKind + `}` + interval + `)) > 0`,
				Legend: "{{kind}} {{what}}",
			}},
		},
		{
			Title: "Memory", Unit: "bytes",
			Description: "Memory of each pod, and what of it Go's heap uses. The chart's limit is resources.limits.memory.",
			Queries: []Query{
				{Expr: `process_resident_memory_bytes{` + ofJob + `}`, Legend: "{{instance}} resident"},
				{Expr: `go_memstats_heap_inuse_bytes{` + ofJob + `}`, Legend: "{{instance}} heap"},
			},
		},
	}
}

// p95 returns the 95th percentile of a histogram by a label.
func p95(by, histogram, selection string) string {
	return `histogram_quantile(0.95, sum by (le, ` + by + `) (rate(` + histogram + `_bucket{` + selection + `}` + interval + `)))`
}
