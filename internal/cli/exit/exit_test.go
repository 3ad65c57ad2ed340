package exit_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/aws-operator/aws-operator/internal/cli/exit"
)

func TestErrorsHaveTheirCodes(t *testing.T) {
	broken := errors.New("broken")
	for name, test := range map[string]struct {
		err  error
		code int
		text string
	}{
		"nothing wrong":             {nil, exit.Done, "<nil>"},
		"any error":                 {broken, exit.Failed, "broken"},
		"changes are there":         {exit.Changes(), exit.Pending, ""},
		"called incorrectly":        {exit.Misused(), exit.Failed, ""},
		"not valid":                 {exit.Invalid(broken), exit.NotValid, "broken"},
		"not valid, and printed":    {exit.Invalid(nil), exit.NotValid, ""},
		"a code within another one": {fmt.Errorf("validate: %w", exit.Invalid(broken)), exit.NotValid, "validate: broken"},
	} {
		t.Run(name, func(t *testing.T) {
			if code := exit.Code(test.err); code != test.code {
				t.Errorf("code %d, want %d", code, test.code)
			}
			if text := fmt.Sprint(test.err); text != test.text {
				t.Errorf("message %q, want %q", text, test.text)
			}
		})
	}
}
