package console

import (
	"context"
	"crypto/rand"
	"crypto/subtle"
	"fmt"
	"net"
	"net/http"

	"github.com/spf13/cobra"

	"github.com/aws-operator/aws-operator/internal/cli/internal/objects"
)

// own serves the page to the user of the kubeconfig, who is the one that has the token.
type own struct {
	*server

	host  string // host:port
	token string
}

func (o *own) handler() http.Handler {
	_, port, _ := net.SplitHostPort(o.host)
	isName := func(host string) bool { return host == o.host || host == net.JoinHostPort("localhost", port) }
	data := o.data()
	return site(isName, o.host, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if subtle.ConstantTimeCompare([]byte(r.Header.Get("Authorization")), []byte("Bearer "+o.token)) != 1 {
			refuse(w, http.StatusUnauthorized, "The token is wrong. Open the address that aws-operator console printed.")
			return
		}
		data.ServeHTTP(w, r)
	}))
}

// serveOwn serves the page of the user of the kubeconfig until the context ends.
func (o *options) serveOwn(cmd *cobra.Command) error {
	from, err := objects.Connect(o.namespace, o.namespace == "")
	if err != nil {
		return err
	}
	listener, err := listenLocally(cmd.Context(), o.listen)
	if err != nil {
		return err
	}
	s := &own{server: newServer(from, o.clock), host: listener.Addr().String(), token: rand.Text()}
	if s.log = o.log; o.aws {
		s.aws = newAWSReader(o.clock)
	}
	// Browsers do not send the part with the token to the server, and the page removes it from the history.
	if _, err := fmt.Fprintf(cmd.OutOrStdout(), "Open http://%s/#token=%s\n", s.host, s.token); err != nil {
		return fmt.Errorf("print the address: %w", err)
	}
	return serve(cmd, listener, s.handler(), func(ctx context.Context) error { return from.Watch(ctx, s.fleet.update) })
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
	return listenOn(ctx, listen)
}
