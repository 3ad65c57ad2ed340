// Package assumptions lists what the project assumes of AWS, as data: for each assumption, its
// evidence, the tests that rely on it, and the clients that rely on the same.
//
// The page docs/reference/assumptions.md is generated from it, and the command trial checks some of
// the assumptions in an account of the user.
package assumptions
