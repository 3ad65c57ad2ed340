package hostile

import (
	"context"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/go-logr/logr"
	"github.com/go-logr/logr/funcr"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/aws-operator/aws-operator/internal/awsapi"
	"github.com/aws-operator/aws-operator/internal/local/controlplane/controlplanetest"
	"github.com/aws-operator/aws-operator/internal/machines/fake"
	"github.com/aws-operator/aws-operator/internal/operator"
	"github.com/aws-operator/aws-operator/internal/operator/operatortest"
	"github.com/aws-operator/aws-operator/internal/simulator"
	"github.com/aws-operator/aws-operator/internal/simulator/access"
	"github.com/aws-operator/aws-operator/internal/simulator/iampolicy"
	"github.com/aws-operator/aws-operator/internal/simulator/simulatortest"
)

const (
	account = "123456789012"
	region  = "eu-central-2"
	// operatorName is the user that the operator is.
	operatorName = "operator"
	release      = "v1.36.3"
	// ungranted is a role that the operator could assume, and that no flag grants to a namespace. It is
	// the role of the victim's AWSIdentity.
	ungranted = "of-others"
	// vault is the victim's queue with that role.
	vault = "vault"
)

// suite is a real API server, a simulated AWS that reports what it decides, and an operator.
type suite struct {
	t      *testing.T
	client client.Client
	// root may do everything in AWS; operatorsOwn are the operator's credentials.
	root, operatorsOwn aws.Config
	changes            *changes
	panics             *panics
}

// newSuite starts an operator that watches all namespaces and may do everything in AWS, so that only
// its own checks keep it from what belongs to others.
func newSuite(t *testing.T) *suite {
	t.Helper()
	admin := controlplanetest.Shared(t).RESTConfig()
	operatortest.Releases(t, admin, release)
	s := &suite{t: t, changes: &changes{}, panics: &panics{}}
	var err error
	if s.client, err = client.New(admin, client.Options{Scheme: clientgoscheme.Scheme}); err != nil {
		t.Fatal(err)
	}
	sim, endpoint := simulatortest.Start(t, simulator.Options{
		Machines: fake.New(fake.Options{}), Account: account, Region: region, Patience: time.Second, IAM: access.Enforce, Seed: 1,
		Decided: s.changes.add,
	})
	s.root = simulatortest.Root(endpoint, account, region)
	simulatortest.Role(t, s.root, ungranted, account, "", simulatortest.Administrator)
	key := simulatortest.User(t, s.root, operatorName, simulatortest.Administrator)
	s.operatorsOwn = s.root.Copy()
	s.operatorsOwn.Credentials = aws.CredentialsProviderFunc(func(context.Context) (aws.Credentials, error) { return key, nil })
	operatortest.Run(t, sim, key, operator.Options{
		RESTConfig: admin, Region: region, EndpointURL: endpoint, Logger: s.panics.logger(),
		Budgets: map[string]awsapi.Budget{awsapi.AnyService: awsapi.Unlimited},
	})
	return s
}

// panics collects what the operator logs about panics: it recovers from them, step by step.
type panics struct {
	mu    sync.Mutex
	lines []string
}

func (p *panics) logger() logr.Logger {
	return funcr.New(func(_, line string) {
		if !strings.Contains(line, "panic") {
			return
		}
		p.mu.Lock()
		defer p.mu.Unlock()
		p.lines = append(p.lines, line)
	}, funcr.Options{})
}

func (p *panics) check(t *testing.T) {
	t.Helper()
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, line := range p.lines {
		t.Errorf("the operator panicked: %s", line)
	}
	p.lines = nil
}

// changes are the requests of the operator, and of CloudFormation for it, that change an existing
// resource.
type changes struct {
	mu        sync.Mutex
	seen      int
	protected map[string]string // what belongs to others, by resourceKey, and what it is
	touched   []string
	assumed   time.Time // when the operator last assumed the role of the victim's identity
}

// reading are the beginnings of actions that change nothing. Creations fail if the name is in use:
// that they changed nothing is checked by the state. CloudFormation decides TagResource with a
// creation or an update.
var reading = []string{"Get", "Describe", "List", "Head", "Lookup", "Search", "BatchGet", "Create", "Receive", "Pass", "Detect", "Run"}

const withCreation = "cloudformation:TagResource"

// add records a request.
func (c *changes) add(request *iampolicy.Request, _ *iampolicy.Policies) {
	service, action, _ := strings.Cut(request.Action, ":")
	ofVictim := strings.Contains(request.Principal, ":assumed-role/"+ungranted+"/")
	if !ofVictim && !strings.HasSuffix(request.Principal, ":user/"+operatorName) {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if ofVictim && request.Resource != "*" && !strings.Contains(request.Resource, vault) {
		c.touched = append(c.touched, request.Action+" on "+request.Resource+" with the role of the victim's identity")
	}
	reads := slices.ContainsFunc(reading, func(beginning string) bool { return strings.HasPrefix(action, beginning) })
	if ofVictim || reads || request.Action == withCreation {
		return
	}
	c.seen++
	if action == "AssumeRole" && !c.renewed() {
		c.touched = append(c.touched, request.Action+" of "+request.Resource+", which only the victim may use")
	}
	if what, ok := c.protected[resourceKey(service, request.Resource)]; ok {
		c.touched = append(c.touched, request.Action+" on "+request.Resource+", which is "+what)
	}
}

// renewed records that the role is assumed, and reports whether that renews the session of the victim's object, which
// lasts 15 minutes. An object of an author would need another session than that, before or after.
func (c *changes) renewed() bool {
	const early = 10 * time.Minute
	now := clock.RealClock{}.Now()
	renews := now.Sub(c.assumed) > early
	c.assumed = now
	return renews
}

// resourceKey identifies a resource by its service and the last part of its ARN, URL or ID.
func resourceKey(service, id string) string {
	bucket, _, _ := strings.Cut(strings.TrimPrefix(id, "arn:aws:s3:::"), "/")
	if service == "s3" {
		return service + " " + bucket
	}
	return service + " " + id[strings.LastIndexAny(id, ":/")+1:]
}

// protect replaces what the operator must not touch, by resourceKey.
func (c *changes) protect(all map[string]string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.protected, c.touched, c.seen = all, nil, 0
}

// found returns the requests that touched what belongs to others, and how many changed anything.
func (c *changes) found() (touched []string, seen int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.touched), c.seen
}

// get reads an object again; it reports false if it no longer exists.
func (s *suite) get(object *unstructured.Unstructured) bool {
	s.t.Helper()
	err := s.client.Get(s.t.Context(), client.ObjectKeyFromObject(object), object)
	if err != nil && !apierrors.IsNotFound(err) {
		s.t.Fatal(err)
	}
	return err == nil
}
