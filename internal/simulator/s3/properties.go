package s3

// The properties of AWS::S3::Bucket that are configurations, by the query parameter of their
// sub-resource:
// https://docs.aws.amazon.com/AWSCloudFormation/latest/TemplateReference/aws-resource-s3-bucket.html
var bucketProperties = []struct {
	property string
	query    string
	fields   []mapping
}{
	{"OwnershipControls", "ownershipControls", []mapping{
		{property: "Rules", path: "Rule", kind: isStruct, list: true, fields: []mapping{{property: "ObjectOwnership"}}},
	}},
	{"PublicAccessBlockConfiguration", "publicAccessBlock", []mapping{
		{property: "BlockPublicAcls", kind: isBool},
		{property: "IgnorePublicAcls", kind: isBool},
		{property: "BlockPublicPolicy", kind: isBool},
		{property: "RestrictPublicBuckets", kind: isBool},
	}},
	{"VersioningConfiguration", "versioning", []mapping{{property: "Status"}}},
	{"ObjectLockConfiguration", "object-lock", []mapping{
		{property: "ObjectLockEnabled"},
		{property: "Rule", kind: isStruct, fields: []mapping{{property: "DefaultRetention", kind: isStruct, fields: []mapping{
			{property: "Mode"}, {property: "Days", kind: isNumber}, {property: "Years", kind: isNumber},
		}}}},
	}},
	{"BucketEncryption", "encryption", []mapping{
		{property: "ServerSideEncryptionConfiguration", path: "Rule", kind: isStruct, list: true, fields: []mapping{
			{property: "BucketKeyEnabled", kind: isBool},
			{property: "ServerSideEncryptionByDefault", path: "ApplyServerSideEncryptionByDefault", kind: isStruct, fields: []mapping{
				{property: "SSEAlgorithm"}, {property: "KMSMasterKeyID"},
			}},
			{property: "BlockedEncryptionTypes", kind: isStruct, fields: []mapping{{property: "EncryptionType", list: true}}},
		}},
	}},
	{"WebsiteConfiguration", "website", websiteFields},
	{"LoggingConfiguration", "logging", []mapping{
		{property: "DestinationBucketName", path: "LoggingEnabled/TargetBucket"},
		{property: "LogFilePrefix", path: "LoggingEnabled/TargetPrefix"},
		{property: "TargetObjectKeyFormat", path: "LoggingEnabled/TargetObjectKeyFormat", kind: isStruct, fields: []mapping{
			{property: "SimplePrefix", kind: isStruct},
			{property: "PartitionedPrefix", kind: isStruct, fields: []mapping{{property: "PartitionDateSource"}}},
		}},
	}},
	{"CorsConfiguration", "cors", []mapping{
		{property: "CorsRules", path: "CORSRule", kind: isStruct, list: true, fields: []mapping{
			{property: "Id", path: "ID"},
			{property: "AllowedHeaders", path: "AllowedHeader", list: true},
			{property: "AllowedMethods", path: "AllowedMethod", list: true},
			{property: "AllowedOrigins", path: "AllowedOrigin", list: true},
			{property: "ExposedHeaders", path: "ExposeHeader", list: true},
			{property: "MaxAge", path: "MaxAgeSeconds", kind: isNumber},
		}},
	}},
	{"LifecycleConfiguration", "lifecycle", lifecycleFields},
	{"NotificationConfiguration", "notification", []mapping{
		{
			property: "QueueConfigurations",
			path:     "QueueConfiguration",
			kind:     isStruct,
			list:     true,
			fields:   notificationFields("Queue", "Queue"),
		},
		{
			property: "TopicConfigurations",
			path:     "TopicConfiguration",
			kind:     isStruct,
			list:     true,
			fields:   notificationFields("Topic", "Topic"),
		},
		{
			property: "LambdaConfigurations",
			path:     "CloudFunctionConfiguration",
			kind:     isStruct,
			list:     true,
			fields:   notificationFields("Function", "CloudFunction"),
		},
		{property: "EventBridgeConfiguration", kind: isStruct, fields: []mapping{{property: "EventBridgeEnabled", kind: isBool}}},
	}},
	{"AccelerateConfiguration", "accelerate", []mapping{{property: "AccelerationStatus", path: "Status"}}},
	{"ReplicationConfiguration", "replication", replicationFields},
}

var websiteFields = []mapping{
	{property: "IndexDocument", path: "IndexDocument/Suffix"},
	{property: "ErrorDocument", path: "ErrorDocument/Key"},
	{property: "RedirectAllRequestsTo", kind: isStruct, fields: []mapping{{property: "HostName"}, {property: "Protocol"}}},
	{property: "RoutingRules", path: "RoutingRules/RoutingRule", kind: isStruct, list: true, fields: []mapping{
		{property: "RoutingRuleCondition", path: "Condition", kind: isStruct, fields: []mapping{
			{property: "HttpErrorCodeReturnedEquals"}, {property: "KeyPrefixEquals"},
		}},
		{property: "RedirectRule", path: "Redirect", kind: isStruct, fields: []mapping{
			{property: "HostName"},
			{property: "HttpRedirectCode"},
			{property: "Protocol"},
			{property: "ReplaceKeyPrefixWith"},
			{property: "ReplaceKeyWith"},
		}},
	}},
}

