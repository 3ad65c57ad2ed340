package state

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path"
	"regexp"
	"slices"
	"strings"
	"sync"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/aws-operator/aws-operator/api/cluster/v1alpha1"
	"github.com/aws-operator/aws-operator/internal/cluster/release"
	"github.com/aws-operator/aws-operator/internal/manifest"
)

// The files of a cluster, in a folder of its name. The files of Releases are next to the clusters.
const (
	fileCluster    = "cluster.yaml"
	fileLock       = "lock"
	folderGroups   = "instancegroups"
	folderStatus   = "status"
	folderSecrets  = "secrets"
	folderReleases = "releases"
	extension      = ".yaml"
)

// store stores files by names with slashes. Each write is atomic. The error for a file that does
// not exist is fs.ErrNotExist.
type store interface {
	reader
	writer
}

type reader interface {
	// clusters returns the names of the folders that hold a cluster, sorted.
	clusters(ctx context.Context) ([]string, error)
	// list returns the names of the files in a folder and below, sorted.
	list(ctx context.Context, folder string) ([]string, error)
	read(ctx context.Context, name string) ([]byte, error)
	// where returns the name of a file for messages.
	where(name string) string
}

type writer interface {
	write(ctx context.Context, name string, data []byte) error
	// remove removes a file. It succeeds if the file does not exist.
	remove(ctx context.Context, name string) error
	// lock keeps other clients from changing a cluster. It returns a *LockedError if another client
	// holds the lock.
	lock(ctx context.Context, cluster string, h Holder) (unlock func() error, err error)
}

// files stores clusters in files.
type files struct {
	ref     string
	store   store
	options Options

	mu   sync.Mutex
	held map[string]bool // the clusters that this process has locked
}

func newFiles(ref string, s store, options Options) *files {
	return &files{ref: ref, store: s, options: options, held: map[string]bool{}}
}

func (f *files) client() client.WithWatch { return nil }

func (f *files) clusters(ctx context.Context) ([]string, error) { return f.store.clusters(ctx) }

// clusterName matches valid names of clusters, which are names of folders.
var clusterName = regexp.MustCompile(`^[a-z]([-a-z0-9]*[a-z0-9])?$`)

// fileOf returns the name of the file of an object's definition, or of a Secret.
func fileOf(cluster string, object client.Object) (string, error) {
	name := object.GetName()
	if name == "" || strings.ContainsAny(name, "/\\") || strings.HasPrefix(name, ".") || !clusterName.MatchString(cluster) {
		return "", fmt.Errorf("%q of cluster %q cannot be the name of a file", name, cluster)
	}
	switch object.(type) {
	case *v1alpha1.Cluster:
		return cluster + "/" + fileCluster, nil
	case *v1alpha1.InstanceGroup:
		return path.Join(cluster, folderGroups, name+extension), nil
	case *corev1.Secret:
		return path.Join(cluster, folderSecrets, name+extension), nil
	case *v1alpha1.Release:
		return path.Join(folderReleases, name+extension), nil
	}
	return "", fmt.Errorf("a %T is not kept in the state", object)
}

// statusOf returns the status file for a definition file.
func statusOf(definition string) string {
	cluster, rest, _ := strings.Cut(definition, "/")
	return path.Join(cluster, folderStatus, rest)
}

// isSecret reports whether only the owner may read a file.
func isSecret(name string) bool { return strings.Contains("/"+name, "/"+folderSecrets+"/") }

// releases returns the Releases of the state, and those of the folder for all states with other
// names.
func (f *files) releases(ctx context.Context) ([]*v1alpha1.Release, error) {
	own, err := f.ownReleases(ctx)
	if err != nil {
		return nil, err
	}
	shared, err := f.sharedReleases(ctx)
	if err != nil {
		return nil, err
	}
	for _, r := range shared {
		if release.Named(own, r.Name) == nil {
			own = append(own, r)
		}
	}
	return own, nil
}

func (f *files) ownReleases(ctx context.Context) ([]*v1alpha1.Release, error) {
	return releasesIn(ctx, f.store, folderReleases)
}

