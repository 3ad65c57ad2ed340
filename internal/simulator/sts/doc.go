// Package sts simulates AWS STS: who calls, and sessions of roles whose keys the
// simulator then knows as callers of the role's account.
//
// Trust policies are not evaluated and a role need not exist: as signatures are
// not verified either, a session proves nothing. Access is denied where a fault
// says so.
package sts
