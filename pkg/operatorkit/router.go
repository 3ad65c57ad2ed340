package operatorkit

import (
	"errors"
	"fmt"
	"strings"

	"github.com/Masterminds/semver/v3"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Route gives the objects of some releases their pipeline.
type Route[T client.Object] struct {
	// Releases is a range in the syntax of github.com/Masterminds/semver/v3,
	// for example ">=1.4.0 <2.0.0-0" or "~1.4".
	Releases string
	// Pipeline runs for the objects whose release is in the range.
	Pipeline *Pipeline[T]
}

// Router picks the pipeline by the object's release, so that an object stays
// on the behaviour of its release until someone moves it. It is a Selector.
//
// The rules:
//
//   - A release is a full semantic version, with or without a leading "v":
//     "1.4.0", "v2.0.0-rc.1". Build metadata ("+5") plays no part.
//   - Routes are tried in the order given; the first whose range holds the
//     release is taken, also if later ones hold it too.
//   - Pre-releases are ordinary versions, ordered before their release:
//     2.0.0-rc.1 is in ">=1.4.0 <2.0.0". Write "<2.0.0-0" to leave them out.
//   - A missing or malformed release, or one in no range, is an error that
//     names the known ranges; the reconciler stalls the object with it.
type Router[T client.Object] struct {
	release func(T) string
	routes  []compiledRoute[T]
}

type compiledRoute[T client.Object] struct {
	Route[T]
	constraint *semver.Constraints
}

// NewRouter makes a router. release reads the release from an object. It errs
// on a range that cannot be parsed, on a route without a pipeline and on no routes.
func NewRouter[T client.Object](release func(T) string, routes ...Route[T]) (*Router[T], error) {
	if len(routes) == 0 {
		return nil, errors.New("a router needs at least one route")
	}
	r := &Router[T]{release: release}
	for _, route := range routes {
		if route.Pipeline == nil {
			return nil, fmt.Errorf("route %q has no pipeline", route.Releases)
		}
		constraint, err := semver.NewConstraint(route.Releases)
		if err != nil {
			return nil, fmt.Errorf("route %q: %w", route.Releases, err)
		}
		constraint.IncludePrerelease = true
		r.routes = append(r.routes, compiledRoute[T]{Route: route, constraint: constraint})
	}
	return r, nil
}

// PipelineFor returns the pipeline of the first route that holds the object's release.
func (r *Router[T]) PipelineFor(obj T) (*Pipeline[T], error) {
	release := r.release(obj)
	if release == "" {
		return nil, fmt.Errorf("the object names no release; known are %s", r.known())
	}
	version, err := semver.StrictNewVersion(strings.TrimPrefix(release, "v"))
	if err != nil {
		return nil, fmt.Errorf("release %q is not a version like 1.2.3; known are %s", release, r.known())
	}
	for _, route := range r.routes {
		if route.constraint.Check(version) {
			return route.Pipeline, nil
		}
	}
	return nil, fmt.Errorf("release %q is not one this operator knows; known are %s", release, r.known())
}

func (r *Router[T]) known() string {
	ranges := make([]string, len(r.routes))
	for i, route := range r.routes {
		ranges[i] = fmt.Sprintf("%q", route.Releases)
	}
	return strings.Join(ranges, ", ")
}
