package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"github.com/aws-operator/aws-operator/internal/permissions"
)

const permissionsHead = `# Permissions reference

This page has the IAM policies that the operator and the command line need. ` + "`make generate`" + ` writes it from the calls in the code, and a
test fails when the code makes a call that is missing here. The policy documents are also files in ` + "`config/iam`" + `. Each fits into a
managed policy:

` + "```" + `
aws iam create-policy --policy-name aws-operator-clusters --policy-document file://config/iam/operator-clusters.json
` + "```" + `

| attach to | documents |
| --- | --- |
| the operator's role, for AWS services | ` + "`operator-services`" + `, ` + "`cloudformation-services-*`" + ` |
| the operator's role, if objects have ` + "`spec.grants`" + `, or roles of their own | ` + "`cloudformation-grants`" + ` |
| the operator's role, or the role that a Cluster names, for clusters | ` + "`operator-clusters`" + `, ` + "`cloudformation-clusters-*`" + ` |
| a user who runs the commands without an operator | those of what the user creates, and ` + "`terminal`" + ` |

**Two kinds of documents.** ` + "`operator-*`" + ` and ` + "`terminal`" + ` allow the calls of the program itself. ` + "`cloudformation-*`" + ` allows the calls that
CloudFormation makes for the resources of a stack, with the permissions of the caller of the stack. These documents have the condition
[` + "`aws:CalledVia`" + `](https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_policies_condition-keys.html#condition-keys-calledvia),
so the credentials alone cannot make these calls. The actions are those that AWS publishes for each resource type
([handlers](https://docs.aws.amazon.com/cloudformation-cli/latest/userguide/resource-type-schema.html)), without those for
properties that no template here sets. A template or model of your own also needs the actions of its types.

**Test coverage.** A test runs AWS services and clusters against the simulator with no other permissions: creation, changes, a
rolling update, an upgrade and deletion; and it takes [each statement](#test-of-the-statements) away. The simulator evaluates the program's own calls, and one action for each operation of
CloudFormation on a resource. It does not evaluate calls that AWS's services make on behalf of others (KMS, instances of Auto Scaling).
The documents have not been tried in an AWS account. ` + "`AccessDenied`" + ` names a missing action.

**Roles.** An operator that can create roles can do anything, unless a permissions boundary prevents it. Give every role one with
` + "`spec.iam.permissionsBoundary`" + `, and allow ` + "`iam:CreateRole`" + ` only with the condition ` + "`iam:PermissionsBoundary`" + `.

## Print policies

The documents below are for all kinds, clusters, regions and accounts of the partition ` + "`aws`" + `. ` + "`aws-operator iam policy`" + ` prints
narrower ones from the same calls: only the actions of the types in the templates of the chosen kinds, and only the ARNs of the chosen
account, region, stacks and clusters.

` + "```" + `
aws-operator iam policy --kind SQSQueue,DynamoDB --aws-account-id 123456789012 --aws-region eu-central-1
aws-operator iam policy --kind Cluster --cluster demo --terminal --state-bucket my-state -o cloudformation
aws-operator iam policy --partition aws-cn -o terraform
` + "```" + `

With ` + "`--grants`" + `, the operator may make roles for service accounts, with the path ` + "`/aws-operator/CLUSTER-NAME/`" + ` only, and for
objects with one of their own: ` + "`EventBridgeRule`, `Lambda` and `StepFunction`, and `S3Bucket` with `replication`" + `.
` + "`--trial`" + ` prints the policies for the command ` + "`trial`" + ` alone. With ` + "`--cluster-name`" + `, the policies are for an operator with that cluster name. ` + "`--assume-role`" + ` names the roles that objects and Clusters
may assume; without it, no statement allows ` + "`sts:AssumeRole`" + `. If the statements exceed the size limit of a managed policy, the command
prints several: attach all of them.
`

const mutationsHead = `
## Test of the statements

` + "`make test-permissions`" + ` runs an operator with the policies that ` + "`aws-operator iam policy`" + ` prints for all kinds and two clusters, one of
them in an existing VPC, and takes each statement away. The test (` + "`TestOperatorsPoliciesAreSufficient`" + `) fails if no request is denied
then. The test of a cluster's life with the terminal's commands (` + "`TestClusterLifecycleInABucket`" + `, part of ` + "`make test`" + `) does the same with a user
who has the least policies for that, and ` + "`TestTrialRunsWithTheLeastPolicies`" + ` for the command trial. This table has the first request that is
denied without each statement.

| without the statement | is denied first |
| --- | --- |
`

// writeMutations writes what the tests of the policies found without each statement.
func writeMutations(page *bytes.Buffer, files []string) error {
	found := map[string]string{}
	for _, file := range files {
		data, err := os.ReadFile(file) //nolint:gosec // The Makefile names the files.
		if err != nil {
			return fmt.Errorf("read what the tests of the policies found: %w", err)
		}
		if err := json.Unmarshal(data, &found); err != nil {
			return fmt.Errorf("parse %s: %w", file, err)
		}
	}
	page.WriteString(mutationsHead)
	for _, sid := range slices.Sorted(maps.Keys(found)) {
		fmt.Fprintf(page, "| `%s` | %s |\n", sid, found[sid])
	}
	return nil
}

// writePermissions writes the page of the policies, and each policy as a file in a folder.
func writePermissions(page *bytes.Buffer, folder string, mutations ...string) error {
	page.WriteString(permissionsHead)
	if err := writeMutations(page, mutations); err != nil {
		return err
	}
	for _, d := range permissions.Documents() {
		fmt.Fprintf(page, "\n## %s\n\n%s\n", d.Name, d.Title)
		if d.Statements[0].Why != "" {
			page.WriteString("\n| statement | reason |\n| --- | --- |\n")
			for _, s := range d.Statements {
				fmt.Fprintf(page, "| `%s` | %s |\n", s.Sid, s.Why)
			}
		}
		fmt.Fprintf(page, "\n```json\n%s```\n", d.JSON())
		file := filepath.Join(folder, d.Name+".json")
		if err := os.WriteFile(file, d.JSON(), 0o644); err != nil { //nolint:gosec // A policy is for everybody.
			return fmt.Errorf("write the policy: %w", err)
		}
	}
	return nil
}
