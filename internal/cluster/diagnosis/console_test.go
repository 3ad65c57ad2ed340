package diagnosis_test

import (
	"strings"
	"testing"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/aws-operator/aws-operator/internal/cluster/diagnosis"
)

// Lines that programs write. The tests of packages bootstrap and nodeup verify that they do.
const (
	metadataDone  = `time=2026-11-23T22:00:01.000Z level=INFO msg=metadata did="i-1 is ip-10-0-1-2" took=3ms` + "\n"
	bundleDone    = `time=2026-11-23T22:00:02.000Z level=INFO msg=bundle did=read took=1s` + "\n"
	selfDone      = `time=2026-11-23T22:00:03.000Z level=INFO msg="start at each boot" did=nodeup.service took=0s` + "\n"
	artifactsFail = `time=2026-11-23T22:00:33.000Z level=WARN msg=artifacts error="install kubelet: fetch it: Get \"https://dl.k8s.io/kubelet\": dial tcp 34.107.204.206:443: i/o timeout" "again in"=250ms` + "\n"
	nodeDone      = `time=2026-11-23T22:03:00.000Z level=INFO msg="this machine is a node of its cluster" cluster=demo node=ip-10-0-1-2 took=3m` + "\n"
	syslog        = "[   12.345678] cloud-init[812]: "
)

