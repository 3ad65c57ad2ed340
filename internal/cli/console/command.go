// Package console implements the command console, which serves a page in the browser that shows the
// objects of a management cluster: what each of them waits for, and the changes that wait for approval.
//
// The page has the permissions of the user's kubeconfig and, with --aws, of the user's AWS credentials, and
// never the credentials themselves. It changes nothing in AWS. The server listens on
// a loopback address only. Every request for data needs a random token, which only the page has: other
// users of the computer, and other pages in the browser, cannot use the server.
//
// With --in-cluster, it serves the pages of several users, behind a proxy that signs them in. It has no
// credentials of its own: each request is made with the token of its user, which is only in memory.
package console

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/utils/clock"

	"github.com/aws-operator/aws-operator/internal/cli/internal/usage"
)

// options are the flags of the command.
type options struct {
	listen, namespace, log string
	aws                    bool

	inCluster                             bool
	hosts                                 []string
	certificateAuthority, tlsCert, tlsKey string

	clock clock.WithTickerAndDelayedExecution
}

// Command returns the command.
func Command() *cobra.Command { return command(clock.RealClock{}) }

func command(clk clock.WithTickerAndDelayedExecution) *cobra.Command {
	o := &options{clock: clk}
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
use it: the address contains a random token, which is valid until the command ends.

With --in-cluster, the command serves a page for several users instead, and has no permissions of its own. It
needs, in front of it, a proxy that signs users in and adds the header "Authorization: Bearer TOKEN" with a token
that the API server accepts. All requests to the API server have the token of their user. The command runs in a
pod of the management cluster, which gives it the address of the API server; it needs neither a kubeconfig nor a
ServiceAccount. --host names the addresses by which users reach it. The chart's value console.enabled installs it.`,
		Example: `  aws-operator console
  aws-operator console -n team-a --listen 127.0.0.1:8088

  # With CloudFormation's events, instances, and the operator's calls:
  kubectl -n aws-operator logs -f deploy/aws-operator > operator.log &
  aws-operator console --aws --operator-log operator.log

  # In a pod, behind a proxy that serves https://console.example.com:
  aws-operator console --in-cluster --host console.example.com --listen :8080`,
		Args: usage.None,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := o.check(); err != nil {
				return err
			}
			if o.inCluster {
				return o.serveShared(cmd)
			}
			return o.serveOwn(cmd)
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&o.listen, "listen", "127.0.0.1:0",
		"address to listen on, of the loopback interface unless --in-cluster is set; port 0 selects a free port")
	flags.StringVarP(&o.namespace, "namespace", "n", "", "namespace of the objects (default: all namespaces)")
	flags.BoolVar(&o.aws, "aws", false, "show CloudFormation's events and instances, read with your AWS credentials")
	flags.StringVar(&o.log, "operator-log", "", "file with the operator's log in JSON; the page shows the calls of AWS in it")
	flags.BoolVar(&o.inCluster, "in-cluster", false, "serve several users, each with the token that a proxy adds to their requests")
	flags.StringSliceVar(&o.hosts, "host", nil, "name by which browsers reach the console, without a port; with --in-cluster")
	flags.StringVar(&o.certificateAuthority, "certificate-authority", "/var/run/secrets/kubernetes.io/serviceaccount/ca.crt",
		"file with the CA of the API server; with --in-cluster")
	flags.StringVar(&o.tlsCert, "tls-cert", "", "file with a certificate, to serve HTTPS; read once; with --in-cluster (default: HTTP)")
	flags.StringVar(&o.tlsKey, "tls-key", "", "file with the key of --tls-cert")
	return cmd
}

// check refuses flags that have no effect or a wrong one together.
func (o *options) check() error {
	switch {
	case !o.inCluster && (len(o.hosts) > 0 || o.tlsCert != "" || o.tlsKey != ""):
		return errors.New("--host, --tls-cert and --tls-key need --in-cluster: otherwise, the page is for the browser of this computer only")
	case !o.inCluster:
		return nil
	case o.aws:
		return errors.New("--aws cannot be used with --in-cluster: all users would read AWS with the credentials of the pod, not with their own")
	case o.log != "":
		return errors.New("--operator-log cannot be used with --in-cluster: all users would read the calls for the objects of all namespaces")
	case o.namespace != "":
		return errors.New("--namespace cannot be used with --in-cluster: each user selects a namespace on the page")
	case len(o.hosts) == 0:
		return errors.New("--in-cluster needs --host: name the host by which browsers reach the console, for example console.example.com")
	case (o.tlsCert == "") != (o.tlsKey == ""):
		return errors.New("--tls-cert and --tls-key need each other: set both, or neither to serve HTTP")
	}
	return checkHosts(o.hosts)
}

const (
	// headerTimeout is how long a client may take to send the header of a request.
	headerTimeout = 10 * time.Second
	// endTimeout is how long requests may take to end when the command is interrupted.
	endTimeout = 2 * time.Second
)

// serve serves until the context ends, or what runs beside it.
func serve(cmd *cobra.Command, listener net.Listener, handler http.Handler, run func(context.Context) error) error {
	ctx, cancel := context.WithCancel(cmd.Context())
	defer cancel()
	server := &http.Server{
		Handler: handler, ReadHeaderTimeout: headerTimeout,
		BaseContext: func(net.Listener) context.Context { return ctx },
	}
	ended := make(chan error, 2)
	go func() { ended <- run(ctx) }()
	go func() { ended <- server.Serve(listener) }()
	cmd.PrintErrln("Press Ctrl-C to end.")
	err := <-ended // also when the context ends
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

func listenOn(ctx context.Context, address string) (net.Listener, error) {
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", address)
	if err != nil {
		return nil, fmt.Errorf("--listen: %w", err)
	}
	return listener, nil
}
