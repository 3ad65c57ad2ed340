// Package controller turns objects of modelled kinds into CloudFormation stacks.
//
// One generic reconciler serves every kind. [Setup] starts the kinds of the catalog and a
// controller of ModelDefinitions that starts and stops kinds as users define them.
package controller
