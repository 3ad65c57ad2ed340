// Package sts simulates AWS STS: the identity of the caller, and sessions of roles. The simulator
// treats callers with a session's keys as callers of the role's account.
//
// Trust policies are not evaluated and a role need not exist: the simulator does not verify
// signatures, so a session proves nothing. Presigned requests are the exception: their signatures
// are verified with keys that the simulator issued. Access is denied only by faults.
package sts
