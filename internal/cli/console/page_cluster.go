package console

import (
	"cmp"
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	clusterv1alpha1 "github.com/aws-operator/aws-operator/api/cluster/v1alpha1"
	"github.com/aws-operator/aws-operator/internal/cli/internal/progress"
)

const (
	kindCluster = "Cluster"
	kindGroup   = "InstanceGroup"
)

// isCluster reports whether an object is of a kind of the cluster API group.
func isCluster(object *unstructured.Unstructured, kind string) bool {
	return object.GetKind() == kind && object.GroupVersionKind().Group == clusterv1alpha1.GroupVersion.Group
}

// addCluster adds what a cluster has.
func (s *server) addCluster(p *page, object *unstructured.Unstructured) {
	var spec clusterv1alpha1.ClusterSpec
	var status clusterv1alpha1.ClusterStatus
	if !decode(object, "spec", &spec) || !decode(object, "status", &status) {
		return
	}
	p.Facts = append(p.Facts,
		fact{"Kubernetes", text(status.Version)},
		fact{"Release", text(released(status.Release, spec.Release))},
		fact{"API", text(status.Endpoint)},
		fact{"Account and region", text(strings.TrimSpace(status.Account + " " + spec.Region))},
		fact{"Nodes", text(nodes(&status.Nodes))},
	)
	p.Sections = append(p.Sections, rolloutOf("Rollout of the control plane", status.Rollout))
	p.Sections = append(p.Sections, s.groupsOf(object)...)
	stacks := section{Title: "Stacks", Columns: []string{"Stack", "Status", "Reason"}}
	for i := range status.Stacks {
		stacks.Rows = append(stacks.Rows, stackRow(&status.Stacks[i]))
	}
	p.Sections = append(p.Sections, stacks)
	for i := range status.Stacks {
		p.Sections = append(p.Sections, driftOfStack(&status.Stacks[i]))
	}
	repairs := section{Title: "Repairs of the control plane", Columns: []string{"Slot", "Instances replaced", "Last", "Not before"}}
	for i := range status.Repairs {
		r := &status.Repairs[i]
		repairs.Rows = append(repairs.Rows, []cell{
			text(fmt.Sprint(r.Slot)), text(fmt.Sprint(r.Replaced)), at(&r.LastTime), at(&r.NextTime),
		})
	}
	addons := section{Title: "Addons", Columns: []string{"Name", "Chart", "Version"}}
	for i := range status.Addons {
		a := &status.Addons[i]
		addons.Rows = append(addons.Rows, texts(a.Name, strings.TrimSpace(a.Chart+" "+a.Repository), a.Version))
	}
	p.Sections = append(p.Sections, repairs, addons, certificatesOf(&status), backupsOf(status.Backup))
}

// released describes the release that runs, and the one that is on its way.
func released(running, wanted string) string {
	if running == "" || running == wanted {
		return wanted
	}
	return running + " → " + wanted
}

func nodes(count *clusterv1alpha1.NodeCount) string {
	if count.Desired == 0 {
		return ""
	}
	description := fmt.Sprintf("%d of %d ready", count.Ready, count.Desired)
	if count.Updated < count.Desired {
		description += fmt.Sprintf(", %d up to date", count.Updated)
	}
	return description
}

// isActive reports whether a rollout has not ended, or nodes are still being drained: CloudFormation ends a
// rollout when the new nodes are ready.
func isActive(rollout *clusterv1alpha1.RolloutStatus) bool {
	return rollout != nil && (!hasEnded(rollout) || len(rollout.Draining) > 0)
}

func hasEnded(rollout *clusterv1alpha1.RolloutStatus) bool {
	return rollout.State == clusterv1alpha1.RolloutDone || rollout.State == clusterv1alpha1.RolloutRolledBack
}

// groupsOf lists the instance groups of a cluster, after the rollouts that have not ended.
func (s *server) groupsOf(cluster *unstructured.Unstructured) []section {
	var rollouts []section
	found := section{Title: "Instance groups", Columns: []string{"Group", "Nodes", "Kubernetes", "Status"}}
	for _, group := range s.fleet.groups(cluster.GetNamespace(), cluster.GetName()) {
		var status clusterv1alpha1.InstanceGroupStatus
		decode(group, "status", &status)
		r := rowOf(group)
		if isActive(status.Rollout) {
			rollouts = append(rollouts, rolloutOf("Rollout of "+r.Name, status.Rollout))
		}
		found.Rows = append(found.Rows, []cell{
			{Text: r.Name, ID: r.ID}, text(cmp.Or(nodes(&status.Nodes), "-")), text(cmp.Or(status.Version, "-")), {Text: r.Text, Mark: r.Mark},
		})
	}
	return append(rollouts, found)
}

