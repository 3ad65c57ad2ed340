package plan_test

import (
	"bytes"
	"regexp"
	"testing"

	"github.com/aws-operator/aws-operator/internal/golden"
	"github.com/aws-operator/aws-operator/internal/plan"
)

func text(tb testing.TB, p *plan.Plan) string {
	tb.Helper()
	var out bytes.Buffer
	if err := plan.Print(&out, p, false); err != nil {
		tb.Fatal(err)
	}
	return out.String()
}

// What differs from run to run: IDs that AWS gives, and hashes of what has the cluster's CA in it.
var (
	ids    = regexp.MustCompile(`\b(subnet|sg|vpc|lt|i|vol|rtb|nat|eipalloc)-[0-9a-f]{8,17}\b`)
	hashes = regexp.MustCompile(`\b(bundle|nodeup) [0-9a-f]{12} → [0-9a-f]{12}`)
)

// goldenText compares with a file of testdata.
func goldenText(t *testing.T, name, got string) {
	t.Helper()
	got = ids.ReplaceAllString(got, "$1-…")
	golden.Equal(t, name, []byte(hashes.ReplaceAllString(got, "$1 … → …")))
}

// test returns the test that the world is of.
func (w *suite) test() *testing.T {
	t, ok := w.t.(*testing.T)
	if !ok {
		w.t.Fatal("this is a benchmark")
	}
	return t
}
