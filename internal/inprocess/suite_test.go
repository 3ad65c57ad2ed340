package inprocess_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/aws-operator/aws-operator/api/cluster/v1alpha1"
	"github.com/aws-operator/aws-operator/internal/awsapi"
	"github.com/aws-operator/aws-operator/internal/inprocess"
	"github.com/aws-operator/aws-operator/internal/local/environment"
	"github.com/aws-operator/aws-operator/internal/machines/fake"
	"github.com/aws-operator/aws-operator/internal/simulator"
	"github.com/aws-operator/aws-operator/internal/simulator/fault"
	"github.com/aws-operator/aws-operator/internal/simulator/simulatortest"
	"github.com/aws-operator/aws-operator/internal/state"
)

const (
	region  = "eu-central-1"
	account = "123456789012"
	// patience bounds every run; nothing here takes long unless it is broken.
	patience = 50 * time.Second
)

// suite is AWS on loopback with simulated machines, and a state.
type suite struct {
	t        *testing.T
	sim      *simulator.Simulator
	faults   *fault.Injector
	endpoint string
	observer string // the endpoint of the test's own clients
	nodeup   string
	state    *memory
}

func newSuite(t *testing.T) *suite {
	t.Helper()
	w := &suite{t: t, nodeup: t.TempDir(), faults: &fault.Injector{}, state: newMemory()}
	for _, architecture := range []string{"amd64", "arm64"} {
		if err := os.WriteFile(
			filepath.Join(w.nodeup, "nodeup-linux-"+architecture), []byte("nodeup for "+architecture), 0o600,
		); err != nil {
			t.Fatal(err)
		}
	}
	sim, endpoint := simulatortest.Start(t, simulator.Options{
		Account: account, Region: region, Machines: fake.New(fake.Options{}), Faults: w.faults, Patience: 100 * time.Millisecond,
	})
	w.sim = sim
	observer := simulatortest.Serve(t, w.sim.Observer()) // the tests compare what exists with what should
	w.endpoint, w.observer = endpoint, observer
	release, err := environment.LocalRelease(nil)
	if err != nil {
		t.Fatal(err)
	}
	w.state.put(release)
	w.state.put(aCluster(release.Name))
	w.state.put(aGroup())
	return w
}

func aCluster(release string) *v1alpha1.Cluster {
	return &v1alpha1.Cluster{
		ObjectMeta: metav1.ObjectMeta{Name: "demo", Namespace: "default", UID: "demo-uid", Generation: 1},
		Spec: v1alpha1.ClusterSpec{
			Release: release, Region: region, UpdatePolicy: v1alpha1.UpdateAutomatic, VolumePolicy: v1alpha1.VolumesRetain,
			API: v1alpha1.APIEndpoint{Access: v1alpha1.APIPublic},
			Network: v1alpha1.Network{
				CIDR: "10.0.0.0/16", Zones: []string{"eu-central-1a"}, Topology: v1alpha1.TopologyPublic,
			},
			ControlPlane: v1alpha1.ControlPlane{Replicas: 1, InstanceType: "m6i.large"},
		},
	}
}

func aGroup() *v1alpha1.InstanceGroup {
	return &v1alpha1.InstanceGroup{
		ObjectMeta: metav1.ObjectMeta{Name: "workers", Namespace: "default", UID: "workers-uid", Generation: 1},
		Spec: v1alpha1.InstanceGroupSpec{
			Cluster: "demo", MinSize: 2, MaxSize: 4, InstanceTypes: []string{"m6i.large"}, Architecture: v1alpha1.AMD64,
			UpdatePolicy: v1alpha1.UpdateAutomatic,
		},
	}
}

func (w *suite) options(goal inprocess.Goal) inprocess.Options {
	return inprocess.Options{
		State: w.state, Cluster: "demo", Goal: goal, Purpose: "test", NodeupDir: w.nodeup,
		AWS: awsapi.Options{
			EndpointURL: w.endpoint, Credentials: credentials.NewStaticCredentialsProvider(account, "secret", ""),
			Budgets: map[string]awsapi.Budget{awsapi.AnyService: awsapi.Unlimited}, Resolver: w.sim.Lookup,
		},
		Poll: 100 * time.Millisecond, Settle: 200 * time.Millisecond,
	}
}

// run runs the controllers, and ends the test when it does not come to an end.
func (w *suite) run(o inprocess.Options) error {
	w.t.Helper()
	return w.runIn(w.t.Context(), o)
}

