// Package diff compares two templates and reports what would change in AWS: which resources are
// added, updated, replaced and removed, and which of their properties cause that.
//
// [Compare] works on trees with parameters, mappings and conditions resolved, so that a changed
// parameter appears as the changes that it causes. Package schema says whether a change replaces a
// resource. The [Plan] prints itself: it is the output of "plan" and the input of package policy.
// The package is pure: it makes no calls.
package diff
