// Package stackcache keeps in memory for which inputs stacks are up to date, so that a reconcile of
// an unchanged object renders nothing and makes no calls, and the rendered stacks of changes in
// progress.
package stackcache
