package console

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/arn"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/utils/clock"

	clusterv1alpha1 "github.com/aws-operator/aws-operator/api/cluster/v1alpha1"
	servicev1alpha1 "github.com/aws-operator/aws-operator/api/service/v1alpha1"
	"github.com/aws-operator/aws-operator/internal/awsapi"
	"github.com/aws-operator/aws-operator/internal/cli/internal/progress"
	"github.com/aws-operator/aws-operator/internal/cli/internal/stackevents"
	"github.com/aws-operator/aws-operator/internal/cli/version"
	"github.com/aws-operator/aws-operator/internal/cluster/live"
	"github.com/aws-operator/aws-operator/internal/cluster/model"
	"github.com/aws-operator/aws-operator/internal/cluster/record"
	"github.com/aws-operator/aws-operator/internal/cluster/rollout"
	drawing "github.com/aws-operator/aws-operator/internal/graph"
	"github.com/aws-operator/aws-operator/internal/service/render"
)

const (
	// fresh is how long an answer from AWS is shown again: several tabs do not multiply the calls.
	fresh = 10 * time.Second
	// awsTimeout limits how long AWS is asked for one object.
	awsTimeout = 30 * time.Second
	// span is the length of the line on which a timeline is drawn.
	span = 1000
	// maxBars is how long the timeline of an operation that succeeded may be to be shown unasked.
	maxBars = 12
)

// ownStack is a stack that an object records, with the tags that prove that the stack is the object's.
type ownStack struct {
	id   string
	tags map[string]string
}

// stacksOf returns the stacks that an object records.
func stacksOf(object *unstructured.Unstructured) (found []ownStack) {
	var cluster clusterv1alpha1.Cluster
	var group clusterv1alpha1.InstanceGroup
	var service servicev1alpha1.ObjectStatus
	add := func(s *clusterv1alpha1.StackStatus, tags map[string]string) {
		if known, err := record.Decode(s); err == nil && known.StackID != "" {
			found = append(found, ownStack{known.StackID, tags})
		}
	}
	switch {
	case isCluster(object, kindCluster) && decode(object, "status", &cluster.Status):
		tags := map[string]string{model.TagCluster: object.GetName(), model.TagNamespace: object.GetNamespace()}
		for i := range cluster.Status.Stacks {
			add(&cluster.Status.Stacks[i], tags)
		}
	case isCluster(object, kindGroup) && decode(object, "status", &group.Status) && group.Status.Stack != nil:
		of, _, _ := unstructured.NestedString(object.Object, "spec", "cluster")
		add(group.Status.Stack, map[string]string{
			model.TagCluster: of, model.TagNamespace: object.GetNamespace(), model.TagInstanceGroup: object.GetName(),
		})
	case object.GroupVersionKind().Group == servicev1alpha1.Group && decode(object, "status", &service) && service.StackID != "":
		found = append(found, ownStack{service.StackID, map[string]string{
			render.TagName: object.GetName(), render.TagNamespace: object.GetNamespace(), render.TagKind: object.GetKind(),
		}})
	}
	return found
}

// awsReader reads AWS with the user's own credentials. It changes nothing.
type awsReader struct {
	clock clock.PassiveClock
	// connect returns clients for a region.
	connect func(ctx context.Context, region string) (*awsapi.Clients, error)

	mu      sync.Mutex
	clients map[string]*awsapi.Clients
	answers map[string]awsAnswer
}

type awsAnswer struct {
	at       time.Time
	sections []section
}

func newAWSReader(clk clock.PassiveClock) *awsReader {
	return &awsReader{
		clock: clk, clients: map[string]*awsapi.Clients{}, answers: map[string]awsAnswer{},
		connect: func(ctx context.Context, region string) (*awsapi.Clients, error) {
			return awsapi.New(ctx, awsapi.Options{Region: region, UserAgent: "aws-operator/" + version.String()})
		},
	}
}

