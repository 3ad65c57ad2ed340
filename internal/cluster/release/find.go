package release

import (
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/aws-operator/aws-operator/api/cluster/v1alpha1"
)

// NotFoundError reports that there is no Release with a name.
type NotFoundError struct {
	// Name is the name, Known are the existing ones.
	Name  string
	Known []string
}

// Error lists the existing Releases.
func (e *NotFoundError) Error() string {
	if len(e.Known) == 0 {
		return fmt.Sprintf("there is no Release %q; no Release exists", e.Name)
	}
	return fmt.Sprintf("there is no Release %q; known Releases: %s", e.Name, strings.Join(e.Known, ", "))
}

// builtin parses the built-in Releases once.
var builtin = sync.OnceValues(Builtin)

// All returns all Releases sorted by name: the given ones, where the first of a name wins, and the
// built-in ones with other names. Callers must not change them. It returns the errors of [Builtin].
func All(given ...*v1alpha1.Release) ([]*v1alpha1.Release, error) {
	own, err := builtin()
	if err != nil {
		return nil, err
	}
	all := slices.Concat(given, own)
	slices.SortStableFunc(all, func(a, b *v1alpha1.Release) int { return strings.Compare(a.Name, b.Name) })
	return slices.CompactFunc(all, func(a, b *v1alpha1.Release) bool { return a.Name == b.Name }), nil
}

// Find returns the Release with a name, preferring given ones to built-in ones. Callers must not
// change it. It returns a *[NotFoundError] if there is none.
func Find(name string, given ...*v1alpha1.Release) (*v1alpha1.Release, error) {
	if found := Named(given, name); found != nil {
		return found, nil
	}
	all, err := All(given...)
	if err != nil {
		return nil, err
	}
	if found := Named(all, name); found != nil {
		return found, nil
	}
	return nil, &NotFoundError{Name: name, Known: Names(all)}
}

// Named returns the first Release with a name, nil if there is none.
func Named(all []*v1alpha1.Release, name string) *v1alpha1.Release {
	i := slices.IndexFunc(all, func(r *v1alpha1.Release) bool { return r.Name == name })
	if i < 0 {
		return nil
	}
	return all[i]
}

// Names returns their names, in the same order.
func Names(all []*v1alpha1.Release) []string {
	names := make([]string, len(all))
	for i, one := range all {
		names[i] = one.Name
	}
	return names
}
