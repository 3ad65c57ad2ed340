// Package policy decides whether a plan may be carried out.
//
// [Check] runs a chain of small pure functions over the changes of a
// [diff.Plan]. Each either has nothing to say or refuses with a reason and
// a sentence that names the remedy. What needs a person's consent is given by
// an annotation on the object, see [AllowAnnotation].
package policy
