// Package sts simulates AWS STS: who calls, and sessions of roles whose keys the
// simulator then knows as callers of the role's account.
//
// Trust policies are not evaluated and a role need not exist: as signatures are
// not verified either, a session proves nothing. Presigned requests are the
// exception: their signatures are verified, with keys that the simulator issued.
// Access is denied where a fault says so.
package sts
