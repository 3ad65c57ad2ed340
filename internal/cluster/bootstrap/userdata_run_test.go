package bootstrap_test

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws-operator/aws-operator/internal/cluster/bootstrap"
	"github.com/aws-operator/aws-operator/internal/cluster/diagnosis"
)

const nodeup = "#!/bin/sh\necho nodeup was started with $*\n"

// boot runs the user data of an instance of demo-bucket with the given curl in PATH. It returns
// what the instance's console shows.
func boot(t *testing.T, signed bool, curl string) (console string, failed error) {
	t.Helper()
	sum := sha256.Sum256([]byte(nodeup))
	text, err := bootstrap.UserData(bootstrap.UserDataInput{
		Region: "eu-central-1", DNSSuffix: "amazonaws.com", Bucket: "demo-bucket", Architecture: "amd64",
		NodeupSHA256: hex.EncodeToString(sum[:]), BundleSHA256: strings.Repeat("b", 64), Signed: signed,
	})
	if err != nil {
		t.Fatal(err)
	}
	folder := t.TempDir()
	// The script sleeps before it tries again: that is where these tests end it.
	for name, program := range map[string]string{"curl": curl, "sleep": "#!/bin/sh\nkill -9 $PPID\n"} {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(program), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	ctx, end := context.WithTimeout(t.Context(), time.Minute)
	defer end()
	script := exec.CommandContext(ctx, "sh", "-c", strings.ReplaceAll(text, "/var/lib/nodeup", folder))
	script.Env = []string{"PATH=" + folder + ":" + os.Getenv("PATH")}
	script.WaitDelay = time.Second
	out, err := script.CombinedOutput()
	return string(out), err
}

// An image whose curl cannot sign says so on its console and stops, since trying again would not
// help.
func TestUserDataEndsWhereCurlCannotSign(t *testing.T) {
	for _, version := range []string{
		"curl 7.68.0 (x86_64-pc-linux-gnu) libcurl/7.68.0", "curl 7.76.1 (x86_64-redhat-linux-gnu) libcurl/7.76.1",
		"curl 7.81.0 (x86_64-pc-linux-gnu) libcurl/7.81.0", "curl 7.86.0 (x86_64-pc-linux-gnu) libcurl/7.86.0",
	} {
		console, err := boot(t, true, "#!/bin/sh\n[ $1 = -V ] && echo '"+version+"'\n")
		if err == nil || !strings.Contains(console, "S3 needs an image with curl 7.87 or later, not "+version) {
			t.Errorf("%s: %v, the console shows:\n%s", version, err, console)
		}
	}
}

// s3 answers as the instance's metadata, and as S3: it refuses what is not signed as S3 asks for
// (https://docs.aws.amazon.com/AmazonS3/latest/API/sig-v4-header-based-auth.html).
func s3(w http.ResponseWriter, r *http.Request) {
	switch {
	case strings.HasSuffix(r.URL.Path, "/api/token"):
		_, _ = fmt.Fprint(w, "imds==")
	case r.Header.Get("X-aws-ec2-metadata-token") != "imds==" && strings.HasPrefix(r.URL.Path, "/latest/"):
		w.WriteHeader(http.StatusUnauthorized)
	case strings.HasSuffix(r.URL.Path, "/security-credentials/"):
		_, _ = fmt.Fprint(w, "demo")
	case strings.HasSuffix(r.URL.Path, "/security-credentials/demo"):
		_, _ = fmt.Fprint(
			w,
			"{\n  \"Code\" : \"Success\",\n  \"AccessKeyId\" : \"ASIAX\",\n  \"SecretAccessKey\" : \"a/b+c\",\n  \"Token\" : \"IQo//+==\",\n"+
				"  \"Expiration\" : \"2026-01-01T00:00:00Z\"\n}",
		)
	default:
		_, list, _ := strings.Cut(r.Header.Get("Authorization"), "SignedHeaders=")
		list, _, _ = strings.Cut(list, ",")
		signed := strings.Split(list, ";")
		if r.Header.Get("X-Amz-Content-Sha256") == "" {
			http.Error(w, "Missing required header for this request: x-amz-content-sha256", http.StatusBadRequest)
			return
		}
		for name := range r.Header {
			if name = strings.ToLower(name); strings.HasPrefix(name, "x-amz-") && !slices.Contains(signed, name) {
				http.Error(w, "There were headers present in the request which were not signed: "+name, http.StatusForbidden)
				return
			}
		}
		if r.Header.Get("X-Amz-Security-Token") != "IQo//+==" ||
			!strings.HasPrefix(r.Header.Get("Authorization"), "AWS4-HMAC-SHA256 Credential=ASIAX/") {
			w.WriteHeader(http.StatusForbidden)
			return
		}
		_, _ = fmt.Fprint(w, nodeup)
	}
}

// The curl of this computer signs what S3 asks for, if it is new enough for an image.
func TestUserDataIsSignedAsS3AsksFor(t *testing.T) {
	path, err := exec.LookPath("curl")
	if err != nil {
		t.Skip(err)
	}
	server := httptest.NewServer(http.HandlerFunc(s3))
	defer server.Close()
	// The real curl, with the addresses of the metadata and of S3 turned to the server.
	console, err := boot(t, true, `#!/bin/sh
for a do
shift
case $a in
https://demo-bucket.s3.eu-central-1.amazonaws.com/*) a=`+server.URL+`/${a#https://*/};;
169.254.169.254/*) a=`+server.URL+`/${a#*/};;
esac
set -- "$@" "$a"
done
exec `+path+` "$@"
`)
	if strings.Contains(console, "S3 needs an image with curl") {
		t.Skip(console)
	}
	want := "nodeup was started with --bucket demo-bucket --region eu-central-1 --bundle " + strings.Repeat("b", 64)
	if err != nil || !strings.Contains(console, want) {
		t.Errorf("%v, the console shows:\n%s", err, console)
	}
}

// Errors of the user data lead to their cause. The lines of curl are those of curl 7.88.
func TestUserDataErrorsAreDiagnosed(t *testing.T) {
	const current = "[ $1 = -V ] && echo 'curl 7.88.1 (x86_64-pc-linux-gnu)' && exit\n"
	failing := func(line string) string { return "#!/bin/sh\n" + current + "echo \"" + line + "\" >&2\nexit 1\n" }
	for _, c := range []struct{ reason, curl, cause string }{
		{
			"an image with an old curl", "#!/bin/sh\necho 'curl 7.81.0 (x86_64-pc-linux-gnu)'\n",
			diagnosis.ReasonImageUnsuitable,
		},
		{
			"a bucket that no route leads to", failing("curl: (28) Connection timed out after 300001 milliseconds"),
			diagnosis.ReasonNoRoute,
		},
		{
			"a network without a route",
			failing("curl: (7) Failed to connect to demo-bucket.s3.eu-central-1.amazonaws.com port 443 after 0 ms: Couldn't connect to server"),
			diagnosis.ReasonNoRoute,
		},
		{
			"a network without DNS", failing("curl: (6) Could not resolve host: demo-bucket.s3.eu-central-1.amazonaws.com"),
			diagnosis.ReasonNameNotResolved,
		},
		{
			"an instance without a role", failing("curl: (22) The requested URL returned error: 404"),
			diagnosis.ReasonNoRole,
		},
		{
			"a role that may not read the bucket", failing("curl: (22) The requested URL returned error: 403"),
			diagnosis.ReasonAccessDenied,
		},
		{
			"a nodeup of another hash",
			"#!/bin/sh\n" + current + "case $* in *nodeup/*) echo other > nodeup;; *demo) echo '\"AccessKeyId\" : \"A\"';; *) echo demo;; esac\n",
			diagnosis.ReasonNodeupChanged,
		},
	} {
		t.Run(c.reason, func(t *testing.T) {
			console, _ := boot(t, true, c.curl)
			got := diagnosis.Read([]byte(console), true)
			if got.Stage != diagnosis.UserData || got.Cause.Reason != c.cause || got.Error == "" {
				t.Errorf("got %+v of\n%s", got, console)
			}
		})
	}
}
