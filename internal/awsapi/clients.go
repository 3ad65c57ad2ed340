package awsapi

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/retry"
	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/credentials/stscreds"
	"github.com/aws/aws-sdk-go-v2/service/sts"
	"github.com/aws/smithy-go/logging"
	"github.com/aws/smithy-go/middleware"
	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/utils/clock"
)

const (
	// connections is the number of idle connections to one endpoint. With fewer, a hundred
	// concurrent calls would constantly open and close connections.
	connections = 128
	// longestCall limits one attempt; a long poll of SQS alone takes 20 seconds.
	longestCall = 60 * time.Second
	// sessionName is the session name in CloudTrail for calls with an assumed role.
	sessionName = "aws-operator"
)

// Options configure Clients; the zero value uses the SDK's default credential chain and region.
type Options struct {
	// Region is the operator's own region; empty uses the SDK's default chain.
	Region string
	// EndpointURL replaces AWS's endpoints, for example by the simulator's.
	EndpointURL string
	// Resolver looks up the names of clusters' APIs; it defaults to the one of [ResolverVariable].
	Resolver Resolver
	// Budgets override DefaultBudgets by service ("cloudformation"); AnyService overrides the
	// budgets of services without an entry.
	Budgets map[string]Budget
	// Shares is the number of processes that may use the same accounts and regions, and share the budgets; 0 is one. See
	// [Clients.Share].
	Shares int
	// Transport carries the calls; it defaults to the SDK's.
	Transport http.RoundTripper
	// Retryer creates the retryer; it defaults to the SDK's adaptive mode.
	Retryer func() aws.Retryer
	// Registerer receives the metrics of calls; nil registers none.
	Registerer prometheus.Registerer
	// Clock times the calls; it defaults to the real clock.
	Clock clock.PassiveClock
	// Credentials replace the SDK's default credential chain.
	Credentials aws.CredentialsProvider
	// MaxAttempts limits the attempts of one call; default 3.
	MaxAttempts int
	// UserAgent is appended to the SDK's, for example "aws-operator/v1.0.0".
	UserAgent string
	// Logger receives a line for each call that changes something, unless the call's context has a
	// logger; the zero value is silent.
	Logger logr.Logger
}

// Clients provides AWS clients. It is safe for concurrent use.
type Clients struct {
	options Options
	config  aws.Config
	metrics *metrics

	mu      sync.Mutex
	targets map[Target]aws.Config
	clients map[clientKey]any
	buckets map[bucketKey]*bucket
	uses    map[string]int // see Share
	account string
}

type clientKey struct {
	service string
	target  Target
}

type bucketKey struct{ service, account, region string }

// New loads the SDK's configuration without calling AWS. It returns an error if no region is
// configured.
func New(ctx context.Context, options Options) (*Clients, error) {
	if options.Clock == nil {
		options.Clock = clock.RealClock{}
	}
	if options.MaxAttempts == 0 {
		options.MaxAttempts = retry.DefaultMaxAttempts
	}
	if options.Resolver == nil {
		options.Resolver = EnvironmentResolver()
	}
	if options.Retryer == nil {
		options.Retryer = func() aws.Retryer {
			return retry.NewAdaptiveMode(func(o *retry.AdaptiveModeOptions) {
				o.StandardOptions = append(o.StandardOptions, func(s *retry.StandardOptions) { s.MaxAttempts = options.MaxAttempts })
			})
		}
	}
	cfg, err := config.LoadDefaultConfig(ctx, loadOptions(options)...)
	if err != nil {
		return nil, fmt.Errorf("load the AWS configuration: %w", err)
	}
	if cfg.Region == "" {
		return nil, errors.New("no AWS region is configured: set --aws-region or AWS_REGION")
	}
	if options.Transport != nil {
		cfg.HTTPClient = &http.Client{Transport: options.Transport, Timeout: longestCall}
	}
	cfg.HTTPClient = steadyClient{cfg.HTTPClient} // not earlier: the SDK adds a CA bundle only to its own client
	m, err := newMetrics(options.Registerer)
	if err != nil {
		return nil, err
	}
	return &Clients{
		options: options, config: cfg, metrics: m,
		targets: map[Target]aws.Config{}, clients: map[clientKey]any{}, buckets: map[bucketKey]*bucket{},
	}, nil
}