var errLong = errors.New("the run takes too long")

func (w *suite) runIn(ctx context.Context, o inprocess.Options) error {
	w.t.Helper()
	ctx, cancel := context.WithTimeoutCause(ctx, patience, errLong)
	defer cancel()
	var last inprocess.Progress
	observe := o.Observe
	o.Observe = func(p inprocess.Progress) {
		last = p
		if observe != nil {
			observe(p)
		}
	}
	err := inprocess.Run(ctx, o)
	if errors.Is(err, errLong) {
		w.t.Fatalf("%v: %v\n%s", o.Goal, err, tell(last))
	}
	return err
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

func (w *suite) must(err error) {
	w.t.Helper()
	if err != nil {
		w.t.Fatal(err)
	}
}

func (w *suite) aws() aws.Config {
	return aws.Config{
		Region: region, BaseEndpoint: aws.String(w.observer), Credentials: credentials.NewStaticCredentialsProvider(account, "secret", ""),
	}
}

// stacks returns the IDs of the stacks that there are by their names.
func (w *suite) stacks() map[string]string {
	w.t.Helper()
	out, err := cloudformation.NewFromConfig(w.aws()).DescribeStacks(w.t.Context(), &cloudformation.DescribeStacksInput{})
	w.must(err)
	found := map[string]string{}
	for i := range out.Stacks {
		found[aws.ToString(out.Stacks[i].StackName)] = aws.ToString(out.Stacks[i].StackId)
	}
	return found
}

func (w *suite) queues() []string {
	w.t.Helper()
	out, err := sqs.NewFromConfig(w.aws()).ListQueues(w.t.Context(), &sqs.ListQueuesInput{})
	w.must(err)
	return out.QueueUrls
}

// memory is a state that holds what a folder would, as text.
type memory struct {
	mu     sync.Mutex
	texts  map[string][]byte
	types  map[string]reflect.Type
	locked string
	fail   error // of every write
	saved  int
}

func newMemory() *memory {
	return &memory{texts: map[string][]byte{}, types: map[string]reflect.Type{}}
}

func nameOf(object client.Object) string {
	return reflect.TypeOf(object).Elem().Name() + "/" + object.GetName()
}

func (m *memory) put(object client.Object) {
	text, err := json.Marshal(object)
	if err != nil {
		panic(err)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.texts[nameOf(object)], m.types[nameOf(object)] = text, reflect.TypeOf(object).Elem()
}

func (m *memory) names() []string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Sorted(maps.Keys(m.texts))
}

// edit changes an object like a user: its spec, and with it the generation.
func edit[T client.Object](w *suite, object T, change func(T)) {
	w.t.Helper()
	w.state.mu.Lock()
	text := w.state.texts[nameOf(object)]
	w.state.mu.Unlock()
	w.must(json.Unmarshal(text, object))
	change(object)
	object.SetGeneration(object.GetGeneration() + 1)
	w.state.put(object)
}

func (m *memory) Load(context.Context, string) (*state.Objects, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	all := &state.Objects{}
	for _, name := range slices.Sorted(maps.Keys(m.texts)) {
		object := reflect.New(m.types[name]).Interface()
		if err := json.Unmarshal(m.texts[name], object); err != nil {
			return nil, err
		}
		switch o := object.(type) {
		case *v1alpha1.Cluster:
			all.Cluster = o
		case *v1alpha1.InstanceGroup:
			all.Groups = append(all.Groups, o)
		case *v1alpha1.Release:
			all.Releases = append(all.Releases, o)
		case *corev1.Secret:
			all.Secrets = append(all.Secrets, o)
		}
	}
	return all, nil
}

func (m *memory) Lock(_ context.Context, _, purpose string) (func() error, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.locked != "" {
		return nil, errors.New("it is locked for " + m.locked)
	}
	m.locked = purpose
	return func() error {
		m.mu.Lock()
		defer m.mu.Unlock()
		m.locked = ""
		return nil
	}, nil
}

func (m *memory) Save(ctx context.Context, _ string, object client.Object) error {
	if err := errors.Join(m.fail, ctx.Err()); err != nil {
		return err
	}
	m.put(object)
	m.mu.Lock()
	defer m.mu.Unlock()
	m.saved++
	return nil
}

func (m *memory) Remove(ctx context.Context, _ string, object client.Object) error {
	if err := errors.Join(m.fail, ctx.Err()); err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.texts, nameOf(object))
	return nil
}
