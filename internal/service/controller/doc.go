// Package controller reconciles AWS services as custom resources.
//
// One generic reconciler serves every modeled kind. Its pipeline has these steps:
//
//	revision     decides which revision of the kind's ModelDefinition the object uses
//	references   waits until the objects that the spec references are ready
//	roles        makes the roles of the service accounts to which the spec grants access
//	stack        converges the CloudFormation stack to the spec and copies its outputs
//	additional   creates the ConfigMaps, Secrets and Services from the outputs
//	accounts     annotates the ServiceAccounts with their roles
//	drift        checks the stack for changes outside of CloudFormation
//	settled      ends the update of the object to another revision
//
// [Setup] starts the kinds of the catalog, a controller of ModelDefinitions, which starts and stops
// kinds as users define them, and a controller of CloudFormationTemplates.
//
// The controllers never write a spec, and never touch a stack, ConfigMap, Secret or Service that
// belongs to another owner.
//
// # One Go type, many kinds
//
// All modeled kinds share the Go type v1alpha1.Object. A runtime.Scheme maps a Go type to one kind,
// so every kind has its own scheme, cache and client, which start and stop with the kind. The
// caches drop managed fields and kubectl's copy of the manifest, so that ten thousand idle objects
// need little memory.
//
// # No-op reconciles
//
// A reconcile renders nothing and makes no AWS call if its inputs equal those of the last
// successful one and no event about the stack has arrived since.
package controller
