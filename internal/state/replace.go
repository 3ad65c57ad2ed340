package state

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/aws-operator/aws-operator/api/cluster/v1alpha1"
	"github.com/aws-operator/aws-operator/internal/admit"
	"github.com/aws-operator/aws-operator/internal/cluster/model"
	"github.com/aws-operator/aws-operator/internal/cluster/release"
	"github.com/aws-operator/aws-operator/internal/manifest"
)

// writing is an object to write to its file.
type writing struct {
	object client.Object
	old    client.Object // nil if there is none
	file   string
	there  bool // whether the file exists
}

// there is the existing state of the objects' clusters, its Releases, and those for all states.
type there struct {
	clusters map[string]*found
	releases []*v1alpha1.Release
	shared   []*v1alpha1.Release
}

func (f *files) replace(ctx context.Context, given []client.Object) (changes []Change, err error) {
	objects := make([]client.Object, len(given))
	for i, object := range given {
		objects[i], _ = object.DeepCopyObject().(client.Object) // a copy is of the same type
		f.setNamespace(objects[i])
	}
	names, err := clustersOf(ctx, objects)
	if err != nil {
		return nil, err
	}
	for _, name := range names {
		unlock, err := f.lock(ctx, name, "replace")
		if err != nil {
			return nil, err
		}
		defer func() { err = errors.Join(err, unlock()) }()
	}
	there, err := f.there(ctx, names)
	if err != nil {
		return nil, err
	}
	writings, err := f.prepare(ctx, objects, there)
	if err != nil {
		return nil, err
	}
	return f.carryOut(ctx, writings, there)
}

// setNamespace stores the requested namespace in a definition without one, so that it stays.
func (f *files) setNamespace(object client.Object) {
	if _, ok := object.(*v1alpha1.Release); !ok && object.GetNamespace() == "" {
		object.SetNamespace(f.options.Namespace)
	}
}

func (f *files) there(ctx context.Context, names []string) (*there, error) {
	t := &there{clusters: map[string]*found{}}
	for _, name := range names {
		all, err := f.find(ctx, name, true)
		if err != nil {
			return nil, err
		}
		t.clusters[name] = all
	}
	var err error
	if t.releases, err = f.ownReleases(ctx); err != nil {
		return nil, err
	}
	t.shared, err = f.sharedReleases(ctx)
	return t, err
}

// clustersOf returns the names of the clusters of all objects, sorted.
func clustersOf(ctx context.Context, objects []client.Object) ([]string, error) {
	names, invalid := map[string]bool{}, &InvalidError{}
	for _, object := range objects {
		name := ""
		switch o := object.(type) {
		case *v1alpha1.Cluster:
			name = o.Name
		case *v1alpha1.InstanceGroup:
			name = o.Spec.Cluster
		case *v1alpha1.Release:
			continue
		default:
			kind := object.GetObjectKind().GroupVersionKind().Kind
			invalid.Problems = append(invalid.Problems, Problem{object, fmt.Errorf("%s %s: the state holds Clusters, InstanceGroups and Releases: leave it out", kind, object.GetName())})
			continue
		}
		if !clusterName.MatchString(name) {
			if err := admit.Check(ctx, object, nil); err != nil {
				invalid.Problems = append(invalid.Problems, Problem{object, err})
				continue
			}
			invalid.Problems = append(
				invalid.Problems,
				Problem{object, fmt.Errorf("%q cannot be the name of a cluster: use lower-case letters, digits and hyphens", name)},
			)
			continue
		}
		names[name] = true
	}
	if len(invalid.Problems) > 0 {
		return nil, invalid
	}
	return slices.Sorted(maps.Keys(names)), nil
}

// prepare checks all objects and returns the files to write. It writes nothing.
func (f *files) prepare(ctx context.Context, objects []client.Object, t *there) ([]writing, error) {
	invalid := &InvalidError{}
	var writings []writing
	for _, object := range objects {
		w := writing{object: object}
		w.old, w.there = t.old(object)
		err := admit.Check(ctx, object, w.old)
		if err == nil {
			err = checkEncryption(object, w.old)
		}
		if err == nil {
			if err = f.checkReferences(object, objects, t); err != nil {
				err = fmt.Errorf("%s %s: %w", manifest.Kind(object), object.GetName(), err)
			}
		}
		if err == nil {
			w.file, err = fileOf(clusterOf(object), object)
		}
		if err != nil {
			invalid.Problems = append(invalid.Problems, Problem{object, err})
			continue
		}
		writings = append(writings, w)
	}
	if len(invalid.Problems) > 0 {
		return nil, invalid
	}
	return writings, nil
}

