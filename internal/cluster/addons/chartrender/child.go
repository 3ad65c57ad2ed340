package chartrender

import (
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"runtime/debug"
)

// Main is the child process: it confines itself, reads a [Request] from in and writes a [Response]
// to out. It returns the exit code.
func Main(in io.Reader, out, errOut io.Writer) int {
	debug.SetMemoryLimit(softMemory)
	slog.SetDefault(slog.New(slog.DiscardHandler)) // Helm's warnings are for people at a terminal.
	if err := confine(); err != nil {
		_, _ = fmt.Fprintf(errOut, "the process that renders charts cannot be confined: %v\n", err)
		return 1
	}
	var asked Request
	if err := json.NewDecoder(in).Decode(&asked); err != nil {
		_, _ = fmt.Fprintf(errOut, "read the request: %v\n", err)
		return 1
	}
	if err := json.NewEncoder(out).Encode(answer(&asked)); err != nil {
		_, _ = fmt.Fprintf(errOut, "write the response: %v\n", err)
		return 1
	}
	return 0
}
