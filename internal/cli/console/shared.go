package console

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/client-go/rest"

	"github.com/aws-operator/aws-operator/internal/cli/version"
)

// serveShared serves the pages of several users until the context ends.
func (o *options) serveShared(cmd *cobra.Command) error {
	api, err := inCluster(o.certificateAuthority)
	if err != nil {
		return err
	}
	listener, err := listenOn(cmd.Context(), o.listen)
	if err != nil {
		return err
	}
	scheme := "http"
	if o.tlsCert != "" {
		certificate, err := tls.LoadX509KeyPair(o.tlsCert, o.tlsKey)
		if err != nil {
			return fmt.Errorf("--tls-cert and --tls-key: %w", err)
		}
		scheme = "https"
		listener = tls.NewListener(listener, &tls.Config{Certificates: []tls.Certificate{certificate}, MinVersion: tls.VersionTLS12})
	}
	if _, err := fmt.Fprintf(cmd.OutOrStdout(), "Serving %s at %s://%s\n", strings.Join(o.hosts, ", "), scheme, listener.Addr()); err != nil {
		return fmt.Errorf("print the address: %w", err)
	}
	all := newSessions(cmd.Context(), api, o.clock)
	return serve(cmd, listener, sharedHandler(o.hosts, all), func(ctx context.Context) error {
		<-ctx.Done()
		return nil
	})
}

// inCluster returns how to reach the API server from a pod, without any credentials: unlike [rest.InClusterConfig], it
// does not read the token of the pod's ServiceAccount. Kubernetes sets the variables in each pod:
// https://kubernetes.io/docs/tasks/run-application/access-api-from-pod/#directly-accessing-the-rest-api
func inCluster(certificateAuthority string) (*rest.Config, error) {
	host, port := os.Getenv("KUBERNETES_SERVICE_HOST"), os.Getenv("KUBERNETES_SERVICE_PORT")
	if host == "" || port == "" {
		return nil, errors.New("--in-cluster: KUBERNETES_SERVICE_HOST and KUBERNETES_SERVICE_PORT are not set: run the command in a pod")
	}
	roots, err := os.ReadFile(certificateAuthority) //nolint:gosec // The administrator names the file.
	if err != nil {
		return nil, fmt.Errorf("--certificate-authority: %w; mount the ConfigMap kube-root-ca.crt, which each namespace has", err)
	}
	return &rest.Config{
		Host: "https://" + net.JoinHostPort(host, port), TLSClientConfig: rest.TLSClientConfig{CAData: roots},
		UserAgent: "aws-operator-console/" + version.String(), QPS: -1, // The API server's priority and fairness is the only limit.
	}, nil
}

// checkHosts refuses values of --host that no browser sends.
func checkHosts(hosts []string) error {
	for _, host := range hosts {
		if len(validation.IsDNS1123Subdomain(strings.ToLower(host))) > 0 && net.ParseIP(host) == nil {
			return fmt.Errorf("--host: %q is not a host: write it without a scheme, a port and a path, for example console.example.com", host)
		}
	}
	return nil
}

// sharedHandler serves the page to all, and data to requests with the token of a user.
func sharedHandler(hosts []string, all *sessions) http.Handler {
	isName := func(host string) bool {
		if name, _, err := net.SplitHostPort(host); err == nil {
			host = name
		}
		return slices.ContainsFunc(hosts, func(name string) bool { return strings.EqualFold(name, strings.Trim(host, "[]")) })
	}
	return site(isName, strings.Join(hosts, ", "), http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		// The proxy adds the token to requests that pages of other sites make the browser send, too. They cannot read the
		// answer, but would start watches. https://developer.mozilla.org/en-US/docs/Web/HTTP/Reference/Headers/Sec-Fetch-Site
		if from := r.Header.Get("Sec-Fetch-Site"); from != "" && from != "same-origin" {
			refuse(w, http.StatusForbidden, "Only the page of the console may read its data.")
			return
		}
		token := bearer(r.Header.Get("Authorization"))
		if token == "" {
			w.Header().Set("WWW-Authenticate", "Bearer")
			refuse(w, http.StatusUnauthorized, `The request has no token of a user. The proxy in front of the console must sign users in `+
				`and add the header "Authorization: Bearer TOKEN".`)
			return
		}
		namespace := r.URL.Query().Get("namespace")
		if namespace != "" && len(validation.IsDNS1123Label(namespace)) > 0 {
			refuse(w, http.StatusBadRequest, "The namespace is not the name of a namespace.")
			return
		}
		all.serve(w, r, token, namespace)
	}))
}

// bearer returns the token in a header Authorization, empty if it has none.
// https://www.rfc-editor.org/rfc/rfc6750#section-2.1
func bearer(authorization string) string {
	scheme, token, _ := strings.Cut(authorization, " ")
	if !strings.EqualFold(scheme, "Bearer") {
		return ""
	}
	return strings.TrimSpace(token)
}
