package simulator

import (
	"net/http/httptest"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"k8s.io/utils/clock"

	"github.com/aws-operator/aws-operator/internal/simulator"
	"github.com/aws-operator/aws-operator/internal/simulator/access"
	"github.com/aws-operator/aws-operator/internal/simulator/fault"
)

const (
	// DefaultAccount is the account of [AWS.Config] unless [WithAccount] names another.
	DefaultAccount = "123456789012"
	// DefaultRegion is the region of [AWS.Config] unless [WithRegion] names another.
	DefaultRegion = "us-east-1"
	// Secret is the secret access key of the root users of all accounts, whose access key ID is the
	// number of the account.
	Secret = simulator.RootSecret
)

// AWS is a simulated AWS that serves on loopback. It is safe for use by many goroutines.
type AWS struct {
	// Endpoint is its URL, for example http://127.0.0.1:41234. Set it as AWS_ENDPOINT_URL for other
	// programs.
	Endpoint string

	account, region string
	simulator       *simulator.Simulator
	server          *httptest.Server
}

// Option changes how AWS is simulated.
type Option func(*simulator.Options)

// WithAccount sets the account of [AWS.Config], 12 digits.
func WithAccount(id string) Option { return func(o *simulator.Options) { o.Account = id } }

// WithRegion sets the region of [AWS.Config].
func WithRegion(name string) Option { return func(o *simulator.Options) { o.Region = name } }

// WithClock sets the clock that AWS runs on, for example a fake one of k8s.io/utils/clock/testing;
// the real clock is the default.
func WithClock(c clock.WithTickerAndDelayedExecution) Option {
	return func(o *simulator.Options) { o.Clock = c }
}

// WithLatency sets how long CloudFormation takes for an operation (Create, Update or Delete) on a
// resource of a type, for example AWS::SQS::Queue; the default is no time at all. For the latency
// of API calls inject a [Fault] with a Delay.
func WithLatency(of func(resourceType, operation string) time.Duration) Option {
	return func(o *simulator.Options) { o.Latency = of }
}

// WithFaults injects faults from the start; see [AWS.Inject].
func WithFaults(faults ...Fault) Option {
	return func(o *simulator.Options) {
		if o.Faults == nil {
			o.Faults = fault.New()
		}
		for _, f := range faults {
			o.Faults.Add(f)
		}
	}
}

// WithSeed sets the seed that determines the order of results and the sizes of pages where AWS
// documents none, what lags, which calls are throttled, and which events arrive late or twice. By
// default, [Start] logs a random one.
func WithSeed(seed uint64) Option { return func(o *simulator.Options) { o.Seed = seed } }

// WithLag sets the longest time for which something lags behind a change, for example reads of EC2:
// https://docs.aws.amazon.com/ec2/latest/devguide/eventual-consistency.html
// With a lag, some calls are also refused by chance, and some events arrive late or twice. The default
// is one second; with a negative lag, the simulator does none of this.
func WithLag(lag time.Duration) Option { return func(o *simulator.Options) { o.Lag = lag } }

// WithIAM sets what happens to requests that AWS would refuse because of their credentials or of
// policies: "enforce" refuses them, which is the default; "audit" passes a line about each to audit,
// and answers them; "off" answers them. It panics for another mode.
func WithIAM(mode string, audit func(line string)) Option {
	parsed, err := access.ParseMode(mode)
	if err != nil {
		panic("simulator: " + err.Error())
	}
	return func(o *simulator.Options) { o.IAM, o.Audit = parsed, audit }
}

// Fault makes calls, or CloudFormation's work on resources, fail or take time.
type Fault = fault.Rule

// Throttle returns a fault that throttles an operation so many times, as AWS does when too many
// calls arrive.
func Throttle(service, operation string, times int) Fault {
	return fault.Throttle(service, operation, times)
}

// Start starts an AWS that ends with the test. It takes a few milliseconds.
func Start(tb testing.TB, options ...Option) *AWS {
	tb.Helper()
	a := New(options...)
	tb.Logf("the simulator of AWS has seed %d", a.simulator.Seed())
	tb.Cleanup(a.Close)
	return a
}

// New starts an AWS without a test. Close it in the end.
func New(options ...Option) *AWS {
	o := simulator.Options{Account: DefaultAccount, Region: DefaultRegion}
	for _, option := range options {
		option(&o)
	}
	a := &AWS{account: o.Account, region: o.Region, simulator: simulator.New(o)}
	a.server = httptest.NewServer(a.simulator.Control())
	a.Endpoint = a.server.URL
	return a
}

// Config returns the configuration of the AWS SDK for Go for the account and region of this AWS.
func (a *AWS) Config() aws.Config { return a.ConfigFor(a.account, a.region) }

// ConfigFor returns the configuration of the AWS SDK for Go for the root user of an account, 12 digits,
// and a region.
func (a *AWS) ConfigFor(account, region string) aws.Config {
	return aws.Config{
		Region: region, BaseEndpoint: aws.String(a.Endpoint), HTTPClient: a.server.Client(),
		Credentials: credentials.NewStaticCredentialsProvider(account, Secret, ""),
	}
}

// Inject adds a fault, and returns what removes it.
func (a *AWS) Inject(f Fault) (remove func()) { return a.simulator.Faults().Add(f) }

// Incident happens to instances or zones: missing capacity, the interruption of a spot instance, a
// rebalance recommendation, a failed status check, or a scheduled event.
type Incident = fault.Incident

// Kinds of incidents.
const (
	Capacity                = fault.Capacity
	SpotInterruption        = fault.SpotInterruption
	RebalanceRecommendation = fault.RebalanceRecommendation
	StatusCheck             = fault.StatusCheck
	ScheduledEvent          = fault.ScheduledEvent
)

// Happen makes an incident happen. Programs in other languages post it as JSON to /_simulator/incidents.
func (a *AWS) Happen(i Incident) error { return a.simulator.Incident(i) }

// Calls returns how many API calls there were, by "service/Operation", for example
// "sqs/SendMessage".
func (a *AWS) Calls() map[string]int { return a.simulator.Calls() }

// Close ends requests that wait, and stops serving.
func (a *AWS) Close() {
	a.simulator.Close()
	a.server.Close()
}

// Supported returns the operations that AWS answers, in alphabetical order, by service (its signing
// name).
func (a *AWS) Supported() map[string][]string { return a.simulator.Operations() }

// ResourceTypes returns the CloudFormation types that stacks can have, in alphabetical order.
func (a *AWS) ResourceTypes() []string { return a.simulator.ResourceTypes() }
