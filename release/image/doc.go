// Package image builds OCI images of static programs without a container engine and without a base
// image: one image for each architecture, and an index of them, in an OCI layout. The same programs
// and the same version of Go give the same bytes, on every computer. It also pushes
// the images of a layout to a repository, and nothing else.
// https://github.com/opencontainers/image-spec/blob/v1.1.1/image-layout.md
package image