func clusterOf(object client.Object) string {
	switch o := object.(type) {
	case *v1alpha1.InstanceGroup:
		return o.Spec.Cluster
	case *v1alpha1.Release:
		return folderReleases
	}
	return object.GetName()
}

// old returns the existing object, or nil, and whether its file exists. If a user removed the file,
// it returns the object that was last reconciled, if that has AWS resources.
func (t *there) old(object client.Object) (old client.Object, there bool) {
	switch o := object.(type) {
	case *v1alpha1.Cluster:
		switch all := t.clusters[o.Name]; {
		case all.cluster != nil:
			return all.cluster, true
		case all.clusterSeen != nil && len(all.clusterSeen.Finalizers) > 0:
			return all.clusterSeen, false
		}
	case *v1alpha1.InstanceGroup:
		all := t.clusters[o.Spec.Cluster]
		if old := all.groups[o.Name]; old != nil {
			return old, true
		}
		if seen := all.groupsSeen[o.Name]; seen != nil && len(seen.Finalizers) > 0 {
			return seen, false
		}
	case *v1alpha1.Release:
		for _, old := range t.releases {
			if old.Name == o.Name {
				return old, true
			}
		}
	}
	return nil, false
}

// checkEncryption returns an error if encryption is added to a cluster: only an operator can do that.
func checkEncryption(object, old client.Object) error {
	now, ok := object.(*v1alpha1.Cluster)
	was, existed := old.(*v1alpha1.Cluster)
	if ok && existed && was != nil && was.Spec.API.Encryption == nil && now.Spec.API.Encryption != nil {
		return fmt.Errorf("cluster %s: %s", now.Name, model.EncryptionNeedsOperator)
	}
	return nil
}

// checkReferences returns an error if an object references one that does not exist and is not among
// the objects, or if it cannot be changed now.
func (f *files) checkReferences(object client.Object, objects []client.Object, t *there) error {
	switch o := object.(type) {
	case *v1alpha1.Cluster:
		return f.checkCluster(o, objects, t)
	case *v1alpha1.InstanceGroup:
		all := t.clusters[o.Spec.Cluster]
		of := all.cluster
		for _, other := range objects {
			if c, ok := other.(*v1alpha1.Cluster); ok && c.Name == o.Spec.Cluster {
				of = c
			}
		}
		if of == nil {
			return fmt.Errorf("spec.cluster: there is no cluster %s in the state; give its manifest as well", o.Spec.Cluster)
		}
		if err := groupBoots(o, of, t.releasesWith(objects)); err != nil {
			return err
		}
		if seen := all.groupsSeen[o.Name]; seen != nil && !seen.DeletionTimestamp.IsZero() {
			return errors.New("it is being deleted: wait until it no longer exists, and create it again")
		}
	}
	return nil
}

func (f *files) checkCluster(c *v1alpha1.Cluster, objects []client.Object, t *there) error {
	all := t.clusters[c.Name]
	runs, err := release.Find(c.Spec.Release, t.releasesWith(objects)...)
	if err != nil {
		return fmt.Errorf("spec.release: %w; name one of these, or give its manifest as well", err)
	}
	if err := bootable("spec.release", runs, model.ArchitectureOf(c.Spec.ControlPlane.InstanceType)); err != nil {
		return err
	}
	if want := f.options.Namespace; want != "" && c.Namespace != want {
		return fmt.Errorf("metadata.namespace is %s, but --namespace is %s: set only one of them", c.Namespace, want)
	}
	if seen := all.clusterSeen; seen != nil && !seen.DeletionTimestamp.IsZero() {
		return fmt.Errorf("it is being deleted: finish the deletion with aws-operator delete cluster %s --yes, and create it again", c.Name)
	}
	if all.cluster == nil {
		return nil
	}
	if was, is := f.namespaceOf(all.cluster.Namespace), f.namespaceOf(c.Namespace); was != is {
		return fmt.Errorf("metadata.namespace cannot change from %s to %s, since it is in the tags of AWS resources", was, is)
	}
	if all.clusterSeen != nil {
		return f.complete(&Objects{Cluster: all.cluster, Secrets: sorted(all.secrets)}, true)
	}
	// This package writes the status and keys of a new cluster before its definition. A definition
	// alone was copied from elsewhere, and with other keys the cluster would be unreachable.
	return fmt.Errorf(
		"the state has its definition, but neither its status nor its keys: copy the folders status and secrets from where it was created, "+
			"or, if it was never created, remove %s/%s",
		c.Name,
		fileCluster,
	)
}

