package plan_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/aws-operator/aws-operator/api/cluster/v1alpha1"
	"github.com/aws-operator/aws-operator/internal/awsapi"
	"github.com/aws-operator/aws-operator/internal/cluster/release"
	"github.com/aws-operator/aws-operator/internal/inprocess"
	"github.com/aws-operator/aws-operator/internal/local/environment"
	"github.com/aws-operator/aws-operator/internal/machines/fake"
	"github.com/aws-operator/aws-operator/internal/manifest"
	"github.com/aws-operator/aws-operator/internal/operator"
	"github.com/aws-operator/aws-operator/internal/patience"
	"github.com/aws-operator/aws-operator/internal/plan"
	"github.com/aws-operator/aws-operator/internal/simulator"
	"github.com/aws-operator/aws-operator/internal/simulator/simulatortest"
	"github.com/aws-operator/aws-operator/internal/state"
)

const (
	region  = "eu-central-1"
	account = "123456789012"
)

// suite is AWS on loopback with simulated machines, and a state in a folder.
type suite struct {
	t        testing.TB
	sim      *simulator.Simulator
	endpoint string
	// observer is the endpoint of plans and of the test's own clients.
	observer string
	nodeup   string
	state    *state.State
	// key is that of an administrator, who can assume roles.
	key aws.Credentials
}

func newSuite(tb testing.TB) *suite {
	tb.Helper()
	w := &suite{t: tb, nodeup: nodeupFolder(tb)}
	sim, endpoint := simulatortest.Start(tb, simulator.Options{
		Account: account, Region: region, Machines: fake.New(fake.Options{}), Patience: 100 * time.Millisecond,
	})
	w.sim = sim
	w.endpoint, w.observer = endpoint, simulatortest.Serve(tb, sim.Observer())
	w.key = simulatortest.User(tb, simulatortest.Root(w.observer, account, region), "operator", simulatortest.Administrator)
	var err error
	w.state, err = state.Open(tb.Context(), tb.TempDir(), state.Options{})
	w.must(err)
	return w
}

func nodeupFolder(tb testing.TB) string {
	tb.Helper()
	dir := tb.TempDir()
	for _, architecture := range []string{"amd64", "arm64"} {
		if err := os.WriteFile(filepath.Join(dir, "nodeup-linux-"+architecture), []byte("nodeup for "+architecture), 0o600); err != nil {
			tb.Fatal(err)
		}
	}
	return dir
}

func (w *suite) must(err error) {
	w.t.Helper()
	if err != nil {
		w.t.Fatal(err)
	}
}

func (w *suite) aws() awsapi.Options { return w.awsAt(w.endpoint) }

func (w *suite) awsAt(endpoint string) awsapi.Options {
	return awsapi.Options{
		Region: region, EndpointURL: endpoint, Credentials: credentials.StaticCredentialsProvider{Value: w.key},
		Budgets: map[string]awsapi.Budget{awsapi.AnyService: awsapi.Unlimited}, Resolver: w.sim.Lookup,
	}
}

// allowRole creates the role that a cluster names, in its account.
func (w *suite) allowRole(c *v1alpha1.Cluster) {
	w.t.Helper()
	if c.Spec.Role == nil {
		return
	}
	parts := strings.Split(c.Spec.Role.ARN, ":")
	_, name, _ := strings.Cut(parts[5], "/")
	root := simulatortest.Root(w.observer, parts[4], region)
	simulatortest.Role(w.t, root, name, account, c.Spec.Role.ExternalID, simulatortest.Administrator)
}

// principals creates the roles to which a cluster of EKS gives access: EKS refuses those that do not exist.
func (w *suite) principals(c *v1alpha1.Cluster) {
	w.t.Helper()
	if c.Spec.ControlPlane.EKS == nil {
		return
	}
	for _, access := range c.Spec.ControlPlane.EKS.Access {
		_, name, _ := strings.Cut(access.Principal, ":role/")
		simulatortest.Role(w.t, simulatortest.Root(w.observer, account, c.Spec.Region), name, account, "")
	}
}

// apply brings a cluster to what the state says, by the operator's own controllers.
func (w *suite) apply(cluster string) {
	w.t.Helper()
	ctx := patience.Context(w.t)
	var last inprocess.Progress
	err := inprocess.Run(ctx, inprocess.Options{
		State: w.state, Cluster: cluster, Goal: inprocess.Ready, Purpose: "test", NodeupDir: w.nodeup, AWS: w.aws(),
		Poll: 50 * time.Millisecond, Settle: 100 * time.Millisecond, Observe: func(p inprocess.Progress) { last = p },
	})
	if err != nil {
		w.t.Fatalf("%v\n%s", err, tell(last))
	}
}

