package backups

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	s3types "github.com/aws/aws-sdk-go-v2/service/s3/types"
	testclock "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/aws-operator/aws-operator/api/cluster/v1alpha1"
	"github.com/aws-operator/aws-operator/internal/cli/exit"
	"github.com/aws-operator/aws-operator/internal/simulator"
	"github.com/aws-operator/aws-operator/internal/simulator/simulatortest"
	"github.com/aws-operator/aws-operator/internal/state"
)

const (
	account = "123456789012"
	region  = "eu-central-1"
	named   = "demo-" + account + "-" + region
	newest  = "backups/etcd/20261128T120000Z-slot1.db"
)

// suite is a cluster's bucket in the simulator, and its definition in a folder.
type suite struct {
	t      *testing.T
	client *s3.Client
	// endpoint is the simulator's.
	endpoint string
	state    string
	clock    *testclock.FakePassiveClock
	dir      string // of the program etcd-restore
}

func newSuite(t *testing.T, change func(*v1alpha1.Cluster)) *suite {
	t.Helper()
	_, endpoint := simulatortest.Start(t, simulator.Options{})
	for name, value := range map[string]string{
		"AWS_ENDPOINT_URL": endpoint, "AWS_REGION": region, "AWS_ACCESS_KEY_ID": account, "AWS_SECRET_ACCESS_KEY": "secret",
		"AWS_CONFIG_FILE": "/dev/null", "AWS_SHARED_CREDENTIALS_FILE": "/dev/null", "AWS_PROFILE": "", "AWS_SESSION_TOKEN": "",
	} {
		t.Setenv(name, value)
	}
	s := &suite{
		t: t, endpoint: endpoint, state: filepath.Join(t.TempDir(), "state"), dir: t.TempDir(),
		client: s3.NewFromConfig(simulatortest.Root(endpoint, account, region), func(o *s3.Options) { o.UsePathStyle = true }),
		clock:  testclock.NewFakePassiveClock(time.Date(2026, 11, 28, 13, 0, 0, 0, time.UTC)),
	}
	s.makeBucket(named)
	cluster := &v1alpha1.Cluster{}
	cluster.Name = "demo"
	cluster.Spec = v1alpha1.ClusterSpec{
		Release: "v1.36.3", Region: region, Backup: v1alpha1.EtcdBackup{Bucket: &v1alpha1.BucketBackup{}},
		Network: v1alpha1.Network{CIDR: "10.0.0.0/16", Zones: []string{region + "a"}},
	}
	if change != nil {
		change(cluster)
	}
	into, err := state.Open(t.Context(), s.state, state.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := into.Replace(t.Context(), []client.Object{cluster}); err != nil {
		t.Fatal(err)
	}
	return s
}

func (s *suite) makeBucket(name string) {
	s.t.Helper()
	_, err := s.client.CreateBucket(s.t.Context(), &s3.CreateBucketInput{
		Bucket: &name, CreateBucketConfiguration: &s3types.CreateBucketConfiguration{LocationConstraint: region},
	})
	if err != nil {
		s.t.Fatal(err)
	}
}

func (s *suite) put(key string, content []byte) {
	s.t.Helper()
	if _, err := s.client.PutObject(s.t.Context(), &s3.PutObjectInput{
		Bucket: aws.String(named), Key: &key, Body: bytes.NewReader(content),
	}); err != nil {
		s.t.Fatal(err)
	}
}

func (s *suite) get(key string) []byte {
	s.t.Helper()
	found, err := s.client.GetObject(s.t.Context(), &s3.GetObjectInput{Bucket: aws.String(named), Key: &key})
	if err != nil {
		s.t.Fatal(err)
	}
	content, err := io.ReadAll(found.Body)
	if err != nil {
		s.t.Fatal(err)
	}
	return content
}

// restores puts a program in the place of etcd-restore.
func (s *suite) restores(script string) {
	s.t.Helper()
	program := filepath.Join(s.dir, "etcd-restore-linux-"+runtime.GOARCH)
	if err := os.WriteFile(program, []byte("#!/bin/sh\n"+script+"\n"), 0o700); err != nil {
		s.t.Fatal(err)
	}
}

// run runs a command, and returns what it prints and its exit code.
func (s *suite) run(args ...string) (out, errOut string, code int) {
	s.t.Helper()
	var stdout, stderr bytes.Buffer
	cmd := command(s.clock)
	cmd.SetArgs(append(args, "--state", s.state))
	cmd.SetOut(&stdout)
	cmd.SetErr(&stderr)
	cmd.SilenceErrors, cmd.SilenceUsage = true, true
	err := cmd.ExecuteContext(s.t.Context())
	if err != nil {
		fmt.Fprintln(&stderr, err)
	}
	return stdout.String(), stderr.String(), exit.Code(err)
}

func TestListShowsTheSlotsBackupsOnly(t *testing.T) {
	s := newSuite(t, nil)
	for _, key := range []string{
		"backups/etcd/20261128T060000Z-slot0.db", newest, "backups/etcd/readme.txt", "backups/etcd/29990101T000000Z-slot0.db",
		"backups/etcd/20261128T120000Z-slot1.db\x1b[2J", "backups/other/20261128T120000Z-slot1.db",
	} {
		s.put(key, []byte("content"))
	}
	out, errOut, code := s.run("list", "demo")
	want := []string{"BACKUP AGE SLOT BYTES", newest + " 60m 1 7", "backups/etcd/20261128T060000Z-slot0.db 7h 0 7"}
	var got []string
	for line := range strings.Lines(out) {
		got = append(got, strings.Join(strings.Fields(line), " "))
	}
	if code != exit.Done || errOut != "" || strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("exit code %d, standard error %q:\n%s", code, errOut, out)
	}
	out, _, _ = s.run("list", "demo", "-o", "json")
	var list []backup
	err := json.Unmarshal([]byte(out), &list)
	if err != nil || len(list) != 2 || list[0].Key != newest || list[0].Slot != 1 || list[0].Bytes != 7 {
		t.Errorf("%v:\n%s", err, out)
	}
}

