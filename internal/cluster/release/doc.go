// Package release holds what clusters can be made of: the built-in Releases, as
// data, and the resource sets, the versions of the templates that render them.
//
// A Release names one resource set. What differs between sets is the few named
// Features that the templates ask for; there is one tree of templates. A set
// that has been published never changes what it renders, so a cluster stays
// byte for byte as it is until someone moves it to another release.
package release
