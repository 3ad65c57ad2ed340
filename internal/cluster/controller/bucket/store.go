package bucket

import (
	"context"

	"k8s.io/apimachinery/pkg/types"

	"github.com/aws-operator/aws-operator/api/cluster/v1alpha1"
	"github.com/aws-operator/aws-operator/internal/awsapi"
	"github.com/aws-operator/aws-operator/internal/cluster/controller/cache"
	"github.com/aws-operator/aws-operator/internal/cluster/model"
	"github.com/aws-operator/aws-operator/internal/cluster/programs"
)

// Store opens Clusters' buckets and caches what they contain.
type Store struct {
	s3     func(*v1alpha1.Cluster) awsapi.S3
	nodeup *programs.Folder
	// stored caches the inputs of what is stored in a bucket.
	stored *cache.Keyed[types.UID, string]
	// storedNodeup caches the key of the nodeup that was last stored in the bucket of a Cluster
	// that is being created.
	storedNodeup *cache.Keyed[types.UID, string]
}

// NewStore returns a store. S3 returns the client of a Cluster's account and region; nodeup has the
// programs that instances run.
func NewStore(s3 func(*v1alpha1.Cluster) awsapi.S3, nodeup *programs.Folder) *Store {
	return &Store{s3: s3, nodeup: nodeup, stored: cache.NewKeyed[types.UID, string](), storedNodeup: cache.NewKeyed[types.UID, string]()}
}

// Forget drops what is cached for a deleted Cluster.
func (s *Store) Forget(uid types.UID) {
	s.Changed(uid)
	s.Trim(uid)
}

// Changed makes the next reconcile compare the content of the Cluster's bucket with its inputs
// again.
func (s *Store) Changed(uid types.UID) { s.stored.Drop(uid) }

// Trim drops what is cached only while a Cluster is created.
func (s *Store) Trim(uid types.UID) { s.storedNodeup.Drop(uid) }

// IsStored reports whether what depends on the inputs is known to be stored.
func (s *Store) IsStored(uid types.UID, inputs string) bool {
	last, ok := s.stored.Get(uid)
	return ok && last == inputs
}

// Stored records that what depends on the inputs is stored.
func (s *Store) Stored(uid types.UID, inputs string) { s.stored.Keep(uid, inputs) }

// Of returns the Cluster's bucket.
func (s *Store) Of(cluster *v1alpha1.Cluster) Bucket { return of(s.s3(cluster), cluster) }

// OfIssuer returns the bucket with the issuer's documents.
func (s *Store) OfIssuer(cluster *v1alpha1.Cluster) Bucket { return ofIssuer(s.s3(cluster), cluster) }

// Empty deletes all versions of all objects in a bucket of the Cluster's account and region.
func (s *Store) Empty(ctx context.Context, cluster *v1alpha1.Cluster, name string) error {
	return empty(ctx, s.s3(cluster), name)
}

// PutNodeup stores nodeup for an architecture unless it exists, which is cached while a Cluster is
// created.
func (s *Store) PutNodeup(ctx context.Context, cluster *v1alpha1.Cluster, architecture v1alpha1.Architecture) error {
	file, err := s.nodeup.Find(architecture)
	if err != nil {
		return err
	}
	b, key := s.Of(cluster), model.NodeupKey(file.Hash, architecture)
	if last, ok := s.storedNodeup.Get(cluster.UID); ok && last == key {
		return nil
	}
	there, err := b.Has(ctx, key)
	if err != nil {
		return err
	}
	if !there {
		body, err := file.Open()
		if err != nil {
			return err
		}
		defer func() { _ = body.Close() }() // It was only read.
		if err := b.Put(ctx, key, "application/octet-stream", body); err != nil {
			return err
		}
	}
	if cluster.Status.Version == "" {
		s.storedNodeup.Keep(cluster.UID, key)
	}
	return nil
}

// NodeupHash returns the hash of nodeup for an architecture.
func (s *Store) NodeupHash(architecture v1alpha1.Architecture) (string, error) {
	file, err := s.nodeup.Find(architecture)
	return file.Hash, err
}
