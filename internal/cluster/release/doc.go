// Package release contains the built-in Releases, as data, and the resource sets, which are the
// versions of the templates.
//
// A Release names a resource set. Sets differ only in a few named Features that the templates
// query; there is one tree of templates. A published set must never change what it renders, so a
// cluster stays byte for byte the same until its user selects another Release.
package release
