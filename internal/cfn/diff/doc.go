// Package diff says what would change in AWS if one template took the place
// of another: which resources are added, updated, replaced and removed, and
// which of their properties are the reason.
//
// [Compare] works on trees, with parameters, mappings and conditions
// resolved, so that a changed parameter shows as the changes it causes.
// Whether a change replaces a resource is looked up in package schema. The
// [Plan] prints itself: it is what "plan" shows and what package policy
// judges. The package is pure.
package diff
