package console_test

import (
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1alpha1 "github.com/aws-operator/aws-operator/api/cluster/v1alpha1"
	servicev1alpha1 "github.com/aws-operator/aws-operator/api/service/v1alpha1"
	"github.com/aws-operator/aws-operator/internal/cfn/stack"
	"github.com/aws-operator/aws-operator/internal/cli/console"
	"github.com/aws-operator/aws-operator/pkg/operatorkit"
)

func TestOverviewFollowsEveryChange(t *testing.T) {
	w := newSuite(t)
	workers := group("workers")
	w.create(workers)
	overview := w.open(w.config).watch()
	overview.row("InstanceGroup workers", "waiting")
	w.set(workers, operatorkit.ConditionReady, metav1.ConditionFalse, "CreateInProgress", "CloudFormation is creating the stack.")
	row := overview.row("InstanceGroup workers", "working")
	if row.Text != "CloudFormation is creating the stack." || row.Reason != "CreateInProgress" {
		t.Errorf("the row is %+v", row)
	}
	w.set(workers, operatorkit.ConditionReady, metav1.ConditionTrue, "Ready", strings.Repeat("long ", 1000))
	if row := overview.row("InstanceGroup workers", "done"); len(row.Text) > 310 {
		t.Errorf("the text of a row has %d bytes", len(row.Text))
	}
	w.create(group("spot"))
	overview.row("InstanceGroup spot", "waiting")
	if err := w.client.Delete(t.Context(), workers); err != nil {
		t.Fatal(err)
	}
	overview.until("the group is deleted", func() bool { return overview.rows["InstanceGroup workers"].Name == "" })
}

// demo returns a Cluster amid a rollout, with a change that waits for approval.
func demo() *clusterv1alpha1.Cluster {
	now := metav1.NewTime(time.Unix(1_700_000_000, 0))
	c := &clusterv1alpha1.Cluster{
		ObjectMeta: metav1.ObjectMeta{Name: "demo", Annotations: map[string]string{stack.ApproveAnnotation: "old,bbb"}},
		Spec: clusterv1alpha1.ClusterSpec{
			Region: "eu-central-1", Release: "v1.36.3",
			Network:      clusterv1alpha1.Network{CIDR: "10.10.0.0/16", Zones: []string{"eu-central-1a"}, Topology: clusterv1alpha1.TopologyPublic},
			API:          clusterv1alpha1.APIEndpoint{Access: clusterv1alpha1.APIPublic},
			ControlPlane: clusterv1alpha1.ControlPlane{Replicas: 1, InstanceType: "t3.medium"},
		},
	}
	c.Status = clusterv1alpha1.ClusterStatus{
		Version: "v1.36.2", Release: "v1.36.2", Account: "123456789012",
		Nodes: clusterv1alpha1.NodeCount{Desired: 3, Ready: 2, Updated: 1},
		Rollout: &clusterv1alpha1.RolloutStatus{
			State: clusterv1alpha1.RolloutRolling, Updated: 1, Total: 3, Message: "Slot 1 is being replaced.",
			Draining: []clusterv1alpha1.DrainStatus{
				{Node: "ip-10-0-0-1", Instance: "i-1", Since: &now, Pods: 4, BlockedBy: []string{"shop/front"}},
			},
		},
		PendingChanges: []clusterv1alpha1.PendingChange{
			{Stack: "demo", Digest: "aaa", Summary: "Adds a subnet."}, {Stack: "demo-control-plane-0", Digest: "bbb", Summary: "Replaces the instance."},
		},
		Stacks: []clusterv1alpha1.StackStatus{
			{Name: "demo", Status: "UPDATE_COMPLETE", Drift: &clusterv1alpha1.StackDriftStatus{Status: "Drifted", DriftStatus: servicev1alpha1.DriftStatus{
				Resources: []servicev1alpha1.DriftedResource{{
					Resource: "PublicSubnetA", State: servicev1alpha1.DriftModified,
					Properties: []servicev1alpha1.DriftedProperty{{Path: "MapPublicIpOnLaunch", Expected: "true", Actual: "false"}},
				}},
			}}},
			{Name: "demo-control-plane-0", Status: "UPDATE_ROLLBACK_FAILED", Reason: "No capacity."},
		},
		Backup: &clusterv1alpha1.BackupStatus{
			Backups: []clusterv1alpha1.Backup{{Snapshot: "snap-1", Time: now, Slot: 2, State: "completed"}},
		},
		Certificates: &clusterv1alpha1.CertificatesStatus{CAsExpire: &now},
	}
	return c
}

