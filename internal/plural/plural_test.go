package plural_test

import (
	"testing"

	"github.com/aws-operator/aws-operator/internal/plural"
)

func TestOnlyOneIsSingular(t *testing.T) {
	for n, want := range map[int]string{0: "0 files", 1: "1 file", 2: "2 files"} {
		if got := plural.Count(n, "file"); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}
