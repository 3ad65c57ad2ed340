// Package operatorkit is what an operator is made of, on top of
// controller-runtime.
package operatorkit