func TestPageOfACluster(t *testing.T) {
	w := newSuite(t)
	cluster, workers := demo(), group("workers")
	status := cluster.Status
	w.create(cluster, workers)
	cluster.Status = status
	w.setStatus(cluster)
	w.set(workers, operatorkit.ConditionReady, metav1.ConditionFalse, "UpdateInProgress", "CloudFormation is updating the stack.")
	b := w.open(w.config)
	overview := b.watch()
	overview.row("InstanceGroup workers", "working")
	row := overview.row("Cluster demo", "waiting")
	if !row.Pending {
		t.Error("the overview does not say that a change waits for approval")
	}
	p := b.page(row.ID)
	for name, want := range map[string]string{
		"Kubernetes": "v1.36.2", "Release": "v1.36.2 → v1.36.3", "Account and region": "123456789012 eu-central-1", "Nodes": "2 of 3 ready, 1 up to date",
	} {
		if got := p.fact(name); got != want {
			t.Errorf("%s is %q, want %q", name, got, want)
		}
	}
	for title, wants := range map[string][]string{
		"Rollout of the control plane": {"Slot 1 is being replaced.", "1/3", "ip-10-0-0-1 i-1 |", "| 4 | PodDisruptionBudget shop/front |"},
		"Instance groups":              {"workers |", "CloudFormation is updating the stack. |"},
		"Drift of demo":                {"PublicSubnetA | MapPublicIpOnLaunch | true | false |"},
		"Stacks":                       {"demo | UPDATE_COMPLETE |", "demo-control-plane-0 | UPDATE_ROLLBACK_FAILED | No capacity. |"},
		"Certificates":                 {"CAs of the cluster |"},
		"References":                   {"needs | Release v1.36.3 | spec.release |", "is needed by | InstanceGroup workers | spec.cluster |"},
		"Backups":                      {"snap-1 |", "| 2 | completed |"},
		"Manifest":                     {"release: v1.36.3", "kind: Cluster"},
	} {
		for _, want := range wants {
			if got := p.section(title); !strings.Contains(got, want) {
				t.Errorf("section %s has no %q: %s", title, want, got)
			}
		}
	}
	if strings.Contains(p.section("Manifest"), "managedFields") || len(p.Changes) != 2 || p.Changes[0].Digest != "aaa" {
		t.Errorf("changes %+v, manifest %s", p.Changes, p.section("Manifest"))
	}
}

// CloudFormation ends the rollout of a group when its new nodes are ready, while old ones are still drained.
func TestPageOfAClusterHasTheRolloutsOfItsGroups(t *testing.T) {
	w := newSuite(t)
	cluster, ended, draining := demo(), group("ended"), group("draining")
	w.create(cluster, ended, draining)
	ended.Status.Rollout = &clusterv1alpha1.RolloutStatus{State: clusterv1alpha1.RolloutDone}
	draining.Status.Rollout = &clusterv1alpha1.RolloutStatus{
		State:    clusterv1alpha1.RolloutDone,
		Draining: []clusterv1alpha1.DrainStatus{{Node: "ip-10-0-0-2", Pods: 1, BlockedBy: []string{"shop/front"}}},
	}
	w.set(ended, operatorkit.ConditionReady, metav1.ConditionTrue, "Ready", "It is ready.")
	w.set(draining, operatorkit.ConditionReady, metav1.ConditionTrue, "Ready", "It is ready.")
	b := w.open(w.config)
	overview := b.watch()
	overview.row("InstanceGroup ended", "done")
	overview.row("InstanceGroup draining", "done")
	p := b.page(overview.row("Cluster demo", "waiting").ID)
	got := p.section("Rollout of draining")
	if !strings.Contains(got, "ip-10-0-0-2 |") || !strings.Contains(got, "still being drained: 1") {
		t.Errorf("the rollout of a group with drains: %s", got)
	}
	if got := p.section("Rollout of ended"); got != "" {
		t.Errorf("a rollout that ended is shown: %s", got)
	}
}

