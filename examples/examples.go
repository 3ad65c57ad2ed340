// Package examples holds manifests that are good to start from. The quick start
// among them is what the demo applies.
package examples

import "embed"

// QuickStart holds the manifests of the folder quickstart.
//
//go:embed quickstart/*.yaml
var QuickStart embed.FS

// Clusters holds the manifests of the folder clusters: Clusters with their
// InstanceGroups, a file for each case.
//
//go:embed clusters/*.yaml
var Clusters embed.FS

// Fleet holds the manifests of the folder fleet: Clusters and the Fleet that rolls changes out to them.
//
//go:embed fleet/*.yaml
var Fleet embed.FS

// Application holds the manifests of the folder application: an application and
// the AWS resources that it uses.
//
//go:embed application/*.yaml
var Application embed.FS
