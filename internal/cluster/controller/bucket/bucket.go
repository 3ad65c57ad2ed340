package bucket

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"

	"github.com/aws-operator/aws-operator/api/cluster/v1alpha1"
	"github.com/aws-operator/aws-operator/internal/awsapi"
	"github.com/aws-operator/aws-operator/internal/cfn/stack"
	"github.com/aws-operator/aws-operator/internal/cluster/model"
)

// Bucket accesses a Cluster's bucket.
type Bucket struct {
	client awsapi.S3
	name   string
	key    string // the ARN of the KMS key
}

// of returns the Cluster's bucket, which the outputs of its base stack name.
func of(client awsapi.S3, cluster *v1alpha1.Cluster) Bucket {
	return Bucket{client: client, name: cluster.Status.Outputs[model.OutputBucket], key: cluster.Status.Outputs[model.OutputKey]}
}

// ofIssuer returns the bucket with the issuer's documents: their own bucket if there is one, else
// the Cluster's.
func ofIssuer(client awsapi.S3, cluster *v1alpha1.Cluster) Bucket {
	b := of(client, cluster)
	b.name = cmp.Or(cluster.Status.Outputs[model.OutputIssuerBucket], b.name)
	return b
}

// Name returns the bucket's name.
func (b Bucket) Name() string { return b.name }

// Key returns the ARN of the KMS key with which the bucket's objects are encrypted.
func (b Bucket) Key() string { return b.key }

// Put stores an object, encrypted with the Cluster's key.
func (b Bucket) Put(ctx context.Context, key, contentType string, body io.ReadSeeker, how ...func(*s3.PutObjectInput)) error {
	in := &s3.PutObjectInput{
		Bucket: aws.String(b.name), Key: aws.String(key), Body: body, ContentType: aws.String(contentType),
	}
	if b.key != "" {
		// Do not use a bucket key: the roles may decrypt only with the object's own ARN as the
		// encryption context, which would be the bucket's with a bucket key.
		// https://docs.aws.amazon.com/AmazonS3/latest/userguide/bucket-key.html
		in.ServerSideEncryption, in.SSEKMSKeyId = types.ServerSideEncryptionAwsKms, aws.String(b.key)
	}
	for _, set := range how {
		set(in)
	}
	if _, err := b.client.PutObject(ctx, in); err != nil {
		return fmt.Errorf("store %s in bucket %s: %w", key, b.name, err)
	}
	return nil
}

// KeyCA is the S3 key of the cluster CA's certificate, which identifies the owner of the bucket's
// keys.
const KeyCA = "pki/ca.crt"

// reasonConflict is the reason of a bucket whose keys are not those of the cluster's Secrets.
const reasonConflict = "CertificateAuthorityConflict"

// fingerprint is the name of the metadata of [KeyCA] that holds the certificate's SHA-256.
const fingerprint = "sha256"

// Claim stores the certificate of the cluster's CA, the root of trust of all instances, unless the
// bucket has another CA's. It writes on the condition that no certificate exists, or that it is the
// same. Stored reports that the Cluster's own record contains it, which is sufficient for objects
// without a fingerprint. Current is the fingerprint of the CA that issues certificates, the same one
// or one of a later rotation. Claim returns an error if a rotation has superseded it.
// https://docs.aws.amazon.com/AmazonS3/latest/userguide/conditional-writes.html
func (b Bucket) Claim(ctx context.Context, certificate []byte, current string, stored bool) error {
	sum := sha256.Sum256(certificate)
	mark := hex.EncodeToString(sum[:])
	first := func(in *s3.PutObjectInput) {
		in.Metadata, in.IfNoneMatch = map[string]string{fingerprint: mark}, aws.String("*")
	}
	err := b.Put(ctx, KeyCA, "application/x-pem-file", bytes.NewReader(certificate), first)
	if awsapi.Code(err) != "PreconditionFailed" {
		return err
	}
	found, err := b.client.HeadObject(ctx, &s3.HeadObjectInput{Bucket: aws.String(b.name), Key: aws.String(KeyCA)})
	if err != nil {
		return fmt.Errorf("find %s in bucket %s: %w", KeyCA, b.name, err)
	}
	switch found.Metadata[fingerprint] {
	case mark:
		return b.isCurrent(ctx, current)
	case "":
		if stored {
			return b.Put(
				ctx,
				KeyCA,
				"application/x-pem-file",
				bytes.NewReader(certificate),
				func(in *s3.PutObjectInput) { in.Metadata = map[string]string{fingerprint: mark} },
			)
		}
	}
	return b.conflict()
}

// conflict returns the error for a bucket with the certificate of another cluster's CA.
func (b Bucket) conflict() error {
	return &stack.ForeignError{Reason: reasonConflict, Message: fmt.Sprintf(
		"The bucket %s has the certificate of another certificate authority (CA) under %s. It is not overwritten, since instances trust it. "+
			"Restore the Secrets of the cluster's CAs from where the cluster was created. Only if its keys are permanently lost, delete that object.",
		b.name,
		KeyCA,
	)}
}

