// Package auditlog ships the audit log of an API server, in order, to a place where objects can only
// be added.
//
// kube-apiserver appends lines to one file. At a size, it renames the file to one with the time in
// its name and begins another one; it may compress the renamed file, and it deletes old ones
// (https://kubernetes.io/docs/tasks/debug/debug-cluster/audit/#log-backend,
// https://github.com/natefinch/lumberjack). A file is recognized by the SHA-256 of its first line,
// whatever its name and inode are, because names change and file systems reuse inodes.
//
// [Shipper.Ship] records on disk which bytes it is about to ship under which key, ships them, and
// records that it has. A key contains a random number. So if the process is killed and the next one
// finds that the object exists, it is the one that was recorded. If the record is lost, everything
// that is still on the disk is shipped once more, under other keys: each line is shipped at least
// once.
//
// Bytes that were deleted before they were shipped are reported, and an object records them.
package auditlog
