// Package terraform tests clusters that Terraform creates, with the real terraform and the provider
// hashicorp/aws, on the simulator of AWS:
//
//	workflow_test.go   the workflow of users who keep clusters in Git: from a network of their own to
//	                   Ready nodes, and to the deletion
//	layers_test.go     part of the workflow: groups that other clients scale, outputs for the next
//	                   layer, resources with names of another version
//	equality_test.go   Terraform and CloudFormation create the same cluster from the same manifest
//	valid_test.go      terraform fmt and terraform validate accept every example
//	boot_test.go       machines that really boot from what Terraform created: Linux, as root; skipped elsewhere
//	services_test.go   one resource of each other service of the simulator
//
// The tests are skipped, with the reason, if terraform is not installed or the provider is not
// available. TF_PLUGIN_DIR names a folder of providers; without it the usual folders are searched
// (see mirrors), and otherwise terraform installs the provider from its configured source or from
// the Internet.
package terraform
