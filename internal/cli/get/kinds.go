package get

import (
	"context"
	"slices"
	"strconv"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/duration"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/aws-operator/aws-operator/api/cluster/v1alpha1"
	"github.com/aws-operator/aws-operator/internal/cluster/release"
	"github.com/aws-operator/aws-operator/internal/state"
)

// kinds returns the kinds that the command can show. The columns are those of kubectl.
func kinds() []kind {
	return []kind{
		{
			plural: "clusters", singular: kindCluster, short: "Show clusters", find: clusters, row: clusterRow,
			columns: []string{"NAME", "RELEASE", "VERSION", "NODES", "READY", "REASON", "REGION", "ENDPOINT", "AGE"}, wide: 3,
		},
		{
			plural: "instancegroups", singular: "instancegroup", aliases: []string{"ig", "igs"}, short: "Show instance groups",
			find: groups, row: groupRow,
			columns: []string{
				"NAME",
				"CLUSTER",
				"VERSION",
				"MIN",
				"MAX",
				"NODES",
				"UPDATED",
				"READY",
				"REASON",
				"TYPES",
				"AGE",
			}, wide: 2, ofCluster: true,
		},
		{
			plural: "releases", singular: "release", short: "Show releases, including the built-in ones", find: releases, row: releaseRow,
			columns: []string{"NAME", "KUBERNETES", "RESOURCESET", "STATE", "ARCHITECTURES"}, wide: 1,
		},
	}
}

func definitions(ctx context.Context, from *state.State, cluster string) ([]*state.Objects, error) {
	names := []string{cluster}
	if cluster == "" {
		var err error
		if names, err = from.Clusters(ctx); err != nil {
			return nil, err
		}
	}
	all := make([]*state.Objects, len(names))
	for i, name := range names {
		var err error
		if all[i], err = from.Definition(ctx, name); err != nil {
			return nil, err
		}
	}
	return all, nil
}

func clusters(ctx context.Context, from *state.State, cluster string) ([]client.Object, error) {
	all, err := definitions(ctx, from, cluster)
	if err != nil {
		return nil, err
	}
	objects := make([]client.Object, len(all))
	for i, one := range all {
		objects[i] = one.Cluster
	}
	return objects, nil
}

func groups(ctx context.Context, from *state.State, cluster string) ([]client.Object, error) {
	all, err := definitions(ctx, from, cluster)
	if err != nil {
		return nil, err
	}
	var objects []client.Object
	for _, one := range all {
		for _, group := range one.Groups {
			objects = append(objects, group)
		}
	}
	return objects, nil
}

// releases returns the releases of the state, and the built-in ones that are not among them.
func releases(ctx context.Context, from *state.State, _ string) ([]client.Object, error) {
	kept, err := from.Releases(ctx)
	if err != nil {
		return nil, err
	}
	all, err := release.All(kept...)
	if err != nil {
		return nil, err
	}
	objects := make([]client.Object, len(all))
	for i, one := range all {
		objects[i] = one
	}
	return objects, nil
}

func clusterRow(object client.Object) []string {
	c, ok := object.(*v1alpha1.Cluster)
	if !ok {
		return nil
	}
	ready, reason := readiness(c.DeletionTimestamp, c.Status.Conditions)
	return []string{
		c.Name,
		c.Spec.Release,
		dash(c.Status.Version),
		dash(c.Status.Nodes.Summary),
		ready,
		reason,
		c.Spec.Region,
		dash(c.Status.Endpoint),
		age(c),
	}
}

func groupRow(object client.Object) []string {
	g, ok := object.(*v1alpha1.InstanceGroup)
	if !ok {
		return nil
	}
	ready, reason := readiness(g.DeletionTimestamp, g.Status.Conditions)
	return []string{
		g.Name, g.Spec.Cluster, dash(g.Status.Version), strconv.Itoa(int(g.Spec.MinSize)), strconv.Itoa(int(g.Spec.MaxSize)),
		dash(g.Status.Nodes.Summary), dash(g.Status.Nodes.UpdatedSummary), ready, reason, strings.Join(g.Spec.InstanceTypes, ","), age(g),
	}
}

func releaseRow(object client.Object) []string {
	r, ok := object.(*v1alpha1.Release)
	if !ok {
		return nil
	}
	var architectures []string
	for architecture := range r.Spec.Images {
		architectures = append(architectures, string(architecture))
	}
	slices.Sort(architectures)
	kept := r.Spec.State
	if kept == "" {
		kept = v1alpha1.ReleaseActive
	}
	return []string{r.Name, r.Spec.Kubernetes, r.Spec.ResourceSet, string(kept), strings.Join(architectures, ",")}
}

// readiness returns the status of the condition Ready, or that the object is being deleted.
func readiness(deleted *metav1.Time, conditions []metav1.Condition) (ready, reason string) {
	condition := meta.FindStatusCondition(conditions, "Ready")
	switch {
	case !deleted.IsZero() && condition == nil:
		return "-", "Deleting"
	case condition == nil:
		return "-", "-"
	}
	return string(condition.Status), condition.Reason
}

func dash(text string) string {
	if text == "" {
		return "-"
	}
	return text
}

func age(object client.Object) string {
	if made := object.GetCreationTimestamp(); !made.IsZero() {
		return duration.HumanDuration(time.Since(made.Time))
	}
	return "-"
}
