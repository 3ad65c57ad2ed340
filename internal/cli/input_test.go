package cli

import (
	"bytes"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/aws-operator/aws-operator/internal/cli/exit"
	"github.com/aws-operator/aws-operator/internal/state"
)

const (
	demoCluster = `apiVersion: cluster-operator.aws/v1alpha1
kind: Cluster
metadata:
  name: demo
spec:
  release: v1.36.3
  region: eu-central-1
  network: {cidr: 10.0.0.0/16, zones: [eu-central-1a]}
`
	demoWorkers = `apiVersion: cluster-operator.aws/v1alpha1
kind: InstanceGroup
metadata:
  name: workers
spec: {cluster: demo, minSize: 1, maxSize: 3, instanceTypes: [m6i.large]}
`
)

// run runs a command.
func run(args ...string) (code int, out, errOut string) {
	var o, e bytes.Buffer
	code = Main(args, &o, &e)
	return code, o.String(), e.String()
}

// workspace is a folder with manifests, and a state that holds them; it is the working directory.
func workspace(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	t.Chdir(dir)
	put(t, "demo.yml", demoCluster+"---\n"+demoWorkers)
	if code, _, errOut := run("replace", "-f", "demo.yml"); code != exit.Done {
		t.Fatal(errOut)
	}
	return dir
}

func put(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// replaced puts text in place of some in a file.
func replaced(t *testing.T, path, old, with string) {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(data), old) {
		t.Fatalf("%s has no %q:\n%s", path, old, data)
	}
	put(t, path, strings.Replace(string(data), old, with, 1))
}

// truncated leaves the first half of a file, in the middle of a word.
func truncated(t *testing.T, path string) {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	put(t, path, string(data[:len(data)/2]))
}

// everything is all files below a folder, with what they hold.
func everything(t *testing.T, dir string) map[string]string {
	t.Helper()
	all := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			all[path] = "folder"
			return err
		}
		data, err := os.ReadFile(path)
		all[path] = string(data)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// refusal is a mistake and what is said about it.
type refusal struct {
	// make makes the mistake in the workspace.
	make func(t *testing.T)
	args []string
	// want is what the message says; lines is how many there are, 1 unless set.
	want  string
	lines int
}

func manifest(old, with string) func(*testing.T) {
	return func(t *testing.T) { t.Helper(); replaced(t, "demo.yml", old, with) }
}

func kept(file, old, with string) func(*testing.T) {
	return func(t *testing.T) { t.Helper(); replaced(t, filepath.Join("state/demo", file), old, with) }
}

func half(file string) func(*testing.T) {
	return func(t *testing.T) { t.Helper(); truncated(t, filepath.Join("state/demo", file)) }
}

func missing(file string) func(*testing.T) {
	return func(t *testing.T) {
		t.Helper()
		if err := os.Remove(filepath.Join("state/demo", file)); err != nil {
			t.Fatal(err)
		}
	}
}

