// Package s3 is Amazon S3 in the simulator: buckets with their objects,
// versions, multipart uploads and configuration, and the CloudFormation types
// AWS::S3::Bucket and AWS::S3::BucketPolicy.
//
// A [Buckets] holds everything; bucket names are unique across accounts, as
// they are in AWS. Of S3 Control there are the block public access settings of
// an account. [Buckets.Service] offers the REST API to the wire layer, in
// path style and in virtual-host style, and [Buckets.Providers] the types to
// the simulator's CloudFormation.
package s3
