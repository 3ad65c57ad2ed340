package state

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"slices"
	"strings"
	"sync"

	"github.com/aws/aws-sdk-go-v2/aws"
	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"
	"sigs.k8s.io/yaml"

	"github.com/aws-operator/aws-operator/internal/awsapi"
)

// bucket keeps files as objects of an S3 bucket.
//
// S3 is strongly consistent: a written object is visible at once
// (https://docs.aws.amazon.com/AmazonS3/latest/userguide/Welcome.html#ConsistencyModel). A write
// never overwrites a concurrent change of another client: it names the ETag that it replaces
// (If-Match), or requires that no object exists (If-None-Match: *):
// https://docs.aws.amazon.com/AmazonS3/latest/userguide/conditional-writes.html.
//
// Every object is encrypted, with the bucket's own key unless another is named:
// https://docs.aws.amazon.com/AmazonS3/latest/userguide/default-bucket-encryption.html.
type bucket struct {
	objects awsapi.Objects
	name    string
	prefix  string // empty, or with a slash at its end
	kmsKey  string

	mu    sync.Mutex
	etags map[string]string // by name, of what was read or written
}

func openBucket(ctx context.Context, ref string, options Options) (*bucket, error) {
	name, prefix, _ := strings.Cut(ref, "/")
	if name == "" {
		return nil, fmt.Errorf("the state s3://%s has no bucket name; write s3://bucket/prefix", ref)
	}
	if prefix = strings.Trim(prefix, "/"); prefix != "" {
		prefix += "/"
	}
	clients, err := awsapi.New(ctx, awsapi.Options{UserAgent: options.UserAgent})
	if err != nil {
		return nil, fmt.Errorf("load the AWS configuration: %w", err)
	}
	return &bucket{
		objects: clients.Objects(awsapi.Target{}),
		name:    name,
		prefix:  prefix,
		kmsKey:  options.KMSKey,
		etags:   map[string]string{},
	}, nil
}

func (b *bucket) where(name string) string { return "s3://" + b.name + "/" + b.prefix + name }

func (b *bucket) key(name string) *string { return aws.String(b.prefix + name) }

func (b *bucket) clusters(ctx context.Context) ([]string, error) {
	all, err := b.list(ctx, "")
	if err != nil {
		return nil, err
	}
	var names []string
	for _, file := range all {
		if cluster, ok := strings.CutSuffix(file, "/"+fileCluster); ok && !strings.Contains(cluster, "/") {
			names = append(names, cluster)
		}
	}
	return names, nil
}

func (b *bucket) list(ctx context.Context, folder string) ([]string, error) {
	prefix := b.prefix
	if folder != "" {
		prefix += folder + "/"
	}
	var names []string
	pages := s3.NewListObjectsV2Paginator(b.objects, &s3.ListObjectsV2Input{Bucket: &b.name, Prefix: &prefix})
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return nil, b.explain(err)
		}
		for _, object := range page.Contents {
			names = append(names, strings.TrimPrefix(aws.ToString(object.Key), b.prefix))
		}
	}
	slices.Sort(names)
	return names, nil
}

func (b *bucket) read(ctx context.Context, name string) ([]byte, error) {
	data, _, err := b.get(ctx, name)
	return data, err
}

// get reads an object and its ETag.
func (b *bucket) get(ctx context.Context, name string) (data []byte, etag string, err error) {
	object, err := b.objects.GetObject(ctx, &s3.GetObjectInput{Bucket: &b.name, Key: b.key(name)})
	if err != nil {
		return nil, "", b.explain(err)
	}
	defer func() { _ = object.Body.Close() }()
	if data, err = io.ReadAll(object.Body); err != nil {
		return nil, "", b.explain(err)
	}
	b.remember(name, object.ETag)
	return data, aws.ToString(object.ETag), nil
}

func (b *bucket) remember(name string, etag *string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.etags[name] = aws.ToString(etag)
}

func (b *bucket) known(name string) string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.etags[name]
}

func (b *bucket) write(ctx context.Context, name string, data []byte) error {
	etag := b.known(name)
	if etag == "" { // This process has not read it. It is usually new; otherwise it is overwritten.
		switch _, found, err := b.get(ctx, name); {
		case err == nil:
			etag = found
		case !errors.Is(err, fs.ErrNotExist):
			return err
		}
	}
	return b.put(ctx, name, data, etag)
}

