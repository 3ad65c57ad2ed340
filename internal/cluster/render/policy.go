package render

// stackPolicy prevents updates of the base stack from replacing or removing what cannot be
// re-created: resources that hold data or keys, or that determine the cluster's addresses.
// https://docs.aws.amazon.com/AWSCloudFormation/latest/UserGuide/protect-stack-resources.html
const stackPolicy = `{"Statement":[` +
	`{"Effect":"Allow","Principal":"*","Action":"Update:*","Resource":"*"},` +
	`{"Effect":"Deny","Principal":"*","Action":["Update:Replace","Update:Delete"],"Resource":"*","Condition":{"StringEquals":{"ResourceType":[` +
	`"AWS::EC2::VPC","AWS::EC2::Volume","AWS::ElasticLoadBalancingV2::LoadBalancer","AWS::KMS::Key","AWS::Route53::HostedZone","AWS::S3::Bucket"` +
	`]}}}]}`

// eksStackPolicy does the same for a cluster whose control plane EKS runs.
const eksStackPolicy = `{"Statement":[` +
	`{"Effect":"Allow","Principal":"*","Action":"Update:*","Resource":"*"},` +
	`{"Effect":"Deny","Principal":"*","Action":["Update:Replace","Update:Delete"],"Resource":"*","Condition":{"StringEquals":{"ResourceType":[` +
	`"AWS::EC2::VPC","AWS::EKS::Cluster"` +
	`]}}}]}`
