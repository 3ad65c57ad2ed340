package controller

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/aws-operator/aws-operator/api/cluster/v1alpha1"
	"github.com/aws-operator/aws-operator/internal/cluster/controller/bucket"
	"github.com/aws-operator/aws-operator/internal/cluster/controller/outcomes"
	"github.com/aws-operator/aws-operator/internal/cluster/model"
	"github.com/aws-operator/aws-operator/internal/cluster/pki"
	"github.com/aws-operator/aws-operator/internal/cluster/programs"
	"github.com/aws-operator/aws-operator/internal/cluster/record"
	"github.com/aws-operator/aws-operator/pkg/operatorkit"
)

// storeStep stores in the bucket what instances download: the CAs, nodeup for the control plane,
// and the service-account issuer's documents.
type storeStep struct{ *operator }

// Name returns the step's name.
func (s storeStep) Name() string { return "store" }

// EnsureCreated stores what is missing. The base stack's record holds the digest of what is stored.
func (s storeStep) EnsureCreated(ctx context.Context, cluster *v1alpha1.Cluster) operatorkit.Outcome {
	release, err := s.release(ctx, cluster)
	if err != nil {
		return operatorkit.Fail(err)
	}
	inputs := s.inputs(cluster, release)
	if last, ok := s.stored.Get(cluster.UID); ok && last == inputs {
		return operatorkit.Done()
	}
	resolved, err := s.models.Resolve(ctx, cluster, release)
	if err != nil {
		return outcomes.Unresolved(err)
	}
	cas, err := s.casOf(ctx, cluster)
	if err != nil {
		return brokenPKI(err)
	}
	if outcome := s.store(ctx, cluster, resolved, cas); !outcome.IsDone() {
		return outcome
	}
	s.stored.Keep(cluster.UID, inputs)
	return operatorkit.Done()
}

// inputs identifies everything that the stored files depend on.
func (s storeStep) inputs(cluster *v1alpha1.Cluster, release *v1alpha1.Release) string {
	return fmt.Sprintf(
		"%s %s %s %x",
		cluster.Status.Outputs[model.OutputBucket],
		cluster.Status.Outputs[model.OutputIssuerBucket],
		cluster.Status.Outputs[model.OutputKey],
		s.models.Digest(cluster, release).Sum64(),
	)
}

// store uploads everything that is not recorded as stored.
func (s storeStep) store(ctx context.Context, cluster *v1alpha1.Cluster, resolved *model.Cluster, cas *pki.CAs) operatorkit.Outcome {
	nodeup, err := s.nodeup.Find(resolved.ControlPlaneArchitecture)
	if err != nil {
		return lackingNodeup(err)
	}
	public := map[string][]byte{}
	if resolved.Issuer != "" {
		if public, err = cas.IssuerDocuments(resolved.Issuer); err != nil {
			return operatorkit.Fail(err)
		}
	}
	to := s.bucketOf(cluster)
	private := cas.Files()
	// The certificates and the public key stand for the private keys, so that the status has no
	// trace of those.
	shown := maps.Clone(public)
	for name, content := range private {
		if !strings.HasSuffix(name, ".key") {
			shown[name] = content
		}
	}
	shown["bucket"], shown["key"], shown["nodeup"] = []byte(to.Name()), []byte(to.Key()), []byte(nodeup.Hash)
	if issuer := cluster.Status.Outputs[model.OutputIssuerBucket]; issuer != "" {
		shown["issuer bucket"] = []byte(issuer)
	}
	restore := cluster.Spec.ControlPlane.RestoreSnapshot
	if restore != "" {
		shown["restore"] = []byte(restore)
	}
	digest := digestFiles(shown)
	status := record.FindOrAdd(cluster, resolved.StackName)
	known, err := record.Decode(status)
	if err != nil {
		return operatorkit.Fail(err)
	}
	if known.Stored == digest {
		return operatorkit.Done()
	}
	if outcome := s.outputs.Confirmed(ctx, cluster); !outcome.IsDone() {
		return outcome
	}
	if err := to.Claim(ctx, cas.CACertificate(), known.Stored != ""); err != nil {
		return outcomes.Failed(err)
	}
	if err := s.upload(ctx, cluster, resolved.ControlPlaneArchitecture, private, public); err != nil {
		return outcomes.Failed(err)
	}
	if restore != "" {
		if err := s.putRestore(ctx, cluster, to, restore, resolved.ControlPlaneArchitecture); err != nil {
			return lackingNodeup(err)
		}
	}
	known.Stored = digest
	if err := record.Encode(status, known); err != nil {
		return operatorkit.Fail(err)
	}
	return operatorkit.Done()
}

