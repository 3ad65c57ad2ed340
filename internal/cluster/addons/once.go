package addons

import (
	"context"
	"slices"

	"k8s.io/client-go/rest"
)

// Plan returns what [Apply] would change in a cluster, a line for each addon that is not as desired:
// "~ cilium: 1.18.0 → 1.18.1".
func Plan(config *rest.Config, wanted []Chart) ([]string, error) {
	h, err := newHelm(config, &fetcher{}, nil)
	if err != nil {
		return nil, err
	}
	changes, err := h.plan(wanted)
	if err != nil {
		return nil, err
	}
	var lines []string
	for i := range changes {
		if !changes[i].none() {
			lines = append(lines, changes[i].String())
		}
	}
	return lines, nil
}

// Apply changes a cluster that no operator reconciles to the desired addons, once, and returns what it
// changed, also with an error. It uses Folder, Timeout, Transport and Charts of the options. The
// addons have the same records in the cluster as those of an [Installer].
func Apply(ctx context.Context, o Options, config *rest.Config, wanted []Chart) (changes []string, err error) {
	i := New(o)
	done := &result{}
	err = i.work(ctx, config, slices.Clone(wanted), nil, done)
	return done.changes, err
}