// refusals are the mistakes. Each gets one clear message and exit code 1, and changes nothing.
func refusals() map[string]refusal {
	replace, load := []string{"replace", "-f", "demo.yml"}, []string{"export", "kubeconfig", "demo", "--server=https://x:6443", "--out=-"}
	get := []string{"get", "clusters"}
	all := map[string]refusal{
		"a field that there is not": {
			make: manifest("release:", "relaese:"),
			args: replace,
			want: "demo.yml, document 1, line 6: spec.relaese: there is no such field; did you mean release?",
		},
		"a version that there is not": {
			make: manifest("v1alpha1", "v1"),
			args: replace,
			want: "demo.yml, document 1, line 1: apiVersion: unknown version; did you mean cluster-operator.aws/v1alpha1?",
		},
		"a value that is missing": {
			make:  manifest("  region: eu-central-1\n", ""),
			args:  replace,
			want:  "demo.yml, document 1, line 5: Cluster demo: spec.region: Required value",
			lines: 2,
		},
		"a value that cannot be": {
			make:  manifest("minSize: 1", "minSize: 5"),
			args:  replace,
			want:  "demo.yml, document 2, line 14: InstanceGroup workers: spec: minSize is greater than maxSize",
			lines: 2,
		},
		"a change that cannot be": {
			make:  manifest("10.0.0.0/16", "10.1.0.0/16"),
			args:  replace,
			want:  "cidr cannot change: create a new cluster",
			lines: 2,
		},
		"encryption that is added": {
			make:  manifest("  region: eu-central-1\n", "  region: eu-central-1\n  api: {encryption: {}}\n"),
			args:  replace,
			want:  "demo.yml, document 1, line 1: cluster demo: spec.api.encryption cannot be added to a cluster that no operator manages",
			lines: 2,
		},
		"a release that there is not": {
			make:  manifest("v1.36.3", "v1.29.0"),
			args:  replace,
			want:  `there is no Release "v1.29.0"; known Releases: v1.`,
			lines: 2,
		},
		"a group of no cluster": {
			make:  manifest("cluster: demo", "cluster: demi"),
			args:  replace,
			want:  "there is no cluster demi in the state; give its manifest as well",
			lines: 2,
		},
		"a kind that is not kept": {make: func(t *testing.T) {
			t.Helper()
			put(t, "demo.yml", "apiVersion: service-operator.aws/v1alpha1\nkind: SQSQueue\nmetadata: {name: a}\n")
		}, args: replace, want: "SQSQueue a: the state holds Clusters, InstanceGroups and Releases", lines: 2},
		"a file without a manifest": {
			make: func(t *testing.T) { t.Helper(); put(t, "demo.yml", "# nothing yet\n") },
			args: replace,
			want: "the files have no manifests",
		},
		"a file that is not there": {args: []string{"replace", "-f", "nowhere.yml"}, want: "nowhere.yml"},
		"a file that is no YAML":   {make: manifest("spec:", "spec: ["), args: replace, want: "demo.yml, document 1, line"},
		"no file":                  {args: []string{"replace"}, want: "set --filename: aws-operator replace -f FILE"},
		"a cluster that there is not": {
			args: []string{"get", "cluster", "dem"},
			want: "there is no cluster dem in the state ./state; there is demo",
		},
		"a name that is none": {args: []string{"export", "kubeconfig", "../demo"}, want: "there is no cluster ../demo"},
		"a cluster that there is already": {
			args: []string{"create", "cluster", "demo", "--zones=eu-central-1a"},
			want: "cluster demo already exists in the state ./state",
		},
		"a cluster without zones": {args: []string{"create", "cluster", "new"}, want: "set --zones: aws-operator create cluster NAME --zones ZONE"},
		"zones of two regions": {
			args: []string{"create", "cluster", "new", "--zones=eu-central-1a,eu-west-1a"},
			want: "zone of another region",
		},
		"a topology that there is not": {
			args: []string{"create", "cluster", "new", "--zones=eu-central-1a", "--topology=secret"},
			want: "--topology secret is unknown; use private or public",
		},
		"a format that there is not": {
			args: []string{"get", "clusters", "-o", "xml"},
			want: "--output xml is unknown; use one of table, wide, json, yaml, name",
		},
		"a flag that there is not": {
			args: []string{"get", "clusters", "--sate=x"},
			want: "unknown flag: --sate (see aws-operator get clusters --help)",
		},
		"a state of no known kind": {
			args: []string{"get", "clusters", "--state=ftp://x"},
			want: "the state ftp://x is of an unknown type",
		},
		"a lifetime that cannot be": {
			args: []string{"export", "kubeconfig", "demo", "--admin-lifetime=-1h"},
			want: "use a duration of more than 0s",
		},
		"a cluster without an address": {
			make: awsRefuses(
				"AccessDenied",
				"User: arn:aws:iam::123456789012:user/ada is not authorized to perform: autoscaling:DescribeAutoScalingGroups",
				http.StatusForbidden,
			),
			args: []string{"export", "kubeconfig", "demo"},
			want: "user/ada lacks the permission autoscaling:DescribeAutoScalingGroups",
		},
		"a state that is a file": {args: []string{"replace", "-f", "demo.yml", "--state=demo.yml"}, want: "demo.yml"},
		"a definition half written": {
			make: half("cluster.yaml"),
			args: get,
			want: "state/demo/cluster.yaml, line 1: spec.release: this is missing",
		},
		"a definition of nothing": {
			make: func(t *testing.T) { t.Helper(); put(t, "state/demo/cluster.yaml", "") },
			args: get,
			want: "state/demo/cluster.yaml: the file is empty, but must contain a Cluster",
		},
		"a definition of another kind": {
			make: func(t *testing.T) { t.Helper(); put(t, "state/demo/cluster.yaml", demoWorkers) },
			args: get,
			want: "the file must contain one Cluster, but has InstanceGroup workers",
		},
		"a definition with an unknown field": {
			make: kept("cluster.yaml", "release:", "relaese:"),
			args: get,
			want: "state/demo/cluster.yaml, document 1, line 11: spec.relaese: there is no such field; did you mean release?",
		},
		"a definition of another version": {
			make: kept("instancegroups/workers.yaml", "v1alpha1", "v2"),
			args: get,
			want: "state/demo/instancegroups/workers.yaml, document 1, line 1: apiVersion: unknown version",
		},
		"a definition of another name": {
			make: kept("cluster.yaml", "name: demo", "name: other"),
			args: get,
			want: "the cluster's name is other, but its folder's is demo",
		},
		"a definition that is missing": {
			make: missing("cluster.yaml"),
			args: load,
			want: "cluster demo is not complete: state/demo/cluster.yaml is missing",
		},
		"an edit by hand that cannot be": {
			make: kept("cluster.yaml", "10.0.0.0/16", "10.1.0.0/16"),
			args: load,
			want: "Cluster demo: spec.network: cidr cannot change: create a new cluster",
		},
		"an edit by hand that adds encryption": {
			make: kept("cluster.yaml", "  region: eu-central-1\n", "  region: eu-central-1\n  api: {encryption: {}}\n"),
			args: load,
			want: "spec.api.encryption cannot be added to a cluster that no operator manages",
		},
		"a status half written": {
			make: half("status/cluster.yaml"),
			args: load,
			want: "state/demo/status/cluster.yaml, line 6: the file is incomplete, since a write was interrupted",
		},
		"a status with an unknown field": {
			make: kept("status/cluster.yaml", "region:", "regoin:"),
			args: load,
			want: "spec.regoin: there is no such field",
		},
		"a key half written": {make: half("secrets/demo-ca.yaml"), args: load, want: "state/demo/secrets/demo-ca.yaml"},
		"a key that is broken": {
			make: kept("secrets/demo-ca.yaml", "tls.key: LS0t", "tls.key: AAAA"),
			args: load,
			want: "the Secret default/demo-ca has no EC private key in tls.key",
		},
		"a key that is missing": {
			make: missing("secrets/demo-sa.yaml"),
			args: load,
			want: "cluster demo is not complete: state/demo/secrets has no demo-sa.yaml; restore them from a backup",
		},
		"a key that is missing, to replace": {
			make:  missing("secrets/demo-sa.yaml"),
			args:  replace,
			want:  "with other keys its instances are no longer reachable",
			lines: 2,
		},
	}
	maps.Copy(all, map[string]refusal{
		"a bucket, and credentials that have expired": {
			make: awsRefuses("ExpiredToken", "The provided token has expired.", http.StatusBadRequest),
			args: []string{"replace", "-f", "demo.yml", "--state=s3://acme/x"},
			want: "The AWS credentials have expired; renew them",
		},
		"a bucket, and no permission": {
			make: awsRefuses(
				"AccessDenied",
				"User: arn:aws:iam::123456789012:user/ada is not authorized to perform: s3:PutObject on resource: x",
				http.StatusForbidden,
			),
			args: []string{"replace", "-f", "demo.yml", "--state=s3://acme/x"},
			want: "user/ada lacks the permission s3:PutObject",
		},
		"a bucket, and no credentials": {
			make: withoutCredentials,
			args: []string{"get", "clusters", "--state=s3://acme/x"},
			want: "There are no AWS credentials",
		},
		"a bucket, and no region": {
			make: withoutRegion,
			args: []string{"get", "clusters", "--state=s3://acme/x"},
			want: "region",
		},
		"a management cluster that is not known": {
			make: func(t *testing.T) { t.Helper(); t.Setenv("KUBECONFIG", "none"); t.Setenv("HOME", t.TempDir()) },
			args: []string{"get", "clusters", "--state=k8s"},
			want: "no kubeconfig for a management cluster: set KUBECONFIG",
		},
		"a management cluster that is not there": {
			make: unreachable,
			args: []string{"get", "clusters", "--state=k8s"},
			want: "cannot list clusters in the management cluster",
		},
	})
	return all
}

