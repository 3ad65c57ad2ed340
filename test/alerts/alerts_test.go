package alerts_test

import (
	"fmt"
	"log/slog"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/rulefmt"
	"github.com/prometheus/prometheus/promql/parser"
	"github.com/prometheus/prometheus/promql/promqltest"
	"github.com/prometheus/prometheus/rules"
	"go.yaml.in/yaml/v3"
)

// alerts returns the rules of a golden render of the chart, which package config/chart compares with
// the chart.
func alerts(t *testing.T, render string) []rulefmt.Rule {
	t.Helper()
	data, err := os.ReadFile("../../config/chart/testdata/" + render + ".yaml")
	if err != nil {
		t.Fatal(err)
	}
	for document := range strings.SplitSeq(string(data), "\n---\n") {
		if !strings.Contains(document, "\nkind: PrometheusRule\n") {
			continue
		}
		var object struct {
			Spec any `yaml:"spec"`
		}
		if err := yaml.Unmarshal([]byte(document), &object); err != nil {
			t.Fatal(err)
		}
		spec, err := yaml.Marshal(object.Spec)
		if err != nil {
			t.Fatal(err)
		}
		groups, errs := rulefmt.Parse(spec, false, model.LegacyValidation, parser.NewParser(parser.Options{}), slog.New(slog.DiscardHandler))
		for _, err := range errs {
			t.Error(err)
		}
		if len(errs) > 0 || len(groups.Groups) != 1 {
			t.Fatalf("%s has no valid group of rules", render)
		}
		return groups.Groups[0].Rules
	}
	t.Fatalf("%s has no PrometheusRule", render)
	return nil
}

// firing evaluates rules each minute up to the last of some times, and returns the summaries of the
// alerts that fire at these times.
func firing(t *testing.T, all []rulefmt.Rule, series string, at ...time.Duration) map[time.Duration][]string {
	t.Helper()
	storage := promqltest.LoadedStorage(t, "load 1m\n  "+strings.Join(strings.Split(strings.TrimSpace(series), "\n"), "\n  "))
	query := rules.EngineQueryFunc(promqltest.NewTestEngine(t, false, 5*time.Minute, 50_000), storage)
	found := map[time.Duration][]string{}
	for _, one := range all {
		expr, err := parser.NewParser(parser.Options{}).ParseExpr(one.Expr)
		if err != nil {
			t.Fatal(err)
		}
		rule := rules.NewAlertingRule(one.Alert, expr, time.Duration(one.For), 0, labels.FromMap(one.Labels),
			labels.FromMap(one.Annotations), labels.EmptyLabels(), "", true, slog.New(slog.DiscardHandler))
		for now := time.Duration(0); now <= slices.Max(at); now += time.Minute {
			if _, err := rule.Eval(t.Context(), 0, time.Unix(0, 0).Add(now), query, nil, 0); err != nil {
				t.Fatal(err)
			}
			if !slices.Contains(at, now) {
				continue
			}
			for _, alert := range rule.ActiveAlerts() {
				if alert.State == rules.StateFiring {
					found[now] = append(found[now], fmt.Sprintf("%s %s: %s", alert.Labels.Get("severity"), one.Alert, alert.Annotations.Get("summary")))
				}
			}
		}
	}
	return found
}

// leads is the series of an operator that leads throughout.
const leads = `leader_election_master_status{name="aws-operator-everything",namespace="platform",pod="a"} 1x3000` + "\n"

