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
	"github.com/aws-operator/aws-operator/internal/cluster/controller/credentials"
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
	release, err := s.objects.Release(ctx, cluster)
	if err != nil {
		return operatorkit.Fail(err)
	}
	known, err := s.credentials.EnsureCAs(ctx, cluster)
	if err != nil {
		return credentials.Failed(err)
	}
	inputs := s.inputs(cluster, release, known.Keys)
	if s.bucket.IsStored(cluster.UID, inputs) {
		return operatorkit.Done()
	}
	resolved, err := s.models.Resolve(ctx, cluster, release)
	if err != nil {
		return outcomes.Unresolved(err)
	}
	cas, err := s.credentials.CAs(ctx, cluster)
	if err != nil {
		return credentials.Failed(err)
	}
	if outcome := s.store(ctx, cluster, resolved, cas); !outcome.IsDone() {
		return outcome
	}
	s.bucket.Stored(cluster.UID, inputs)
	return operatorkit.Done()
}

// inputs identifies everything that the stored files depend on.
func (s storeStep) inputs(cluster *v1alpha1.Cluster, release *v1alpha1.Release, keys model.Keys) string {
	return fmt.Sprintf(
		"%s %s %s %s %x",
		keys,
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
	to := s.bucket.Of(cluster)
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
	superseded := cas.Superseded()
	if superseded != nil {
		shown["superseded"] = []byte(superseded.Fingerprint)
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
	if err := to.Claim(ctx, cas.Origin(), cas.Fingerprint(), known.Stored != ""); err != nil {
		return outcomes.Failed(err)
	}
	if err := s.upload(ctx, cluster, resolved.ControlPlaneArchitecture, private, public); err != nil {
		return outcomes.Failed(err)
	}
	if err := supersede(ctx, to, superseded); err != nil {
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

// supersede records in the bucket which CAs are no longer trusted, if any.
func supersede(ctx context.Context, in bucket.Bucket, superseded *pki.Superseded) error {
	if superseded == nil {
		return nil
	}
	return in.Supersede(ctx, superseded.Fingerprint)
}

func (s storeStep) upload(
	ctx context.Context, cluster *v1alpha1.Cluster, architecture v1alpha1.Architecture, private, public map[string][]byte,
) error {
	to := s.bucket.Of(cluster)
	for _, key := range slices.Sorted(maps.Keys(private)) {
		if key == bucket.KeyCA { // Already stored by claim.
			continue
		}
		if err := to.Put(ctx, key, "application/x-pem-file", bytes.NewReader(private[key])); err != nil {
			return err
		}
	}
	for _, key := range slices.Sorted(maps.Keys(public)) {
		if err := s.bucket.OfIssuer(cluster).Publish(ctx, key, "application/json", public[key]); err != nil {
			return err
		}
	}
	return s.bucket.PutNodeup(ctx, cluster, architecture)
}

// EnsureDeleted empties the buckets, so that the base stack can delete them. No instance is left
// that uses them.
func (s storeStep) EnsureDeleted(ctx context.Context, cluster *v1alpha1.Cluster) operatorkit.Outcome {
	s.bucket.Changed(cluster.UID)
	for _, output := range []string{model.OutputBucket, model.OutputIssuerBucket} {
		name := cluster.Status.Outputs[output]
		if name == "" {
			continue
		}
		if outcome := s.outputs.Confirmed(ctx, cluster); !outcome.IsDone() {
			return outcome
		}
		if err := s.bucket.Empty(ctx, cluster, name); err != nil {
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

// digestFiles hashes the files' names and contents.
func digestFiles(files map[string][]byte) string {
	sum := sha256.New()
	for _, name := range slices.Sorted(maps.Keys(files)) {
		_, _ = fmt.Fprintf(sum, "%s %d\n", name, len(files[name])) // Writes to a hash never fail.
		_, _ = sum.Write(files[name])
	}
	return base64.RawURLEncoding.EncodeToString(sum.Sum(nil)[:18])
}
