package environment

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"
	"time"

	"github.com/aws-operator/aws-operator/internal/awsapi"
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
)

// awsServer serves the simulator on a loopback port.
type awsServer struct {
	url string
	// names is the address of the DNS server for load balancers' names.
	names     string
	server    *http.Server
	simulator *simulator.Simulator
}

func serveAWS(ctx context.Context, latency time.Duration, machines machine.Host) (*awsServer, error) {
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp4", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("listen on loopback: %w", err)
	}
	url := "http://" + listener.Addr().String()
	sim := NewAWS(AWSOptions{Latency: latency, Machines: machines, Endpoint: url})
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

// AWSOptions configure a simulator for users.
type AWSOptions struct {
	// Latency is how long CloudFormation takes for each resource.
	Latency time.Duration
	// Machines is the host of the instances' machines; it is closed with the simulator.
	Machines machine.Host
	// Endpoint is its address for users. Machines use AWS's own names, which do not resolve
	// elsewhere.
	Endpoint string
	// Policies limit principals; nil allows everything.
	Policies *access.Policies
	// Seed determines what is random, such as the order of results; 0 means a random one.
	Seed uint64
	// Lag is the longest time for which something lags behind a change. With it, some calls are also
	// refused by chance, and some events arrive late or twice.
	Lag time.Duration
}

// NewAWS returns a simulator for users, with the account and region of aws.env.
func NewAWS(o AWSOptions) *simulator.Simulator {
	return simulator.New(simulator.Options{
		Account: Account, Region: Region, Machines: o.Machines, Endpoint: o.Endpoint, Policies: o.Policies, Seed: o.Seed, Lag: o.Lag,
		Latency: func(string, string) time.Duration { return o.Latency },
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
		"AWS_SECRET_ACCESS_KEY=local",
	}
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
