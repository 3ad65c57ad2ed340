package model

import "cmp"

// AuditShipping is where slots ship the audit logs of their API servers.
type AuditShipping struct {
	// Bucket is the bucket's name, and Own reports that it is the cluster's own.
	Bucket string
	Own    bool
	// Account is the ID of the account that owns it.
	Account string
	// Prefix begins the keys, and Keys those of the cluster.
	Prefix, Keys string
	// KMSKeyARN is the ARN of the user's key that the bucket encrypts with, if any.
	KMSKeyARN string
}

// AuditShipping returns where slots ship the audit log, nil if they do not.
func (c *Cluster) AuditShipping() *AuditShipping {
	if c.Spec.API.Audit == nil || c.Spec.API.Audit.Ship == nil {
		return nil
	}
	ship := c.Spec.API.Audit.Ship
	return &AuditShipping{
		Bucket: cmp.Or(ship.Bucket, c.Bucket), Own: ship.Bucket == "", Account: cmp.Or(ship.Account, c.AccountID),
		Prefix: ship.Prefix, Keys: ship.Prefix + c.Name + "/", KMSKeyARN: ship.KMSKeyARN,
	}
}

// checkAuditShipping refuses buckets and keys that slots could not use.
func (c *Cluster) checkAuditShipping(problems *Problems) {
	to := c.AuditShipping()
	if to == nil {
		return
	}
	const at = "spec.api.audit.ship."
	if !to.Own && to.Bucket == c.Bucket {
		problems.add(at+"bucket", "leave out bucket, prefix, account and kmsKeyARN to use it", "%s is the cluster's own bucket", to.Bucket)
	}
	// S3 encrypts with keys of the bucket's region:
	// https://docs.aws.amazon.com/AmazonS3/latest/userguide/UsingKMSEncryption.html
	if region := regionOfKey(to.KMSKeyARN); region != "" && region != c.Region {
		problems.add(at+"kmsKeyARN", "use a bucket and a key of the cluster's region", "the key is in %s, and the cluster in %s", region, c.Region)
	}
}
