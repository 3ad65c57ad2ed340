// Package modules tests that the repository's libraries can be used from another module. Each test
// creates a module in a temporary folder that imports a library of this checkout, compiles its
// program and runs it. It needs Go and the module cache, and never changes the checkout.
package modules
