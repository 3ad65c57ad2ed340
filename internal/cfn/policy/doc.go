// Package policy decides whether a plan may be applied.
//
// [Check] runs a chain of small pure functions over the changes of a [diff.Plan]. Each returns
// nothing, or refuses the change with a reason and a sentence that says what to do. Users consent
// to refused changes by an annotation on the object, see [AllowAnnotation].
package policy