func TestApprovalNamesThePendingChange(t *testing.T) {
	w := newSuite(t)
	cluster := demo()
	status := cluster.Status
	w.create(cluster)
	cluster.Status = status
	w.setStatus(cluster)
	b := w.open(w.config)
	overview := b.watch()
	id := overview.row("Cluster demo", "waiting").ID
	annotation := func() string {
		if err := w.client.Get(t.Context(), client.ObjectKeyFromObject(cluster), cluster); err != nil {
			t.Fatal(err)
		}
		return cluster.Annotations[stack.ApproveAnnotation]
	}
	for _, digests := range [][]string{nil, {""}, {"old"}, {"aaa", "other"}} {
		if status, body := b.post("/api/approve", map[string]any{"id": id, "digests": digests}); status != http.StatusConflict {
			t.Errorf("an approval of %q: status %d, %s", digests, status, body)
		}
	}
	if got := annotation(); got != "old,bbb" {
		t.Errorf("a refused approval set %q", got)
	}
	if status, body := b.post("/api/approve", map[string]any{"id": id, "digests": []string{"aaa"}}); status != http.StatusOK {
		t.Errorf("status %d, %s", status, body)
	}
	if got := annotation(); got != "aaa,bbb" { // the other change that waits stays approved, the former one does not
		t.Errorf("the approval set %q", got)
	}
}

func TestRetryOfAStalledObject(t *testing.T) {
	w := newSuite(t)
	workers := group("workers")
	w.create(workers)
	b := w.open(w.config)
	overview := b.watch()
	id := overview.row("InstanceGroup workers", "waiting").ID
	if status, body := b.post("/api/retry", map[string]any{"id": id}); status != http.StatusConflict || !strings.Contains(body, "not stalled") {
		t.Errorf("status %d, %s", status, body)
	}
	w.set(workers, operatorkit.ConditionStalled, metav1.ConditionTrue, "Denied", "AWS denies it.")
	w.set(workers, operatorkit.ConditionReady, metav1.ConditionFalse, "Denied", "AWS denies it.")
	overview.row("InstanceGroup workers", "working")
	if !b.page(id).Stalled {
		t.Error("the page does not offer to retry")
	}
	if status, body := b.post("/api/retry", map[string]any{"id": id}); status != http.StatusOK {
		t.Errorf("status %d, %s", status, body)
	}
	err := w.client.Get(t.Context(), client.ObjectKeyFromObject(workers), workers)
	if err != nil || workers.Annotations[stack.RetryAnnotation] == "" {
		t.Errorf("annotations %v, %v", workers.Annotations, err)
	}
}

// TestConsoleHasTheUsersPermissions uses the kubeconfig of a user who may read instance groups only.
func TestConsoleHasTheUsersPermissions(t *testing.T) {
	w := newSuite(t)
	workers := group("workers")
	w.create(workers, &rbacv1.Role{
		ObjectMeta: metav1.ObjectMeta{Name: "reader"},
		Rules: []rbacv1.PolicyRule{{
			APIGroups: []string{clusterv1alpha1.Group}, Resources: []string{"instancegroups"}, Verbs: []string{"get", "list", "watch"},
		}},
	}, &rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: "reader"},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: "reader"},
		Subjects:   []rbacv1.Subject{{Kind: rbacv1.UserKind, APIGroup: rbacv1.GroupName, Name: "ada"}},
	})
	w.set(workers, operatorkit.ConditionStalled, metav1.ConditionTrue, "Denied", "AWS denies it.")
	user := rest.CopyConfig(w.config)
	user.Impersonate.UserName = "ada"
	b := w.open(user)
	overview := b.watch()
	row := overview.row("InstanceGroup workers", "waiting")
	if !strings.Contains(strings.Join(overview.hidden, " "), "clusters") {
		t.Errorf("the page says that %q are hidden", overview.hidden)
	}
	p := b.page(row.ID)
	if got := p.section("Events"); !strings.Contains(got, "not shown") {
		t.Errorf("Events: %s", got)
	}
	status, body := b.post("/api/retry", map[string]any{"id": row.ID})
	if status != http.StatusForbidden || !strings.Contains(body, "ada") {
		t.Errorf("status %d, %s", status, body)
	}
}