func TestAlertsFire(t *testing.T) {
	for name, c := range map[string]struct {
		series string
		quiet  time.Duration // when nothing fires yet
		fires  time.Duration
		want   []string
		ends   time.Duration // when nothing fires any more, unless 0
	}{
		"no pod leads": {
			`leader_election_master_status{name="aws-operator-everything",namespace="platform",pod="a"} 1x10 0x30 1x30
			leader_election_master_status{name="aws-operator-everything",namespace="platform",pod="b"} 0x80
			leader_election_master_status{name="aws-operator-other",namespace="other",pod="c"} 1x80`,
			20 * time.Minute, 21 * time.Minute,
			[]string{"critical AWSOperatorDown: No pod of the operator everything reconciles."},
			42 * time.Minute,
		},
		"no pod runs": {
			`up{job="other"} 1x60`,
			9 * time.Minute, 10 * time.Minute,
			[]string{"critical AWSOperatorDown: No pod of the operator everything reconciles."},
			0,
		},
		"objects are stalled": {
			leads + `aws_operator_objects{condition="Stalled",status="True",group="g",kind="SQSQueue",namespace="blue",pod="a"} 0x10 2x90 0x60
			aws_operator_objects{condition="Stalled",status="True",group="g",kind="SQSQueue",namespace="green",pod="a"} 1x30 0x90
			aws_operator_objects{condition="Stalled",status="False",group="g",kind="SQSQueue",namespace="green",pod="a"} 3x200
			aws_operator_objects{condition="Ready",status="False",group="g",kind="SNSTopic",namespace="green",pod="a"} 3x200`,
			70 * time.Minute, 71 * time.Minute,
			[]string{
				"warning AWSOperatorObjectsStalled: Objects of the kind SQSQueue in the namespace blue that need a user to act: 2.",
			},
			103 * time.Minute,
		},
		"a backup is old": {
			leads + `aws_operator_cluster_last_backup_timestamp_seconds{namespace="blue",name="old",pod="a"} 0x2950 175000x50
			aws_operator_cluster_last_backup_timestamp_seconds{namespace="blue",name="new",pod="a"} 86400x3000`,
			48*time.Hour + 10*time.Minute, 48*time.Hour + 11*time.Minute,
			[]string{
				"critical AWSOperatorBackupOld: The last backup of the Cluster blue/old is 2d 0h 11m 0s old.",
			},
			2960 * time.Minute,
		},
		"a bucket has no recent backup": {
			leads + `aws_operator_cluster_condition_not_true{namespace="blue",name="late",condition="BackedUpToBucket",reason="BackupLate",pod="a"} _x10 1x90 _x60
			aws_operator_cluster_condition_not_true{namespace="blue",name="slow",condition="BackedUpToBucket",reason="NoBackup",pod="a"} 1x50 _x100
			aws_operator_cluster_condition_not_true{namespace="blue",name="off",condition="BackedUp",reason="Disabled",pod="a"} 1x160`,
			69 * time.Minute, 70 * time.Minute,
			[]string{"critical AWSOperatorBucketBackupMissing: The bucket of the Cluster blue/late has no recent backup of etcd: BackupLate."},
			107 * time.Minute,
		},
		"the audit log is not shipped": {
			leads + `aws_operator_cluster_condition_not_true{namespace="blue",name="deaf",condition="AuditLogShipped",reason="ShippingFailed",pod="a"} 1x100
			aws_operator_cluster_condition_not_true{namespace="blue",name="new",condition="AuditLogShipped",reason="NotReported",pod="a"} 1x20 _x80`,
			29 * time.Minute, 30 * time.Minute,
			[]string{"critical AWSOperatorAuditLogNotShipped: The audit log of the Cluster blue/deaf is not shipped: ShippingFailed."},
			0,
		},
		"certificates expire": {
			leads + `aws_operator_cluster_certificate_expiry_timestamp_seconds{namespace="blue",name="old",of="slots",pod="a"} 5186700x100
			aws_operator_cluster_certificate_expiry_timestamp_seconds{namespace="blue",name="old",of="cas",pod="a"} 5270400x100`,
			55 * time.Minute, 56 * time.Minute,
			[]string{"critical AWSOperatorCertificatesExpire: Certificates of the Cluster blue/old (slots) expire in 59d 23h 49m 0s."},
			0,
		},
		"etcd is nearly full": {
			leads + `aws_operator_cluster_etcd_size_bytes{namespace="blue",name="old",pod="a"} 1800000000x100
			aws_operator_cluster_etcd_quota_bytes{namespace="blue",name="old",pod="a"} 2147483648x100
			aws_operator_cluster_etcd_size_bytes{namespace="blue",name="new",pod="a"} 1700000000x100
			aws_operator_cluster_etcd_quota_bytes{namespace="blue",name="new",pod="a"} 2147483648x100
			aws_operator_cluster_etcd_size_bytes{namespace="blue",name="unlimited",pod="a"} 9000000000x100`,
			9 * time.Minute, 10 * time.Minute,
			[]string{"critical AWSOperatorEtcdNearlyFull: The etcd of the Cluster blue/old uses 83.82% of its quota."},
			0,
		},
		"AWS throttles": {
			leads + `aws_operator_api_throttled_total{service="ec2",operation="DescribeInstances",pod="a"} 0+12x100
			aws_operator_api_throttled_total{service="sts",operation="AssumeRole",pod="a"} 0+1x100`,
			29 * time.Minute, 40 * time.Minute,
			[]string{"warning AWSOperatorThrottled: AWS throttles ec2 DescribeInstances for more than half an hour."},
			0,
		},
		"objects have drifted": {
			leads + `aws_operator_drifted_objects{group="g",kind="DynamoDB",pod="a"} 1x100
			aws_operator_drifted_objects{group="g",kind="SQSQueue",pod="a"} 0x100`,
			59 * time.Minute, 60 * time.Minute,
			[]string{"warning AWSOperatorDrift: Objects of the kind DynamoDB that differ from their templates: 1."},
			0,
		},
	} {
		t.Run(name, func(t *testing.T) {
			want := map[time.Duration][]string{c.fires: c.want}
			if diff := cmp.Diff(want, firing(t, alerts(t, "everything"), c.series, c.quiet, c.fires, c.ends)); diff != "" {
				t.Errorf("alerts by time (-want +got):\n%s", diff)
			}
		})
	}
}

