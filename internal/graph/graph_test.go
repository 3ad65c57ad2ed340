package graph_test

import (
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/aws-operator/aws-operator/api/cluster/v1alpha1"
	"github.com/aws-operator/aws-operator/internal/cluster/render"
	"github.com/aws-operator/aws-operator/internal/golden"
	"github.com/aws-operator/aws-operator/internal/graph"
	"github.com/aws-operator/aws-operator/internal/manifest"
	"github.com/aws-operator/aws-operator/internal/plan"
)

// example returns the cluster of an example.
func example(t *testing.T, file string) plan.Input {
	t.Helper()
	sources, err := manifest.Open([]string{"../../examples/clusters/" + file}, nil)
	if err != nil {
		t.Fatal(err)
	}
	set, err := manifest.Read(sources, manifest.Options{})
	if err != nil {
		t.Fatal(err)
	}
	in := plan.Input{}
	in.Overlay(manifest.Objects[*v1alpha1.Cluster](set)[0], manifest.Objects[*v1alpha1.InstanceGroup](set), nil)
	return in
}

// rendered renders the cluster of an example.
func rendered(t *testing.T, file string) []*render.Stack {
	t.Helper()
	options := plan.Options{Operator: "aws-operator", AccountID: "123456789012", NodeupDir: t.TempDir()}
	subjects, err := plan.Render(t.Context(), example(t, file), options)
	if err != nil {
		t.Fatal(err)
	}
	stacks := make([]*render.Stack, 0, len(subjects))
	for i := range subjects {
		stacks = append(stacks, subjects[i].Wanted)
	}
	return stacks
}

func TestDrawings(t *testing.T) {
	g := graph.Of("minimal", rendered(t, "minimal-public.yaml"))
	golden.Equal(t, "minimal.mmd", []byte(g.Mermaid()))
	golden.Equal(t, "minimal.dot", []byte(g.DOT()))
}

// All resources are in the drawings, and those that are alike share a box.
func TestResourcesThatAreAlikeShareABox(t *testing.T) {
	stacks := rendered(t, private)
	g := graph.Of("private", stacks)
	for format, drawing := range map[string]string{"Mermaid": g.Mermaid(), "DOT": g.DOT()} {
		for _, s := range stacks {
			for id := range s.Template.Resources {
				if !strings.Contains(drawing, id+"<br") {
					t.Errorf("%s lacks %s", format, id)
				}
			}
		}
		for _, once := range []string{
			">EC2::NatGateway<", "private-control-plane-0, -1, -2", "private-workers", "APILoadBalancer<", "PrivateSubnetEuCentral1b<",
		} {
			if got := strings.Count(drawing, once); got != 1 {
				t.Errorf("%s has %q %d times", format, once, got)
			}
		}
	}
	accepted(t, g.DOT())
}

// accepted checks that Graphviz, if it is installed, accepts a drawing.
func accepted(t *testing.T, drawing string) {
	t.Helper()
	t.Run("Graphviz accepts it", func(t *testing.T) {
		dot, err := exec.LookPath("dot")
		if err != nil {
			t.Skip("Graphviz is not installed: ", err)
		}
		cmd := exec.CommandContext(t.Context(), dot, "-Tsvg")
		cmd.Stdin = strings.NewReader(drawing)
		var problems strings.Builder
		cmd.Stderr = &problems
		if out, err := cmd.Output(); err != nil || !strings.Contains(string(out), "</svg>") {
			t.Errorf("dot returns %v and writes %s", err, problems.String())
		}
	})
}

func TestNamesCannotChangeTheGraph(t *testing.T) {
	const name = `odd"]<b>&\` + "\n#35; --> x"
	node := graph.Node{Stack: name, LogicalID: name, Type: "AWS::" + name}
	g := graph.Graph{Name: name, Stacks: []graph.Stack{{Name: name, Nodes: []graph.Node{node}}}}
	for format, test := range map[string]struct{ drawing, want string }{
		"Mermaid": {g.Mermaid(), `odd#quot;]#lt;b#gt;#amp;\` + "\ufffd" + `#35;35; --#gt; x`},
		"DOT":     {g.DOT(), `odd&#34;]&lt;b&gt;&amp;\` + "\ufffd" + `#35; --&gt; x`},
	} {
		if strings.Contains(test.drawing, `odd"`) || strings.Count(test.drawing, test.want) < len([]string{"stack", "ID", "type"}) {
			t.Errorf("%s is\n%s", format, test.drawing)
		}
	}
	accepted(t, g.DOT())
}

