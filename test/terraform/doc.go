// Package terraform tries clusters that Terraform makes, with the real terraform and the provider hashicorp/aws on the simulator
// of AWS: the workflow of those who keep their clusters in Git, from their own network to a cluster of Ready nodes and back to
// nothing; and that Terraform and CloudFormation make the same cluster of the same manifest.
//
// The tests are skipped, with the reason, where terraform is not installed or the provider cannot be had. A folder of providers
// is named by TF_PLUGIN_DIR; without it terraform installs from where its configuration says.
package terraform
