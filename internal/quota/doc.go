// Package quota compares what stacks need with the quotas of an AWS account, before anything is
// created.
//
// [Needs] counts what a change adds, from the templates before and after it. [Check] asks AWS for the
// quotas, and for how much of them is in use. A quota that cannot be read is reported as such, and
// never as sufficient.
//
// Not counted: what a change frees, because CloudFormation creates before it deletes; instances that
// exist only while others are replaced; and quotas within one resource, such as the rules of a
// security group.
package quota
