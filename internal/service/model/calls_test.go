package model_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/aws-operator/aws-operator/internal/service/model"
)

// TestTemplatesThatCallTooManyTemplatesAreRefused tests that a text whose rendering would take seconds is
// refused with the position of the call, before it is rendered.
func TestTemplatesThatCallTooManyTemplatesAreRefused(t *testing.T) {
	var nested strings.Builder // each template calls the next one twice, 20 times in turn
	for i := range 20 {
		fmt.Fprintf(&nested, "{{ define \"t%d\" }}{{ template \"t%[2]d\" }}{{ template \"t%[2]d\" }}{{ end }}", i, i+1)
	}
	for name, c := range map[string]struct{ source, want string }{
		"a template that calls itself": {
			"{{ define \"a\" }}x\n{{ template \"a\" . }}{{ end }}{{ template \"a\" . }}",
			`m:2:12: the template "a" calls itself; templates cannot be recursive`,
		},
		"two templates that call each other": {
			`{{ define "a" }}{{ if .x }}{{ template "b" . }}{{ end }}{{ end }}{{ define "b" }}{{ with .x }}{{ template "a" }}{{ end }}{{ end }}{{ template "a" . }}`,
			"templates cannot be recursive",
		},
		"2^20 calls": {nested.String() + `{{ define "t20" }}{{ end }}{{ template "t0" }}`, "templates are called more than 10000 times"},
		"templates that call each other once": {
			`{{ define "a" }}{{ range .list }}{{ template "b" . }}{{ else }}{{ template "b" }}{{ end }}{{ end }}{{ define "b" }}x{{ end }}{{ template "a" . }}`,
			"",
		},
	} {
		t.Run(name, func(t *testing.T) {
			for _, parse := range []func() error{
				func() error { _, err := model.ParseText("m", c.source); return err },
				func() error { _, err := model.ParseStackTemplate("m", c.source, nil); return err },
			} {
				err := parse()
				if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
					t.Errorf("the error is %v, want %q", err, c.want)
				}
			}
		})
	}
}