func tell(p inprocess.Progress) string {
	var text strings.Builder
	line := func(name string, conditions []metav1.Condition) {
		for _, c := range conditions {
			fmt.Fprintf(&text, "%s %s=%s %s: %s\n", name, c.Type, c.Status, c.Reason, c.Message)
		}
	}
	if p.Cluster != nil {
		line("Cluster", p.Cluster.Status.Conditions)
	}
	for i := range p.Groups {
		line(p.Groups[i].Name, p.Groups[i].Status.Conditions)
	}
	return text.String()
}

// plan plans a cluster as the state has it.
func (w *suite) plan(cluster string) *plan.Plan {
	w.t.Helper()
	return w.planWith(cluster, plan.Options{})
}

func (w *suite) planWith(cluster string, o plan.Options) *plan.Plan {
	w.t.Helper()
	made, err := plan.Of(w.t.Context(), w.input(cluster), w.options(o))
	w.must(err)
	return made
}

func (w *suite) options(o plan.Options) plan.Options {
	w.t.Helper()
	clients, err := awsapi.New(w.t.Context(), w.awsAt(w.observer)) // golden files have plans of what truly exists
	w.must(err)
	o.Clients, o.Operator, o.NodeupDir = clients, operator.DefaultClusterName, w.nodeup
	return o
}

func (w *suite) input(cluster string) plan.Input {
	w.t.Helper()
	objects, err := w.state.Load(w.t.Context(), cluster)
	w.must(err)
	return plan.From(objects)
}

// put writes objects into the state, with a release that has nothing to be fetched.
func (w *suite) put(objects ...client.Object) {
	w.t.Helper()
	release, err := environment.LocalRelease(nil)
	w.must(err)
	_, err = w.state.Replace(w.t.Context(), append([]client.Object{release}, objects...))
	w.must(err)
}

// simulated returns a built-in release without what simulated machines do not have: addons and what
// is fetched for them.
func (w *suite) simulated(name string) *v1alpha1.Release {
	w.t.Helper()
	found, err := release.Find(name)
	w.must(err)
	of := found.DeepCopy()
	of.Spec.Addons, of.Spec.Artifacts = nil, nil
	return of
}

// example returns what is in an example.
func example(tb testing.TB, file string) []client.Object {
	tb.Helper()
	return read(tb, "../../examples/clusters/"+file)
}

// read returns what is in a file.
func read(tb testing.TB, path string) []client.Object {
	tb.Helper()
	sources, err := manifest.Open([]string{path}, nil)
	if err != nil {
		tb.Fatal(err)
	}
	set, err := manifest.Read(sources, manifest.Options{})
	if err != nil {
		tb.Fatal(err)
	}
	objects := make([]client.Object, 0, len(set.Manifests))
	for _, m := range set.Manifests {
		m.Object.SetNamespace("default")
		objects = append(objects, m.Object)
	}
	return objects
}

func clustersOf(objects []client.Object) []*v1alpha1.Cluster {
	var found []*v1alpha1.Cluster
	for _, o := range objects {
		if c, ok := o.(*v1alpha1.Cluster); ok {
			found = append(found, c)
		}
	}
	return found
}

