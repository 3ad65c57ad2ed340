package demo_test

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/aws-operator/aws-operator/internal/cli"
)

// TestMain makes the test binary the aws-operator binary when it is called as
// the operator, which the demo starts as a process of its own.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == "operator" {
		os.Exit(cli.Main(os.Args[1:], os.Stdout, os.Stderr))
	}
	os.Exit(m.Run())
}

func TestDemoCleansUp(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	var out, errOut bytes.Buffer
	if code := cli.Main([]string{"demo"}, &out, &errOut); code != 0 {
		t.Fatalf("exit code %d\n%s\n%s", code, &out, &errOut)
	}
	for _, want := range []string{"True    CREATE_COMPLETE", "table/dynamo-table", "3/3 nodes", "1 message in billing", "no file is left"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("the demo did not show %q:\n%s", want, &out)
		}
	}
	if left, err := filepath.Glob(filepath.Join(os.TempDir(), "*")); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v (%v)", left, err)
	}
}
