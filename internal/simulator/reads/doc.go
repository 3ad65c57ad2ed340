// Package reads makes reads of the simulator as unpredictable as AWS's. What a seed decides:
//
//   - Order. Results whose order AWS does not document come in another order each time, and so do
//     their tags.
//     https://docs.aws.amazon.com/AWSEC2/latest/APIReference/API_DescribeInstances.html
//   - Pages. A page has fewer results than the caller asked for, although more follow.
//     https://docs.aws.amazon.com/AWSEC2/latest/APIReference/Query-Requests.html#api-pagination
//   - Lag, if [Options.Lag] is set. For some time after a change, a read of EC2 returns the answer
//     of before the change, or does not find what was just created.
//     https://docs.aws.amazon.com/ec2/latest/devguide/eventual-consistency.html
//     KMS and DynamoDB may not find what was just created, either.
//     DescribeStacks returns the status of before an operation.
//     https://github.com/aws/aws-cdk-cli/pull/1803
//
// It does so only for callers of the API, not for services of the simulator that read each other.
package reads
