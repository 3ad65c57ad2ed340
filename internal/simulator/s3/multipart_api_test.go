package s3_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"
)

// https://docs.aws.amazon.com/AmazonS3/latest/userguide/mpuoverview.html
func TestMultipartUpload(t *testing.T) {
	c := newSuite(t).bucket()
	ctx, key := t.Context(), aws.String("big")
	for _, algorithm := range []types.ChecksumAlgorithm{"", types.ChecksumAlgorithmCrc32, types.ChecksumAlgorithmSha256, types.ChecksumAlgorithmCrc64nvme} {
		t.Run("checksum "+string(algorithm), func(t *testing.T) {
			up := must[*s3.CreateMultipartUploadOutput](t)(
				c.CreateMultipartUpload(ctx, &s3.CreateMultipartUploadInput{Bucket: things, Key: key, ChecksumAlgorithm: algorithm}),
			)
			var parts []types.CompletedPart
			for i, data := range [][]byte{bytes.Repeat([]byte("a"), 5<<20), []byte("end")} {
				p := must[*s3.UploadPartOutput](t)(c.UploadPart(ctx, &s3.UploadPartInput{
					Bucket: things, Key: key, UploadId: up.UploadId, PartNumber: aws.Int32(int32(i) + 1), Body: bytes.NewReader(data),
					ChecksumAlgorithm: algorithm,
				}))
				parts = append(
					parts,
					types.CompletedPart{
						ETag:              p.ETag,
						PartNumber:        aws.Int32(int32(i) + 1),
						ChecksumCRC32:     p.ChecksumCRC32,
						ChecksumSHA256:    p.ChecksumSHA256,
						ChecksumCRC64NVME: p.ChecksumCRC64NVME,
					},
				)
			}
			if list := must[*s3.ListPartsOutput](t)(c.ListParts(ctx, &s3.ListPartsInput{
				Bucket: things, Key: key, UploadId: up.UploadId,
			})); len(list.Parts) != 2 {
				t.Fatalf("got %+v", list)
			}
			in := &s3.CompleteMultipartUploadInput{
				Bucket:          things,
				Key:             key,
				UploadId:        up.UploadId,
				MultipartUpload: &types.CompletedMultipartUpload{Parts: []types.CompletedPart{parts[1], parts[0]}},
			}
			_, err := c.CompleteMultipartUpload(ctx, in)
			wantError(
				t,
				err,
				"InvalidPartOrder",
				"The list of parts was not in ascending order. The parts list must be specified in order by part number.",
			)
			in.MultipartUpload.Parts = parts
			done := must[*s3.CompleteMultipartUploadOutput](t)(c.CompleteMultipartUpload(ctx, in))
			if !strings.HasSuffix(*done.ETag, `-2"`) {
				t.Fatalf("got %s", *done.ETag)
			}
			head := must[*s3.HeadObjectOutput](t)(
				c.HeadObject(ctx, &s3.HeadObjectInput{Bucket: things, Key: key, PartNumber: aws.Int32(2)}),
			)
			if *head.ContentLength != 3 || *head.PartsCount != 2 {
				t.Fatalf("got %+v", head)
			}
			got := must[*s3.GetObjectOutput](t)(
				c.GetObject(ctx, &s3.GetObjectInput{Bucket: things, Key: key, ChecksumMode: types.ChecksumModeEnabled}),
			)
			if text := read(t, got.Body); len(text) != 5<<20+3 || !strings.HasSuffix(text, "aend") {
				t.Fatalf("got %d bytes", len(text))
			}
		})
	}
}

func TestMultipartUploadRefuses(t *testing.T) {
	c := newSuite(t).bucket()
	ctx, key := t.Context(), aws.String("big")
	up := must[*s3.CreateMultipartUploadOutput](t)(c.CreateMultipartUpload(ctx, &s3.CreateMultipartUploadInput{Bucket: things, Key: key}))
	var parts []types.CompletedPart
	for i := range int32(2) {
		p := must[*s3.UploadPartOutput](t)(
			c.UploadPart(
				ctx,
				&s3.UploadPartInput{
					Bucket:     things,
					Key:        key,
					UploadId:   up.UploadId,
					PartNumber: aws.Int32(i + 1),
					Body:       strings.NewReader("x"),
				},
			),
		)
		parts = append(parts, types.CompletedPart{ETag: p.ETag, PartNumber: aws.Int32(i + 1)})
	}
	_, err := c.CompleteMultipartUpload(
		ctx,
		&s3.CompleteMultipartUploadInput{
			Bucket:          things,
			Key:             key,
			UploadId:        up.UploadId,
			MultipartUpload: &types.CompletedMultipartUpload{Parts: parts},
		},
	)
	wantError(t, err, "EntityTooSmall", "Your proposed upload is smaller than the minimum allowed size")
	if list := must[*s3.ListMultipartUploadsOutput](t)(c.ListMultipartUploads(ctx, &s3.ListMultipartUploadsInput{Bucket: things})); len(
		list.Uploads,
	) != 1 {
		t.Fatalf("got %+v", list)
	}
	must[*s3.AbortMultipartUploadOutput](t)(
		c.AbortMultipartUpload(ctx, &s3.AbortMultipartUploadInput{Bucket: things, Key: key, UploadId: up.UploadId}),
	)
	_, err = c.ListParts(ctx, &s3.ListPartsInput{Bucket: things, Key: key, UploadId: up.UploadId})
	wantError(
		t,
		err,
		"NoSuchUpload",
		"The specified upload does not exist. The upload ID may be invalid, or the upload may have been aborted or completed.",
	)
}