func TestWhatDependsOnWhat(t *testing.T) {
	g := graph.Of("minimal", rendered(t, "minimal-public.yaml"))
	kinds := map[string]graph.Kind{}
	for _, e := range g.Edges {
		kinds[e.From.Stack+"/"+e.From.LogicalID+" "+e.To.Stack+"/"+e.To.LogicalID] = e.Kind
		if e.From == e.To {
			t.Errorf("%v needs itself", e.From)
		}
	}
	for edge, want := range map[string]graph.Kind{
		"minimal/APIListener minimal/APITargetGroup":                                           graph.Ref,
		"minimal-workers/AutoScalingGroup minimal-workers/LaunchTemplate":                      graph.Ref,
		"minimal/PublicDefaultRoute minimal/InternetGatewayAttachment":                         graph.DependsOn,
		"minimal-control-plane-0/AutoScalingGroup minimal/APITargetGroup":                      graph.Output,
		"minimal-control-plane-0/LaunchTemplate minimal/ControlPlaneInstanceProfile":           graph.Output,
		"minimal-workers/AutoScalingGroup minimal/PublicSubnetEuCentral1a":                     graph.Output,
		"minimal/PublicSubnetEuCentral1aRouteTableAssociation minimal/PublicSubnetEuCentral1a": graph.Ref,
	} {
		if got := kinds[edge]; got != want {
			t.Errorf("%s is %q, want %s", edge, got, want)
		}
	}
}

// events are a creation, long ago, and an update of two stacks, the second of which failed.
func events() []graph.Event {
	noon := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	var all []graph.Event
	add := func(stack, id, resourceType, status string, seconds int) {
		if id == "" {
			id, resourceType = stack, "AWS::CloudFormation::Stack"
		}
		all = append(
			all,
			graph.Event{
				Stack:     stack,
				LogicalID: id,
				Type:      resourceType,
				Status:    status,
				At:        noon.Add(time.Duration(seconds) * time.Second),
			},
		)
	}
	add("demo", "", "", "CREATE_IN_PROGRESS", -90000)
	add("demo", "", "", "CREATE_COMPLETE", -89000)
	add("demo", "", "", "UPDATE_IN_PROGRESS", 0)
	add("demo", "VPC", "AWS::EC2::VPC", "UPDATE_IN_PROGRESS", 2)
	add("demo", "Subnet", "AWS::EC2::Subnet", "CREATE_IN_PROGRESS", 3)
	add("demo", "VPC", "AWS::EC2::VPC", "UPDATE_COMPLETE", 8)
	add("demo", "Subnet", "AWS::EC2::Subnet", "CREATE_COMPLETE", 20)
	add("demo", "", "", "UPDATE_COMPLETE_CLEANUP_IN_PROGRESS", 21)
	add("demo", "Old", "AWS::EC2::Subnet", "DELETE_IN_PROGRESS", 22)
	add("demo", "Old", "AWS::EC2::Subnet", "DELETE_COMPLETE", 30)
	add("demo", "", "", "UPDATE_COMPLETE", 31)
	add("demo-workers", "", "", "UPDATE_IN_PROGRESS", 40)
	add("demo-workers", "AutoScalingGroup", "AWS::AutoScaling::AutoScalingGroup", "UPDATE_IN_PROGRESS", 42)
	add("demo-workers", "AutoScalingGroup", "AWS::AutoScaling::AutoScalingGroup", "UPDATE_FAILED", 340)
	add("demo-workers", "", "", "UPDATE_ROLLBACK_IN_PROGRESS", 341)
	add("demo-workers", "AutoScalingGroup", "AWS::AutoScaling::AutoScalingGroup", "UPDATE_IN_PROGRESS", 342)
	add("demo-other", "", "", "CREATE_IN_PROGRESS", -5000)
	add("demo-other", "", "", "CREATE_COMPLETE", -4000)
	return all
}

func TestTheLastOperationIsDrawn(t *testing.T) {
	line := graph.LastOperation("demo", events())
	golden.Equal(t, "timeline.txt", []byte(line.Text(100)))
	svg := line.SVG()
	labelsFit(t, svg)
	for _, want := range []string{">demo-workers<", ">4m58s, failed<", ">5m1s and goes on<", ">delete<"} {
		if strings.Count(svg, want) != 1 {
			t.Errorf("the picture has not %s once:\n%s", want, svg)
		}
	}
	if text := graph.LastOperation("demo", nil).Text(80); !strings.Contains(text, "no operation") {
		t.Errorf("without events it says %q", text)
	}
}