func loadOptions(options Options) []func(*config.LoadOptions) error {
	httpClient := awshttp.NewBuildableClient().WithTimeout(longestCall).WithTransportOptions(func(t *http.Transport) {
		t.MaxIdleConns = 4 * connections
		t.MaxIdleConnsPerHost = connections
	})
	load := []func(*config.LoadOptions) error{
		config.WithHTTPClient(httpClient),
		config.WithRetryer(options.Retryer),
		// The SDK's errors contain what it logs; its log lines would appear in a command's output.
		config.WithLogger(logging.Nop{}),
	}
	if options.Region != "" {
		load = append(load, config.WithRegion(options.Region))
	}
	if options.EndpointURL != "" {
		load = append(load, config.WithBaseEndpoint(options.EndpointURL))
	}
	if options.Credentials != nil {
		load = append(load, config.WithCredentialsProvider(options.Credentials))
	}
	if name, version, found := strings.Cut(options.UserAgent, "/"); found {
		load = append(load, config.WithAPIOptions([]func(*middleware.Stack) error{userAgent(name, version)}))
	}
	return load
}

// CloudFormation returns the client of CloudFormation for the target.
func (c *Clients) CloudFormation(t Target) CloudFormation {
	return client(c, "cloudformation", t, newCloudformationCalls)
}

// CloudControl returns the client of Cloud Control API for the target.
func (c *Clients) CloudControl(t Target) CloudControl {
	return client(c, "cloudcontrol", t, newCloudcontrolCalls)
}

// Inventory returns the client of Cloud Control API that lists resources.
func (c *Clients) Inventory(t Target) Inventory {
	return client(c, "cloudcontrol", t, newCloudcontrolCalls)
}

// StackFinder returns the client of CloudFormation that finds the stacks of resources.
func (c *Clients) StackFinder(t Target) StackFinder {
	return client(c, "cloudformation", t, newCloudformationCalls)
}

// Templates returns the client of CloudFormation that checks templates.
func (c *Clients) Templates(t Target) Templates {
	return client(c, "cloudformation", t, newCloudformationCalls)
}

// AutoScaling returns the client of Auto Scaling for the target.
func (c *Clients) AutoScaling(t Target) AutoScaling {
	return client(c, "autoscaling", t, newAutoscalingCalls)
}

// SQS returns the client of SQS for the target.
func (c *Clients) SQS(t Target) SQS {
	return client(c, "sqs", t, newSqsCalls)
}

// S3 returns the client of S3 for the target.
func (c *Clients) S3(t Target) S3 { return c.s3(t) }

// Objects returns the client of S3 objects for the target.
func (c *Clients) Objects(t Target) Objects { return c.s3(t) }

func (c *Clients) s3(t Target) *s3Calls { return client(c, "s3", t, newS3Calls) }

// EC2 returns the client of EC2 for the target.
func (c *Clients) EC2(t Target) EC2 {
	return client(c, "ec2", t, newEc2Calls)
}

// SSM returns the client of SSM parameters for the target.
func (c *Clients) SSM(t Target) SSM {
	return client(c, "ssm", t, newSsmCalls)
}

// STS returns the client of STS for the target.
func (c *Clients) STS(t Target) STS { return c.sts(t) }

func (c *Clients) sts(t Target) *sts.Client {
	return client(c, "sts", t, func(cfg aws.Config) *sts.Client { return sts.NewFromConfig(cfg) })
}

// CallerPresigner returns what presigns STS's GetCallerIdentity with the target's credentials, for
// tokens of EKS clusters. It calls AWS only to assume the target's role.
func (c *Clients) CallerPresigner(t Target) *sts.PresignClient {
	t.Region = c.Region(t)
	cfg := c.configFor(t)
	cfg.APIOptions = nil // they are for requests that are sent
	return sts.NewPresignClient(sts.NewFromConfig(cfg))
}

