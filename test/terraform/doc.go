// Package terraform tries clusters that Terraform makes, with the real terraform and the provider hashicorp/aws on the simulator
// of AWS:
//
//	workflow_test.go  the workflow of those who keep their clusters in Git, from their own network to a cluster of Ready nodes
//	                  and back to nothing
//	layers_test.go    in it: groups that others scale, outputs for the next layer, resources with names of another version
//	equality_test.go  Terraform and CloudFormation make the same cluster of the same manifest
//	valid_test.go     terraform fmt and terraform validate have nothing to say about any example
//	boot_test.go      machines that boot for real from what Terraform made: Linux, as root; skipped elsewhere
//	services_test.go  one resource of each other service of the simulator
//
// The tests are skipped, with the reason, where terraform is not installed or the provider cannot be had. A folder of providers
// is named by TF_PLUGIN_DIR; without it one is looked for where people put such folders (see mirrors), and else terraform
// installs from where its configuration says, or from the Internet.
package terraform
