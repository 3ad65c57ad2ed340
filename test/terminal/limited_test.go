package terminal

import (
	"flag"
	"slices"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/iam"
	"github.com/aws/aws-sdk-go-v2/service/sqs"

	"github.com/aws-operator/aws-operator/internal/awsevents"
	"github.com/aws-operator/aws-operator/internal/operator"
	"github.com/aws-operator/aws-operator/internal/permissions"
	"github.com/aws-operator/aws-operator/internal/simulator/simulatortest"
	"github.com/aws-operator/aws-operator/test/policies"
)

// limitedUser is the user with limited permissions.
const limitedUser = "ada"

// update rewrites the table that the permissions reference shows.
var update = flag.Bool("update", false, "rewrite testdata/mutations.json")

// terminalStatements are the statements for users of the commands, except that for the command trial.
var terminalStatements = []string{"Validate", "Import", "Quotas", "State"}

// ofCommands returns the least policies for a cluster whose state is in the bucket.
func ofCommands(t *testing.T) []permissions.Document {
	t.Helper()
	choice := permissions.Choice{
		Clusters: true, Terminal: true, ClusterNames: []string{"demo"}, Partition: "aws", Suffix: "amazonaws.com", Region: region, Account: account,
		Operator: operator.DefaultClusterName, Events: awsevents.StackName(operator.DefaultClusterName), StateBucket: bucket,
	}
	documents, err := choice.Documents()
	if err != nil {
		t.Fatal(err)
	}
	return documents
}

// more are the permissions that the policies do not have: to use the key of the state, and what Cloud Control API
// calls for the user, as AWS's policy ReadOnlyAccess has it.
func more(key string) permissions.Document {
	return permissions.Document{Name: "more", Statements: []permissions.Statement{
		{Sid: "Key", Effect: "Allow", Action: []string{"kms:Decrypt", "kms:GenerateDataKey"}, Resource: []string{key}},
		{
			Sid: "Read", Effect: "Allow", Action: []string{
				"autoscaling:DescribeAutoScalingGroups", "ec2:DescribeInternetGateways", "ec2:DescribeSecurityGroups", "ec2:DescribeVpcs",
				"elasticloadbalancing:DescribeLoadBalancers", "elasticloadbalancing:DescribeTargetGroups", "iam:ListInstanceProfiles",
				"iam:ListOpenIDConnectProviders", "iam:ListRoles", "route53:ListHostedZones", "s3:ListAllMyBuckets",
				"sqs:GetQueueAttributes", "sqs:ListQueueTags", "sqs:ListQueues",
			},
			Resource: []string{"*"},
		},
	}}
}

// limit makes the user one with the least permissions for the commands.
func (p *user) limit(key string) {
	p.t.Helper()
	p.documents = append(ofCommands(p.t), more(key))
	api := iam.NewFromConfig(p.aws())
	var arns []string
	for _, d := range p.documents {
		made, err := api.CreatePolicy(p.t.Context(), &iam.CreatePolicyInput{
			PolicyName: aws.String(d.Name), PolicyDocument: aws.String(string(d.JSON())),
		})
		if err != nil {
			p.t.Fatal(err)
		}
		arns = append(arns, aws.ToString(made.Policy.Arn))
	}
	credentials := simulatortest.User(p.t, p.aws(), limitedUser, arns...)
	p.env = append(p.env, "AWS_ACCESS_KEY_ID="+credentials.AccessKeyID, "AWS_SECRET_ACCESS_KEY="+credentials.SecretAccessKey)
}

// reads runs commands that read the cluster and the account.
func (p *user) reads() {
	p.t.Helper()
	if _, err := sqs.NewFromConfig(p.aws()).CreateQueue(p.t.Context(), &sqs.CreateQueueInput{QueueName: aws.String("orders")}); err != nil {
		p.t.Fatal(err)
	}
	p.run(0, "validate", "cluster", "demo", "--wait", "5m")
	out, _ := p.run(0, "import", "--type", "AWS::SQS::Queue", "--name", "orders")
	p.says(out, "kind: SQSQueue")
	_, errOut := p.run(0, "create", "cluster", "another", "--zones", "eu-central-1a", "--dry-run", "--quotas")
	p.says(errOut, "Quotas of the account in eu-central-1:\n  They suffice: 13 quotas checked.\n")
}

// everyStatementIsNeeded checks that a request was denied without any one of the statements for the commands.
func (p *user) everyStatementIsNeeded() {
	p.t.Helper()
	noticed := p.requests.Check(p.t, p.documents, func(sid string) bool { return slices.Contains(terminalStatements, sid) }, nil)
	policies.CheckTable(p.t, "testdata/mutations.json", noticed, *update)
}
