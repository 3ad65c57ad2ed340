// Package identity decides with which credentials, in which account and region, and with which
// limits the operator acts for an object: those of the AWSIdentity that the object or its namespace
// names and may use, or the operator's own.
//
// It never falls back: an object whose identity does not exist, is not allowed, or is not known yet
// is refused, because the operator's own credentials may do more than the object's author.
package identity