// groupBoots returns an error if the group's instances cannot boot with the Release of its cluster.
// Errors in the Cluster are reported for the Cluster.
func groupBoots(g *v1alpha1.InstanceGroup, of *v1alpha1.Cluster, releases []*v1alpha1.Release) error {
	runs, err := release.Find(of.Spec.Release, releases...)
	if err != nil {
		return nil //nolint:nilerr // reported for the Cluster
	}
	architecture := g.Spec.Architecture
	if architecture == "" && len(g.Spec.InstanceTypes) > 0 {
		architecture = model.ArchitectureOf(g.Spec.InstanceTypes[0])
	}
	return bootable("spec.cluster", runs, architecture)
}

// bootable returns an error if no instance of an architecture can become a node with a Release.
func bootable(field string, r *v1alpha1.Release, architecture v1alpha1.Architecture) error {
	reasons := release.Unbootable(r, architecture)
	if len(reasons) == 0 {
		return nil
	}
	return fmt.Errorf(
		"%s: no %s instance can boot with release %s: %s; name another release, or create one with all hashes (aws-operator create release)",
		field,
		architecture,
		r.Name,
		strings.Join(reasons, ", "),
	)
}

// releasesWith returns the Releases of the state, those among the objects, and those for all states.
func (t *there) releasesWith(objects []client.Object) []*v1alpha1.Release {
	all := slices.Clone(t.releases)
	for _, object := range objects {
		if r, ok := object.(*v1alpha1.Release); ok {
			all = append(all, r)
		}
	}
	return append(all, t.shared...)
}

// carryOut writes the prepared files. It writes the keys of a new cluster first and its definition
// last: a visible cluster is complete, and after an interruption the same command writes it again.
func (f *files) carryOut(ctx context.Context, writings []writing, t *there) ([]Change, error) {
	changes := make([]Change, len(writings))
	for _, clusters := range []bool{false, true} {
		for i, w := range writings {
			c, isCluster := w.object.(*v1alpha1.Cluster)
			if isCluster != clusters {
				continue
			}
			if isCluster {
				if err := f.establish(ctx, c, t.clusters[c.Name]); err != nil {
					return nil, err
				}
			}
			action, err := f.writeDefinition(ctx, w, t)
			if err != nil {
				return nil, err
			}
			changes[i] = Change{Object: w.object, Action: action}
		}
	}
	return changes, nil
}

func (f *files) writeDefinition(ctx context.Context, w writing, t *there) (Action, error) {
	content, err := manifest.Definition(w.object)
	if err != nil {
		return "", err
	}
	action := Created
	if w.there {
		old, err := manifest.Definition(w.old)
		if err != nil {
			return "", err
		}
		action = Changed
		if reflect.DeepEqual(old, content) {
			action = Unchanged
		}
	}
	if action != Unchanged {
		text, err := manifest.Write(content)
		if err != nil {
			return "", err
		}
		if err := f.store.write(ctx, w.file, text); err != nil {
			return "", err
		}
	}
	return action, f.accept(ctx, w.object, t)
}

// accept records that a definition was validated, so that the next load skips its validation.
func (f *files) accept(ctx context.Context, object client.Object, t *there) error {
	switch o := object.(type) {
	case *v1alpha1.Cluster:
		c := o.DeepCopy()
		c.Namespace = f.namespaceOf(c.Namespace)
		seen := t.clusters[c.Name].clusterSeen
		if seen == nil || sameSpec(c, seen) {
			return nil // establish has recorded it
		}
		c.Status = seen.Status
		f.know(c, seen)
		return f.save(ctx, c.Name, c)
	case *v1alpha1.InstanceGroup:
		all := t.clusters[o.Spec.Cluster]
		g := o.DeepCopy()
		g.Namespace = f.namespaceOf(g.Namespace)
		switch seen := all.groupsSeen[g.Name]; {
		case seen == nil:
			g.UID, g.Generation, g.CreationTimestamp = newUID(), 1, *f.now()
		case sameSpec(g, seen):
			return nil
		default:
			g.Status = seen.Status
			f.know(g, seen)
		}
		return f.save(ctx, g.Spec.Cluster, g)
	}
	return nil
}

// establish creates the identity and the keys of a new cluster. It keeps those of an interrupted
// run.
func (f *files) establish(ctx context.Context, cluster *v1alpha1.Cluster, all *found) error {
	c := cluster.DeepCopy()
	c.Namespace = f.namespaceOf(c.Namespace)
	objects := &Objects{Cluster: c, Secrets: sorted(all.secrets)}
	if seen := all.clusterSeen; seen != nil {
		c.UID, c.Status = seen.UID, seen.Status
	} else {
		if c.UID = ownerOf(objects.Secrets); c.UID == "" {
			c.UID = newUID()
		}
		c.Generation, c.CreationTimestamp = 1, *f.now()
		if err := f.save(ctx, c.Name, c); err != nil {
			return err
		}
	}
	return f.makeKeys(ctx, objects)
}