func TestOnlyThePageGetsData(t *testing.T) {
	w := newSuite(t)
	b := w.open(w.config)
	overview := b.watch()
	overview.until("the objects are read", func() bool { return overview.whole })
	for name, c := range map[string]struct {
		method, path string
		change       func(r *http.Request)
		want         int
	}{
		"the page":                      {http.MethodGet, "/", func(r *http.Request) { r.Header.Del("Authorization") }, http.StatusOK},
		"the page by the other name":    {http.MethodGet, "/", func(r *http.Request) { r.Host = strings.Replace(r.Host, "127.0.0.1", "localhost", 1) }, http.StatusOK},
		"a name of another site":        {http.MethodGet, "/", func(r *http.Request) { r.Host = "rebound.example:" + r.URL.Port() }, http.StatusForbidden},
		"another port":                  {http.MethodGet, "/", func(r *http.Request) { r.Host = "127.0.0.1:1" }, http.StatusForbidden},
		"data without the token":        {http.MethodGet, "/api/watch", func(r *http.Request) { r.Header.Del("Authorization") }, http.StatusUnauthorized},
		"data with another token":       {http.MethodGet, "/api/object", func(r *http.Request) { r.Header.Set("Authorization", "Bearer x") }, http.StatusUnauthorized},
		"an order of another site":      {http.MethodPost, "/api/retry", func(r *http.Request) { r.Header.Set("Sec-Fetch-Site", "cross-site") }, http.StatusForbidden},
		"an order of another origin":    {http.MethodPost, "/api/retry", func(r *http.Request) { r.Header.Set("Origin", "http://rebound.example") }, http.StatusForbidden},
		"an order by reading":           {http.MethodGet, "/api/retry", func(*http.Request) {}, http.StatusMethodNotAllowed},
		"an order that is no JSON":      {http.MethodPost, "/api/retry", func(*http.Request) {}, http.StatusBadRequest},
		"a file outside of the console": {http.MethodGet, "/../console.go", func(*http.Request) {}, http.StatusNotFound},
		"an object that does not exist": {http.MethodGet, "/api/object?id=Secret.%2Fdefault%2Fx", func(*http.Request) {}, http.StatusNotFound},
	} {
		request := b.request(c.method, c.path, "")
		c.change(request)
		status, body, header := b.send(request)
		if status != c.want {
			t.Errorf("%s: status %d, want %d: %.200s", name, status, c.want, body)
		}
		if strings.Contains(body, b.token) {
			t.Errorf("%s: the answer has the token", name)
		}
		if got := header.Get("Content-Security-Policy"); !strings.HasPrefix(got, "default-src 'none'; script-src 'self';") || strings.Contains(got, "unsafe") {
			t.Errorf("%s: Content-Security-Policy %q", name, got)
		}
	}
}

func TestConsoleListensOnLoopbackOnly(t *testing.T) {
	w := newSuite(t)
	_ = w.open(w.config) // for its kubeconfig
	for _, listen := range []string{"0.0.0.0:0", "[::]:0", ":0", "example.com:80", "127.0.0.1"} {
		cmd := console.Command()
		cmd.SetArgs([]string{"--listen", listen})
		cmd.SetOut(io.Discard)
		cmd.SetErr(io.Discard)
		if err := cmd.ExecuteContext(t.Context()); err == nil || !strings.Contains(err.Error(), "--listen") {
			t.Errorf("%s: %v", listen, err)
		}
	}
}

// TestPageIsSmallAndSelfContained reads the files of the page: 300 kB at most, without scripts or styles of
// others, and without code that makes HTML of texts.
func TestPageIsSmallAndSelfContained(t *testing.T) {
	files, err := filepath.Glob("assets/*")
	if err != nil || len(files) == 0 {
		t.Fatalf("%d files, %v", len(files), err)
	}
	size := 0
	foreign := regexp.MustCompile(`(?i)(src|href)\s*=\s*["']?(https?:)?//|@import|url\(\s*["']?http|innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\(|<style|<script>`)
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		size += len(data)
		if found := foreign.Find(data); found != nil {
			t.Errorf("%s has %q", file, found)
		}
	}
	if size > 300_000 {
		t.Errorf("the page has %d bytes", size)
	}
}
