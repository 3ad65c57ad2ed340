// Package golden compares what a test made with a file of its testdata; go test
// with -update rewrites the files instead. Only tests import it, as it defines
// that flag.
package golden
