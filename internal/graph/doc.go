// Package graph draws clusters: where they run and in what state their nodes are ([TopologyOf]),
// their stacks' resources and what depends on what ([Of]), and how long each resource of the last
// change took ([LastOperation]). Drawings of the first and the last are text and SVG; resources are
// written for Mermaid and Graphviz, which lay them out. Names in drawings come from users, so that
// they are escaped. The package does no I/O; the same input gives the same bytes.
package graph
