// Package terraform writes a cluster as a Terraform configuration for the provider hashicorp/aws:
// the same model as the CloudFormation stacks, not a second one.
//
// [Cluster] has package render make the stacks, and maps what is in their templates, resource by
// resource, by one table (the table_ files): a row for a CloudFormation type, and in it a rule for
// each property. A type, a property, an attribute or a function that the table lacks is an error
// that names it, never a gap; what is left out on purpose is a rule that says why.
//
// # What becomes of CloudFormation's means
//
// All stacks of a cluster are in one configuration, so parameters that are other stacks' outputs
// become references, and so do Ref and Fn::GetAtt. Fn::Sub and Fn::Join become string templates,
// pseudo parameters and parameters of Systems Manager data sources. DependsOn becomes depends_on;
// since a resource can become several (a bucket's versioning is a resource of its own), who refers
// to such a one waits for them all, where that matters. DeletionPolicy Retain becomes
// prevent_destroy, Snapshot final_snapshot. UpdatePolicy is dropped: where Terraform owns the
// machines, our own engine (package rollout) replaces them. A stack's tags are on whatever
// CloudFormation would put them.
//
// # What machines boot from
//
// A bundle names the address of the API and the hosted zone, which are known only once Terraform
// has made them. So the documents in data/ have marks in their place, Terraform replaces these and
// computes the hash that names the bundle, and user data holds that hash. Bundles and nodeup are
// objects in the bucket that Terraform puts there.
//
// # What is secret
//
// Everyone who can run terraform plan can read Terraform's state. So the state does not contain the
// CAs' keys: they are files next to the data, readable by the user only, which Terraform uploads to
// the cluster's bucket. The state has only their paths and SHA-256 hashes. To plan, or to apply
// when the keys are in the bucket already, these files are not needed. If the caller does not have
// the keys, [Configuration.Elsewhere] lists what to put into the bucket.
//
// The token that workers join with is no part of the configuration. No operator runs beside such a
// cluster, so its slots make the token and renew it, in the bucket and in the cluster
// (model.Input.Alone).
//
// # The account
//
// Policies and the bucket's name have the account's number. Where it is not known,
// [AccountOfProvider] stands for it in the model, and the configuration asks for the account that
// the provider acts in.
//
// The package is pure.
package terraform
