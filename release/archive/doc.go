// Package archive packs files so that the same files give the same bytes, on every computer with the
// same version of Go: tar archives, compressed ones, and lists of checksums. Files belong
// to root and have no time. It reads and writes no files itself.
package archive