// in returns clients for a region.
func (a *awsReader) in(ctx context.Context, region string) (*awsapi.Clients, error) {
	if found := a.clients[region]; found != nil {
		return found, nil
	}
	made, err := a.connect(ctx, region)
	if err == nil {
		a.clients[region] = made
	}
	return made, err
}

// sections returns what AWS has of an object: the last operation on its stacks and, of a cluster, its
// instances. One object is read at a time. Problems are part of the answer.
func (a *awsReader) sections(ctx context.Context, object, cluster *unstructured.Unstructured) []section {
	a.mu.Lock()
	defer a.mu.Unlock()
	id := string(object.GetUID())
	if known, ok := a.answers[id]; ok && a.clock.Since(known.at) < fresh {
		return known.sections
	}
	ctx, cancel := context.WithTimeout(ctx, awsTimeout)
	defer cancel()
	var found []section
	if cluster != nil {
		found = append(found, a.instances(ctx, object, cluster))
	}
	found = append(found, a.timeline(ctx, object, cluster))
	if ctx.Err() == nil {
		clear(a.answers) // a page shows one object
		a.answers[id] = awsAnswer{a.clock.Now(), found}
	}
	return found
}

// clusterOf decodes a Cluster.
func clusterOf(object *unstructured.Unstructured) *clusterv1alpha1.Cluster {
	c := &clusterv1alpha1.Cluster{}
	if object == nil || !decode(object, "spec", &c.Spec) {
		return nil
	}
	c.Name, c.Namespace, c.UID = object.GetName(), object.GetNamespace(), object.GetUID()
	return c
}

var errNotOwned = errors.New("its tags are those of another object, so it is not shown")

// timeline shows the last operation on an object's stacks.
func (a *awsReader) timeline(ctx context.Context, object, cluster *unstructured.Unstructured) section {
	found := section{Title: "Last operation on the stacks", Columns: []string{"Resource", "Type", "Operation", "Began", "Took", "Timeline"}}
	var events []drawing.Event
	var problems []string
	for _, one := range stacksOf(object) {
		of, err := a.events(ctx, one, clusterOf(cluster))
		if err != nil {
			name, _ := arn.Parse(one.id)
			problems = append(problems, fmt.Sprintf("%s: %v.", name.Resource, err))
			continue
		}
		events = append(events, of...)
	}
	line := drawing.LastOperation(object.GetName(), events)
	found.Text = strings.Join(problems, " ")
	found.Folded = len(line.Bars) > maxBars && len(problems) == 0
	for i := range line.Bars {
		b := &line.Bars[i]
		found.Rows = append(found.Rows, barOf(line, b, reasonsOf(events)))
		found.Folded = found.Folded && !b.Failed && !b.Open
	}
	return found
}

// events returns the events of a stack, after a check that the stack has the tags of its object.
func (a *awsReader) events(ctx context.Context, s ownStack, cluster *clusterv1alpha1.Cluster) ([]drawing.Event, error) {
	parsed, err := arn.Parse(s.id)
	if err != nil {
		return nil, err
	}
	clients, err := a.in(ctx, parsed.Region)
	if err != nil {
		return nil, err
	}
	target := awsapi.Target{}
	if cluster != nil {
		target = live.TargetOf(clients, cluster)
	}
	client := clients.CloudFormation(target)
	out, err := client.DescribeStacks(ctx, &cloudformation.DescribeStacksInput{StackName: &s.id})
	if err != nil {
		return nil, awsapi.Known(err)
	}
	tags := map[string]string{}
	for _, tag := range out.Stacks[0].Tags {
		tags[aws.ToString(tag.Key)] = aws.ToString(tag.Value)
	}
	for key, want := range s.tags {
		if tags[key] != want {
			return nil, errNotOwned
		}
	}
	events, err := stackevents.Last(ctx, client, s.id)
	if err != nil {
		return nil, awsapi.Known(err)
	}
	return events, nil
}

// reasonsOf returns the last reason of each resource that failed.
func reasonsOf(events []drawing.Event) map[string]string {
	reasons := map[string]string{}
	for i := range events {
		if e := &events[i]; strings.HasSuffix(e.Status, "_FAILED") && e.Reason != "" {
			reasons[e.Stack+"/"+e.LogicalID] = e.Reason
		}
	}
	return reasons
}

