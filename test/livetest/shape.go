package livetest

import ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"

// newShape is what a new version of a launch template says otherwise.
func newShape() *ec2types.RequestLaunchTemplateData {
	return &ec2types.RequestLaunchTemplateData{InstanceType: ec2types.InstanceTypeM6iXlarge}
}
