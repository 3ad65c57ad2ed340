// Package operatortest runs an operator in a test, beside a simulator of AWS.
package operatortest

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"k8s.io/client-go/rest"

	"github.com/aws-operator/aws-operator/internal/awsapi"
	"github.com/aws-operator/aws-operator/internal/local/environment"
	"github.com/aws-operator/aws-operator/internal/operator"
	"github.com/aws-operator/aws-operator/internal/simulator"
)

// Run runs an operator until the test ends. It has the credentials of a user of the simulator, at
// options.EndpointURL, and fake programs in the place of nodeup. The test fails if the operator ends
// with an error. Run sets environment variables, so the test cannot be parallel.
func Run(t *testing.T, sim *simulator.Simulator, key aws.Credentials, options operator.Options) {
	t.Helper()
	names, err := sim.ServeNames(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv(awsapi.ResolverVariable, names)
	t.Setenv("AWS_ACCESS_KEY_ID", key.AccessKeyID)
	t.Setenv("AWS_SECRET_ACCESS_KEY", key.SecretAccessKey)
	options.NodeupDir = t.TempDir()
	for _, name := range []string{"nodeup-linux-amd64", "nodeup-linux-arm64"} {
		if err := os.WriteFile(filepath.Join(options.NodeupDir, name), []byte("a fake nodeup"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	ctx, stop := context.WithCancel(context.Background()) // it ends before the simulator
	ended := make(chan error, 1)
	go func() { ended <- operator.Run(ctx, options) }()
	t.Cleanup(func() {
		stop()
		if err := <-ended; err != nil {
			t.Errorf("the operator ended with %v", err)
		}
	})
}

// Releases applies Releases of versions of Kubernetes, named like them. They have no addons: the
// charts of those are on the Internet.
func Releases(t *testing.T, admin *rest.Config, versions ...string) {
	t.Helper()
	for _, version := range versions {
		release, err := environment.LocalRelease(nil)
		if err != nil {
			t.Fatal(err)
		}
		release.Name, release.Spec.Kubernetes = version, version
		if err := environment.ApplyRelease(t.Context(), admin, release); err != nil {
			t.Fatal(err)
		}
	}
}
