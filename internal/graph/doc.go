// Package graph draws clusters: their stacks, what is in them and what depends
// on what ([Of]), and how long each resource of the last change took
// ([Timeline]). Drawings are text for Mermaid and Graphviz, and SVG by a simple
// layered layout of its own. The package is pure; the same input gives the same
// bytes.
package graph
