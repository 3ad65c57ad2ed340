// Package simulator implements the command simulator, which serves the simulator of AWS.
package simulator

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/aws-operator/aws-operator/internal/cli/internal/usage"
	"github.com/aws-operator/aws-operator/internal/local/environment"
	"github.com/aws-operator/aws-operator/internal/local/kubebuild"
	"github.com/aws-operator/aws-operator/internal/local/nodebuild"
	"github.com/aws-operator/aws-operator/internal/simulator/access"
)

// Command returns the command.
func Command() *cobra.Command {
	var (
		listen   string
		machines string
		policies []string
		iam      string
		o        environment.AWSOptions
	)
	cmd := &cobra.Command{
		Use:   "simulator",
		Short: "Serve a simulator of AWS on a loopback port",
		Long: `Serve a simulator of AWS until it is interrupted. It speaks AWS's own protocols at one
address; point aws, terraform or an SDK at it with AWS_ENDPOINT_URL. All its data is in
memory. Do not make it reachable from other machines: everybody knows its keys.

An access key ID of twelve digits is the root user of the account with that number; its secret access
key is ` + "`" + environment.Secret + "`" + `. Users and roles may do what their policies allow: --iam=audit only reports what AWS
would refuse, --iam=off checks nothing.`,
		Example: `  aws-operator simulator --listen 127.0.0.1:4566
  AWS_ENDPOINT_URL=http://127.0.0.1:4566 aws sqs create-queue --queue-name orders`,
		Args: usage.None,
		RunE: func(cmd *cobra.Command, _ []string) error {
			var err error
			if o.IAM, err = environment.ParseIAM(iam); err != nil {
				return fmt.Errorf("--iam: %w", err)
			}
			o.Audit = func(line string) { _, _ = fmt.Fprintln(cmd.ErrOrStderr(), "iam: "+line) }
			if o.Policies, err = readPolicies(policies); err != nil {
				return err
			}
			return serve(cmd, listen, machines, o)
		},
	}
	cmd.Flags().StringVar(&listen, "listen", "127.0.0.1:4566", "address to listen on; port 0 selects a free port")
	cmd.Flags().DurationVar(&o.Latency, "latency", 0, "how long CloudFormation takes for each resource")
	cmd.Flags().Uint64Var(&o.Seed, "seed", 0, environment.SeedHelp)
	cmd.Flags().DurationVar(&o.Lag, "lag", environment.DefaultLag, environment.LagHelp)
	cmd.Flags().StringVar(&iam, "iam", environment.DefaultIAM, environment.IAMHelp)
	cmd.Flags().StringVar(&machines, "machines", string(environment.NoMachines), environment.MachinesHelp)
	cmd.Flags().StringArrayVar(&policies, "policy", nil,
		"PRINCIPAL=FILE: limit an access key ID, or the sessions of the role with an ARN, to an IAM policy; may be repeated")
	return cmd
}

// readPolicies reads the files of --policy.
func readPolicies(flags []string) (*access.Policies, error) {
	documents := map[string][]string{}
	for _, flag := range flags {
		principal, file, ok := strings.Cut(flag, "=")
		if !ok || principal == "" || file == "" {
			return nil, fmt.Errorf("--policy %s: write PRINCIPAL=FILE, for example AKIALIMITED=config/iam/operator-clusters.json", flag)
		}
		document, err := os.ReadFile(file) //nolint:gosec // the caller names it
		if err != nil {
			return nil, fmt.Errorf("--policy: %w", err)
		}
		documents[principal] = append(documents[principal], string(document))
	}
	policies, err := access.Parse(documents)
	if err != nil {
		return nil, fmt.Errorf("--policy: %w", err)
	}
	return policies, nil
}

func serve(cmd *cobra.Command, listen, machines string, o environment.AWSOptions) error {
	ctx := cmd.Context()
	kind, err := environment.ParseMachines(machines)
	if err != nil {
		return err
	}
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", listen)
	if err != nil {
		return fmt.Errorf("listen on %s: %w", listen, err)
	}
	host, line, err := environment.NewMachines(ctx, environment.MachinesOptions{
		Kind: kind,
		Programs: func(ctx context.Context) (nodebuild.Programs, error) {
			return nodebuild.Ensure(ctx, nodebuild.Options{Progress: cmd.ErrOrStderr()})
		},
		Containers: environment.BuildContainers(cmd.ErrOrStderr()),
		Kube: func(ctx context.Context) (string, error) {
			return kubebuild.Ensure(ctx, kubebuild.Options{Progress: cmd.ErrOrStderr()})
		},
	})
	if err != nil {
		return errors.Join(err, listener.Close())
	}
	url := "http://" + listener.Addr().String()
	o.Machines, o.Endpoint = host, endpoint(kind, url)
	sim := environment.NewAWS(o)
	defer sim.Close()
	names, err := sim.ServeNames(ctx)
	if err != nil {
		return errors.Join(err, listener.Close())
	}
	server := &http.Server{Handler: sim.Control(), ReadHeaderTimeout: 10 * time.Second}
	// Close, not Shutdown: clients hold long polls open.
	stop := context.AfterFunc(ctx, func() { _ = server.Close() })
	defer stop()
	_, _ = fmt.Fprintf(
		cmd.OutOrStdout(),
		"AWS is simulated at %s with seed %d, instances run on machines: %s; to use it:\n\n  export %s\n\nstop it with Ctrl-C\n",
		url,
		sim.Seed(),
		line,
		strings.Join(environment.Credentials(url, names), " "),
	)
	if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("serve %s: %w", url, err)
	}
	return nil
}

// endpoint returns the prefix of resource URLs. Without machines, it is the host name of the
// request, so that clients can use any name of the simulator.
func endpoint(kind environment.Machines, url string) string {
	if kind == environment.NoMachines {
		return ""
	}
	return url
}