func TestConsoleShowsStageAndCause(t *testing.T) {
	at := func(clock string) time.Time {
		t.Helper()
		parsed, err := time.Parse(time.RFC3339, "2026-11-23T"+clock+"Z")
		if err != nil {
			t.Fatal(err)
		}
		return parsed
	}
	for _, c := range []struct {
		reason, console string
		slot            bool
		stage           string
		since           time.Time
		error           string
		cause           string
	}{
		{
			"nothing was written", "", false,
			diagnosis.UserData,
			time.Time{},
			"", diagnosis.ReasonSilentConsole,
		},
		{
			"only the kernel wrote", "[    0.000000] Linux version 6.8.0\n", false,
			diagnosis.UserData,
			time.Time{},
			"", diagnosis.ReasonUserDataSilent,
		},
		{
			"the last error counts", "curl: (22) The requested URL returned error: 404\ncurl: (28) Connection timed out after 300001 milliseconds\n", true,
			diagnosis.UserData,
			time.Time{},
			"curl: (28) Connection timed out after 300001 milliseconds", diagnosis.ReasonNoRoute,
		},
		{
			"a stage begins when the one before ends", metadataDone + bundleDone + selfDone + artifactsFail, false,
			"artifacts", at("22:00:03"),
			`install kubelet: fetch it: Get "https://dl.k8s.io/kubelet": dial tcp 34.107.204.206:443: i/o timeout`, diagnosis.ReasonNoRoute,
		},
		{
			"a stage that has written nothing", metadataDone + bundleDone + selfDone, false,
			"artifacts", at("22:00:03"), "", diagnosis.ReasonNoRoute,
		},
		{
			"the beginning is not kept, and the rest of a line is", "22:00 msg=bundle\n" + artifactsFail, false,
			"artifacts", at("22:00:33"),
			`install kubelet: fetch it: Get "https://dl.k8s.io/kubelet": dial tcp 34.107.204.206:443: i/o timeout`, diagnosis.ReasonNoRoute,
		},
		{
			"cloud-init and a serial console surround the lines", syslog + strings.TrimSpace(selfDone) + "\r\n" + syslog + strings.TrimSpace(artifactsFail) + "\r\n",
			true,
			"artifacts", at("22:00:03"),
			`install kubelet: fetch it: Get "https://dl.k8s.io/kubelet": dial tcp 34.107.204.206:443: i/o timeout`, diagnosis.ReasonNoRoute,
		},
		{
			"other programs log in the same format", selfDone + `time=2026-11-23T22:00:09Z level=WARN msg="file system" error=full` + "\n", false,
			"artifacts", at("22:00:03"), "", diagnosis.ReasonNoRoute,
		},
		{
			"what ends user data", syslog + "S3 needs an image with curl 7.87 or later, not curl 7.81.0 (x86_64-pc-linux-gnu)\n", false,
			diagnosis.UserData,
			time.Time{},
			"S3 needs an image with curl 7.87 or later, not curl 7.81.0 (x86_64-pc-linux-gnu)",
			diagnosis.ReasonImageUnsuitable,
		},
		{
			"a security group without the rule for the API",
			`time=2026-11-23T22:00:33.000Z level=WARN msg=API error="ask the API: Get \"https://demo-api.elb.eu-central-1.amazonaws.com:6443/api/v1/namespaces/kube-public/configmaps/cluster-info\": dial tcp 10.0.0.7:6443: i/o timeout" "again in"=1s` + "\n",
			false,
			"API", at("22:00:33"),
			`ask the API: Get "https://demo-api.elb.eu-central-1.amazonaws.com:6443/api/v1/namespaces/kube-public/configmaps/cluster-info": dial tcp 10.0.0.7:6443: i/o timeout`,
			diagnosis.ReasonAPIBlocked,
		},
		{
			"a slot without a quorum",
			`time=2026-11-23T22:00:33.000Z level=WARN msg="kubeadm upload-config" error="kubeadm init phase upload-config all --config /var/lib/nodeup/kubeadm.yaml: exit status 1: error execution phase upload-config/kubeadm: error uploading the kubeadm ClusterConfiguration: unable to create ConfigMap: client rate limiter Wait returned an error: context deadline exceeded" "again in"=15s` + "\n",
			true,
			"kubeadm upload-config", at("22:00:33"),
			"kubeadm init phase upload-config all --config /var/lib/nodeup/kubeadm.yaml: exit status 1: error execution phase upload-config/kubeadm: error " +
				"uploading the kubeadm ClusterConfiguration: unable to create ConfigMap: client rate limiter Wait returned an error: context deadline exceeded",
			diagnosis.ReasonNoQuorum,
		},
		{
			"an image without curl", "/var/lib/cloud/instance/scripts/part-001: 6: curl: not found\n", false,
			diagnosis.UserData,
			time.Time{},
			"/var/lib/cloud/instance/scripts/part-001: 6: curl: not found", diagnosis.ReasonImageUnsuitable,
		},
	} {
		t.Run(c.reason, func(t *testing.T) {
			boot := diagnosis.Read([]byte(c.console), c.slot)
			if boot.Stage != c.stage || !boot.Since.Equal(c.since) || boot.Error != c.error || boot.Cause.Reason != c.cause || boot.Joined {
				t.Errorf("got %+v", boot)
			}
			if boot.Cause.Text == "" || boot.Cause.Remedy == "" {
				t.Errorf("the cause has no text or no remedy: %+v", boot.Cause)
			}
		})
	}
}

func TestNodeHasNoCause(t *testing.T) {
	boot := diagnosis.Read([]byte(artifactsFail+nodeDone), false)
	if !boot.Joined || boot.Stage != "" || boot.Cause != (diagnosis.Cause{}) {
		t.Errorf("got %+v", boot)
	}
	if _, ever := boot.DueIn(time.Time{}, time.Time{}); ever {
		t.Error("a node may be late")
	}
}

func TestDeadlines(t *testing.T) {
	launched := time.Date(2026, 11, 23, 21, 59, 0, 0, time.UTC)
	for reason, c := range map[string]struct {
		console string
		due     time.Duration // after the launch
	}{
		"user data counts from the launch":             {"", 3 * time.Minute},
		"a stage counts from its beginning":            {selfDone + artifactsFail, 63*time.Second + 5*time.Minute},
		"a local stage is fast":                        {metadataDone, 61*time.Second + 2*time.Minute},
		"a claim from before the launch is not true":   {strings.ReplaceAll(selfDone, "22:00:03", "20:00:00"), 5 * time.Minute},
		"a claim from the future is not true":          {strings.ReplaceAll(selfDone, "2026", "2036"), 5 * time.Minute},
		"an end is due at once":                        {metadataDone + strings.ReplaceAll(bundleDone, "INFO", "ERROR"), 10 * time.Minute},
		"the last line of nodeup is an end, due, too":  {metadataDone + "nodeup: bundle: not for this version\n", 10 * time.Minute},
		"an old image ends at once, which is due, too": {"S3 needs an image with curl 7.87 or later, not curl 7\n", 10 * time.Minute},
	} {
		t.Run(reason, func(t *testing.T) {
			boot := diagnosis.Read([]byte(c.console), true)
			now := launched.Add(10 * time.Minute)
			if in, ever := boot.DueIn(launched, now); !ever || in != c.due-10*time.Minute {
				t.Errorf("due %s after the launch, %v, want %s; %+v", in+10*time.Minute, ever, c.due, boot)
			}
		})
	}
}

