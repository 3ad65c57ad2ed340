// Package console implements the command console, which serves a page in the browser that shows the
// objects of a management cluster: what each of them waits for, and the changes that wait for approval.
//
// The page has the permissions of the user's kubeconfig and, with --aws, of the user's AWS credentials, and
// never the credentials themselves. It changes nothing in AWS. The server listens on
// a loopback address only. Every request for data needs a random token, which only the page has: other
// users of the computer, and other pages in the browser, cannot use the server.
package console

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/utils/clock"

	"github.com/aws-operator/aws-operator/internal/cli/internal/objects"
	"github.com/aws-operator/aws-operator/internal/cli/internal/usage"
)

// Command returns the command.
func Command() *cobra.Command {
	var listen, namespace, log string
	var aws bool
	cmd := &cobra.Command{
		Use:   "console",
		Short: "Serve a page that shows the objects of a management cluster",
		Long: `Serve a page for the browser that shows the clusters, instance groups and services of the management
cluster of the current kubeconfig, and what each of them waits for. The page follows every change. It can
approve changes that wait for approval, and retry objects that are stalled.

With --aws, the page also shows the last operation on the stacks of an object, and the instances of a cluster.
The command reads them with your AWS credentials, as other commands do, and changes nothing in AWS. With
--operator-log, the page shows the calls of AWS that the operator made for an object, from its log in JSON.

The page has the permissions of the kubeconfig. Only a browser with the address that the command prints can
use it: the address contains a random token, which is valid until the command ends.`,
		Example: `  aws-operator console
  aws-operator console -n team-a --listen 127.0.0.1:8088

  # With CloudFormation's events, instances, and the operator's calls:
  kubectl -n aws-operator logs -f deploy/aws-operator > operator.log &
  aws-operator console --aws --operator-log operator.log`,
		Args: usage.None,
		RunE: func(cmd *cobra.Command, _ []string) error {
			from, err := objects.Connect(namespace, namespace == "")
			if err != nil {
				return err
			}
			return serve(cmd, from, listen, func(s *server) {
				if s.log = log; aws {
					s.aws = newAWSReader(s.clock)
				}
			})
		},
	}
	cmd.Flags().StringVar(&listen, "listen", "127.0.0.1:0", "loopback address to listen on; port 0 selects a free port")
	cmd.Flags().StringVarP(&namespace, "namespace", "n", "", "namespace of the objects (default: all namespaces)")
	cmd.Flags().BoolVar(&aws, "aws", false, "show CloudFormation's events and instances, read with your AWS credentials")
	cmd.Flags().StringVar(&log, "operator-log", "", "file with the operator's log in JSON; the page shows the calls of AWS in it")
	return cmd
}

const (
	// headerTimeout is how long a client may take to send the header of a request.
	headerTimeout = 10 * time.Second
	// endTimeout is how long requests may take to end when the command is interrupted.
	endTimeout = 2 * time.Second
)

// serve serves the page until the context ends.
func serve(cmd *cobra.Command, from *objects.Source, listen string, configure func(*server)) error {
	ctx, cancel := context.WithCancel(cmd.Context())
	defer cancel()
	listener, err := listenLocally(ctx, listen)
	if err != nil {
		return err
	}
	s := newServer(from, listener.Addr().String(), rand.Text(), clock.RealClock{})
	configure(s)
	server := &http.Server{
		Handler: s.handler(), ReadHeaderTimeout: headerTimeout,
		BaseContext: func(net.Listener) context.Context { return ctx },
	}
	ended := make(chan error, 2)
	go func() { ended <- from.Watch(ctx, s.fleet.update) }()
	go func() { ended <- server.Serve(listener) }()
	_, err = fmt.Fprintf(cmd.OutOrStdout(), "Open %s\n", s.address())
	if err == nil {
		cmd.PrintErrln("Press Ctrl-C to end.")
		err = <-ended // also when the context ends
	}
	cancel()
	ending, end := context.WithTimeout(context.WithoutCancel(cmd.Context()), endTimeout)
	defer end()
	if shut := server.Shutdown(ending); errors.Is(shut, context.DeadlineExceeded) {
		_ = server.Close()
	}
	if cmd.Context().Err() != nil || errors.Is(err, http.ErrServerClosed) {
		return nil
	}
	return err
}

// listenLocally listens on a loopback address.
func listenLocally(ctx context.Context, listen string) (net.Listener, error) {
	host, _, err := net.SplitHostPort(listen)
	if err != nil {
		return nil, fmt.Errorf("--listen: %w; write an address and a port, for example 127.0.0.1:8088", err)
	}
	if ip := net.ParseIP(host); host != "localhost" && (ip == nil || !ip.IsLoopback()) {
		return nil, fmt.Errorf("--listen: %s is not a loopback address: the page has your permissions, so use 127.0.0.1, and a tunnel from elsewhere", host)
	}
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", listen)
	if err != nil {
		return nil, fmt.Errorf("--listen: %w", err)
	}
	return listener, nil
}