func TestListWarnsOfMissingBackups(t *testing.T) {
	for name, test := range map[string]struct {
		change func(*v1alpha1.Cluster)
		key    string
		want   string
	}{
		"none, and not wanted":   {func(c *v1alpha1.Cluster) { c.Spec.Backup.Bucket = nil }, "", "set spec.backup.bucket: {}"},
		"some, and not wanted":   {func(c *v1alpha1.Cluster) { c.Spec.Backup.Bucket = nil }, newest, "make no more backups"},
		"none":                   {nil, "", "There are no backups of cluster demo. See the log on the control plane's nodes"},
		"only old ones":          {nil, "backups/etcd/20261127T120000Z-slot1.db", "is 25h old, but spec.backup.bucket.interval is 6h"},
		"a new one":              {nil, newest, ""},
		"only one of the future": {nil, "backups/etcd/29991231T000000Z-slot1.db", "There are no backups"},
	} {
		t.Run(name, func(t *testing.T) {
			s := newSuite(t, test.change)
			if test.key != "" {
				s.put(test.key, []byte("content"))
			}
			_, errOut, code := s.run("list", "demo")
			if code != exit.Done || !strings.Contains(errOut, test.want) || test.want == "" && errOut != "" {
				t.Errorf("exit code %d, standard error %q, want %q", code, errOut, test.want)
			}
		})
	}
}

// A bucket of the same name that another account owns is not the cluster's.
func TestBucketOfAnotherAccountIsRefused(t *testing.T) {
	s := newSuite(t, func(c *v1alpha1.Cluster) { c.Name = "other" })
	s.client = s3.NewFromConfig(simulatortest.Root(s.endpoint, "999999999999", region), func(o *s3.Options) { o.UsePathStyle = true })
	s.makeBucket("other-" + account + "-" + region)
	_, errOut, code := s.run("list", "other")
	if code != exit.Failed || !strings.Contains(errOut, "list the backups of cluster other in the bucket other-"+account) {
		t.Errorf("exit code %d, standard error %q", code, errOut)
	}
}

func TestVerifyRunsTheProgramOnTheNewestBackup(t *testing.T) {
	s := newSuite(t, nil)
	s.put("backups/etcd/20261128T060000Z-slot0.db", []byte("old"))
	s.put(newest, []byte("new"))
	seen := filepath.Join(t.TempDir(), "seen")
	s.restores(`file=${1#--verify=}
test "$(cat "$file")" = new && test ! -e "${2#--scratch=}" && test "$(stat -c %a "$file")" = 600 && echo "$file" > ` + seen + ` &&
echo '{"bytes":3,"hash":"00c0ffee","revision":12,"keys":7,"version":"3.6.0"}'`)
	out, errOut, code := s.run("verify", "demo", "--nodeup-dir", s.dir)
	if code != exit.Done || strings.Join(strings.Fields(out), " ") != "BACKUP HASH REVISION KEYS BYTES "+newest+" 00c0ffee 12 7 3" {
		t.Fatalf("exit code %d, standard error %q:\n%s", code, errOut, out)
	}
	file, err := os.ReadFile(seen)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Dir(strings.TrimSpace(string(file)))); !os.IsNotExist(err) {
		t.Errorf("the backup is left in %s: %v", file, err)
	}
}

