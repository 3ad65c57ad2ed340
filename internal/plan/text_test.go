package plan_test

import (
	"bytes"
	"testing"

	"github.com/aws-operator/aws-operator/internal/plan"
)

func text(t testing.TB, p *plan.Plan) string {
	t.Helper()
	var out bytes.Buffer
	if err := plan.Print(&out, p, false); err != nil {
		t.Fatal(err)
	}
	return out.String()
}
