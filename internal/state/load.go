package state

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"path"
	"reflect"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/uuid"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/aws-operator/aws-operator/api/cluster/v1alpha1"
	"github.com/aws-operator/aws-operator/internal/admit"
	"github.com/aws-operator/aws-operator/internal/cluster/model"
	"github.com/aws-operator/aws-operator/internal/manifest"
	"github.com/aws-operator/aws-operator/internal/yamltree"
)

func uid(text string) types.UID { return types.UID(text) }

func newUID() types.UID { return uuid.NewUUID() }

// found is the content of all files of a cluster.
type found struct {
	cluster, clusterSeen *v1alpha1.Cluster
	groups, groupsSeen   map[string]*v1alpha1.InstanceGroup
	secrets              map[string]*corev1.Secret
}

func (f *files) load(ctx context.Context, cluster string, strict bool) (*Objects, error) {
	if !clusterName.MatchString(cluster) {
		return nil, f.notFound(ctx, cluster)
	}
	all, err := f.find(ctx, cluster, strict)
	if err != nil {
		return nil, err
	}
	if all.cluster == nil {
		if len(all.groups)+len(all.secrets) == 0 && all.clusterSeen == nil && len(all.groupsSeen) == 0 {
			return nil, f.notFound(ctx, cluster)
		}
		return nil, &IncompleteError{
			Cluster: cluster, Missing: f.store.where(cluster+"/"+fileCluster) + " is missing",
			Remedy: "restore the file, or write it again with aws-operator replace -f FILE",
		}
	}
	objects := f.merge(all)
	if objects.Releases, err = f.releases(ctx); err != nil {
		return nil, err
	}
	if !strict {
		return objects, nil
	}
	if err := checkEdits(ctx, all); err != nil {
		return nil, err
	}
	if objects.Cluster.DeletionTimestamp.IsZero() {
		if err := f.complete(objects, all.clusterSeen != nil); err != nil {
			return nil, err
		}
	}
	return objects, nil
}

// checkEdits returns an error if a user has edited a definition in a way that Replace would reject.
func checkEdits(ctx context.Context, all *found) error {
	invalid := &InvalidError{}
	check := func(object, seen client.Object) {
		if seen != nil && sameSpec(object, seen) {
			return
		}
		err := admit.Check(ctx, object, seen)
		if err == nil {
			err = checkEncryption(object, seen)
		}
		if err != nil {
			invalid.Problems = append(invalid.Problems, Problem{object, err})
		}
	}
	if seen := all.clusterSeen; seen != nil {
		check(all.cluster, seen)
	} else {
		check(all.cluster, nil)
	}
	for _, group := range sorted(all.groups) {
		if seen := all.groupsSeen[group.Name]; seen != nil {
			check(group, seen)
		} else {
			check(group, nil)
		}
	}
	if len(invalid.Problems) > 0 {
		return invalid
	}
	return nil
}

// find reads the files of a cluster.
func (f *files) find(ctx context.Context, cluster string, secrets bool) (*found, error) {
	names, err := f.store.list(ctx, cluster)
	if err != nil {
		return nil, err
	}
	all := &found{
		groups:     map[string]*v1alpha1.InstanceGroup{},
		groupsSeen: map[string]*v1alpha1.InstanceGroup{},
		secrets:    map[string]*corev1.Secret{},
	}
	for _, name := range names {
		if !strings.HasSuffix(name, extension) {
			continue
		}
		base := strings.TrimSuffix(path.Base(name), extension)
		switch folder := path.Dir(name); {
		case name == path.Join(cluster, fileCluster):
			all.cluster, err = readObject[*v1alpha1.Cluster](ctx, f.store, name)
		case name == path.Join(cluster, folderStatus, fileCluster):
			all.clusterSeen, err = readObject[*v1alpha1.Cluster](ctx, f.store, name)
		case folder == path.Join(cluster, folderGroups):
			all.groups[base], err = readObject[*v1alpha1.InstanceGroup](ctx, f.store, name)
		case folder == path.Join(cluster, folderStatus, folderGroups):
			all.groupsSeen[base], err = readObject[*v1alpha1.InstanceGroup](ctx, f.store, name)
		case folder == path.Join(cluster, folderSecrets) && secrets:
			all.secrets[base], err = f.readSecret(ctx, name)
		}
		if err == nil {
			err = f.misplaced(all, cluster, name, base)
		}
		if err != nil {
			return nil, err
		}
	}
	return all, nil
}

