// Package approval holds changes of stacks until a user approves them: it reports them in the
// object's status, and explains how to approve them.
package approval
