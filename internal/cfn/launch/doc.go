// Package launch reads from CloudFormation templates which instances a resource launches: how many,
// of which types, and how many of them on demand. The package is pure.
package launch
