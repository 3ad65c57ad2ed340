package fleet

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/aws-operator/aws-operator/api/cluster/v1alpha1"
	"github.com/aws-operator/aws-operator/internal/plural"
)

const (
	// maxDetails and maxOverridden limit the status.
	maxDetails    = 20
	maxOverridden = 5
	// maxMessage is the maximum length of a Cluster's message, in bytes.
	maxMessage = 300
)

// details returns the Clusters that need attention, the most urgent first.
func (d *decision) details() []v1alpha1.FleetDetail {
	order := []v1alpha1.FleetClusterState{
		v1alpha1.FleetFailed, v1alpha1.FleetNotReady, v1alpha1.FleetApproving, v1alpha1.FleetPaused,
		v1alpha1.FleetUpdating, v1alpha1.FleetWaiting, v1alpha1.FleetUpdated,
	}
	var found []*Member
	for i := range d.members {
		m := &d.members[i]
		switch m.State {
		case v1alpha1.FleetFailed, v1alpha1.FleetNotReady, v1alpha1.FleetApproving, v1alpha1.FleetPaused:
			found = append(found, m)
		default:
			if len(m.Overridden) > 0 {
				found = append(found, m)
			}
		}
	}
	slices.SortFunc(found, func(a, b *Member) int {
		return cmp.Or(cmp.Compare(slices.Index(order, a.State), slices.Index(order, b.State)), cmp.Compare(a.Name, b.Name))
	})
	var details []v1alpha1.FleetDetail
	for _, m := range found[:min(len(found), maxDetails)] {
		details = append(details, v1alpha1.FleetDetail{
			Name: m.Name, Wave: d.Waves[m.Wave].Name, State: m.State, Message: d.why(m),
			Overridden: slices.Clone(m.Overridden[:min(len(m.Overridden), maxOverridden)]),
		})
	}
	return details
}

// why explains the state of a Cluster.
func (d *decision) why(m *Member) string {
	text := m.Message
	switch {
	case m.Refused != "" && m.Outdated:
		text = m.Refused
	case m.State == v1alpha1.FleetUpdated || m.State == v1alpha1.FleetWaiting:
		text = ""
	case m.State == v1alpha1.FleetApproving:
		text = "Changes wait for approval."
	case m.State == v1alpha1.FleetPaused:
		text = "The Cluster is paused."
	case m.State == v1alpha1.FleetFailed && m.Health != Stalled:
		text = fmt.Sprintf("The Cluster was not Ready within %s. %s", short(d.deadline), text)
	}
	return shorten(text)
}

// short returns a duration without zero units at its end.
func short(d time.Duration) string {
	text := d.String()
	if strings.HasSuffix(text, "m0s") {
		text = strings.TrimSuffix(text, "0s")
	}
	if strings.HasSuffix(text, "h0m") {
		text = strings.TrimSuffix(text, "0m")
	}
	return text
}

func shorten(text string) string {
	if len(text) <= maxMessage {
		return text
	}
	return strings.ToValidUTF8(text[:maxMessage], "") + "…"
}

// describe says how far the rollout is.
func (d *decision) describe(reason Reason, status *v1alpha1.FleetStatus) string {
	counts := &status.Clusters
	rest := fmt.Sprintf("%d of %s %s updated to revision %s.",
		counts.Updated, plural.Count(int(counts.Total), "Cluster"), verb(int(counts.Updated), "is", "are"), d.Revision)
	var text string
	switch reason {
	case ReasonRolledOut:
		// Each change of this message is an Event, so it does not say which Clusters are not Ready.
		text = fmt.Sprintf("Revision %s is rolled out to %s.", d.Revision, plural.Count(int(counts.Total-counts.Paused), "Cluster"))
		return text + d.others(&v1alpha1.FleetCount{Paused: counts.Paused, Overridden: counts.Overridden})
	case ReasonStopped:
		text = d.failure() + " " + rest
	case ReasonPaused:
		text = rest + " spec.rollout.paused holds the change back from further Clusters."
	case ReasonSoaking:
		text = fmt.Sprintf("Wave %s is complete. The next wave begins at %s. ", status.Wave, d.until.UTC().Format(time.RFC3339)) + rest
	default:
		text = rest
		if d.current >= 0 {
			wave := d.waves[d.current]
			text = fmt.Sprintf("Wave %s: %d of %s %s updated. ",
				wave.Name, wave.Updated, plural.Count(int(wave.Total), "Cluster"), verb(int(wave.Updated), "is", "are")) + rest
		}
	}
	return text + d.others(counts)
}

// failure says which updates failed, and what a user can do.
func (d *decision) failure() string {
	first := slices.MinFunc(d.failed, func(a, b *Member) int { return cmp.Compare(a.Name, b.Name) })
	return fmt.Sprintf("The update of Cluster %s failed, so that no further Clusters are changed. %s Correct the Cluster, or change this Fleet; "+
		"apply its previous template to go back.", first.Name, strings.TrimSuffix(d.why(first), ".")+".")
}

// others counts the Clusters that the rollout waits for or skips.
func (d *decision) others(counts *v1alpha1.FleetCount) string {
	var text strings.Builder
	approving := 0
	for i := range d.members {
		if d.members[i].State == v1alpha1.FleetApproving {
			approving++
		}
	}
	if approving > 0 {
		fmt.Fprintf(&text, " The changes of %s wait for approval.", plural.Count(approving, "Cluster"))
	}
	for _, one := range []struct {
		count int32
		what  string
	}{
		{counts.NotReady, "not Ready"}, {counts.Paused, "paused"}, {counts.Overridden, "overridden by other clients"},
	} {
		if one.count > 0 {
			fmt.Fprintf(&text, " %s %s %s.", plural.Count(int(one.count), "Cluster"), verb(int(one.count), "is", "are"), one.what)
		}
	}
	return text.String()
}

// verb returns the form of a verb for a number of things.
func verb(number int, singular, plural string) string {
	if number == 1 {
		return singular
	}
	return plural
}
