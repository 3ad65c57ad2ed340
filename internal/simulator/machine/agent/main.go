package agent

import (
	"fmt"
	"io"
)

// Name is the name by which the binary is the kubelet.
const Name = "kubelet"

// Main is the kubelet: it runs until a signal ends it, and returns its exit code.
func Main(_ []string, _, errOut io.Writer) int {
	_, _ = fmt.Fprintln(errOut, "not yet")
	return 1
}