func (f *files) sharedReleases(ctx context.Context) ([]*v1alpha1.Release, error) {
	if f.options.Releases == "" {
		return nil, nil
	}
	if _, err := os.Stat(f.options.Releases); err != nil {
		return nil, fmt.Errorf("read the releases for all states: %w", err)
	}
	return releasesIn(ctx, &directory{root: f.options.Releases}, ".")
}

// releasesIn returns the Releases in the files of a folder.
func releasesIn(ctx context.Context, s store, folder string) ([]*v1alpha1.Release, error) {
	names, err := s.list(ctx, folder)
	if err != nil {
		return nil, err
	}
	var releases []*v1alpha1.Release
	for _, name := range names {
		if path.Dir(name) != folder || !strings.HasSuffix(name, extension) {
			continue
		}
		one, err := readObject[*v1alpha1.Release](ctx, s, name)
		if err != nil {
			return nil, err
		}
		releases = append(releases, one)
	}
	return releases, nil
}

func (f *files) lock(ctx context.Context, cluster, purpose string) (func() error, error) {
	if !clusterName.MatchString(cluster) {
		return nil, f.notFound(ctx, cluster)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.held[cluster] {
		return func() error { return nil }, nil
	}
	unlock, err := f.store.lock(ctx, cluster, holder(f.options.Clock, purpose))
	if err != nil {
		return nil, err
	}
	f.held[cluster] = true
	return sync.OnceValue(func() error {
		f.mu.Lock()
		defer f.mu.Unlock()
		delete(f.held, cluster)
		return unlock()
	}), nil
}

func (f *files) notFound(ctx context.Context, cluster string) error {
	others, err := f.clusters(ctx)
	if err != nil {
		return err
	}
	return &NotFoundError{Kind: "cluster", Name: cluster, State: f.ref, Others: others}
}

func (f *files) save(ctx context.Context, cluster string, object client.Object) error {
	name, err := fileOf(cluster, object)
	if err != nil {
		return err
	}
	if secret, ok := object.(*corev1.Secret); ok {
		return f.writeSecret(ctx, name, secret)
	}
	content, err := manifest.Content(object)
	if err != nil {
		return err
	}
	text, err := manifest.Write(content)
	if err != nil {
		return err
	}
	return f.store.write(ctx, statusOf(name), slices.Concat([]byte(statusHead), text, []byte(fileEnd)))
}

const (
	// statusHead begins files that users do not edit.
	statusHead = "# Status, written by aws-operator. Do not edit.\n"
	// fileEnd ends files that users do not edit: the YAML document end marker, by which truncated
	// files are detected.
	fileEnd = "...\n"
)

func (f *files) remove(ctx context.Context, cluster string, object client.Object) error {
	name, err := fileOf(cluster, object)
	if err != nil {
		return err
	}
	err = f.store.remove(ctx, name)
	if !isSecret(name) {
		err = errors.Join(err, f.store.remove(ctx, statusOf(name)))
	}
	return err
}

// secretFile is the format of a Secret's file.
type secretFile struct {
	APIVersion string         `json:"apiVersion"`
	Kind       string         `json:"kind"`
	Metadata   secretMetadata `json:"metadata"`
	Type       string         `json:"type,omitempty"`
	// Data are in base64, as in kubectl's output.
	Data map[string]string `json:"data"`
}

func (f *files) writeSecret(ctx context.Context, name string, secret *corev1.Secret) error {
	text, err := yaml.Marshal(newSecretFile(secret))
	if err != nil {
		return fmt.Errorf("write the Secret %s: %w", secret.Name, err)
	}
	return f.store.write(ctx, name, append(text, fileEnd...))
}

// sorted returns the values of a map in the order of its keys.
func sorted[V any](m map[string]V) []V {
	keys := make([]string, 0, len(m))
	for key := range m {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	values := make([]V, 0, len(m))
	for _, key := range keys {
		values = append(values, m[key])
	}
	return values
}
