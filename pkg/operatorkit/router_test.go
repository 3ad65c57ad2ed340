package operatorkit_test

import (
	"strings"
	"testing"

	"github.com/aws-operator/aws-operator/pkg/operatorkit"
)

func TestRouterPicksThePipelineByRelease(t *testing.T) {
	old, current, next := operatorkit.NewPipeline[*Widget](), operatorkit.NewPipeline[*Widget](), operatorkit.NewPipeline[*Widget]()
	names := map[*operatorkit.Pipeline[*Widget]]string{old: "old", current: "current", next: "next"}
	router, err := operatorkit.NewRouter(func(w *Widget) string { return w.Spec.Release },
		operatorkit.Route[*Widget]{Releases: ">=1.0.0 <1.4.0-0", Pipeline: old},
		operatorkit.Route[*Widget]{Releases: ">=1.4.0-0 <2.0.0", Pipeline: current},
		operatorkit.Route[*Widget]{Releases: ">=1.9.0", Pipeline: next})
	if err != nil {
		t.Fatal(err)
	}
	cases := map[string]struct{ release, want, err string }{
		"inside a range":                                  {release: "1.2.3", want: "old"},
		"the first version of a range":                    {release: "1.4.0", want: "current"},
		"a leading v is allowed":                          {release: "v1.4.0", want: "current"},
		"build metadata is ignored":                       {release: "1.4.0+5", want: "current"},
		"the first of two ranges wins":                    {release: "1.9.5", want: "current"},
		"-0 excludes pre-releases of the end":             {release: "1.4.0-rc.1", want: "current"},
		"without -0 pre-releases of the end are included": {release: "2.0.0-rc.1", want: "current"},
		"a pre-release in the middle of a range":          {release: "1.2.0-alpha", want: "old"},
		"the last range":                                  {release: "2.0.0", want: "next"},
		"before every range": {
			release: "0.9.0",
			err:     `this operator does not support release "0.9.0"; supported releases are ">=1.0.0 <1.4.0-0", ">=1.4.0-0 <2.0.0", ">=1.9.0"`,
		},
		"a pre-release of the very first version":   {release: "1.0.0-rc.1", err: "does not support release"},
		"two numbers are not a release":             {release: "1.4", err: "is not a version like 1.2.3"},
		"a word is not a release":                   {release: "latest", err: "is not a version like 1.2.3"},
		"an empty release":                          {release: "", err: "specifies no release"},
		"leading zeros are not semantic versioning": {release: "1.04.0", err: "is not a version like 1.2.3"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got, err := router.PipelineFor(&Widget{Spec: WidgetSpec{Release: tc.release}})
			if tc.err != "" {
				if err == nil || !strings.Contains(err.Error(), tc.err) {
					t.Errorf("error %v, want %q", err, tc.err)
				}
				return
			}
			if err != nil || names[got] != tc.want {
				t.Errorf("got %q, %v, want %q", names[got], err, tc.want)
			}
		})
	}
}

func TestNewRouterRejectsInvalidRoutes(t *testing.T) {
	release := func(w *Widget) string { return w.Spec.Release }
	cases := map[string][]operatorkit.Route[*Widget]{
		"no routes":      nil,
		"a bad range":    {{Releases: "about 1", Pipeline: operatorkit.NewPipeline[*Widget]()}},
		"no pipeline":    {{Releases: ">=1.0.0"}},
		"an empty range": {{Releases: "", Pipeline: operatorkit.NewPipeline[*Widget]()}},
	}
	for name, routes := range cases {
		t.Run(name, func(t *testing.T) {
			if _, err := operatorkit.NewRouter(release, routes...); err == nil {
				t.Error("NewRouter returned no error")
			}
		})
	}
}
