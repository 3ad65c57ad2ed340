package terraform

import (
	"errors"
	"strings"

	"github.com/aws-operator/aws-operator/internal/cfn/template"
)

// iamRows are of what machines may do.
var iamRows = map[string]*row{
	"AWS::IAM::Role": {
		// The provider puts 26 characters to a prefix, and a role's name has at most 64.
		to: "aws_iam_role", ref: "name", attributes: map[string]string{"Arn": "arn", "RoleId": "unique_id"}, tagged: true, named: 38,
		awaited: true,
		properties: fields{
			"AssumeRolePolicyDocument": document("assume_role_policy"),
			"Description":              argument("description"),
			"PermissionsBoundary":      argument("permissions_boundary"),
			"ManagedPolicyArns":        attachments,
			"Policies": split("aws_iam_role_policy", "role", "id", "PolicyName", fields{
				"PolicyName":     argument("name"),
				"PolicyDocument": document("policy"),
			}),
			"Tags": stackTags,
		},
	},
	"AWS::IAM::ManagedPolicy": {
		to: "aws_iam_policy", ref: "arn", attributes: map[string]string{"PolicyArn": "arn", "PolicyId": "policy_id"}, named: 102,
		properties: fields{"Description": argument("description"), "PolicyDocument": document("policy")},
	},
	"AWS::IAM::InstanceProfile": {
		to: "aws_iam_instance_profile", ref: "name", attributes: map[string]string{"Arn": "arn"}, named: 102,
		properties: fields{"Roles": only("role")},
	},
	"AWS::IAM::OIDCProvider": {
		to: "aws_iam_openid_connect_provider", ref: "arn", attributes: map[string]string{"Arn": "arn"}, tagged: true,
		properties: fields{"Url": argument("url"), "ClientIdList": argument("client_id_list")},
	},
}

// attachments makes each policy that a role has by its ARN a resource of its own.
func attachments(t *target, n *template.Node) error {
	return each(n, func(_ int, item *template.Node) error {
		policy, err := t.value(item)
		if err != nil {
			return err
		}
		suffix := ""
		switch arn, isLiteral := policy.literal(); {
		case isLiteral:
			suffix = snake(arn[strings.LastIndex(arn, "/")+1:])
		case item.Func == "Ref":
			suffix = snake(strings.TrimSuffix(item.Arg.Text, "Policy"))
		default:
			return errors.New("it must be an ARN or a Ref, since it names the resource")
		}
		part, err := t.part("aws_iam_role_policy_attachment", suffix)
		if err != nil {
			return err
		}
		part.block.set("role", t.main("name"))
		part.block.set("policy_arn", policy)
		return nil
	})
}

// storageRows are of what must not be lost.
var storageRows = map[string]*row{
	"AWS::KMS::Key": {
		to: "aws_kms_key", ref: "key_id", attributes: map[string]string{"Arn": "arn", "KeyId": "key_id"}, tagged: true,
		properties: fields{
			"Description":         argument("description"),
			"EnableKeyRotation":   plainly("enable_key_rotation"),
			"PendingWindowInDays": plainly("deletion_window_in_days"),
			"KeyPolicy":           document("policy"),
			"Tags":                stackTags,
		},
	},
	"AWS::KMS::Alias": {
		to: "aws_kms_alias", ref: "name",
		properties: fields{"AliasName": argument("name"), "TargetKeyId": argument("target_key_id")},
	},
	"AWS::S3::Bucket": {
		to: "aws_s3_bucket", ref: "id", tagged: true, awaited: true, finally: emptied,
		attributes: map[string]string{
			"Arn":                "arn",
			"DomainName":         "bucket_domain_name",
			"RegionalDomainName": "bucket_regional_domain_name",
		},
		properties: fields{
			"BucketName": argument("bucket"),
			"Tags":       stackTags,
			"OwnershipControls": ofBucket("aws_s3_bucket_ownership_controls", fields{
				"Rules": inner("rule", fields{"ObjectOwnership": argument("object_ownership")}),
			}),
			"PublicAccessBlockConfiguration": ofBucket("aws_s3_bucket_public_access_block", fields{
				"BlockPublicAcls":       plainly("block_public_acls"),
				"BlockPublicPolicy":     plainly("block_public_policy"),
				"IgnorePublicAcls":      plainly("ignore_public_acls"),
				"RestrictPublicBuckets": plainly("restrict_public_buckets"),
			}),
			"VersioningConfiguration": ofBucket("aws_s3_bucket_versioning", fields{
				"Status": within("versioning_configuration", argument("status")),
			}),
			"BucketEncryption": ofBucket("aws_s3_bucket_server_side_encryption_configuration", fields{
				"ServerSideEncryptionConfiguration": inner("rule", fields{
					"BucketKeyEnabled": plainly("bucket_key_enabled"),
					"ServerSideEncryptionByDefault": inner("apply_server_side_encryption_by_default", fields{
						"SSEAlgorithm":   argument("sse_algorithm"),
						"KMSMasterKeyID": argument("kms_master_key_id"),
					}),
				}),
			}),
			"LifecycleConfiguration": ofBucket("aws_s3_bucket_lifecycle_configuration", fields{
				"Rules": inner("rule", fields{
					"Id":     argument("id"),
					"Status": argument("status"),
					"NoncurrentVersionExpiration": inner(
						"noncurrent_version_expiration", fields{"NoncurrentDays": plainly("noncurrent_days")},
					),
					"ExpiredObjectDeleteMarker": within("expiration", plainly("expired_object_delete_marker")),
					"AbortIncompleteMultipartUpload": inner(
						"abort_incomplete_multipart_upload", fields{"DaysAfterInitiation": plainly("days_after_initiation")},
					),
				}, func(b *block) { b.add("filter") }), // for all objects
			}),
		},
	},
	"AWS::S3::BucketPolicy": {
		to: "aws_s3_bucket_policy", ref: "id",
		properties: fields{"Bucket": argument("bucket"), "PolicyDocument": document("policy")},
	},
	"AWS::EC2::Volume": {
		to: "aws_ebs_volume", ref: "id", attributes: map[string]string{"VolumeId": "id"}, tagged: true, snapshot: "final_snapshot",
		properties: fields{
			"AvailabilityZone": argument("availability_zone"),
			"Encrypted":        plainly("encrypted"),
			"KmsKeyId":         argument("kms_key_id"),
			"SnapshotId":       argument("snapshot_id"),
			"VolumeType":       argument("type"),
			"Size":             plainly("size"),
			"Iops":             plainly("iops"),
			"Throughput":       plainly("throughput"),
			"Tags":             stackTags,
		},
	},
}

// emptied lets a bucket or a zone be destroyed with what machines and the operator have put into
// it, as the operator does before it deletes a stack. One that is retained is not destroyed at all.
func emptied(t *target) error {
	t.block.set("force_destroy", raw("true"))
	return nil
}