// awsRefuses makes AWS answer every call with an error, in S3's and in the Query protocol's form.
func awsRefuses(code, message string, status int) func(*testing.T) {
	return func(t *testing.T) {
		t.Helper()
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.WriteHeader(status)
			form := `<ErrorResponse><Error><Type>Sender</Type><Code>%s</Code><Message>%s</Message></Error></ErrorResponse>`
			if strings.HasPrefix(r.URL.Path, "/acme") {
				form = `<Error><Code>%s</Code><Message>%s</Message></Error>`
			}
			_, _ = io.WriteString(w, fmt.Sprintf(form, code, message))
		}))
		t.Cleanup(server.Close)
		awsAt(t, server.URL)
	}
}

// awsAt leads the SDK somewhere, with credentials.
func awsAt(t *testing.T, endpoint string) {
	t.Helper()
	for key, value := range map[string]string{
		"AWS_ENDPOINT_URL": endpoint, "AWS_REGION": "eu-central-1", "AWS_ACCESS_KEY_ID": "a", "AWS_SECRET_ACCESS_KEY": "b",
		"AWS_SESSION_TOKEN": "",
		"AWS_CONFIG_FILE":   "/dev/null", "AWS_SHARED_CREDENTIALS_FILE": "/dev/null", "AWS_PROFILE": "",
		"AWS_EC2_METADATA_DISABLED": "true",
	} {
		t.Setenv(key, value)
	}
}

