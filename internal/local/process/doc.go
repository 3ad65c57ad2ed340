// Package process runs child processes that end with their parent, however the
// parent ends, and keeps what they said, so that a failure can be explained by
// the child's own last words.
//
// On Linux the kernel ends a child when its parent dies. Elsewhere a parent
// that is killed outright leaves its children running.
package process
