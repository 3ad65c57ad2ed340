package graph_test

import (
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/aws-operator/aws-operator/api/cluster/v1alpha1"
	"github.com/aws-operator/aws-operator/internal/cluster/live"
	"github.com/aws-operator/aws-operator/internal/cluster/model"
	"github.com/aws-operator/aws-operator/internal/cluster/rollout"
	"github.com/aws-operator/aws-operator/internal/cluster/workload"
	"github.com/aws-operator/aws-operator/internal/graph"
	"github.com/aws-operator/aws-operator/internal/plan"
)

const private = "private-three-slots.yaml"

// resolved resolves the cluster of an example.
func resolved(t *testing.T, file string) (*model.Cluster, []*model.Group) {
	t.Helper()
	cluster, groups, err := plan.Resolve(t.Context(), example(t, file), plan.Options{Operator: "aws-operator", AccountID: "123456789012"})
	if err != nil {
		t.Fatal(err)
	}
	return cluster, groups
}

// running is an observation of the private cluster: instances of the group private-workers, whose
// nodes have the given names, empty for none, and a slot whose etcd member does not respond.
func running(nodes map[string]string, instances ...live.Instance) *live.Observation {
	seen := &live.Observation{
		Cluster: &v1alpha1.Cluster{},
		AWS: &live.Cluster{LoadBalancer: &live.LoadBalancer{DNSName: "private-api.example.com", Targets: []live.TargetHealth{
			{State: "healthy"}, {State: "unhealthy"},
		}}},
		API: &live.API{Slots: map[int]string{1: "its etcd member does not respond"}},
	}
	add := func(g live.Group) {
		g.Desired = len(g.Instances)
		for _, one := range g.Instances {
			if name := nodes[one.ID]; name != "" {
				seen.API.Nodes = append(seen.API.Nodes, workload.Node{
					Name: name, InstanceID: one.ID, Slot: g.Slot,
					Ready: !strings.HasPrefix(name, "sick"), Unschedulable: strings.HasSuffix(name, "held"),
				})
			}
		}
		seen.AWS.Groups = append(seen.AWS.Groups, g)
	}
	for slot, zone := range []string{"eu-central-1a", "eu-central-1b"} {
		id := fmt.Sprintf("i-slot%d", slot)
		nodes[id] = "node-of-" + id
		add(live.Group{
			Name: live.SlotName(slot), Role: rollout.RoleControlPlane, Slot: slot,
			Instances: []live.Instance{{ID: id, Zone: zone, State: "InService", Healthy: true}},
		})
	}
	add(live.Group{Name: "private-workers", Role: rollout.RoleWorker, Slot: rollout.NoSlot, Instances: instances})
	return seen
}

func TestADefinitionIsDrawnAsPlanned(t *testing.T) {
	cluster, groups := resolved(t, private)
	drawn := graph.TopologyOf(cluster, groups, nil)
	svg := drawn.SVG()
	for _, once := range []string{
		">eu-central-1a<", ">eu-central-1c<", ">VPC 10.20.0.0/16 in eu-central-1<", ">API load balancer, public: planned<",
		">public subnet, 10.20.16.0/21, NAT gateway<", ">private subnet, 10.20.0.0/20<", ">private subnet, 10.20.64.0/20<",
		">control-plane-0<", ">control-plane-2<", ">private-workers<", ">bastion<",
	} {
		if got := strings.Count(svg, once); got != 1 {
			t.Errorf("the picture has %q %d times", once, got)
		}
	}
	const places, legend = 3 + 3 + 1, 1
	if got := strings.Count(svg, ">planned<"); got != places+legend {
		t.Errorf("the picture has %d planned instances:\n%s", got, svg)
	}
	text := drawn.Text()
	for _, want := range []string{
		"Cluster private, v1.36.3, eu-central-1, VPC 10.20.0.0/16\n", "private-workers  3 to 9 instances, m6i.large, m6a.large\n",
		"\neu-central-1b\n  public subnet, 10.20.48.0/21, NAT gateway\n  private subnet, 10.20.32.0/20\n    control-plane-1  · planned\n",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("the text lacks %q:\n%s", want, text)
		}
	}
}