// misplaced returns an error if the content of a file does not match its name.
func (f *files) misplaced(all *found, cluster, name, base string) error {
	where := f.store.where(name)
	if name == path.Join(cluster, fileCluster) && all.cluster.Name != cluster {
		return yamltree.Problem{
			File:    where,
			Path:    "metadata.name",
			Message: fmt.Sprintf("the cluster's name is %s, but its folder's is %s: give both the same name", all.cluster.Name, cluster),
		}
	}
	if path.Dir(name) != path.Join(cluster, folderGroups) {
		return nil
	}
	switch group := all.groups[base]; {
	case group.Name != base:
		return yamltree.Problem{
			File:    where,
			Path:    "metadata.name",
			Message: fmt.Sprintf("the instance group's name is %s: rename the file to %s%s", group.Name, group.Name, extension),
		}
	case group.Spec.Cluster != cluster:
		return yamltree.Problem{
			File: where,
			Path: "spec.cluster",
			Message: fmt.Sprintf(
				"the instance group belongs to cluster %q, but is in the folder of cluster %s: use the same name for both",
				group.Spec.Cluster,
				cluster,
			),
		}
	}
	return nil
}

// merge combines definitions with their status.
func (f *files) merge(all *found) *Objects {
	objects := &Objects{Cluster: all.cluster, Secrets: sorted(all.secrets)}
	c := objects.Cluster
	c.Namespace = f.namespaceOf(c.Namespace)
	if seen := all.clusterSeen; seen != nil {
		c.Status = seen.Status
		f.know(c, seen)
	} else {
		c.Generation = 1
	}
	if c.UID == "" { // Its status was lost.
		c.UID = ownerOf(objects.Secrets)
	}
	for name, seen := range all.groupsSeen {
		if group := all.groups[name]; group != nil {
			group.Status = seen.Status
			f.know(group, seen)
		} else if len(seen.Finalizers) > 0 { // A user removed the file, but the group still has resources in AWS.
			gone := seen.DeepCopy()
			if gone.DeletionTimestamp.IsZero() {
				gone.DeletionTimestamp = f.now()
			}
			all.groups[name] = gone
		}
	}
	objects.Groups = sorted(all.groups)
	for _, group := range objects.Groups {
		group.Namespace = cmp.Or(group.Namespace, c.Namespace)
		group.Generation = max(group.Generation, 1)
	}
	return objects
}

// ownerOf returns the UID of the cluster that owns the Secrets, if they have it.
func ownerOf(secrets []*corev1.Secret) types.UID {
	for _, secret := range secrets {
		if owner := metav1.GetControllerOf(secret); owner != nil {
			return owner.UID
		}
	}
	return ""
}

// now returns the time in whole seconds, the resolution of metav1.Time.
func (f *files) now() *metav1.Time {
	now := metav1.NewTime(f.options.Clock.Now().UTC()).Rfc3339Copy()
	return &now
}

func (f *files) namespaceOf(given string) string {
	return cmp.Or(given, f.options.Namespace, DefaultNamespace)
}

// know adds the status and metadata of the last run to a definition. It increments the generation
// if the spec has changed.
func (f *files) know(object, seen client.Object) {
	object.SetUID(seen.GetUID())
	object.SetGeneration(seen.GetGeneration())
	object.SetCreationTimestamp(seen.GetCreationTimestamp())
	object.SetDeletionTimestamp(seen.GetDeletionTimestamp())
	object.SetFinalizers(seen.GetFinalizers())
	object.SetOwnerReferences(seen.GetOwnerReferences())
	if !sameSpec(object, seen) {
		object.SetGeneration(seen.GetGeneration() + 1)
	}
}

// sameSpec reports whether two objects have the same spec.
func sameSpec(a, b client.Object) bool {
	one, err := manifest.Definition(a)
	other, otherErr := manifest.Definition(b)
	return err == nil && otherErr == nil && reflect.DeepEqual(one["spec"], other["spec"])
}

