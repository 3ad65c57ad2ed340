package template

import "slices"

// snapshots are the types that support the policy Snapshot:
// https://docs.aws.amazon.com/AWSCloudFormation/latest/TemplateReference/aws-attribute-deletionpolicy.html
var snapshots = []string{
	"AWS::DocDB::DBCluster", "AWS::EC2::Volume", "AWS::ElastiCache::CacheCluster", "AWS::ElastiCache::ReplicationGroup",
	"AWS::Neptune::DBCluster", "AWS::RDS::DBCluster", "AWS::RDS::DBInstance", "AWS::Redshift::Cluster",
}

// SupportsSnapshot reports whether CloudFormation can take a snapshot of a resource before it deletes it. Of an
// instance of a database cluster it cannot; ElastiCache takes none of Memcached.
//
//   - https://github.com/aws-cloudformation/aws-cloudformation-templates/issues/16
//   - https://docs.aws.amazon.com/AmazonElastiCache/latest/dg/backups.html
func (r *Resource) SupportsSnapshot() bool {
	if r.Type == "AWS::RDS::DBInstance" && r.Properties.Get("DBClusterIdentifier") != nil {
		return false
	}
	if engine, ok := r.Properties.Get("Engine").Scalar(); ok && engine == "memcached" {
		return false
	}
	return slices.Contains(snapshots, r.Type)
}