// barOf is a row of the timeline.
func barOf(line *drawing.Timeline, b *drawing.Bar, reasons map[string]string) []cell {
	whole := max(line.End.Sub(line.Start), time.Millisecond)
	place := func(t time.Time) int { return int(int64(span) * int64(t.Sub(line.Start)) / int64(whole)) }
	operation := cell{Text: strings.ToLower(b.Action), Mark: progress.Done}
	switch {
	case b.Failed:
		failure := strings.TrimSuffix(operation.Text+" failed: "+reasons[b.Stack+"/"+b.LogicalID], ": ")
		operation = cell{Text: failure, Mark: progress.Troubled}
	case b.Open:
		operation = cell{Text: operation.Text + " in progress", Mark: progress.Working}
	}
	took := b.End.Sub(b.Start).Round(time.Second / 10).String()
	if b.Open {
		took = "since " + b.Start.UTC().Format(time.TimeOnly)
	}
	name := b.LogicalID
	if name == b.Stack {
		name = "stack " + name
	}
	return []cell{
		text(name), text(b.Type), operation,
		{Time: b.Start.Unix()},
		text(took),
		{Span: []int{place(b.Start), max(place(b.End), place(b.Start)+span/200)}, Mark: operation.Mark},
	}
}

// instances lists the instances of a cluster or, for the page of an InstanceGroup, of that group.
func (a *awsReader) instances(ctx context.Context, object, cluster *unstructured.Unstructured) section {
	found := section{Title: "Instances", Columns: []string{"Group", "Instance", "Zone", "State", "Configuration"}}
	of := clusterOf(cluster)
	if of == nil {
		return section{}
	}
	clients, err := a.in(ctx, of.Spec.Region)
	if err != nil {
		found.Text = fmt.Sprintf("The instances are not shown: %v.", err)
		return found
	}
	there, err := live.Find(ctx, clients, of)
	if err != nil {
		found.Text = fmt.Sprintf("The instances are not shown: %v.", err)
		return found
	}
	for i := range there.Groups {
		g := &there.Groups[i]
		if isCluster(object, kindGroup) && (g.Role != rollout.RoleWorker || g.Name != object.GetName()) {
			continue
		}
		for _, one := range g.Instances {
			state := cell{Text: one.State, Mark: progress.Done}
			switch {
			case !one.Healthy:
				state = cell{Text: one.State + ", unhealthy", Mark: progress.Troubled}
			case one.State != "InService":
				state.Mark = progress.Working
			}
			configuration := cell{Text: "current"}
			if one.Outdated {
				configuration = cell{Text: "outdated", Mark: progress.Working}
			}
			found.Rows = append(found.Rows, []cell{text(g.Name), text(one.ID), text(one.Zone), state, configuration})
		}
		if len(g.Instances) == 0 {
			none := cell{Text: "no instance", Mark: progress.Working}
			found.Rows = append(found.Rows, []cell{text(g.Name), text("-"), text("-"), none, text("-")})
		}
	}
	return found
}

// fromAWS answers with what AWS has of an object.
func (s *server) fromAWS(w http.ResponseWriter, r *http.Request) {
	if s.aws == nil {
		refuse(w, http.StatusNotFound, "The console runs without --aws.")
		return
	}
	object := s.object(w, r.URL.Query().Get("id"))
	if object == nil {
		return
	}
	var cluster *unstructured.Unstructured
	if object.GroupVersionKind().Group == clusterv1alpha1.Group {
		of, _, _ := unstructured.NestedString(object.Object, "spec", "cluster")
		cluster, _ = s.fleet.object(fmt.Sprintf(
			"%s.%s/%s/%s", kindCluster, clusterv1alpha1.Group, object.GetNamespace(), cmp.Or(of, object.GetName()),
		))
	}
	answer(w, s.aws.sections(r.Context(), object, cluster))
}