// complete returns an error if keys of a cluster are missing: existing instances would not trust
// new ones. A cluster whose control plane EKS runs has none here.
func (f *files) complete(o *Objects, madeHere bool) error {
	if model.UsesEKS(o.Cluster) {
		return nil
	}
	var missing []string
	for _, suffix := range caSuffixes {
		if o.Secret(o.Cluster.Name+suffix) == nil {
			missing = append(missing, o.Cluster.Name+suffix+extension)
		}
	}
	if len(missing) == 0 {
		return nil
	}
	remedy := "restore them from a backup or from the machine that created them: with other keys its instances are no longer reachable"
	if !madeHere {
		remedy = fmt.Sprintf(
			"if the cluster is new, create them with aws-operator replace -f %s; otherwise %s",
			f.store.where(o.Cluster.Name+"/"+fileCluster),
			remedy,
		)
	}
	folder := f.store.where(path.Join(o.Cluster.Name, folderSecrets))
	return &IncompleteError{
		Cluster: o.Cluster.Name,
		Missing: fmt.Sprintf("%s has no %s", folder, strings.Join(missing, ", ")),
		Remedy:  remedy,
	}
}

// readObject reads a file with one object of a type.
func readObject[T client.Object](ctx context.Context, s store, name string) (object T, err error) {
	data, err := s.read(ctx, name)
	if err != nil {
		return object, err
	}
	where := s.where(name)
	if err := incompleteFile(name, where, data); err != nil {
		return object, err
	}
	set, err := manifest.Read([]manifest.Source{{Name: where, Reader: bytes.NewReader(data)}}, manifest.Options{})
	if err != nil {
		if strings.Contains(err.Error(), "this is not YAML") {
			err = halfWritten(err)
		}
		return object, err
	}
	kind := strings.TrimPrefix(reflect.TypeFor[T]().String(), "*v1alpha1.")
	objects := manifest.Objects[T](set)
	switch {
	case len(set.Manifests) == 0:
		return object, yamltree.Problem{
			File:    where,
			Message: fmt.Sprintf("the file is empty, but must contain a %s: restore it from Git or a backup", kind),
		}
	case len(set.Manifests) > 1 || len(objects) != 1:
		got := make([]string, len(set.Manifests))
		for i, m := range set.Manifests {
			got[i] = m.Object.GetObjectKind().GroupVersionKind().Kind + " " + m.Object.GetName()
		}
		return object, yamltree.Problem{
			File:    where,
			Message: fmt.Sprintf("the file must contain one %s, but has %s: keep each object in its own file", kind, strings.Join(got, ", ")),
		}
	}
	if field := missingField(objects[0]); field != "" {
		return object, yamltree.Problem{
			File: where, Line: set.Manifests[0].Line, Path: field,
			Message: "this is missing; if the file was not edited, a write was interrupted: restore it from Git or a backup",
		}
	}
	return objects[0], nil
}

// halfWritten adds the possible cause to errors about a definition that is not YAML.
func halfWritten(err error) error {
	if problems, ok := errors.AsType[yamltree.Problems](err); ok {
		problems = slices.Clone(problems)
		for i := range problems {
			problems[i].Message += "; if the file was not edited, a write was interrupted: restore it from Git or a backup"
		}
		return problems
	}
	return err
}

// incompleteFile returns an error if a file that users do not edit lacks its end marker.
func incompleteFile(name, where string, data []byte) error {
	_, inCluster, _ := strings.Cut(name, "/")
	if !isSecret(name) && !strings.HasPrefix(inCluster, folderStatus+"/") || bytes.HasSuffix(data, []byte(fileEnd)) {
		return nil
	}
	return yamltree.Problem{
		File: where, Line: max(1, bytes.Count(data, []byte("\n"))),
		Message: "the file is incomplete, since a write was interrupted: restore it from Git or a backup",
	}
}

// missingField returns a required field that the object lacks, or "".
func missingField(object client.Object) string {
	switch o := object.(type) {
	case *v1alpha1.Cluster:
		switch {
		case o.Spec.Release == "":
			return "spec.release"
		case o.Spec.Region == "":
			return "spec.region"
		case o.Spec.Network.CIDR == "" && o.Spec.Network.VPC == "":
			return "spec.network"
		}
	case *v1alpha1.InstanceGroup:
		switch {
		case o.Spec.Cluster == "":
			return "spec.cluster"
		case o.Spec.MaxSize == 0:
			return "spec.maxSize"
		}
	case *v1alpha1.Release:
		if o.Spec.Kubernetes == "" {
			return "spec.kubernetes"
		}
	}
	return ""
}