// The frame of a group passes the zones between its own.
func TestZonesOfAGroupAreNamed(t *testing.T) {
	in := example(t, private)
	in.Groups[0].Spec.Zones = []string{"eu-central-1a", "eu-central-1c"}
	cluster, groups, err := plan.Resolve(t.Context(), in, plan.Options{Operator: "aws-operator", AccountID: "123456789012"})
	if err != nil {
		t.Fatal(err)
	}
	if text := graph.TopologyOf(cluster, groups, nil).Text(); !strings.Contains(text, ", in eu-central-1a and eu-central-1c\n") {
		t.Error(text)
	}
}

// Nothing in AWS is a cluster that was not applied yet, not one whose instances are all missing.
func TestAClusterThatIsNotInAWSIsPlanned(t *testing.T) {
	cluster, groups := resolved(t, private)
	text := graph.TopologyOf(cluster, groups, &live.Observation{AWS: &live.Cluster{}}).Text()
	if !strings.Contains(text, "AWS has nothing of the cluster yet.") || strings.Contains(text, "missing") {
		t.Error(text)
	}
}

func TestInstancesAreDrawnWithTheirState(t *testing.T) {
	cluster, groups := resolved(t, private)
	const ready, sick, held = "ready.example.com", "sick", "sick-held"
	for name, test := range map[string]struct {
		state, node   string
		ill, outdated bool
		want          graph.State
		text          string
	}{
		"Ready":             {"InService", ready, false, false, graph.Ready, "Ready"},
		"outdated":          {"InService", ready, false, true, graph.Outdated, "Ready, outdated"},
		"NotReady":          {"InService", sick, false, false, graph.NotReady, "NotReady"},
		"NotReady and more": {"InService", held, false, true, graph.NotReady, "NotReady, outdated, cordoned"},
		"unhealthy":         {"InService", ready, true, false, graph.NotReady, "unhealthy"},
		"launching":         {"Pending:Wait", "", false, false, graph.Starting, "starting"},
		"not joined":        {"InService", "", false, false, graph.Starting, "no node yet"},
		"terminating":       {"Terminating:Wait", held, false, true, graph.Terminating, "terminating, outdated, cordoned"},
	} {
		t.Run(name, func(t *testing.T) {
			one := live.Instance{
				ID: "i-0123456789abcdef0", Zone: "eu-central-1b", State: test.state, Healthy: !test.ill, Outdated: test.outdated,
			}
			drawn := graph.TopologyOf(cluster, groups, running(map[string]string{one.ID: test.node}, one))
			var got *graph.Machine
			for _, l := range drawn.Layers {
				for _, g := range l.Groups {
					for i := range g.Machines {
						if g.Name == "private-workers" && g.Machines[i].ID == one.ID {
							got = &g.Machines[i]
						}
					}
				}
			}
			if got == nil || got.State != test.want || got.Text != test.text || got.Zone != one.Zone {
				t.Fatalf("it is drawn as %+v", got)
			}
			if svg := drawn.SVG(); strings.Count(svg, ">"+one.ID+"<") != 1 || !strings.Contains(svg, ">"+test.text+"<") {
				t.Errorf("the picture is\n%s", svg)
			}
		})
	}
}