// put writes an object in place of that with the ETag, or a new one if that is empty.
func (b *bucket) put(ctx context.Context, name string, data []byte, etag string) error {
	in := &s3.PutObjectInput{Bucket: &b.name, Key: b.key(name), Body: bytes.NewReader(data), ContentType: aws.String("application/yaml")}
	if etag == "" {
		in.IfNoneMatch = aws.String("*")
	} else {
		in.IfMatch = &etag
	}
	if b.kmsKey != "" {
		in.ServerSideEncryption, in.SSEKMSKeyId = types.ServerSideEncryptionAwsKms, &b.kmsKey
	}
	out, err := b.objects.PutObject(ctx, in)
	if err != nil {
		if isConflict(err) {
			// The response to a first attempt may have been lost, and the retry conflicts with the
			// object that it wrote.
			if there, _, readErr := b.get(ctx, name); readErr == nil && bytes.Equal(there, data) {
				return nil
			}
			return fmt.Errorf(
				"another client has changed %s meanwhile: check the change, and run the command again: %w",
				b.where(name),
				errConflict,
			)
		}
		return b.explain(err)
	}
	b.remember(name, out.ETag)
	return nil
}

// errConflict means that another client has changed an object.
var errConflict = errors.New("changed meanwhile")

// isConflict reports whether the condition of a write did not hold, or another client wrote at the
// same time. A conditional overwrite of a deleted object returns NoSuchKey:
// https://docs.aws.amazon.com/AmazonS3/latest/userguide/conditional-writes.html.
func isConflict(err error) bool {
	switch awsapi.Code(err) {
	case "PreconditionFailed", "ConditionalRequestConflict", "NoSuchKey":
		return true
	}
	return false
}

func (b *bucket) remove(ctx context.Context, name string) error {
	if _, err := b.objects.DeleteObject(ctx, &s3.DeleteObjectInput{Bucket: &b.name, Key: b.key(name)}); err != nil {
		return b.explain(err)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.etags, name)
	return nil
}

// lock creates an object that only one client can create. It takes over the lock of a process of
// this machine that has exited. For other machines, only the user can know.
func (b *bucket) lock(ctx context.Context, cluster string, h Holder) (func() error, error) {
	name := cluster + "/" + fileLock
	text, err := yaml.Marshal(h)
	if err != nil {
		return nil, fmt.Errorf("encode the lock's holder: %w", err)
	}
	err = b.put(ctx, name, text, "")
	if errors.Is(err, errConflict) {
		data, etag, readErr := b.get(ctx, name)
		if readErr != nil && !errors.Is(readErr, fs.ErrNotExist) {
			return nil, readErr
		}
		locked := &LockedError{
			Cluster: cluster,
			Remedy:  "wait until it is done; if that process no longer exists, remove its lock with aws s3 rm " + b.where(name),
		}
		_ = yaml.Unmarshal(data, &locked.Holder) // an unreadable lock names no holder
		if etag == "" || !locked.Holder.exited() {
			return nil, locked
		}
		if err = b.put(ctx, name, text, etag); errors.Is(err, errConflict) {
			return nil, locked
		}
	}
	if err != nil {
		return nil, err
	}
	etag := b.known(name)
	return func() error { return b.unlock(context.WithoutCancel(ctx), name, etag) }, nil
}

// unlock removes a lock, if this process still holds it:
// https://docs.aws.amazon.com/AmazonS3/latest/userguide/conditional-deletes.html.
func (b *bucket) unlock(ctx context.Context, name, etag string) error {
	_, err := b.objects.DeleteObject(ctx, &s3.DeleteObjectInput{Bucket: &b.name, Key: b.key(name), IfMatch: &etag})
	b.mu.Lock()
	delete(b.etags, name)
	b.mu.Unlock()
	if err != nil && !isConflict(err) {
		return fmt.Errorf("release the lock %s: %w", b.where(name), b.explain(err))
	}
	return nil
}

// explain explains an error of S3.
func (b *bucket) explain(err error) error {
	switch code := awsapi.Code(err); {
	case code == "NoSuchKey":
		return fs.ErrNotExist
	case code == "NoSuchBucket":
		return fmt.Errorf("bucket %s does not exist: create it, or name another state with --state", b.name)
	case code == "PermanentRedirect" || code == "AuthorizationHeaderMalformed" || httpStatus(err) == http.StatusMovedPermanently:
		return fmt.Errorf("bucket %s is not in the configured region: set AWS_REGION to the bucket's region", b.name)
	}
	return fmt.Errorf("the state s3://%s: %w", b.name, awsapi.Explain(err))
}

func httpStatus(err error) int {
	if response, ok := errors.AsType[*awshttp.ResponseError](err); ok {
		return response.HTTPStatusCode()
	}
	return 0
}