// addGroup adds what an instance group has.
func addGroup(p *page, object *unstructured.Unstructured) {
	var spec clusterv1alpha1.InstanceGroupSpec
	var status clusterv1alpha1.InstanceGroupStatus
	if !decode(object, "spec", &spec) || !decode(object, "status", &status) {
		return
	}
	of := &unstructured.Unstructured{}
	of.SetGroupVersionKind(clusterv1alpha1.GroupVersion.WithKind(kindCluster))
	of.SetNamespace(object.GetNamespace())
	of.SetName(spec.Cluster)
	p.Facts = append(p.Facts,
		fact{"Cluster", cell{Text: spec.Cluster, ID: idOf(of)}},
		fact{"Nodes", text(nodes(&status.Nodes))},
		fact{"Size", text(fmt.Sprintf("%d to %d", spec.MinSize, spec.MaxSize))},
		fact{"Instance types", text(strings.Join(spec.InstanceTypes, ", "))},
		fact{"Kubernetes", text(status.Version)},
		fact{"Auto Scaling group", text(status.AutoScalingGroup)},
	)
	p.Sections = append(p.Sections, rolloutOf("Rollout", status.Rollout))
	if status.Stack != nil {
		p.Sections = append(p.Sections, section{
			Title: "Stack", Columns: []string{"Stack", "Status", "Reason"}, Rows: [][]cell{stackRow(status.Stack)},
		}, driftOfStack(status.Stack))
	}
	if r := status.Repair; r != nil {
		p.Sections = append(p.Sections, section{
			Title: "Repairs", Columns: []string{"Instances replaced", "Last", "Not before"},
			Rows: [][]cell{{text(fmt.Sprint(r.Replaced)), at(&r.LastTime), at(&r.NextTime)}},
		})
	}
}

func stackRow(s *clusterv1alpha1.StackStatus) []cell {
	item := progress.Stack(s)
	return []cell{text(s.Name), {Text: cmp.Or(s.Status, "does not exist yet"), Mark: item.Mark}, text(s.Reason)}
}

// driftOfStack shows what of a stack has drifted.
func driftOfStack(s *clusterv1alpha1.StackStatus) section {
	if s.Drift == nil || len(s.Drift.Resources) == 0 {
		return section{}
	}
	return driftOf("Drift of "+s.Name, &s.Drift.DriftStatus)
}

// rolloutOf shows a rollout: how many nodes are replaced, and what the drains wait for.
func rolloutOf(title string, rollout *clusterv1alpha1.RolloutStatus) section {
	if rollout == nil {
		return section{}
	}
	found := section{
		Title: title, Text: strings.TrimSpace(string(rollout.State) + ". " + rollout.Message),
		Columns: []string{"Draining node", "Since", "Until", "Pods left", "Blocked by"},
	}
	if n := len(rollout.Draining); n > 0 && hasEnded(rollout) {
		found.Text += fmt.Sprintf(" Former nodes that are still being drained: %d.", n)
	}
	if rollout.Total > 0 && (rollout.State == clusterv1alpha1.RolloutRolling || rollout.State == clusterv1alpha1.RolloutRollingBack) {
		found.Bar = &bar{
			Done: int64(rollout.Updated), Total: int64(rollout.Total),
			Label: fmt.Sprintf("%d of %d nodes have the new configuration", rollout.Updated, rollout.Total),
		}
	}
	for i := range rollout.Draining {
		d := &rollout.Draining[i]
		blocked := cell{Text: "-"}
		if len(d.BlockedBy) > 0 {
			blocked = cell{Text: "PodDisruptionBudget " + strings.Join(d.BlockedBy, ", "), Mark: progress.Working}
		}
		found.Rows = append(found.Rows, []cell{
			text(strings.TrimSpace(d.Node + " " + d.Instance)), at(d.Since), at(d.Deadline), text(fmt.Sprint(d.Pods)), blocked,
		})
	}
	return found
}

func backupsOf(backup *clusterv1alpha1.BackupStatus) section {
	found := section{Title: "Backups", Columns: []string{"Snapshot", "Taken", "Slot", "State"}}
	if backup == nil {
		return found
	}
	for i := range backup.Backups {
		b := &backup.Backups[i]
		found.Rows = append(found.Rows, []cell{text(b.Snapshot), at(&b.Time), text(fmt.Sprint(b.Slot)), text(b.State)})
	}
	return found
}

// certificatesOf shows when certificates of a cluster expire.
func certificatesOf(status *clusterv1alpha1.ClusterStatus) section {
	found := section{Title: "Certificates", Columns: []string{"Certificates", "The first expires"}}
	if status.Certificates == nil {
		return found
	}
	if condition := meta.FindStatusCondition(status.Conditions, "CertificatesValid"); condition != nil {
		found.Text = condition.Message
	}
	if rotation := status.Certificates.Rotation; rotation != nil {
		stage := fmt.Sprintf("The rotation of the CAs is in stage %s.", rotation.Stage)
		found.Text = strings.TrimSpace(strings.Join([]string{found.Text, stage, rotation.Message}, " "))
	}
	for _, one := range []struct {
		name string
		at   *metav1.Time
	}{{"CAs of the cluster", status.Certificates.CAsExpire}, {"control plane", status.Certificates.SlotsExpire}} {
		if one.at != nil {
			found.Rows = append(found.Rows, []cell{text(one.name), at(one.at)})
		}
	}
	return found
}
