package s3

import (
	"net/http"
	"slices"
	"strings"
)

// subresource is a part of a bucket's configuration: an XML document with its own query parameter.
type subresource struct {
	query     string // the parameter, also the key in the bucket
	operation string // the operation's name after Get, Put or Delete
	root      string
	// absent returns GET's response while it is not set: a document, or an error.
	absent  func(k *bucket) *node
	code    string
	message string
	status  int // of the error, 404 unless set
	// check returns S3's validation errors.
	check func(k *bucket, n *node) error
	// deleted is the operation that deletes it, if there is one.
	deleted string
}

func empty(root string) func(*bucket) *node {
	return func(*bucket) *node { return element(root) }
}

// subresources are the configurations of a bucket:
// https://docs.aws.amazon.com/AmazonS3/latest/API/API_Operations_Amazon_Simple_Storage_Service.html
var subresources = []subresource{
	{
		query:     "versioning",
		operation: "BucketVersioning",
		root:      "VersioningConfiguration",
		absent:    empty("VersioningConfiguration"),
		check:     checkVersioning,
	},
	{
		query: "website", operation: "BucketWebsite", root: "WebsiteConfiguration", deleted: "DeleteBucketWebsite",
		code: "NoSuchWebsiteConfiguration", message: "The specified bucket does not have a website configuration", check: checkWebsite,
	},
	{query: "logging", operation: "BucketLogging", root: "BucketLoggingStatus", absent: empty("BucketLoggingStatus")},
	{
		query: "encryption", operation: "BucketEncryption", root: "ServerSideEncryptionConfiguration", deleted: "DeleteBucketEncryption",
		absent: defaultEncryption, check: checkEncryption,
	},
	{
		query: "lifecycle", operation: "BucketLifecycleConfiguration", root: "LifecycleConfiguration", deleted: "DeleteBucketLifecycle",
		code: "NoSuchLifecycleConfiguration", message: "The lifecycle configuration does not exist", check: checkLifecycle,
	},
	{
		query: "cors", operation: "BucketCors", root: "CORSConfiguration", deleted: "DeleteBucketCors",
		code: "NoSuchCORSConfiguration", message: "The CORS configuration does not exist", check: checkCORS,
	},
	{
		query: "publicAccessBlock", operation: "PublicAccessBlock", root: "PublicAccessBlockConfiguration",
		deleted: "DeletePublicAccessBlock",
		code:    "NoSuchPublicAccessBlockConfiguration", message: "The public access block configuration was not found",
	},
	{
		query: "ownershipControls", operation: "BucketOwnershipControls", root: "OwnershipControls",
		deleted: "DeleteBucketOwnershipControls",
		code:    "OwnershipControlsNotFoundError", message: "The bucket ownership controls were not found", check: checkOwnership,
	},
	{
		query:     "notification",
		operation: "BucketNotificationConfiguration",
		root:      "NotificationConfiguration",
		absent:    empty("NotificationConfiguration"),
		check:     checkNotification,
	},
	{
		query:     "accelerate",
		operation: "BucketAccelerateConfiguration",
		root:      "AccelerateConfiguration",
		absent:    empty("AccelerateConfiguration"),
	},
	{
		query: "requestPayment", operation: "BucketRequestPayment", root: "RequestPaymentConfiguration",
		absent: func(*bucket) *node { return element("RequestPaymentConfiguration", leaf("Payer", "BucketOwner")) },
	},
	{
		query: "replication", operation: "BucketReplication", root: "ReplicationConfiguration", deleted: "DeleteBucketReplication",
		code: "ReplicationConfigurationNotFoundError", message: "The replication configuration was not found", check: checkReplication,
	},
	{
		query: "object-lock", operation: "ObjectLockConfiguration", root: "ObjectLockConfiguration",
		code: "ObjectLockConfigurationNotFoundError", message: "Object Lock configuration does not exist for this bucket",
		check: checkObjectLock,
	},
}

