package terraform

import (
	"bytes"
	"io"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/go-logr/logr/funcr"
	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"

	"github.com/aws-operator/aws-operator/internal/awsapi"
	"github.com/aws-operator/aws-operator/internal/cluster/model"
	"github.com/aws-operator/aws-operator/internal/machines/fake"
	"github.com/aws-operator/aws-operator/internal/simulator"
	"github.com/aws-operator/aws-operator/internal/simulator/machine"
	"github.com/aws-operator/aws-operator/internal/simulator/simulatortest"
	"github.com/aws-operator/aws-operator/internal/state"
)

const (
	account = "123456789012"
	region  = "eu-central-1"
)

// cloud is a simulated AWS on a port of the loopback network.
type cloud struct {
	t         *testing.T
	simulator *simulator.Simulator
	server    *httptest.Server
	console   *console
	// names is the address of the simulator's DNS server.
	names string
}

// console collects the output of machines.
type console struct {
	mutex sync.Mutex
	lines []string
}

func (c *console) write(_, line string) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	c.lines = append(c.lines, line)
}

// newCloud returns a cloud of fake machines.
func newCloud(t *testing.T) *cloud {
	t.Helper()
	said := &console{}
	return newCloudOf(t, fake.New(fake.Options{Log: funcr.New(said.write, funcr.Options{})}), said)
}

func newCloudOf(t *testing.T, machines machine.Host, said *console) *cloud {
	t.Helper()
	c := &cloud{t: t, console: said}
	c.simulator = simulatortest.New(t, simulator.Options{Account: account, Region: region, Patience: time.Second, Machines: machines})
	names, err := c.simulator.ServeNames(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	c.names, c.server = names, httptest.NewServer(c.simulator.Handler())
	t.Cleanup(func() {
		c.server.Close()
		if t.Failed() {
			c.console.mutex.Lock()
			defer c.console.mutex.Unlock()
			for _, line := range c.console.lines[max(0, len(c.console.lines)-20):] {
				t.Log(line)
			}
		}
	})
	return c
}

// environment returns the variables by which SDKs reach the cloud.
func (c *cloud) environment() []string {
	return []string{
		awsapi.ResolverVariable + "=" + c.names,
		"AWS_ENDPOINT_URL=" + c.server.URL, "AWS_REGION=" + region, "AWS_ACCESS_KEY_ID=" + account, "AWS_SECRET_ACCESS_KEY=secret",
		"AWS_EC2_METADATA_DISABLED=true", "AWS_PROFILE=", "AWS_SESSION_TOKEN=", "AWS_MAX_ATTEMPTS=3",
	}
}

// config returns a configuration for an account in the cloud.
func (c *cloud) config() aws.Config {
	return aws.Config{
		Region: region, BaseEndpoint: aws.String(c.server.URL),
		Credentials: credentials.NewStaticCredentialsProvider(account, "secret", ""),
	}
}

// command runs one of the program's commands and returns what it printed.
func (c *cloud) command(cmd *cobra.Command, args ...string) string {
	c.t.Helper()
	var out bytes.Buffer
	cmd.SetArgs(args)
	cmd.SetOut(&out)
	cmd.SetErr(&out)
	cmd.SilenceErrors, cmd.SilenceUsage = true, true
	if err := cmd.ExecuteContext(c.t.Context()); err != nil {
		c.t.Fatalf("%s %v: %v\n%s", cmd.Name(), args, err, out.String())
	}
	return out.String()
}

// programs returns a folder of programs with which fake machines boot.
func programs(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for _, name := range []string{"nodeup-linux-amd64", "nodeup-linux-arm64"} {
		write(t, filepath.Join(dir, name), "fake "+name)
	}
	return dir
}

// example copies a Terraform example to its own folder.
func example(t *testing.T, name string) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), name)
	if err := os.CopyFS(dir, os.DirFS(filepath.Join("../../examples/terraform", name))); err != nil {
		t.Fatal(err)
	}
	return dir
}

// use makes commands reach the cloud by the environment, as users do.
func (c *cloud) use() {
	for _, variable := range c.environment() {
		name, value, _ := strings.Cut(variable, "=")
		c.t.Setenv(name, value)
	}
}

// keysOf returns a line of each private key in a state.
func (c *cloud) keysOf(dir string) []string {
	c.t.Helper()
	from, err := state.Open(c.t.Context(), dir, state.Options{})
	if err != nil {
		c.t.Fatal(err)
	}
	objects, err := from.Load(c.t.Context(), "demo")
	if err != nil {
		c.t.Fatal(err)
	}
	var lines []string
	for _, secret := range objects.Secrets {
		lines = append(lines, strings.Split(string(secret.Data[corev1.TLSPrivateKeyKey]), "\n")[1])
	}
	return lines
}

// token returns the token with which workers join.
func (c *cloud) token() string {
	c.t.Helper()
	client := s3.NewFromConfig(c.config(), func(o *s3.Options) { o.UsePathStyle = true })
	found, err := client.GetObject(c.t.Context(), &s3.GetObjectInput{
		Bucket: aws.String(model.BucketName("demo", account, region)), Key: aws.String(model.KeyToken),
	})
	if err != nil {
		c.t.Fatal(err)
	}
	defer func() { _ = found.Body.Close() }()
	content, err := io.ReadAll(found.Body)
	if err != nil {
		c.t.Fatal(err)
	}
	return string(content)
}