func (s storeStep) upload(
	ctx context.Context,
	cluster *v1alpha1.Cluster,
	architecture v1alpha1.Architecture,
	private, public map[string][]byte,
) error {
	to := s.bucketOf(cluster)
	for _, key := range slices.Sorted(maps.Keys(private)) {
		if key == bucket.KeyCA { // Already stored by claim.
			continue
		}
		if err := to.Put(ctx, key, "application/x-pem-file", bytes.NewReader(private[key])); err != nil {
			return err
		}
	}
	for _, key := range slices.Sorted(maps.Keys(public)) {
		if err := bucket.OfIssuer(s.options.Clients.S3(s.target(cluster)), cluster).Publish(ctx, key, "application/json", public[key]); err != nil {
			return err
		}
	}
	return s.putNodeup(ctx, cluster, architecture)
}

// EnsureDeleted empties the buckets, so that the base stack can delete them. No instance is left
// that uses them.
func (s storeStep) EnsureDeleted(ctx context.Context, cluster *v1alpha1.Cluster) operatorkit.Outcome {
	s.stored.Drop(cluster.UID)
	for _, output := range []string{model.OutputBucket, model.OutputIssuerBucket} {
		name := cluster.Status.Outputs[output]
		if name == "" {
			continue
		}
		if outcome := s.outputs.Confirmed(ctx, cluster); !outcome.IsDone() {
			return outcome
		}
		if err := bucket.Empty(ctx, s.options.Clients.S3(s.target(cluster)), name); err != nil {
			return outcomes.Failed(err)
		}
	}
	return operatorkit.Done()
}

// lackingNodeup returns the outcome for a missing nodeup in the operator's installation, or for a
// failure to read it.
func lackingNodeup(err error) operatorkit.Outcome {
	if _, ok := errors.AsType[programs.MissingError](err); ok {
		return operatorkit.Wait(outcomes.EventPoll, "NodeupMissing", outcomes.Capital(err.Error())+".").Degraded()
	}
	return outcomes.Failed(err)
}

// bucketOf returns the Cluster's bucket.
func (o *operator) bucketOf(cluster *v1alpha1.Cluster) bucket.Bucket {
	return bucket.Of(o.options.Clients.S3(o.target(cluster)), cluster)
}

// putNodeup stores nodeup for an architecture unless it exists, which is cached while a Cluster is
// created.
func (o *operator) putNodeup(ctx context.Context, cluster *v1alpha1.Cluster, architecture v1alpha1.Architecture) error {
	file, err := o.nodeup.Find(architecture)
	if err != nil {
		return err
	}
	b, key := o.bucketOf(cluster), model.NodeupKey(file.Hash, architecture)
	if last, ok := o.storedNodeup.Get(cluster.UID); ok && last == key {
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
		o.storedNodeup.Keep(cluster.UID, key)
	}
	return nil
}

// nodeupHash returns the hash of nodeup for an architecture.
func (o *operator) nodeupHash(architecture v1alpha1.Architecture) (string, error) {
	file, err := o.nodeup.Find(architecture)
	return file.Hash, err
}

// digestFiles hashes the files' names and contents.
func digestFiles(files map[string][]byte) string {
	sum := sha256.New()
	for _, name := range slices.Sorted(maps.Keys(files)) {
		_, _ = fmt.Fprintf(sum, "%s %d\n", name, len(files[name])) // Writes to a hash never fail.
		_, _ = sum.Write(files[name])
	}
	return base64.RawURLEncoding.EncodeToString(sum.Sum(nil)[:18])
}