func TestWhatIsNotThereIsDrawnAsMissing(t *testing.T) {
	cluster, groups := resolved(t, private)
	seen := running(map[string]string{})
	seen.AWS.Groups[2].Desired = 2
	stray := workload.Node{Name: "stray", InstanceID: "i-terminated", Group: "private-workers", Slot: rollout.NoSlot}
	seen.API.Nodes = append(seen.API.Nodes, stray)
	seen.AWS.Groups = append(seen.AWS.Groups, live.Group{
		Name: "removed", Role: rollout.RoleWorker, Slot: rollout.NoSlot, Desired: 1,
		Instances: []live.Instance{{ID: "i-removed", Zone: "eu-central-1a", State: "Terminating", Healthy: true}},
	})
	text := graph.TopologyOf(cluster, groups, seen).Text()
	for _, want := range []string{
		"API load balancer, public: 1 of 2 targets healthy, https://private-api.example.com:6443\n", "control-plane-2  ? missing\n",
		"private-workers  ? missing\n", "bastion          ? missing\n", "removed          not in the definition\n",
		"control-plane-1  ✗ node-of-i-slot1  i-slot1              Ready, but not serving\n",
		"control-plane-1 is unhealthy: its etcd member does not respond.\n", "Node stray has no instance in a group of the cluster.\n",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("the text lacks %q:\n%s", want, text)
		}
	}
	seen.API = &live.API{Problem: "connection refused"}
	text = graph.TopologyOf(cluster, groups, seen).Text()
	if !strings.Contains(text, "i-slot1              in service\n") || !strings.Contains(text, "unknown: connection refused.\n") {
		t.Errorf("without the API, the text is\n%s", text)
	}
}

// The names of nodes come from the cluster, which its users control.
func TestNamesCannotChangeThePicture(t *testing.T) {
	cluster, groups := resolved(t, private)
	one := live.Instance{ID: "i-0123456789abcdef0", Zone: "eu-central-1a", State: "InService", Healthy: true}
	name := `</text><script>alert("x")</script>` + "\x1b[31m\u202e\n" + strings.Repeat("long", 50)
	drawn := graph.TopologyOf(cluster, groups, running(map[string]string{one.ID: name}, one))
	drawn.Notes = append(drawn.Notes, name)
	svg, text := drawn.SVG(), drawn.Text()
	if strings.Contains(svg, "<script") || strings.ContainsAny(svg+text, "\x1b\u202e") {
		t.Errorf("it draws\n%s\n%s", svg, text)
	}
	labelsFit(t, svg)
}

func TestLabelsFitIntoTheirBoxes(t *testing.T) {
	for _, file := range []string{private, "minimal-public.yaml", "existing-vpc.yaml", "two-groups.yaml", "spot-mixed.yaml"} {
		cluster, groups := resolved(t, file)
		labelsFit(t, graph.TopologyOf(cluster, groups, nil).SVG())
	}
}

// rect is a rectangle of a picture.
type rect struct{ x, y, width, height float64 }

// labelsFit parses a picture, and checks that each label ends within the topmost rectangle that it
// begins in.
func labelsFit(t *testing.T, svg string) {
	t.Helper()
	const perLetter = 0.55 // of the size, of a usual font
	var rects []rect
	decoder := xml.NewDecoder(strings.NewReader(svg))
	for {
		token, err := decoder.Token()
		if errors.Is(err, io.EOF) {
			return
		}
		if err != nil {
			t.Fatalf("the picture is no XML: %v\n%s", err, svg)
		}
		start, ok := token.(xml.StartElement)
		if !ok {
			continue
		}
		at := rect{number(start, "x"), number(start, "y"), number(start, "width"), number(start, "height")}
		switch start.Name.Local {
		case "g":
			rects = nil // Those before have another origin.
		case "rect":
			if at.width > 1 { // not a line of a scale
				rects = append(rects, at)
			}
		case "text":
			var text struct {
				Shown string `xml:",chardata"`
			}
			if err := decoder.DecodeElement(&text, &start); err != nil {
				t.Fatal(err)
			}
			end := at.x + perLetter*number(start, "font-size")*float64(len([]rune(text.Shown)))
			in := func(r rect) bool { return at.x >= r.x && at.x <= r.x+r.width && at.y >= r.y && at.y <= r.y+r.height }
			for _, r := range slices.Backward(rects) {
				if in(r) {
					if end > r.x+r.width {
						t.Errorf("%q ends at %.0f, but its box at %.0f", text.Shown, end, r.x+r.width)
					}
					break
				}
			}
		}
	}
}

// number returns an attribute, 0 without it.
func number(of xml.StartElement, name string) float64 {
	var value float64
	for _, a := range of.Attr {
		if a.Name.Local == name {
			_, _ = fmt.Sscan(a.Value, &value)
		}
	}
	return value
}
