// Command authenticator verifies a token for the API of an EKS cluster with the verifier of
// aws-iam-authenticator, which EKS's is made of, without changes. Its module pins the verifier's version and
// those of its dependencies. Tests of package ekstoken run it.
//
//	authenticator CLUSTER REGION STS-ADDRESS STS-CA-FILE < TOKEN
//
// STS is a TLS server of package httptest at an address. The program prints the ARN of the token's principal.
package main

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"

	"sigs.k8s.io/aws-iam-authenticator/pkg/token"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(arguments []string) error {
	if len(arguments) != 4 {
		return errors.New("usage: authenticator CLUSTER REGION STS-ADDRESS STS-CA-FILE < TOKEN")
	}
	cluster, region, address, file := arguments[0], arguments[1], arguments[2], arguments[3]
	ca, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(ca) {
		return fmt.Errorf("%s has no certificate", file)
	}
	text, err := io.ReadAll(os.Stdin)
	if err != nil {
		return err
	}
	http.DefaultTransport = &http.Transport{ // the verifier's client uses it
		DialContext: func(ctx context.Context, network, _ string) (net.Conn, error) {
			return (&net.Dialer{}).DialContext(ctx, network, address)
		},
		TLSClientConfig: &tls.Config{RootCAs: roots, ServerName: "example.com"}, // httptest's certificate is for that name
	}
	identity, err := token.NewVerifier(cluster, "aws", region).Verify(string(text))
	if err != nil {
		return err
	}
	fmt.Println(identity.ARN)
	return nil
}
