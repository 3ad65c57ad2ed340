package environment

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/iam"
	"github.com/aws/aws-sdk-go-v2/service/iam/types"

	"github.com/aws-operator/aws-operator/internal/awsapi"
	"github.com/aws-operator/aws-operator/internal/local/controlplane"
	"github.com/aws-operator/aws-operator/internal/simulator"
	"github.com/aws-operator/aws-operator/internal/simulator/access"
	"github.com/aws-operator/aws-operator/internal/simulator/machine"
	"github.com/aws-operator/aws-operator/internal/state"
)

// Account and Region are those of the aws.env that an environment writes. Others work as well: an
// access key ID of twelve digits selects another account.
//
// The region is a recent one because in older regions version 1 of the aws command has built-in SQS
// endpoints, which override AWS_ENDPOINT_URL (awscli/customizations/overridesslcommonname.py).
const (
	Account = "123456789012"
	Region  = "eu-central-2"
	// Secret is the secret access key of the root users of all accounts.
	Secret = simulator.RootSecret
)

// awsServer serves the simulator on a loopback port.
type awsServer struct {
	url string
	// names is the address of the DNS server for load balancers' names.
	names     string
	server    *http.Server
	simulator *simulator.Simulator
}

func serveAWS(ctx context.Context, o AWSOptions) (*awsServer, error) {
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp4", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("listen on loopback: %w", err)
	}
	url := "http://" + listener.Addr().String()
	o.Endpoint = url
	sim := NewAWS(o)
	names, err := sim.ServeNames(ctx)
	if err != nil {
		sim.Close()
		return nil, errors.Join(err, listener.Close())
	}
	s := &awsServer{
		url: url, names: names, simulator: sim,
		server: &http.Server{Handler: sim.Handler(), ReadHeaderTimeout: 10 * time.Second},
	}
	go func() { _ = s.server.Serve(listener) }()
	return s, nil
}

// ServeAWS serves a simulator on a loopback port until stop is called.
func ServeAWS(ctx context.Context, o AWSOptions) (endpoint string, stop func() error, err error) {
	s, err := serveAWS(ctx, o)
	if err != nil {
		return "", nil, err
	}
	return s.url, s.stop, nil
}

// AWSOptions configure a simulator for users.
type AWSOptions struct {
	// Latency is how long CloudFormation takes for each resource.
	Latency time.Duration
	// Machines is the host of the instances' machines; it is closed with the simulator.
	Machines machine.Host
	// Endpoint is its address for users. Machines use AWS's own names, which do not resolve
	// elsewhere.
	Endpoint string
	// Policies take the place of the policies that principals have.
	Policies *access.Policies
	// IAM is what happens to requests that AWS would refuse because of credentials or policies. Audit
	// receives a line for each of them with [access.Audit].
	IAM   access.Mode
	Audit func(line string)
	// Seed determines what is random, such as the order of results; 0 means a random one.
	Seed uint64
	// Lag is the longest time for which something lags behind a change. With it, some calls are also
	// refused by chance, and some events arrive late or twice. The default is [DefaultLag]; a negative
	// one means none of this.
	Lag time.Duration
}

// DefaultLag is the default of AWSOptions.Lag.
const DefaultLag = simulator.DefaultLag

// DefaultIAM is the default of flags that [ParseIAM] reads.
const DefaultIAM = string(access.Enforce)

// ParseIAM returns the mode of IAM with a name, or an error that lists the modes.
func ParseIAM(name string) (access.Mode, error) { return access.ParseMode(name) }

// Help for flags that set AWSOptions.
const (
	SeedHelp = "number that determines the order of results, lags, and which calls are refused (default: a random one)"
	IAMHelp  = "what happens to requests that IAM refuses: enforce (they fail), audit (they are answered, and logged), off (nothing is checked)"
	LagHelp  = "the longest time for which something lags behind a change; with it, some calls are throttled or fail, and some events arrive late or twice; negative for none of this"
)

