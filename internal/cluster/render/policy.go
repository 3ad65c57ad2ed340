package render

// stackPolicy keeps the base stack's updates from replacing or removing what
// cannot be made again: what holds data or keys, and what every address of the
// cluster hangs on.
// https://docs.aws.amazon.com/AWSCloudFormation/latest/UserGuide/protect-stack-resources.html
const stackPolicy = `{"Statement":[` +
	`{"Effect":"Allow","Principal":"*","Action":"Update:*","Resource":"*"},` +
	`{"Effect":"Deny","Principal":"*","Action":["Update:Replace","Update:Delete"],"Resource":"*","Condition":{"StringEquals":{"ResourceType":[` +
	`"AWS::EC2::VPC","AWS::EC2::Volume","AWS::ElasticLoadBalancingV2::LoadBalancer","AWS::KMS::Key","AWS::Route53::HostedZone","AWS::S3::Bucket"` +
	`]}}}]}`
