// Package record defines the record that an object's status holds with each of its stacks: what the
// stack engine knows, what the stack's instances are made from, and when a failed change is
// retried.
//
// [Decode] reads it from a status and [Encode] writes it. The operator writes records, and the
// command line reads them to plan changes. The JSON form is the one of existing objects: fields may
// be added, but not renamed or removed. The package must never make calls.
package record
