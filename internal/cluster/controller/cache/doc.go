// Package cache holds values in memory that several reconciles use, by key. Its caches are safe for
// concurrent use, and are lost on a restart.
//
// [Keyed] is unbounded: its owner must drop the keys of deleted objects. [Latest] evicts the oldest
// values.
package cache