func TestDescriptionQuotesTheError(t *testing.T) {
	launched := time.Date(2026, 11, 23, 21, 59, 0, 0, time.UTC)
	boot := diagnosis.Read([]byte(selfDone+artifactsFail), true)
	got := boot.Describe("Instance i-1 of slot 0", launched, launched.Add(time.Hour))
	want := `Instance i-1 of slot 0 has not passed boot stage "artifacts" since 22:00:03 UTC: install kubelet: fetch it: ` +
		`Get "https://dl.k8s.io/kubelet": dial tcp 34.107.204.206:443: i/o timeout. The instance has no route to the server. Check that `
	if !strings.HasPrefix(got, want) {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

// The last of several causes is at the end of an error.
func TestLongErrorsKeepTheirEnds(t *testing.T) {
	long := strings.ReplaceAll(artifactsFail, "fetch it", strings.Repeat("é", 10_000))
	boot := diagnosis.Read([]byte(long), true)
	if !strings.HasPrefix(boot.Error, "install kubelet: é") || !strings.HasSuffix(boot.Error, " dial tcp 34.107.204.206:443: i/o timeout") {
		t.Errorf("got %s", boot.Error)
	}
	if boot.Cause.Reason != diagnosis.ReasonNoRoute {
		t.Errorf("got %+v", boot.Cause)
	}
}

func TestErrorsHaveNoSecretsOfURLs(t *testing.T) {
	for problem, want := range map[string]string{
		"https://example.com/runc?X-Amz-Signature=secret has the SHA-256 a": "https://example.com/runc has the SHA-256 a",
		`Get \"https://me:secret@example.com/runc?a=b\": EOF`:               `Get "https://example.com/runc": EOF`,
		"fetch http://example.com: 404 Not Found?":                          "fetch http://example.com: 404 Not Found?",
	} {
		line := `time=2026-11-23T22:00:33Z level=WARN msg=artifacts error="` + problem + `" "again in"=1s` + "\n"
		if boot := diagnosis.Read([]byte(line), true); boot.Error != want {
			t.Errorf("got  %s\nwant %s", boot.Error, want)
		}
	}
}

// A user of an instance can write anything to its console.
func FuzzConsole(f *testing.F) {
	f.Add([]byte(selfDone+artifactsFail), true)
	f.Add([]byte("curl: (6) \x1b[31mred\x1b]0;title\x07\u202e\x00\xff\u2028"), false)
	f.Add([]byte(`time=1 level=WARN msg=artifacts error="a\nb\x1b[2J\u202e`+strings.Repeat("x", 100_000)), true)
	f.Add([]byte(strings.Repeat("time= level=", 10_000)), true)
	f.Fuzz(func(t *testing.T, console []byte, slot bool) {
		boot := diagnosis.Read(console, slot)
		if count := utf8.RuneCountInString(boot.Error); count > 300 {
			t.Errorf("the error has %d characters", count)
		}
		for _, r := range boot.Error {
			if !unicode.IsPrint(r) {
				t.Errorf("the error has %U: %q", r, boot.Error)
			}
		}
		if !boot.Joined && (boot.Stage == "" || boot.Cause.Text == "") {
			t.Errorf("no stage or cause: %+v", boot)
		}
	})
}
