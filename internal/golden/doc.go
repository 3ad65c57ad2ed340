// Package golden compares a test's output with a file in its testdata. With the flag -update, go
// test rewrites the files instead. Only tests may import the package, because it defines that flag.
package golden
