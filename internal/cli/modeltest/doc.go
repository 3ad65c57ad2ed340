// Package modeltest implements the command model test, which runs the cases of ModelDefinitions
// against the simulator of AWS.
//
// A case creates and changes objects as the operator does: it checks them as the API server would,
// renders their stacks, and lets the engine of the operator apply them. It says what the stacks must
// then have, or what must be refused.
package modeltest