// network makes the VPC that a cluster is to stand in, with all that the cluster and its groups
// name of it.
func (w *suite) network(c *v1alpha1.Cluster, objects []client.Object) {
	w.t.Helper()
	n := &c.Spec.Network
	if n.VPC == "" {
		return
	}
	named := map[string][]*string{"VPC": {&n.VPC}}
	subnets, security := map[string]string{}, [][]string{c.Spec.API.SecurityGroups}
	for i := range n.Subnets {
		subnets[n.Subnets[i].ID] = fmt.Sprint("Subnet", i)
		named[subnets[n.Subnets[i].ID]] = []*string{&n.Subnets[i].ID}
	}
	for _, o := range objects {
		g, ok := o.(*v1alpha1.InstanceGroup)
		if !ok || g.Spec.Cluster != c.Name {
			continue
		}
		security = append(security, g.Spec.SecurityGroups)
		for i, id := range g.Spec.Subnets {
			named[subnets[id]] = append(named[subnets[id]], &g.Spec.Subnets[i])
		}
	}
	body := "Resources:\n  VPC: {Type: AWS::EC2::VPC, Properties: {CidrBlock: 10.9.0.0/16, EnableDnsHostnames: true, EnableDnsSupport: true}}\n" +
		"  Gateway: {Type: AWS::EC2::InternetGateway}\n" +
		"  Attachment: {Type: AWS::EC2::VPCGatewayAttachment, Properties: {VpcId: !Ref VPC, InternetGatewayId: !Ref Gateway}}\n" +
		"  Public: {Type: AWS::EC2::RouteTable, Properties: {VpcId: !Ref VPC}}\n" +
		"  Out: {Type: AWS::EC2::Route, DependsOn: Attachment, Properties: {RouteTableId: !Ref Public, DestinationCidrBlock: 0.0.0.0/0, GatewayId: !Ref Gateway}}\n"
	ids := "Outputs:\n  VPC: {Value: !Ref VPC}\n"
	for i, s := range n.Subnets {
		body += fmt.Sprintf(
			"  Subnet%d: {Type: AWS::EC2::Subnet, Properties: {VpcId: !Ref VPC, AvailabilityZone: %s, CidrBlock: 10.9.%d.0/24}}\n",
			i,
			s.Zone,
			i,
		)
		ids += fmt.Sprintf("  Subnet%d: {Value: !Ref Subnet%d}\n", i, i)
		if s.Role == v1alpha1.SubnetPublic {
			body += fmt.Sprintf(
				"  Routes%d: {Type: AWS::EC2::SubnetRouteTableAssociation, Properties: {SubnetId: !Ref Subnet%d, RouteTableId: !Ref Public}}\n",
				i,
				i,
			)
		}
	}
	for i, of := range security {
		for k := range of {
			name := fmt.Sprintf("SecurityGroup%dx%d", i, k)
			body += fmt.Sprintf("  %s: {Type: AWS::EC2::SecurityGroup, Properties: {VpcId: !Ref VPC, GroupDescription: of others}}\n", name)
			ids += fmt.Sprintf("  %s: {Value: !GetAtt %s.GroupId}\n", name, name)
			named[name] = []*string{&of[k]}
		}
	}
	for name, value := range w.stack("network", body+ids) {
		for _, to := range named[name] {
			*to = value
		}
	}
}

// stack makes a stack of another client's, and returns its outputs.
func (w *suite) stack(called, body string) map[string]string {
	w.t.Helper()
	api, name := w.cloudformation(), aws.String(called)
	_, err := api.CreateStack(w.t.Context(), &cloudformation.CreateStackInput{StackName: name, TemplateBody: aws.String(body)})
	w.must(err)
	w.must(cloudformation.NewStackCreateCompleteWaiter(api, func(o *cloudformation.StackCreateCompleteWaiterOptions) {
		o.MinDelay, o.MaxDelay = 10*time.Millisecond, 100*time.Millisecond
	}).Wait(w.t.Context(), &cloudformation.DescribeStacksInput{StackName: name}, patience.Left(w.t)))
	out, err := api.DescribeStacks(w.t.Context(), &cloudformation.DescribeStacksInput{StackName: name})
	w.must(err)
	outputs := map[string]string{}
	for _, o := range out.Stacks[0].Outputs {
		outputs[aws.ToString(o.OutputKey)] = aws.ToString(o.OutputValue)
	}
	return outputs
}

// cloudformation is asked by the operator's own client: a plain one of the SDK loses answers where
// the processors are busy.
func (w *suite) cloudformation() awsapi.CloudFormation {
	w.t.Helper()
	clients, err := awsapi.New(w.t.Context(), w.awsAt(w.observer))
	w.must(err)
	return clients.CloudFormation(awsapi.Target{})
}

// calls counts the calls of AWS.
func (w *suite) calls() int {
	sum := 0
	for _, count := range w.sim.Calls() {
		sum += count
	}
	return sum
}

// edit changes objects of a cluster like a user.
func (w *suite) edit(cluster string, change func(*v1alpha1.Cluster, []*v1alpha1.InstanceGroup)) {
	w.t.Helper()
	objects, err := w.state.Load(w.t.Context(), cluster)
	w.must(err)
	change(objects.Cluster, objects.Groups)
	changed := []client.Object{objects.Cluster}
	for _, g := range objects.Groups {
		changed = append(changed, g)
	}
	for _, o := range changed {
		o.SetResourceVersion("")
	}
	_, err = w.state.Replace(w.t.Context(), changed)
	w.must(err)
}

func sorted(names []string) []string {
	slices.Sort(names)
	return slices.Compact(names)
}
