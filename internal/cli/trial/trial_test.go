package trial

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"
	"k8s.io/utils/clock"

	"github.com/aws-operator/aws-operator/internal/assumptions"
	"github.com/aws-operator/aws-operator/internal/cli/exit"
	"github.com/aws-operator/aws-operator/internal/simulator"
	"github.com/aws-operator/aws-operator/internal/simulator/fault"
	"github.com/aws-operator/aws-operator/internal/simulator/simulatortest"
)

const (
	account = "123456789012"
	region  = "eu-central-1"

	// interval is that of polls, and lag how long reads may be out of date, in the proportion of AWS.
	interval = 50 * time.Millisecond
	lag      = 200 * time.Millisecond
)

// suite is a simulated account, and the credentials of a user in the environment.
type suite struct {
	t         *testing.T
	simulator *simulator.Simulator
	endpoint  string
	// observer is the endpoint of the test's own clients.
	observer string
	// twice interrupts a command a second time, as soon as it continues after the first time.
	twice bool
	// limit is how long a cluster may take to reach a goal.
	limit time.Duration
}

// again returns the context in which a command continues after an interruption.
func (w *suite) again(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	if w.twice {
		cancel()
	}
	return ctx, cancel
}

// slowUpdates makes updates of resources take longer than the budget delays the second of two updates of a stack.
func slowUpdates(_, operation string) time.Duration {
	if operation == "Update" {
		return 500 * time.Millisecond
	}
	return 0
}

// newSuite serves a simulated AWS whose answers pass through change, if it is not nil.
func newSuite(t *testing.T, change func(body string) string) *suite {
	t.Helper()
	sim, endpoint := simulatortest.Start(t, simulator.Options{
		Account: account, Region: region, QueueNameRelease: time.Minute, Latency: slowUpdates, Lag: lag,
	})
	w := &suite{t: t, simulator: sim, endpoint: endpoint, observer: simulatortest.Serve(t, sim.Observer())}
	if change != nil {
		w.endpoint = changing(t, endpoint, change)
	}
	w.credentials()
	return w
}

// credentials puts the credentials of a user into the environment.
func (w *suite) credentials() {
	w.t.Helper()
	for name, value := range map[string]string{
		"AWS_ENDPOINT_URL": w.endpoint, "AWS_REGION": region, "AWS_ACCESS_KEY_ID": account, "AWS_SECRET_ACCESS_KEY": "secret",
		"AWS_CONFIG_FILE": os.DevNull, "AWS_SHARED_CREDENTIALS_FILE": os.DevNull, "AWS_PROFILE": "", "AWS_SESSION_TOKEN": "",
		"XDG_CACHE_HOME": w.t.TempDir(), "HOME": w.t.TempDir(),
	} {
		w.t.Setenv(name, value)
	}
}

// changing returns the URL of a proxy that changes the answers of a server.
func changing(t *testing.T, to string, change func(string) string) string {
	t.Helper()
	target, err := url.Parse(to)
	if err != nil {
		t.Fatal(err)
	}
	proxy := httptest.NewServer(&httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(target); r.Out.Host = r.In.Host },
		ModifyResponse: func(response *http.Response) error {
			body, err := io.ReadAll(response.Body)
			if err != nil {
				return err
			}
			changed := change(string(body))
			response.Body, response.ContentLength = io.NopCloser(strings.NewReader(changed)), int64(len(changed))
			response.Header.Set("Content-Length", strconv.Itoa(len(changed)))
			response.Header.Del("X-Amz-Crc32") // of the former body
			return nil
		},
	})
	t.Cleanup(proxy.Close)
	return proxy.URL
}

// run runs the command, and returns what it prints and its exit code.
func (w *suite) run(ctx context.Context, args ...string) (out, errOut string, code int) {
	w.t.Helper()
	return w.answered(ctx, "", args...)
}

// answered runs the command at a terminal at which a user answers. Without an answer there is no
// terminal.
func (w *suite) answered(ctx context.Context, answer string, args ...string) (out, errOut string, code int) {
	w.t.Helper()
	var stdout, stderr bytes.Buffer
	cmd := command(&options{
		clock: clock.RealClock{}, interval: interval, isTerminal: func(io.Reader) bool { return answer != "" },
		again: w.again, limit: w.limit,
	})
	cmd.SetArgs(args)
	cmd.SetIn(strings.NewReader(answer))
	cmd.SetOut(&stdout)
	cmd.SetErr(&stderr)
	cmd.SilenceErrors, cmd.SilenceUsage = true, true
	err := cmd.ExecuteContext(ctx)
	if err != nil {
		stderr.WriteString(err.Error())
	}
	return stdout.String(), stderr.String(), exit.Code(err)
}

