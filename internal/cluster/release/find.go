package release

import (
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/aws-operator/aws-operator/api/cluster/v1alpha1"
)

// NotFoundError says that there is no Release of a name.
type NotFoundError struct {
	// Name is the name, Known are those that there are.
	Name  string
	Known []string
}

// Error names those that there are.
func (e *NotFoundError) Error() string {
	if len(e.Known) == 0 {
		return fmt.Sprintf("there is no Release %q; there is none at all", e.Name)
	}
	return fmt.Sprintf("there is no Release %q; there are %s", e.Name, strings.Join(e.Known, ", "))
}

// builtin reads those that come with the operator once.
var builtin = sync.OnceValues(Builtin)

// All returns all Releases by name: the given ones, of which the first of a name counts, and the built-in ones of other names. They
// must not be changed. It errs as [Builtin] does.
func All(given ...*v1alpha1.Release) ([]*v1alpha1.Release, error) {
	own, err := builtin()
	if err != nil {
		return nil, err
	}
	all := slices.Concat(given, own)
	slices.SortStableFunc(all, func(a, b *v1alpha1.Release) int { return strings.Compare(a.Name, b.Name) })
	return slices.CompactFunc(all, func(a, b *v1alpha1.Release) bool { return a.Name == b.Name }), nil
}

// Find returns the Release of a name, one of the given ones before a built-in one. It must not be changed. It errs with a
// *[NotFoundError] where there is none.
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

// Named returns the first of a name, nil if there is none.
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
