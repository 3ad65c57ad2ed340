// Package s3 simulates Amazon S3: buckets with their objects, versions, multipart uploads and
// configuration, and the CloudFormation types AWS::S3::Bucket and AWS::S3::BucketPolicy.
//
// A [Buckets] keeps everything in memory; bucket names are unique across accounts, as in AWS. Of S3
// Control it supports the block public access settings of an account. [Buckets.Service] provides
// the REST API to the wire layer, in path style and in virtual-host style, and [Buckets.Providers]
// the types to the simulator's CloudFormation.
package s3