// listedResources are configurations of which a bucket has several, by ID.
var listedResources = []subresource{
	{query: "analytics", operation: "BucketAnalyticsConfiguration", root: "AnalyticsConfiguration"},
	{query: "metrics", operation: "BucketMetricsConfiguration", root: "MetricsConfiguration"},
	{query: "inventory", operation: "BucketInventoryConfiguration", root: "InventoryConfiguration"},
	{query: "intelligent-tiering", operation: "BucketIntelligentTieringConfiguration", root: "IntelligentTieringConfiguration"},
}

func defaultEncryption(*bucket) *node {
	return element("ServerSideEncryptionConfiguration", element("Rule",
		element("ApplyServerSideEncryptionByDefault", leaf("SSEAlgorithm", "AES256")), leaf("BucketKeyEnabled", "false")))
}

func checkVersioning(k *bucket, n *node) error {
	status := n.at("Status")
	if status != "Enabled" && status != "Suspended" {
		return refuse(http.StatusBadRequest, "IllegalVersioningConfigurationException", "The Versioning element must be specified")
	}
	if status == "Suspended" && k.objectLock {
		return refuse(
			http.StatusConflict,
			"InvalidBucketState",
			"An Object Lock configuration is present on this bucket, so the versioning state cannot be changed.",
		)
	}
	return nil
}

func checkWebsite(_ *bucket, n *node) error {
	if n.child("RedirectAllRequestsTo") == nil && n.at("IndexDocument", "Suffix") == "" {
		return invalidArgument(
			"IndexDocument", "null", "A value for IndexDocument Suffix must be provided if RedirectAllRequestsTo is empty",
		)
	}
	if strings.Contains(n.at("IndexDocument", "Suffix"), "/") {
		return invalidArgument("IndexDocument", n.at("IndexDocument", "Suffix"), "The IndexDocument Suffix is not well formed")
	}
	return nil
}

func checkEncryption(_ *bucket, n *node) error {
	rules := n.all("Rule")
	if len(rules) != 1 {
		return malformedXML()
	}
	switch algorithm := rules[0].at("ApplyServerSideEncryptionByDefault", "SSEAlgorithm"); algorithm {
	case "AES256":
		if rules[0].at("ApplyServerSideEncryptionByDefault", "KMSMasterKeyID") != "" {
			return invalidArgument(
				"ApplyServerSideEncryptionByDefault",
				"null",
				"a KMSMasterKeyID is not applicable if the default sse algorithm is not aws:kms or aws:kms:dsse",
			)
		}
	case "aws:kms", "aws:kms:dsse":
	case "":
		if rules[0].child("ApplyServerSideEncryptionByDefault") != nil {
			return malformedXML()
		}
	default:
		return malformedXML()
	}
	return nil
}

func checkLifecycle(_ *bucket, n *node) error {
	rules := n.all("Rule")
	if len(rules) == 0 {
		return malformedXML()
	}
	ids := map[string]bool{}
	for _, rule := range rules {
		if status := rule.at("Status"); status != "Enabled" && status != "Disabled" {
			return malformedXML()
		}
		if !slices.ContainsFunc(
			[]string{
				"Expiration",
				"Transition",
				"NoncurrentVersionExpiration",
				"NoncurrentVersionTransition",
				"AbortIncompleteMultipartUpload",
			},
			func(action string) bool { return rule.child(action) != nil },
		) {
			return invalidRequest("At least one action needs to be specified in a rule")
		}
		id := rule.at("ID")
		if id != "" && ids[id] {
			return invalidArgument("ID", id, "Rule ID must be unique. Found same ID for more than one rule")
		}
		ids[id] = true
	}
	return nil
}

func checkCORS(_ *bucket, n *node) error {
	for _, rule := range n.all("CORSRule") {
		for _, m := range rule.all("AllowedMethod") {
			if !slices.Contains([]string{"GET", "PUT", "HEAD", "POST", "DELETE"}, m.text) {
				return invalidRequest("Found unsupported HTTP method in CORS config. Unsupported method is " + m.text)
			}
		}
		if len(rule.all("AllowedMethod")) == 0 || len(rule.all("AllowedOrigin")) == 0 {
			return malformedXML()
		}
	}
	return nil
}

