package operatorkit

import (
	"errors"
	"fmt"
	"strings"

	"github.com/Masterminds/semver/v3"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Route assigns a pipeline to a range of releases.
type Route[T client.Object] struct {
	// Releases is a range in the syntax of github.com/Masterminds/semver/v3,
	// for example ">=1.4.0 <2.0.0-0" or "~1.4".
	Releases string
	// Pipeline runs for objects whose release is in the range.
	Pipeline *Pipeline[T]
}

// Router is a Selector that picks the pipeline by the object's release, so that
// an object keeps the behavior of its release until a user changes the release.
//
//   - A release is a full semantic version, with or without a leading "v":
//     "1.4.0", "v2.0.0-rc.1". Build metadata ("+5") is ignored.
//   - The first route whose range contains the release is used, even if later
//     ranges contain it too.
//   - Pre-releases are ordinary versions, ordered before their release:
//     2.0.0-rc.1 is in ">=1.4.0 <2.0.0". Write "<2.0.0-0" to exclude them.
//   - If the release is missing, malformed or in no range, PipelineFor returns an
//     error that lists the supported ranges, and the reconciler stalls the object.
type Router[T client.Object] struct {
	release func(T) string
	routes  []compiledRoute[T]
}

type compiledRoute[T client.Object] struct {
	Route[T]
	constraint *semver.Constraints
}

// NewRouter returns a router. The function release returns the release of an
// object. NewRouter returns an error if there are no routes, if a range cannot be
// parsed, or if a route has no pipeline.
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

// PipelineFor returns the pipeline of the first route that contains the object's release.
func (r *Router[T]) PipelineFor(obj T) (*Pipeline[T], error) {
	release := r.release(obj)
	if release == "" {
		return nil, fmt.Errorf("the object specifies no release; supported releases are %s", r.supported())
	}
	version, err := semver.StrictNewVersion(strings.TrimPrefix(release, "v"))
	if err != nil {
		return nil, fmt.Errorf("release %q is not a version like 1.2.3; supported releases are %s", release, r.supported())
	}
	for _, route := range r.routes {
		if route.constraint.Check(version) {
			return route.Pipeline, nil
		}
	}
	return nil, fmt.Errorf("this operator does not support release %q; supported releases are %s", release, r.supported())
}

func (r *Router[T]) supported() string {
	ranges := make([]string, len(r.routes))
	for i, route := range r.routes {
		ranges[i] = fmt.Sprintf("%q", route.Releases)
	}
	return strings.Join(ranges, ", ")
}
