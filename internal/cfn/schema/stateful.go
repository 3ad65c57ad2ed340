package schema

import (
	"maps"
	"slices"
)

// stateful lists the resource types whose loss loses data, keys or names that others depend on, and
// that a template cannot re-create.
var stateful = map[string]bool{
	"AWS::ACMPCA::CertificateAuthority":          true,
	"AWS::AmazonMQ::Broker":                      true,
	"AWS::AppSync::GraphQLApi":                   true,
	"AWS::Backup::BackupVault":                   true,
	"AWS::Backup::LogicallyAirGappedBackupVault": true,
	"AWS::Cassandra::Keyspace":                   true,
	"AWS::Cassandra::Table":                      true,
	"AWS::CloudFormation::Stack":                 true,
	"AWS::CloudFormation::StackSet":              true,
	"AWS::CloudTrail::EventDataStore":            true,
	"AWS::CodeArtifact::Domain":                  true,
	"AWS::CodeArtifact::Repository":              true,
	"AWS::CodeCommit::Repository":                true,
	"AWS::Cognito::IdentityPool":                 true,
	"AWS::Cognito::UserPool":                     true,
	"AWS::DAX::Cluster":                          true,
	"AWS::DocDB::DBCluster":                      true,
	"AWS::DocDB::DBInstance":                     true,
	"AWS::DocDBElastic::Cluster":                 true,
	"AWS::DSQL::Cluster":                         true,
	"AWS::DirectoryService::MicrosoftAD":         true,
	"AWS::DirectoryService::SimpleAD":            true,
	"AWS::DynamoDB::GlobalTable":                 true,
	"AWS::DynamoDB::Table":                       true,
	"AWS::EC2::EIP":                              true,
	"AWS::EC2::Volume":                           true,
	"AWS::ECR::PublicRepository":                 true,
	"AWS::ECR::Repository":                       true,
	"AWS::EFS::FileSystem":                       true,
	"AWS::ElastiCache::CacheCluster":             true,
	"AWS::ElastiCache::ReplicationGroup":         true,
	"AWS::ElastiCache::ServerlessCache":          true,
	"AWS::Elasticsearch::Domain":                 true,
	"AWS::FSx::FileSystem":                       true,
	"AWS::FSx::StorageVirtualMachine":            true,
	"AWS::FSx::Volume":                           true,
	"AWS::Glue::Database":                        true,
	"AWS::Glue::Table":                           true,
	"AWS::HealthLake::FHIRDatastore":             true,
	"AWS::KMS::Key":                              true,
	"AWS::KMS::ReplicaKey":                       true,
	"AWS::Kendra::Index":                         true,
	"AWS::Kinesis::Stream":                       true,
	"AWS::KinesisVideo::Stream":                  true,
	"AWS::Lightsail::Bucket":                     true,
	"AWS::Lightsail::Database":                   true,
	"AWS::Lightsail::Disk":                       true,
	"AWS::Location::Tracker":                     true,
	"AWS::Logs::LogGroup":                        true,
	"AWS::MSK::Cluster":                          true,
	"AWS::MSK::ServerlessCluster":                true,
	"AWS::MemoryDB::Cluster":                     true,
	"AWS::Neptune::DBCluster":                    true,
	"AWS::Neptune::DBInstance":                   true,
	"AWS::NeptuneGraph::Graph":                   true,
	"AWS::OpenSearchServerless::Collection":      true,
	"AWS::OpenSearchService::Domain":             true,
	"AWS::QLDB::Ledger":                          true,
	"AWS::RDS::DBCluster":                        true,
	"AWS::RDS::DBInstance":                       true,
	"AWS::RDS::GlobalCluster":                    true,
	"AWS::Redshift::Cluster":                     true,
	"AWS::RedshiftServerless::Namespace":         true,
	"AWS::Route53::HostedZone":                   true,
	"AWS::S3::Bucket":                            true,
	"AWS::S3Express::DirectoryBucket":            true,
	"AWS::S3Outposts::Bucket":                    true,
	"AWS::S3Tables::Table":                       true,
	"AWS::S3Tables::TableBucket":                 true,
	"AWS::S3Vectors::Index":                      true,
	"AWS::S3Vectors::VectorBucket":               true,
	"AWS::SDB::Domain":                           true,
	"AWS::SQS::Queue":                            true,
	"AWS::SecretsManager::Secret":                true,
	"AWS::Timestream::Database":                  true,
	"AWS::Timestream::InfluxDBInstance":          true,
	"AWS::Timestream::Table":                     true,
	"AWS::WorkSpaces::Workspace":                 true,
}

// IsStateful reports whether losing the resource loses data that a template cannot re-create:
// tables, buckets, volumes, queues, keys, zones, repositories, databases and similar. A nested
// stack counts, because it may contain any of these.
func (t *Type) IsStateful() bool { return IsStateful(t.Name) }

// IsStateful reports the same for a type name that the registry may not know.
func IsStateful(name string) bool {
	return stateful[name]
}

// StatefulTypes lists the types for which IsStateful holds, sorted.
func StatefulTypes() []string { return slices.Sorted(maps.Keys(stateful)) }
