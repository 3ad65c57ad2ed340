package rolling_test

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/quick"
	"time"

	"github.com/aws-operator/aws-operator/internal/simulator/cloudformation/rolling"
)

// group is an Auto Scaling group that launches and terminates immediately, and whose healthy new
// instances signal immediately.
type group struct {
	rolling.Group

	now     time.Time
	signals map[string]bool
	made    int
	well    func(n int) bool
	events  []string
	// least is the lowest number of instances that were in service and either old or signalled.
	least int
}

func newGroup(minimum, most, desired, obsolete int) *group {
	g := &group{signals: map[string]bool{}, well: func(int) bool { return true }, least: desired}
	g.Min, g.Max, g.Desired = minimum, most, desired
	for i := range desired {
		g.Instances = append(g.Instances, rolling.Instance{ID: fmt.Sprint("old-", i), Obsolete: i < obsolete, Phase: rolling.InService})
	}
	return g
}

// converge launches missing instances and terminates surplus ones.
func (g *group) converge() {
	g.Instances = g.Instances[max(len(g.Instances)-g.Desired, 0):]
	for len(g.Instances) < g.Desired {
		g.made++
		id := fmt.Sprint("new-", g.made)
		g.Instances = append(g.Instances, rolling.Instance{ID: id, Phase: rolling.InService})
		if g.well(g.made) {
			g.signals[id] = true
		}
	}
}

// ready counts the instances that serve.
func (g *group) ready() int {
	n := 0
	for _, i := range g.Instances {
		if g.signals[i.ID] || strings.HasPrefix(i.ID, "old-") {
			n++
		}
	}
	return n
}

// roll runs a roll to its end and returns the reason of its failure.
func (g *group) roll(policy rolling.Update) string {
	r := rolling.New(policy, rolling.Sizes{Min: g.Min, Desired: g.Desired})
	for range 10_000 {
		actions, next := r.Next(rolling.Observation{Now: g.now, Group: g.Group, Signals: g.signals})
		if len(actions) == 0 && next.IsZero() {
			return "it waits for nothing"
		}
		if len(actions) == 0 {
			g.now = next
		}
		for _, a := range actions {
			switch {
			case a.Done:
				g.converge()
				return ""
			case a.Fail != "":
				return a.Fail
			case a.Say != "":
				g.events = append(g.events, a.Say)
			case a.Resize != nil:
				g.Min, g.Desired = a.Resize.Min, a.Resize.Desired
			}
			for _, t := range a.Terminate {
				g.Instances = slices.DeleteFunc(g.Instances, func(i rolling.Instance) bool { return i.ID == t.ID })
				if t.Decrement {
					g.Desired--
				}
			}
			g.least = min(g.least, g.ready())
		}
		g.converge()
	}
	return "it does not end"
}

func policy(batch, inService int) rolling.Update {
	return rolling.Update{
		MaxBatchSize: batch, MinInService: inService, MinActivePercent: -1, MinSuccessfulPercent: 100,
		WaitOnSignals: true, PauseTime: "PT5M", Pause: 5 * time.Minute,
	}
}

var terminating = regexp.MustCompile(`^Terminating instance\(s\) \[(.*)\]; replacing with (\d+) new`)

// outline summarizes the replacements: "9 (6>3)" for a group that grew to nine and replaced six
// instances with three new ones.
func (g *group) outline() string {
	parts := []string{}
	for _, line := range g.events {
		if size, ok := strings.CutPrefix(line, "Temporarily setting autoscaling group MinSize and DesiredCapacity to "); ok {
			parts = append(parts, strings.TrimSuffix(size, "."))
		}
		if m := terminating.FindStringSubmatch(line); m != nil {
			parts = append(parts, fmt.Sprintf("(%d>%s)", len(strings.Split(m[1], ",")), m[2]))
		}
	}
	return strings.Join(parts, " ")
}

// These sequences were observed in AWS: https://github.com/guardian/testing-asg-rolling-update,
// https://crewjam.com/etcd-aws/ and the workshop that package rolling's tests of Auto Scaling
// follow.
func TestBatchesMatchObservations(t *testing.T) {
	for what, c := range map[string]struct {
		group            *group
		batch, inService int
		want             string
	}{
		"three of five, all kept in service":       {newGroup(3, 5, 3, 3), 1, 3, "4 (1>1) (1>1) (1>0)"},
		"two with one in service":                  {newGroup(1, 4, 2, 2), 1, 1, "(1>1) (1>1)"},
		"scaled to twice its minimum":              {newGroup(3, 9, 6, 6), 6, 3, "9 (6>3)"},
		"five doubled":                             {newGroup(5, 10, 5, 5), 5, 5, "10 (5>0)"},
		"at its maximum, all but one in service":   {newGroup(3, 9, 9, 9), 6, 8, strings.TrimSpace(strings.Repeat(" (1>1)", 9))},
		"going back at its maximum":                {newGroup(3, 9, 9, 3), 6, 3, "(3>3)"},
		"one that may be away":                     {newGroup(1, 1, 1, 1), 1, 0, "(1>1)"},
		"nothing obsolete":                         {newGroup(2, 4, 2, 0), 1, 1, ""},
		"a batch that is more than the last one":   {newGroup(4, 10, 4, 4), 3, 4, "7 (3>1) (1>0)"},
		"more in service than the group wants now": {newGroup(0, 10, 2, 2), 1, 4, "5 (1>0) (1>0)"},
	} {
		t.Run(what, func(t *testing.T) {
			g := c.group
			before := g.Group
			if why := g.roll(policy(c.batch, c.inService)); why != "" {
				t.Fatal(why)
			}
			if got := g.outline(); got != c.want {
				t.Errorf("the roll was %q, want %q\n%s", got, c.want, strings.Join(g.events, "\n"))
			}
			if g.Min != before.Min || g.Desired != before.Desired {
				t.Errorf("the group is left with %d of at least %d, was %d of at least %d", g.Desired, g.Min, before.Desired, before.Min)
			}
		})
	}
}

