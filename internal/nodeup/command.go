package nodeup

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"strings"
)

// command runs a program and returns its standard output. The error has the end of its standard
// error.
func (b *boot) command(ctx context.Context, name string, args ...string) (string, error) {
	var stdout, stderr bytes.Buffer
	cmd := exec.CommandContext(ctx, name, args...) //nolint:gosec // The programs are those of the package's documentation.
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		return stdout.String(), fmt.Errorf("%s %s: %w%s", name, strings.Join(args, " "), err, end(stderr.String()))
	}
	return stdout.String(), nil
}

// end returns the last lines of a program's output, joined to one line, for an error.
func end(output string) string {
	const lines = 5
	all := strings.FieldsFunc(output, func(r rune) bool { return r == '\n' })
	if len(all) == 0 {
		return ""
	}
	return ": " + strings.Join(all[max(0, len(all)-lines):], " | ")
}

// exitCode returns the exit code of a program that failed.
func exitCode(err error) (int, bool) {
	failed, ok := errors.AsType[*exec.ExitError](err)
	if !ok {
		return 0, false
	}
	return failed.ExitCode(), true
}