// lifecycleFields map every part of a rule's filter to Filter/And; [simplifyFilters] and
// [expandFilters] convert rules with one part.
var lifecycleFields = []mapping{
	{property: "TransitionDefaultMinimumObjectSize"},
	{property: "Rules", path: "Rule", kind: isStruct, list: true, fields: []mapping{
		{property: "Id", path: "ID"},
		{property: "Status"},
		{property: "Prefix", path: "Filter/And/Prefix"},
		{property: "TagFilters", path: "Filter/And/Tag", kind: isStruct, list: true, fields: tagFields},
		{property: "ObjectSizeGreaterThan", path: "Filter/And/ObjectSizeGreaterThan"},
		{property: "ObjectSizeLessThan", path: "Filter/And/ObjectSizeLessThan"},
		{property: "ExpirationInDays", path: "Expiration/Days", kind: isNumber},
		{property: "ExpirationDate", path: "Expiration/Date"},
		{property: "ExpiredObjectDeleteMarker", path: "Expiration/ExpiredObjectDeleteMarker", kind: isBool},
		{property: "AbortIncompleteMultipartUpload", kind: isStruct, fields: []mapping{{property: "DaysAfterInitiation", kind: isNumber}}},
		{property: "NoncurrentVersionExpiration", kind: isStruct, fields: []mapping{
			{property: "NoncurrentDays", kind: isNumber}, {property: "NewerNoncurrentVersions", kind: isNumber},
		}},
		{property: "NoncurrentVersionExpirationInDays", path: "NoncurrentVersionExpiration/NoncurrentDays", kind: isNumber, written: true},
		{
			property: "NoncurrentVersionTransitions",
			path:     "NoncurrentVersionTransition",
			kind:     isStruct,
			list:     true,
			fields:   noncurrentFields,
		},
		{property: "NoncurrentVersionTransition", kind: isStruct, fields: noncurrentFields, written: true},
		{property: "Transitions", path: "Transition", kind: isStruct, list: true, fields: transitionFields},
		{property: "Transition", kind: isStruct, fields: transitionFields, written: true},
	}},
}

var (
	tagFields        = []mapping{{property: "Key"}, {property: "Value"}}
	transitionFields = []mapping{
		{
			property: "StorageClass",
		}, {property: "TransitionInDays", path: "Days", kind: isNumber}, {property: "TransitionDate", path: "Date"},
	}
	noncurrentFields = []mapping{
		{property: "StorageClass"},
		{property: "TransitionInDays", path: "NoncurrentDays", kind: isNumber},
		{property: "NewerNoncurrentVersions", kind: isNumber},
	}
	statusFields = []mapping{{property: "Status"}}
)

func notificationFields(property, element string) []mapping {
	return []mapping{
		{property: property, path: element},
		{property: "Event"},
		{property: "Filter", kind: isStruct, fields: []mapping{
			{property: "S3Key", kind: isStruct, fields: []mapping{
				{
					property: "Rules",
					path:     "FilterRule",
					kind:     isStruct,
					list:     true,
					fields:   []mapping{{property: "Name"}, {property: "Value"}},
				},
			}},
		}},
	}
}

var replicationFields = []mapping{
	{property: "Role"},
	{property: "Rules", path: "Rule", kind: isStruct, list: true, fields: []mapping{
		{property: "Id", path: "ID"},
		{property: "Priority", kind: isNumber},
		{property: "Status"},
		{property: "Prefix"},
		{property: "Filter", kind: isStruct, fields: []mapping{
			{property: "Prefix"},
			{property: "TagFilter", path: "Tag", kind: isStruct, fields: tagFields},
			{property: "And", kind: isStruct, fields: []mapping{
				{property: "Prefix"}, {property: "TagFilters", path: "Tag", kind: isStruct, list: true, fields: tagFields},
			}},
		}},
		{property: "Destination", kind: isStruct, fields: []mapping{
			{property: "Account"},
			{property: "Bucket"},
			{property: "StorageClass"},
			{property: "AccessControlTranslation", kind: isStruct, fields: []mapping{{property: "Owner"}}},
			{property: "EncryptionConfiguration", kind: isStruct, fields: []mapping{{property: "ReplicaKmsKeyID"}}},
			{
				property: "Metrics",
				kind:     isStruct,
				fields: []mapping{
					{property: "Status"},
					{property: "EventThreshold", kind: isStruct, fields: []mapping{{property: "Minutes", kind: isNumber}}},
				},
			},
			{
				property: "ReplicationTime",
				kind:     isStruct,
				fields: []mapping{
					{property: "Status"},
					{property: "Time", kind: isStruct, fields: []mapping{{property: "Minutes", kind: isNumber}}},
				},
			},
		}},
		{property: "DeleteMarkerReplication", kind: isStruct, fields: statusFields},
		{property: "SourceSelectionCriteria", kind: isStruct, fields: []mapping{
			{property: "ReplicaModifications", kind: isStruct, fields: statusFields},
			{property: "SseKmsEncryptedObjects", kind: isStruct, fields: statusFields},
		}},
	}},
}

// simplifyFilters removes And if a lifecycle rule's filter has only one part.
func simplifyFilters(n *node) {
	for _, rule := range n.all("Rule") {
		filter := rule.child("Filter")
		if filter == nil {
			rule.children = append(rule.children, element("Filter", leaf("Prefix", "")))
			continue
		}
		if and := filter.child("And"); and != nil && len(and.children) == 1 {
			filter.children = and.children
		}
	}
}

// expandFilters returns the document with the parts of every filter in And.
func expandFilters(n *node) *node {
	out := element(n.name)
	for _, rule := range n.children {
		filter := rule.child("Filter")
		if rule.name != "Rule" || filter == nil || filter.child("And") != nil {
			out.children = append(out.children, rule)
			continue
		}
		changed := element("Rule")
		for _, c := range rule.children {
			if c == filter {
				c = element("Filter", element("And", nonEmpty(filter.children)...))
			}
			changed.children = append(changed.children, c)
		}
		out.children = append(out.children, changed)
	}
	return out
}

func nonEmpty(in []*node) []*node {
	var out []*node
	for _, n := range in {
		if n.text != "" || len(n.children) > 0 {
			out = append(out, n)
		}
	}
	return out
}