func TestVerifyDistinguishesDamageFromFailure(t *testing.T) {
	for name, test := range map[string]struct {
		script string
		args   []string
		code   int
		want   string
	}{
		"damaged": {
			"echo noise >&2; echo 'etcd-restore: the snapshot is damaged: it ends early' >&2; exit 3", nil, exit.NotValid,
			"the backup " + newest + " cannot be restored: the snapshot is damaged: it ends early",
		},
		"no space":          {"echo 'etcd-restore: no space left on device' >&2; exit 1", nil, exit.Failed, "no space left on device"},
		"no report":         {"echo done", nil, exit.Failed, "read the report"},
		"no such backup":    {"", []string{"--backup", "backups/etcd/20200101T000000Z-slot0.db"}, exit.Failed, "download backups/etcd/20200101T000000Z-slot0.db"},
		"no backup's key":   {"", []string{"--backup", "pki/ca.key"}, exit.Failed, "--backup pki/ca.key is not the key of a backup"},
		"no such directory": {"", []string{"--dir", "/does/not/exist"}, exit.Failed, "name another with --dir"},
	} {
		t.Run(name, func(t *testing.T) {
			s := newSuite(t, nil)
			s.put(newest, []byte("content"))
			s.restores(test.script)
			_, errOut, code := s.run(append([]string{"verify", "demo", "--nodeup-dir", s.dir}, test.args...)...)
			if code != test.code || !strings.Contains(errOut, test.want) {
				t.Errorf("exit code %d, standard error %q, want %d and %q", code, errOut, test.code, test.want)
			}
		})
	}
	s := newSuite(t, nil)
	_, errOut, code := s.run("verify", "demo", "--nodeup-dir", s.dir)
	if code != exit.Failed || !strings.Contains(errOut, "there is no etcd-restore for") {
		t.Errorf("without the program: exit code %d, standard error %q", code, errOut)
	}
}

func TestRestorePreparesWhatSlotsNeed(t *testing.T) {
	s := newSuite(t, nil)
	s.put(newest, []byte("content"))
	if err := os.WriteFile(filepath.Join(s.dir, "etcd-restore-linux-amd64"), []byte("program"), 0o700); err != nil {
		t.Fatal(err)
	}
	args := []string{"restore", "demo", "--nodeup-dir", s.dir, "--backup", newest}
	const key = "nodeup/restore-20261128T130000Z/etcd-restore-linux-amd64"
	want := fmt.Sprintf(`sudo /var/lib/nodeup/nodeup --bucket %s --region %s --bundle "$(sudo cat /var/lib/nodeup/done)" \
  --restore %s --restore-program %x --restore-token 20261128T130000Z
`, named, region, newest, sha256.Sum256([]byte("program")))
	out, errOut, code := s.run(args...)
	if code != exit.Done || out != want || !strings.Contains(errOut, "Nothing has been changed") {
		t.Errorf("exit code %d, standard error %q:\n%s", code, errOut, out)
	}
	if _, err := s.client.HeadObject(t.Context(), &s3.HeadObjectInput{Bucket: aws.String(named), Key: aws.String(key)}); err == nil {
		t.Error("without --yes, the program was uploaded")
	}
	out, errOut, code = s.run(append(args, "--yes")...)
	if code != exit.Done || out != want || !strings.Contains(errOut, "on all 3 slots") || string(s.get(key)) != "program" {
		t.Errorf("exit code %d, standard error %q:\n%s", code, errOut, out)
	}
	_, errOut, code = s.run("restore", "demo", "--nodeup-dir", s.dir, "--backup", "backups/etcd/20200101T000000Z-slot0.db", "--yes")
	if code != exit.Failed || !strings.Contains(errOut, "cluster demo has no backup backups/etcd/20200101T000000Z-slot0.db") {
		t.Errorf("of a backup that does not exist: exit code %d, standard error %q", code, errOut)
	}
}