func withoutCredentials(t *testing.T) {
	t.Helper()
	awsAt(t, "http://127.0.0.1:1")
	t.Setenv("AWS_ACCESS_KEY_ID", "")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "")
}

func withoutRegion(t *testing.T) {
	t.Helper()
	awsAt(t, "http://127.0.0.1:1")
	t.Setenv("AWS_REGION", "")
	t.Setenv("AWS_DEFAULT_REGION", "")
}

func unreachable(t *testing.T) {
	t.Helper()
	put(
		t,
		"kubeconfig",
		"apiVersion: v1\nkind: Config\nclusters: [{name: c, cluster: {server: \"http://127.0.0.1:1\"}}]\ncontexts: [{name: x, context: {cluster: c}}]\ncurrent-context: x\n",
	)
	t.Setenv("KUBECONFIG", "kubeconfig")
}

func TestBadInputGetsOneClearMessageAndChangesNothing(t *testing.T) {
	for name, test := range refusals() {
		t.Run(name, func(t *testing.T) {
			t.Helper()
			dir := workspace(t)
			if test.make != nil {
				test.make(t)
			}
			before := everything(t, dir)
			code, out, errOut := run(test.args...)
			if code != exit.Failed {
				t.Errorf("exit code %d", code)
			}
			if lines := strings.Count(errOut, "\n"); !strings.HasPrefix(errOut, "Error: ") || !strings.Contains(errOut, test.want) ||
				lines != max(test.lines, 1) ||
				out != "" {
				t.Errorf("said, in %d lines: %s%s\nwant: %s", lines, out, errOut, test.want)
			}
			if after := everything(t, dir); !maps.Equal(before, after) {
				t.Errorf("something has changed: %v\nwas: %v", after, before)
			}
		})
	}
}

func TestLockOfAnotherProcessIsRespected(t *testing.T) {
	dir := workspace(t)
	other, err := state.Open(t.Context(), "./state", state.Options{})
	if err != nil {
		t.Fatal(err)
	}
	unlock, err := other.Lock(t.Context(), "demo", "apply")
	if err != nil {
		t.Fatal(err)
	}
	manifest("maxSize: 3", "maxSize: 5")(t)
	before := everything(t, dir)
	code, out, errOut := run("replace", "-f", "demo.yml")
	if code != exit.Failed || out != "" || strings.Count(errOut, "\n") != 1 ||
		!strings.Contains(errOut, "cluster demo is being changed by") ||
		!strings.Contains(errOut, fmt.Sprintf("(process %d)", os.Getpid())) ||
		!strings.Contains(errOut, "for apply; wait until it is done") {
		t.Errorf("%d, %s%s", code, out, errOut)
	}
	if !maps.Equal(before, everything(t, dir)) {
		t.Error("something has changed")
	}
	if code, _, errOut := run("get", "clusters"); code != exit.Done {
		t.Errorf("get is refused: %s", errOut)
	}
	if err := unlock(); err != nil {
		t.Fatal(err)
	}
	if code, out, errOut := run("replace", "-f", "demo.yml"); code != exit.Done ||
		!strings.Contains(out, "InstanceGroup workers: changed") {
		t.Errorf("%d, %s%s", code, out, errOut)
	}
}

func TestLockOfADeadProcessIsTakenOver(t *testing.T) {
	workspace(t)
	put(t, "state/demo/lock", "user: ada\nhost: here\nprocess: 1\nsince: \"2026-01-02T03:04:05Z\"\npurpose: apply\n")
	manifest("maxSize: 3", "maxSize: 5")(t)
	if code, out, errOut := run("replace", "-f", "demo.yml"); code != exit.Done ||
		!strings.Contains(out, "InstanceGroup workers: changed") {
		t.Errorf("%d, %s%s", code, out, errOut)
	}
	if _, err := os.Stat("state/demo/lock"); !os.IsNotExist(err) {
		t.Errorf("the lock is still there: %v", err)
	}
}