// Identity returns the account of the operator's own credentials. It calls AWS once.
func (c *Clients) Identity(ctx context.Context) (string, error) {
	c.mu.Lock()
	account := c.account
	c.mu.Unlock()
	if account != "" {
		return account, nil
	}
	out, err := c.STS(Target{}).GetCallerIdentity(ctx, &sts.GetCallerIdentityInput{})
	if err != nil {
		return "", Explain(err)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.account = aws.ToString(out.Account)
	return c.account, nil
}

// Region returns the region of the target, or the operator's.
func (c *Clients) Region(t Target) string {
	if t.Region != "" {
		return t.Region
	}
	return c.config.Region
}

// ObjectURL returns the URL of an S3 object for CloudFormation's TemplateURL.
func (c *Clients) ObjectURL(t Target, bucket, key string) string {
	path := (&url.URL{Path: bucket + "/" + key}).EscapedPath()
	if c.config.BaseEndpoint != nil {
		return strings.TrimSuffix(*c.config.BaseEndpoint, "/") + "/" + path
	}
	region := c.Region(t)
	domain := "amazonaws.com"
	if strings.HasPrefix(region, "cn-") {
		domain += ".cn"
	}
	return "https://s3." + region + "." + domain + "/" + path
}

// Waiting returns how many calls of a service currently wait for the target's budget.
func (c *Clients) Waiting(t Target, service string) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return int(c.bucket(service, t).waiting.Load())
}

// client returns the only client of a service and target.
func client[C any](c *Clients, service string, t Target, build func(aws.Config) C) C {
	t.Region = c.Region(t)
	cfg := c.configFor(t)
	c.mu.Lock()
	defer c.mu.Unlock()
	key := clientKey{service: service, target: t}
	if known, ok := c.clients[key].(C); ok {
		return known
	}
	cfg = cfg.Copy()
	cfg.APIOptions = append(cfg.APIOptions, c.attempts(service, c.bucket(service, t)), c.effects(service, t))
	made := build(cfg)
	c.clients[key] = made
	return made
}

// configFor returns the configuration of a target, with cached credentials of its role. The
// operator's own credentials assume the role on first use.
func (c *Clients) configFor(t Target) aws.Config {
	c.mu.Lock()
	cfg, ok := c.targets[t]
	c.mu.Unlock()
	if ok {
		return cfg
	}
	cfg = c.config.Copy()
	cfg.Region = t.Region
	if t.RoleARN != "" {
		provider := stscreds.NewAssumeRoleProvider(c.sts(Target{}), t.RoleARN, func(o *stscreds.AssumeRoleOptions) {
			o.RoleSessionName = sessionName
			if t.ExternalID != "" {
				o.ExternalID = aws.String(t.ExternalID)
			}
			o.Tags = t.sessionTags()
		})
		cfg.Credentials = aws.NewCredentialsCache(provider, func(o *aws.CredentialsCacheOptions) { o.ExpiryWindow = 5 * time.Minute })
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if known, ok := c.targets[t]; ok {
		return known
	}
	c.targets[t] = cfg
	return cfg
}

// bucket returns the bucket that all clients of one account, region and service share. The caller
// holds the lock.
func (c *Clients) bucket(service string, t Target) *bucket {
	key := c.bucketKey(service, t)
	if known, ok := c.buckets[key]; ok {
		return known
	}
	made := newBucket(budgetFor(c.options.Budgets, service))
	made.share(c.sharesOf(key))
	c.buckets[key] = made
	return made
}

// bucketKey returns the service, account and region of a client. The caller holds the lock.
func (c *Clients) bucketKey(service string, t Target) bucketKey {
	key := bucketKey{service: service, account: t.account(), region: c.Region(t)}
	if key.account == c.account {
		key.account = ""
	}
	return key
}
