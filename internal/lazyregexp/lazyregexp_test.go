package lazyregexp_test

import (
	"slices"
	"testing"

	"github.com/aws-operator/aws-operator/internal/lazyregexp"
)

func TestAnExpressionIsThatOfPackageRegexp(t *testing.T) {
	expression := lazyregexp.New(`^([a-z]+)-([0-9]+)$`)
	if !expression.MatchString("abc-12") || expression.MatchString("abc") {
		t.Error("it does not match what it should")
	}
	if got, want := expression.FindStringSubmatch("abc-12"), []string{"abc-12", "abc", "12"}; !slices.Equal(got, want) {
		t.Errorf("the groups match %q, not %q", got, want)
	}
	if got := expression.ReplaceAllString("abc-12", "$2-$1"); got != "12-abc" {
		t.Errorf("replacing makes %q", got)
	}
}

func TestAnExpressionThatIsNoneIsFoundWhenItIsUsed(t *testing.T) {
	none := lazyregexp.New(`(`)
	defer func() {
		if recover() == nil {
			t.Error("the invalid expression ( did not panic")
		}
	}()
	none.MatchString("")
}