func TestRollKeepsGroupSizeAndMinInstancesInService(t *testing.T) {
	holds := func(most, desired, obsolete, batch, inService uint8, percent int8) bool {
		m := int(most%20) + 1
		d := int(desired) % (m + 1)
		p := policy(int(batch%6)+1, int(inService)%m)
		p.MinActivePercent = max(int(percent)%101, -1)
		g := newGroup(d/2, m, d, int(obsolete)%(d+1))
		if why := g.roll(p); why != "" {
			t.Logf("%d of at most %d, %+v: %s\n%s", d, m, p, why, strings.Join(g.events, "\n"))
			return false
		}
		stale := slices.ContainsFunc(g.Instances, func(i rolling.Instance) bool { return i.Obsolete })
		return !stale && len(g.Instances) == d && g.Min == d/2 && g.least >= min(p.MinInService, d)
	}
	if err := quick.Check(holds, &quick.Config{MaxCount: 2000}); err != nil {
		t.Error(err)
	}
}

func TestSilentInstancesFailRollBelowMinSuccessfulPercent(t *testing.T) {
	g := newGroup(5, 10, 5, 5)
	g.well = func(n int) bool { return n > 2 }
	p := policy(5, 5)
	want := "Received 3 SUCCESS signal(s) out of 5.  Unable to satisfy 100% MinSuccessfulInstancesPercent requirement"
	if why := g.roll(p); why != want {
		t.Errorf("the roll failed for %q", why)
	}
	if g.Min != 5 || g.Desired != 10 || !slices.Contains(g.events, "Failed to receive 2 resource signal(s) for the current batch.  "+
		"Each resource signal timeout is counted as a FAILURE.") {
		t.Errorf("%d of at least %d\n%s", g.Desired, g.Min, strings.Join(g.events, "\n"))
	}
	// With five instances and 50 percent, three must signal.
	for percent, fails := range map[int]bool{50: false, 60: false, 61: true} {
		g = newGroup(5, 10, 5, 5)
		g.well = func(n int) bool { return n > 2 }
		p.MinSuccessfulPercent = percent
		if why := g.roll(p); (why != "") != fails {
			t.Errorf("with %d percent: %q", percent, why)
		}
	}
}

func TestPoliciesAreParsed(t *testing.T) {
	p, err := rolling.Parse(map[string]any{
		"AutoScalingRollingUpdate":   map[string]any{"MaxBatchSize": "2", "WaitOnResourceSignals": true},
		"AutoScalingScheduledAction": map[string]any{"IgnoreUnmodifiedGroupSizeProperties": "true"},
	})
	if err != nil || p.Rolling.MaxBatchSize != 2 || p.Rolling.Pause != 5*time.Minute || !p.IgnoreUnmodifiedSizes ||
		p.Rolling.MinSuccessfulPercent != 100 {
		t.Errorf("%+v %+v: %v", p, p.Rolling, err)
	}
	for what, value := range map[string]map[string]any{
		"Encountered unsupported property Nonsense":                               {"Nonsense": map[string]any{}},
		"Encountered unsupported property MaxBatch in AutoScalingRollingUpdate":   {"AutoScalingRollingUpdate": map[string]any{"MaxBatch": 1}},
		"Invalid MaxBatchSize value many":                                         {"AutoScalingRollingUpdate": map[string]any{"MaxBatchSize": "many"}},
		"Invalid PauseTime value 5m":                                              {"AutoScalingRollingUpdate": map[string]any{"PauseTime": "5m"}},
		"MinSuccessfulInstancesPercent needs WaitOnResourceSignals and PauseTime": {"AutoScalingRollingUpdate": map[string]any{"MinSuccessfulInstancesPercent": 50}},
		"MinActiveInstancesPercent must be between 0 and 100, not 120":            {"AutoScalingRollingUpdate": map[string]any{"MinActiveInstancesPercent": 120}},
		"the update policy AutoScalingRollingUpdate must be an object":            {"AutoScalingRollingUpdate": true},
		"Encountered unsupported property WillNot in AutoScalingReplacingUpdate":  {"AutoScalingReplacingUpdate": map[string]any{"WillNot": true}},
		"Invalid IgnoreUnmodifiedGroupSizeProperties value perhaps":               {"AutoScalingScheduledAction": map[string]any{"IgnoreUnmodifiedGroupSizeProperties": "perhaps"}},
	} {
		if _, err := rolling.Parse(value); err == nil || err.Error() != what {
			t.Errorf("%v: %v, want %s", value, err, what)
		}
	}
}
