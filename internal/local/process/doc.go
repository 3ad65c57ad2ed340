// Package process runs child processes that end with their parent, and keeps their logs, so that an
// error can contain the end of the child's log.
//
// On Linux, the kernel kills a child when its parent exits for any reason. On other systems, the
// children of a killed parent keep running.
package process
