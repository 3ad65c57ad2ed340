//go:build !linux

// Command machine runs inside simulated machines, which need Linux.
package main

import (
	"fmt"
	"os"
)

func main() {
	_, _ = fmt.Fprintln(os.Stderr, "machine: simulated machines need Linux")
	os.Exit(2)
}
