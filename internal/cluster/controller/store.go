package controller

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"io"
	"maps"
	"slices"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"

	"github.com/aws-operator/aws-operator/api/cluster/v1alpha1"
	"github.com/aws-operator/aws-operator/internal/awsapi"
	"github.com/aws-operator/aws-operator/internal/cfn/stack"
	"github.com/aws-operator/aws-operator/internal/cluster/model"
)

// bucket accesses a Cluster's bucket.
type bucket struct {
	client awsapi.S3
	name   string
	key    string // the ARN of the KMS key
}

// bucketOf returns the Cluster's bucket, which the outputs of its base stack name.
func (o *operator) bucketOf(cluster *v1alpha1.Cluster) bucket {
	return bucket{
		client: o.options.Clients.S3(o.target(cluster)),
		name:   cluster.Status.Outputs[model.OutputBucket], key: cluster.Status.Outputs[model.OutputKey],
	}
}

// issuerBucketOf returns the bucket with the issuer's documents: their own bucket if there is one,
// else the Cluster's.
func (o *operator) issuerBucketOf(cluster *v1alpha1.Cluster) bucket {
	b := o.bucketOf(cluster)
	b.name = cmp.Or(cluster.Status.Outputs[model.OutputIssuerBucket], b.name)
	return b
}

// put stores an object, encrypted with the Cluster's key.
func (b bucket) put(ctx context.Context, key, contentType string, body io.ReadSeeker, how ...func(*s3.PutObjectInput)) error {
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

// keyCA is the S3 key of the cluster CA's certificate, which identifies the owner of the bucket's
// keys.
const keyCA = "pki/ca.crt"

// fingerprint is the name of the metadata of keyCA that holds the certificate's SHA-256.
const fingerprint = "sha256"

// claim stores the certificate of the cluster's CA, the root of trust of all instances, unless the
// bucket has another CA's. It writes on the condition that no certificate exists, or that it is the
// same. Stored reports that the Cluster's own record contains it, which is sufficient for objects
// without a fingerprint.
// https://docs.aws.amazon.com/AmazonS3/latest/userguide/conditional-writes.html
func (b bucket) claim(ctx context.Context, certificate []byte, stored bool) error {
	sum := sha256.Sum256(certificate)
	mark := hex.EncodeToString(sum[:])
	first := func(in *s3.PutObjectInput) {
		in.Metadata, in.IfNoneMatch = map[string]string{fingerprint: mark}, aws.String("*")
	}
	err := b.put(ctx, keyCA, "application/x-pem-file", bytes.NewReader(certificate), first)
	if awsapi.Code(err) != "PreconditionFailed" {
		return err
	}
	found, err := b.client.HeadObject(ctx, &s3.HeadObjectInput{Bucket: aws.String(b.name), Key: aws.String(keyCA)})
	if err != nil {
		return fmt.Errorf("find %s in bucket %s: %w", keyCA, b.name, err)
	}
	switch found.Metadata[fingerprint] {
	case mark:
		return nil
	case "":
		if stored {
			return b.put(
				ctx,
				keyCA,
				"application/x-pem-file",
				bytes.NewReader(certificate),
				func(in *s3.PutObjectInput) { in.Metadata = map[string]string{fingerprint: mark} },
			)
		}
	}
	return &stack.ForeignError{Reason: "CertificateAuthorityConflict", Message: fmt.Sprintf(
		"The bucket %s has the certificate of another certificate authority (CA) under %s. It is not overwritten, since instances trust it. "+
			"Restore the Secrets of the cluster's CAs from where the cluster was created. Only if its keys are permanently lost, delete that object.",
		b.name,
		keyCA,
	)}
}

// publish stores an object without the KMS key, so that reading the bucket is sufficient to read
// it.
func (b bucket) publish(ctx context.Context, key, contentType string, data []byte) error {
	if _, err := b.client.PutObject(ctx, &s3.PutObjectInput{
		Bucket: aws.String(b.name), Key: aws.String(key), Body: bytes.NewReader(data), ContentType: aws.String(contentType),
		ServerSideEncryption: types.ServerSideEncryptionAes256,
	}); err != nil {
		return fmt.Errorf("publish %s in bucket %s: %w", key, b.name, err)
	}
	return nil
}

// has reports whether an object exists.
func (b bucket) has(ctx context.Context, key string) (bool, error) {
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
	there, err := b.has(ctx, key)
	if err != nil {
		return err
	}
	if !there {
		body, err := file.Open()
		if err != nil {
			return err
		}
		defer func() { _ = body.Close() }() // It was only read.
		if err := b.put(ctx, key, "application/octet-stream", body); err != nil {
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

// empty deletes all versions of all objects in a bucket. A bucket that does not exist is empty.
func (o *operator) empty(ctx context.Context, target awsapi.Target, name string) error {
	client := o.options.Clients.S3(target)
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
		ctx,
		&s3.DeleteObjectsInput{Bucket: aws.String(name), Delete: &types.Delete{Objects: objects, Quiet: aws.Bool(true)}},
	)
	if err != nil {
		return fmt.Errorf("empty bucket %s: %w", name, err)
	}
	if len(out.Errors) > 0 {
		return fmt.Errorf("empty bucket %s: %s: %s", name, aws.ToString(out.Errors[0].Key), aws.ToString(out.Errors[0].Message))
	}
	return nil
}
