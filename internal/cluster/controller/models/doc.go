// Package models resolves Clusters to the models that their stacks are rendered from, and keeps
// both the models and what AWS reports about existing VPCs in memory. It tags existing VPCs as
// shared with their Clusters.
package models