func checkOwnership(k *bucket, n *node) error {
	switch n.at("Rule", "ObjectOwnership") {
	case "BucketOwnerPreferred", "ObjectWriter":
		return nil
	case bucketOwnerEnforced:
		if k.grants != nil && !ownerOnly(k.account, k.grants) {
			return refuse(
				http.StatusBadRequest,
				"InvalidBucketAclWithObjectOwnership",
				"Bucket cannot have ACLs set with ObjectOwnership's BucketOwnerEnforced setting",
			)
		}
		return nil
	}
	return malformedXML()
}

// checkNotification tries the destinations, as S3 does, which for FIFO queues and topics fails.
// https://docs.aws.amazon.com/AmazonS3/latest/API/API_PutBucketNotificationConfiguration.html
// https://docs.aws.amazon.com/AmazonS3/latest/userguide/notification-how-to-event-types-and-destinations.html
func checkNotification(k *bucket, n *node) error {
	if k.destinations == nil {
		return nil
	}
	partition := "aws"
	if k.env.Partition != "" {
		partition = k.env.Partition
	}
	for kind, target := range map[string]string{
		"QueueConfiguration": "Queue", "TopicConfiguration": "Topic", "CloudFunctionConfiguration": "CloudFunction",
	} {
		for _, c := range n.all(kind) {
			arn := c.at(target)
			if strings.HasSuffix(arn, ".fifo") || k.destinations.MayNotify(k.account, "arn:"+partition+":s3:::"+k.name, arn) != nil {
				return invalidArgument(arn, "null", "Unable to validate the following destination configurations")
			}
		}
	}
	return nil
}

// checkReplication is as in
// https://docs.aws.amazon.com/AmazonS3/latest/API/API_PutBucketReplication.html and
// https://docs.aws.amazon.com/AmazonS3/latest/userguide/replication.html#replication-requirements.
func checkReplication(k *bucket, n *node) error {
	if k.versioning() != "Enabled" {
		return invalidRequest("Versioning must be 'Enabled' on the bucket to apply a replication configuration")
	}
	if n.at("Role") == "" || len(n.all("Rule")) == 0 {
		return malformedXML()
	}
	for _, rule := range n.all("Rule") {
		arn := rule.at("Destination", "Bucket")
		switch to := k.all[arn[strings.LastIndexByte(arn, ':')+1:]]; {
		case to == nil:
			return invalidRequest("Destination bucket must exist.")
		case to.versioning() != "Enabled":
			return invalidRequest("Destination bucket must have versioning enabled.")
		}
	}
	return nil
}

func checkObjectLock(k *bucket, n *node) error {
	if n.at("ObjectLockEnabled") != "Enabled" {
		return malformedXML()
	}
	if k.versioning() != "Enabled" {
		return refuse(
			http.StatusConflict, "InvalidBucketState", "Versioning must be 'Enabled' on the bucket to apply a Object Lock configuration",
		)
	}
	return nil
}

// absentError returns GET's error for a configuration that is not set.
func (s *subresource) absentError(bucket string) error {
	status := s.status
	if status == 0 {
		status = http.StatusNotFound
	}
	return with(refuse(status, s.code, "%s", s.message), "BucketName", bucket)
}

// configure sets a configuration, as PUT does.
func (k *bucket) configure(s *subresource, n *node) error {
	if s.check != nil {
		if err := s.check(k, n); err != nil {
			return err
		}
	}
	switch s.query {
	case "object-lock":
		k.objectLock = true
	case "encryption":
		// A rule with only other settings keeps the default algorithm.
		if rule := n.child("Rule"); rule.child("ApplyServerSideEncryptionByDefault") == nil {
			rule.children = append([]*node{element("ApplyServerSideEncryptionByDefault", leaf("SSEAlgorithm", "AES256"))}, rule.children...)
		}
	}
	k.configuration[s.query] = n
	return nil
}

// One part of a lifecycle configuration is sent in a header:
// https://docs.aws.amazon.com/AmazonS3/latest/API/API_PutBucketLifecycleConfiguration.html
const (
	transitionHeader  = "X-Amz-Transition-Default-Minimum-Object-Size"
	transitionElement = "TransitionDefaultMinimumObjectSize"
)