func (w *suite) cloudformation() *cloudformation.Client {
	return cloudformation.NewFromConfig(aws.Config{
		Region: region, BaseEndpoint: &w.observer, Credentials: credentials.NewStaticCredentialsProvider(account, "secret", ""),
	})
}

// stacks returns the names of the stacks in the account.
func (w *suite) stacks() (names []string) {
	w.t.Helper()
	out, err := w.cloudformation().DescribeStacks(w.t.Context(), &cloudformation.DescribeStacksInput{})
	if err != nil {
		w.t.Fatal(err)
	}
	for i := range out.Stacks {
		names = append(names, aws.ToString(out.Stacks[i].StackName))
	}
	return names
}

// results returns the results in a report, by ID.
func results(report string) map[string]string {
	found := map[string]string{}
	row := regexp.MustCompile("(?m)^\\| `([a-z0-9-]+)` \\| .* \\| ([^|]*) \\| [^|]*(?:\\\\\\|[^|]*)* \\|$")
	for _, match := range row.FindAllStringSubmatch(report, -1) {
		found[match[1]] = match[2]
	}
	return found
}

func TestRowsOfTiersAreAssumptions(t *testing.T) {
	for name, one := range tiers {
		for i, id := range one.rows {
			if _, ok := assumptions.Find(id); !ok || slices.Contains(one.rows[:i], id) {
				t.Errorf("tier %s: %s is no assumption, or is listed twice", name, id)
			}
		}
	}
}

func TestFreeHoldsAgainstTheSimulator(t *testing.T) {
	w := newSuite(t, nil)
	w.holds("free", "This trial creates a change set that is never executed, in account 123456789012, region eu-central-1. AWS charges nothing.")
}

func TestCentsHoldAgainstTheSimulator(t *testing.T) {
	w := newSuite(t, nil)
	w.holds("cents", "AWS charges about 0.03 USD: an hour of the load balancer, and some requests.")
}

// holds checks that every row of a tier holds, and that nothing is left.
func (w *suite) holds(tier, price string) {
	w.t.Helper()
	out, errOut, code := w.run(w.t.Context(), "--tier", tier, "--yes")
	found := results(out)
	for _, id := range tiers[tier].rows {
		if found[id] != string(held) {
			w.t.Errorf("%s: %q", id, found[id])
		}
	}
	if code != exit.Done || len(found) != len(tiers[tier].rows) || !strings.Contains(errOut, price) ||
		!strings.Contains(out, "Deleted 1 stack.\nNothing is left: ") || len(w.stacks()) != 0 {
		w.t.Errorf("exit code %d, stacks %v\n%s\n%s", code, w.stacks(), errOut, out)
	}
}

// addressForm is the form of load balancers' DNS names.
var addressForm = regexp.MustCompile(`[A-Za-z0-9-]+\.elb\.eu-central-1\.amazonaws\.com`)

// A load balancer's name in lower case, and an error in other words, are what the project does not
// assume.
func TestDeviationsAreReported(t *testing.T) {
	w := newSuite(t, func(body string) string {
		body = strings.ReplaceAll(body, "No updates are to be performed", "Nothing to do")
		return addressForm.ReplaceAllStringFunc(body, strings.ToLower)
	})
	report := filepath.Join(t.TempDir(), "report.md")
	out, errOut, code := w.run(t.Context(), "--tier", "cents", "--yes", "--report", report)
	written, err := os.ReadFile(report)
	if err != nil || out != "" {
		t.Fatalf("%v, %s, %s", err, out, errOut)
	}
	found := results(string(written))
	for id, want := range map[string]result{
		"elb-mixed-case-name": differed, "cfn-no-updates": differed, "cfn-create-complete": held, "cfn-deleted-by-id": held,
	} {
		if found[id] != string(want) {
			t.Errorf("%s is %q, want %q", id, found[id], want)
		}
	}
	if code != exit.NotValid || !strings.Contains(string(written), "ValidationError: Nothing to do") || len(w.stacks()) != 0 {
		t.Errorf("exit code %d, stacks %v\n%s\n%s", code, w.stacks(), errOut, written)
	}
}