// NewAWS returns a simulator for users, with the account and region of aws.env.
func NewAWS(o AWSOptions) *simulator.Simulator {
	return simulator.New(simulator.Options{
		Account: Account, Region: Region, Machines: o.Machines, Endpoint: o.Endpoint, Policies: o.Policies, Seed: o.Seed, Lag: o.Lag,
		IAM: o.IAM, Audit: o.Audit, Latency: func(string, string) time.Duration { return o.Latency },
	})
}

// stop stops the server without waiting for requests, since clients keep long polls open.
func (s *awsServer) stop() error {
	err := s.server.Close()
	s.simulator.Close()
	if errors.Is(err, http.ErrServerClosed) {
		return nil
	}
	return err
}

// Credentials returns the environment variables with which the SDKs, aws and terraform reach the
// simulator at endpoint, and aws-operator its DNS server at names, in the order of the file.
func Credentials(endpoint, names string) []string {
	return []string{
		"AWS_ENDPOINT_URL=" + endpoint,
		awsapi.ResolverVariable + "=" + names,
		"AWS_REGION=" + Region,
		"AWS_DEFAULT_REGION=" + Region,
		"AWS_ACCESS_KEY_ID=" + Account,
		"AWS_SECRET_ACCESS_KEY=" + Secret,
	}
}

// root returns the configuration of the root user's clients.
func (s *awsServer) root() aws.Config {
	return aws.Config{Region: Region, BaseEndpoint: &s.url, Credentials: credentials.NewStaticCredentialsProvider(Account, Secret, "")}
}

// trustIssuer registers the issuer of the cluster's service account tokens in IAM, so that pods can have roles.
// https://docs.aws.amazon.com/IAM/latest/APIReference/API_CreateOpenIDConnectProvider.html
func (s *awsServer) trustIssuer(ctx context.Context) error {
	_, err := iam.NewFromConfig(s.root()).CreateOpenIDConnectProvider(ctx, &iam.CreateOpenIDConnectProviderInput{
		Url: aws.String(controlplane.Issuer), ClientIDList: []string{"sts.amazonaws.com"},
	})
	if err != nil {
		return fmt.Errorf("register the issuer of service account tokens in IAM: %w", err)
	}
	return nil
}

// operatorKey creates the user that the operator is, and returns its key. Unlike a root user, a user
// can assume roles of other accounts, whose trust policies decide.
// https://docs.aws.amazon.com/STS/latest/APIReference/API_AssumeRole.html
func (s *awsServer) operatorKey(ctx context.Context) (*types.AccessKey, error) {
	client := iam.NewFromConfig(s.root())
	name := aws.String("aws-operator")
	if _, err := client.CreateUser(ctx, &iam.CreateUserInput{UserName: name}); err != nil {
		return nil, fmt.Errorf("create the operator's user: %w", err)
	}
	_, err := client.AttachUserPolicy(ctx, &iam.AttachUserPolicyInput{
		UserName: name, PolicyArn: aws.String("arn:aws:iam::aws:policy/AdministratorAccess"),
	})
	if err != nil {
		return nil, fmt.Errorf("make the operator an administrator: %w", err)
	}
	made, err := client.CreateAccessKey(ctx, &iam.CreateAccessKeyInput{UserName: name})
	if err != nil {
		return nil, fmt.Errorf("create the operator's key: %w", err)
	}
	return made.AccessKey, nil
}

// shellQuoted returns a word for a shell.
func shellQuoted(text string) string { return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'" }

// shellAssignments returns the content of aws.env.
func (e *Environment) shellAssignments() string {
	var text strings.Builder
	text.WriteString("# AWS on this machine, by aws-operator local. Read it with: source aws.env\n")
	for _, variable := range Credentials(e.aws.url, e.aws.names) {
		text.WriteString("export " + variable + "\n")
	}
	text.WriteString("export " + state.ReleasesVariable + "=" + shellQuoted(e.folder.path(releasesDir)) + "\n")
	// A profile or session of the real AWS would override, or mix with, these variables.
	text.WriteString("unset AWS_PROFILE AWS_SESSION_TOKEN\n")
	return text.String()
}