// withoutHeaders returns the document to send, and sets the header for the part that is not in the
// document.
func (r *request) withoutHeaders(s *subresource, n *node) *node {
	if s.query != "lifecycle" {
		return n
	}
	size := n.at(transitionElement)
	if size == "" {
		size = "all_storage_classes_128K"
	}
	r.header.Set(transitionHeader, size)
	return element(n.name, n.all("Rule")...)
}

// subresourceNamed returns the sub-resource of a query parameter.
func subresourceNamed(query string) *subresource {
	i := slices.IndexFunc(subresources, func(s subresource) bool { return s.query == query })
	return &subresources[i]
}

// routes returns the operations that read, set and delete the configuration.
func (s *subresource) routes() []route {
	get := route{
		operation: "Get" + s.operation,
		method:    http.MethodGet,
		level:     onBucket,
		query:     s.query,
		handle: func(_ *Buckets, r *request) error {
			if n := r.found.configuration[s.query]; n != nil {
				return r.respond(r.withoutHeaders(s, n))
			}
			if s.absent != nil {
				return r.respond(s.absent(r.found))
			}
			return s.absentError(r.bucket)
		},
	}
	put := route{
		operation: "Put" + s.operation,
		method:    http.MethodPut,
		level:     onBucket,
		query:     s.query,
		write:     true,
		handle: func(_ *Buckets, r *request) error {
			n, err := parseRoot(r.body, s.root)
			if err != nil {
				return err
			}
			if size := r.Header.Get(transitionHeader); size != "" && s.query == "lifecycle" {
				n.add(transitionElement, size)
			}
			r.withoutHeaders(s, n)
			r.found.remember(s.query)
			return r.found.configure(s, n)
		},
	}
	out := []route{get, put}
	if s.deleted != "" {
		out = append(
			out,
			route{
				operation: s.deleted,
				method:    http.MethodDelete,
				level:     onBucket,
				query:     s.query,
				write:     true,
				handle: func(_ *Buckets, r *request) error {
					r.found.remember(s.query)
					delete(r.found.configuration, s.query)
					return r.noContent()
				},
			},
		)
	}
	return out
}

// listedRoutes returns the operations on configurations with IDs.
func (s *subresource) listedRoutes() []route {
	plural := strings.Replace(s.operation, "Configuration", "Configurations", 1)
	return []route{
		{
			operation: "Get" + s.operation,
			method:    http.MethodGet,
			level:     onBucket,
			query:     s.query,
			handle: func(_ *Buckets, r *request) error {
				if id := r.query.Get("id"); id != "" {
					if n := r.found.listed[s.query][id]; n != nil {
						return r.respond(n)
					}
					return refuse(http.StatusNotFound, "NoSuchConfiguration", "The specified configuration does not exist.")
				}
				r.operation = "List" + plural
				out := element("List"+strings.TrimPrefix(plural, "Bucket")+"Result", leaf("IsTruncated", "false"))
				out.name = strings.Replace(out.name, "sResult", "Result", 1)
				for _, id := range sortedNames(r.found.listed[s.query]) {
					out.children = append(out.children, r.found.listed[s.query][id])
				}
				return r.respond(out)
			},
		},
		{
			operation: "Put" + s.operation,
			method:    http.MethodPut,
			level:     onBucket,
			query:     s.query,
			write:     true,
			handle: func(_ *Buckets, r *request) error {
				n, err := parseRoot(r.body, s.root)
				if err != nil {
					return err
				}
				if n.at("Id") == "" || n.at("Id") != r.query.Get("id") {
					return malformedXML()
				}
				if r.found.listed[s.query] == nil {
					r.found.listed[s.query] = map[string]*node{}
				}
				r.found.listed[s.query][n.at("Id")] = n
				return nil
			},
		},
		{
			operation: "Delete" + s.operation,
			method:    http.MethodDelete,
			level:     onBucket,
			query:     s.query,
			write:     true,
			handle: func(_ *Buckets, r *request) error {
				delete(r.found.listed[s.query], r.query.Get("id"))
				return r.noContent()
			},
		},
	}
}
