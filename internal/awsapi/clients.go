package awsapi

import (
	"context"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/aws/aws-sdk-go-v2/aws"
	"k8s.io/utils/clock"
)

// Options configure Clients; the zero value uses the SDK's default credential chain and region.
type Options struct {
	// Region is the operator's own region; empty uses the SDK's default chain.
	Region string
	// EndpointURL sends every call there instead of to AWS, for example to the simulator.
	EndpointURL string
	// Budgets override DefaultBudgets by service ("cloudformation"); "*" overrides all.
	Budgets map[string]Budget
	// Registerer receives the metrics of calls; nil for none.
	Registerer prometheus.Registerer
	// Clock defaults to the real one.
	Clock clock.PassiveClock
	// Credentials replace the SDK's default credential chain.
	Credentials aws.CredentialsProvider
	// MaxAttempts bounds the attempts of one call; default 3.
	MaxAttempts int
	// UserAgent is appended to the SDK's, for example "aws-operator/v1.0.0".
	UserAgent string
}

// Clients hands out clients. It is safe for use by many goroutines.
type Clients struct{ options Options }

// New loads the SDK's configuration. It makes no call of AWS. It errs when no region is known.
func New(ctx context.Context, options Options) (*Clients, error) { return &Clients{options: options}, nil }

// CloudFormation returns the client of CloudFormation for the target.
func (c *Clients) CloudFormation(t Target) CloudFormation { return nil }

// SQS returns the client of SQS for the target.
func (c *Clients) SQS(t Target) SQS { return nil }

// S3 returns the client of S3 for the target.
func (c *Clients) S3(t Target) S3 { return nil }

// STS returns the client of STS for the target.
func (c *Clients) STS(t Target) STS { return nil }

// Identity returns the account of the operator's own credentials.
func (c *Clients) Identity(ctx context.Context) (string, error) { return "", nil }

// Region returns the region of the target, or the operator's own.
func (c *Clients) Region(t Target) string { return "" }

// ObjectURL returns the address of an S3 object as CloudFormation takes it in TemplateURL.
func (c *Clients) ObjectURL(t Target, bucket, key string) string { return "" }

// Waiting returns how many calls of a service wait for the target's budget right now.
func (c *Clients) Waiting(t Target, service string) int { return 0 }