// Owned returns an error unless the bucket has the certificate of the cluster's first CA, and no rotation has superseded
// the CA with the fingerprint current. [Bucket.Claim] returns the same errors.
func (b Bucket) Owned(ctx context.Context, certificate []byte, current string) error {
	found, err := b.client.HeadObject(ctx, &s3.HeadObjectInput{Bucket: aws.String(b.name), Key: aws.String(KeyCA)})
	if err != nil {
		return fmt.Errorf("find %s in bucket %s: %w", KeyCA, b.name, err)
	}
	sum := sha256.Sum256(certificate)
	if mark := found.Metadata[fingerprint]; mark != "" && mark != hex.EncodeToString(sum[:]) {
		return b.conflict()
	}
	return b.isCurrent(ctx, current)
}

// isCurrent returns an error if a rotation has superseded a CA: its Secrets are from a backup, and instances that trust
// it would not join the others.
func (b Bucket) isCurrent(ctx context.Context, current string) error {
	superseded, err := b.Has(ctx, model.SupersededKey(current))
	if err != nil || !superseded {
		return err
	}
	return &stack.ForeignError{Reason: reasonConflict, Message: fmt.Sprintf(
		"A rotation has replaced the certificate authorities (CAs) in the Secrets of the cluster, as %s in bucket %s records. "+
			"Restore the latest Secrets of the cluster's CAs.",
		model.SupersededKey(current),
		b.name,
	)}
}

// Supersede records that a rotation has superseded a CA, by its fingerprint.
func (b Bucket) Supersede(ctx context.Context, superseded string) error {
	return b.Put(ctx, model.SupersededKey(superseded), "text/plain", bytes.NewReader(nil))
}

// Publish stores an object without the KMS key, so that reading the bucket is sufficient to read
// it.
func (b Bucket) Publish(ctx context.Context, key, contentType string, data []byte) error {
	if _, err := b.client.PutObject(ctx, &s3.PutObjectInput{
		Bucket: aws.String(b.name), Key: aws.String(key), Body: bytes.NewReader(data), ContentType: aws.String(contentType),
		ServerSideEncryption: types.ServerSideEncryptionAes256,
	}); err != nil {
		return fmt.Errorf("publish %s in bucket %s: %w", key, b.name, err)
	}
	return nil
}

// Has reports whether an object exists.
func (b Bucket) Has(ctx context.Context, key string) (bool, error) {
	_, err := b.client.HeadObject(ctx, &s3.HeadObjectInput{Bucket: aws.String(b.name), Key: aws.String(key)})
	switch awsapi.Code(err) {
	case "NotFound", "NoSuchKey":
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("find %s in bucket %s: %w", key, b.name, err)
	}
	return true, nil
}

// empty deletes all versions of all objects in a bucket. A bucket that does not exist is empty.
func empty(ctx context.Context, client awsapi.S3, name string) error {
	in := &s3.ListObjectVersionsInput{Bucket: aws.String(name)}
	for {
		page, err := client.ListObjectVersions(ctx, in)
		if awsapi.Code(err) == "NoSuchBucket" {
			return nil
		}
		if err != nil {
			return fmt.Errorf("list the objects in bucket %s: %w", name, err)
		}
		var objects []types.ObjectIdentifier
		for i := range page.Versions {
			objects = append(objects, types.ObjectIdentifier{Key: page.Versions[i].Key, VersionId: page.Versions[i].VersionId})
		}
		for i := range page.DeleteMarkers {
			objects = append(objects, types.ObjectIdentifier{Key: page.DeleteMarkers[i].Key, VersionId: page.DeleteMarkers[i].VersionId})
		}
		if err := deleteObjects(ctx, client, name, objects); err != nil {
			return err
		}
		if !aws.ToBool(page.IsTruncated) {
			return nil
		}
		in.KeyMarker, in.VersionIdMarker = page.NextKeyMarker, page.NextVersionIdMarker
	}
}

func deleteObjects(ctx context.Context, client awsapi.S3, name string, objects []types.ObjectIdentifier) error {
	if len(objects) == 0 {
		return nil
	}
	out, err := client.DeleteObjects(
		ctx, &s3.DeleteObjectsInput{Bucket: aws.String(name), Delete: &types.Delete{Objects: objects, Quiet: aws.Bool(true)}},
	)
	if err != nil {
		return fmt.Errorf("empty bucket %s: %w", name, err)
	}
	if len(out.Errors) > 0 {
		return fmt.Errorf("empty bucket %s: %s: %s", name, aws.ToString(out.Errors[0].Key), aws.ToString(out.Errors[0].Message))
	}
	return nil
}