// An operator whose replicas share the objects is down when one shard is not served, also if another pod served it before.
func TestShardWithoutReplicaFires(t *testing.T) {
	series := ""
	for shard, values := range []string{"1x60", "1x20 _x20 1x20", "1x10 0x50"} {
		series += fmt.Sprintf("leader_election_master_status{name=\"aws-operator-payments-shard-%d-of-3\",namespace=\"platform\",pod=\"a\"} %s\n", shard, values)
	}
	series += `leader_election_master_status{name="aws-operator-payments-shard-2-of-3",namespace="platform",pod="b"} 0x10 1x50`
	down := []string{"critical AWSOperatorDown: No pod of the operator payments reconciles a part of the objects."}
	// A series without samples counts for five minutes.
	want := map[time.Duration][]string{36 * time.Minute: down}
	if diff := cmp.Diff(want, firing(t, alerts(t, "shards"), series, 15*time.Minute, 25*time.Minute, 36*time.Minute, 45*time.Minute)); diff != "" {
		t.Errorf("alerts by time (-want +got):\n%s", diff)
	}
}

// Each alert has a section of the guide, and each section an alert.
func TestEachAlertHasARunbook(t *testing.T) {
	page, err := os.ReadFile("../../docs/guide/alerts.md")
	if err != nil {
		t.Fatal(err)
	}
	var sections, named []string
	for _, heading := range regexp.MustCompile(`(?m)^## (.*)$`).FindAllStringSubmatch(string(page), -1) {
		sections = append(sections, heading[1])
	}
	for _, alert := range alerts(t, "everything") {
		named = append(named, alert.Alert)
		if want := "docs/guide/alerts.md#" + strings.ToLower(alert.Alert); alert.Annotations["runbook"] != want {
			t.Errorf("the runbook of %s is %s, want %s", alert.Alert, alert.Annotations["runbook"], want)
		}
	}
	if diff := cmp.Diff(named, sections); diff != "" {
		t.Errorf("sections (-alerts +page):\n%s", diff)
	}
}
