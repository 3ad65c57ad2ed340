package operatorkit_test

import (
	"strings"
	"testing"

	"github.com/aws-operator/aws-operator/pkg/operatorkit"
)

func TestRouterPicksByRelease(t *testing.T) {
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
		"inside a range":                             {release: "1.2.3", want: "old"},
		"the first version of a range":               {release: "1.4.0", want: "current"},
		"a leading v is allowed":                     {release: "v1.4.0", want: "current"},
		"build metadata plays no part":               {release: "1.4.0+5", want: "current"},
		"the first of two ranges wins":               {release: "1.9.5", want: "current"},
		"-0 keeps pre-releases of the end out":       {release: "1.4.0-rc.1", want: "current"},
		"without -0 pre-releases of the end are in":  {release: "2.0.0-rc.1", want: "current"},
		"a pre-release in the middle of a range":     {release: "1.2.0-alpha", want: "old"},
		"the last range":                             {release: "2.0.0", want: "next"},
		"before every range":                         {release: "0.9.0", err: `release "0.9.0" is not one this operator knows; known are ">=1.0.0 <1.4.0-0", ">=1.4.0-0 <2.0.0", ">=1.9.0"`},
		"a pre-release of the first version of all":  {release: "1.0.0-rc.1", err: "is not one this operator knows"},
		"two numbers are no release":                 {release: "1.4", err: "is not a version like 1.2.3"},
		"words are no release":                       {release: "latest", err: "is not a version like 1.2.3"},
		"nothing is no release":                      {release: "", err: "names no release"},
		"leading zeros are none of semantic version": {release: "1.04.0", err: "is not a version like 1.2.3"},
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

func TestRouterRefusesBadRoutes(t *testing.T) {
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
				t.Error("a router was made")
			}
		})
	}
}