// A missing permission says nothing about an assumption.
func TestDeniedCallIsNotADifference(t *testing.T) {
	w := newSuite(t, nil)
	w.simulator.Faults().Add(fault.Rule{Service: "cloudformation", Operation: "ValidateTemplate", Deny: true})
	out, errOut, code := w.run(t.Context(), "--yes")
	found := results(out)
	if code != exit.Done || found["cfn-validate-template"] != string(notChecked) || found["cfn-change-set"] != string(held) ||
		!strings.Contains(out, "lacks the permission cloudformation:ValidateTemplate") {
		t.Errorf("exit code %d: %s\n%s", code, errOut, out)
	}
}

func TestInterruptedTrialIsCleanedUpByTheNext(t *testing.T) {
	for name, args := range map[string][]string{
		"the next trial": {"--tier", "cents", "--yes"},
		"--clean-up":     {"--clean-up", "--yes"},
	} {
		for operation, tier := range map[string]string{
			"CreateStack": "cents", "UpdateStack": "cents", "PutObject": "cents", "DescribeChangeSet": "free",
		} {
			t.Run(name+" after "+operation, func(t *testing.T) {
				w := newSuite(t, nil)
				ctx, cancel := context.WithCancel(t.Context())
				remove := w.simulator.Faults().OnCall(func(call fault.CallInfo) {
					if call.Operation == operation && call.Phase == fault.After {
						cancel()
					}
				})
				_, errOut, code := w.run(ctx, "--tier", tier, "--yes")
				remove()
				if code != exit.Interrupted || !strings.Contains(errOut, "Run the command again to delete it, or with --clean-up") ||
					!slices.Equal(w.stacks(), []string{stackName}) {
					t.Fatalf("exit code %d, stacks %v: %s", code, w.stacks(), errOut)
				}
				_, errOut, code = w.run(t.Context(), args...)
				if code != exit.Done || len(w.stacks()) != 0 ||
					!strings.Contains(errOut, "Deleting stack "+stackName+", which an earlier trial left") {
					t.Errorf("exit code %d, stacks %v: %s", code, w.stacks(), errOut)
				}
			})
		}
	}
}

// A VPC that CloudFormation cannot delete is left, and the report says so.
func TestWhatIsLeftIsReported(t *testing.T) {
	w := newSuite(t, nil)
	w.simulator.Faults().Add(fault.Rule{
		Service: "cloudformation", ResourceType: "AWS::EC2::VPC", Operation: "Delete", Code: "DependencyViolation",
	})
	out, errOut, code := w.run(t.Context(), "--tier", "cents", "--yes")
	if code != exit.Failed || !strings.Contains(out, "**These resources are left:**\n\n- stack "+stackName+" cannot be deleted: it is DELETE_FAILED") ||
		!strings.Contains(errOut, "some resources are left; the report lists them") {
		t.Errorf("exit code %d: %s\n%s", code, errOut, out)
	}
}

func TestStackOfAnotherOwnerIsKept(t *testing.T) {
	w := newSuite(t, nil)
	if _, err := w.cloudformation().CreateStack(t.Context(), &cloudformation.CreateStackInput{
		StackName: aws.String(stackName), TemplateBody: aws.String(`{"Resources": {"Topic": {"Type": "AWS::SNS::Topic"}}}`),
		Tags: []types.Tag{{Key: aws.String("team"), Value: aws.String("a")}},
	}); err != nil {
		t.Fatal(err)
	}
	_, errOut, code := w.run(t.Context(), "--yes")
	if code != exit.Failed || !strings.Contains(errOut, "no trial created it") || !slices.Equal(w.stacks(), []string{stackName}) {
		t.Errorf("exit code %d, stacks %v: %s", code, w.stacks(), errOut)
	}
}

func TestUserIsAskedFirst(t *testing.T) {
	for name, test := range map[string]struct {
		answer string
		args   []string
		code   int
		says   string
	}{
		"no terminal":  {"", nil, exit.Failed, "add --yes"},
		"no":           {"n\n", nil, exit.Failed, "nothing was created"},
		"no answer":    {"\n", nil, exit.Failed, "nothing was created"},
		"yes":          {"y\n", nil, exit.Done, "Continue? [y/N] "},
		"unknown tier": {"", []string{"--tier", "gold"}, exit.Failed, "--tier gold is unknown; use free, cents or hour"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newSuite(t, nil)
			out, errOut, code := w.answered(t.Context(), test.answer, test.args...)
			created := w.simulator.Calls()["cloudformation/CreateChangeSet"]
			if code != test.code || !strings.Contains(errOut, test.says) || (created > 0) != (test.code == exit.Done) ||
				(out != "") != (test.code == exit.Done) {
				t.Errorf("exit code %d, %d change sets: %s\n%s", code, created, errOut, out)
			}
		})
	}
}
