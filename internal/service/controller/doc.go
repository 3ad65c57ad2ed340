// Package controller serves AWS services as custom resources.
//
// One generic reconciler serves every modelled kind. Its pipeline is short:
//
//	references   the objects that the spec names are there and ready
//	stack        the CloudFormation stack is as the spec wants it; its outputs are the object's
//	additional   the ConfigMaps, Secrets and Services made from the outputs exist
//
// [Setup] starts the kinds of the catalog, a controller of ModelDefinitions, which starts and stops
// kinds as users define them, and a controller of CloudFormationTemplates.
//
// # One Go type, many kinds
//
// All modelled kinds share the Go type v1alpha1.Object. A runtime.Scheme maps a Go type to one kind,
// so every kind has a scheme, a cache and a client of its own, which start and end with the kind.
// Caches hold neither managed fields nor kubectl's copy of the manifest, so that ten thousand idle
// objects cost little.
//
// # When nothing changed
//
// A reconcile that finds the same inputs as the last one that ended well, and of whose stack no
// event was heard since, renders nothing and asks AWS nothing.
package controller
