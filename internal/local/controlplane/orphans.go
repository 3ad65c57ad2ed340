package controlplane

import (
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
)

// tempPrefix begins the names of temporary folders; the id of the process that
// made it follows.
const tempPrefix = "aws-operator-control-plane-"

// removeOrphans removes the temporary folders of processes that were killed
// before they could remove their own. What cannot be removed, being another
// user's, stays.
func removeOrphans() {
	dirs, err := filepath.Glob(filepath.Join(os.TempDir(), tempPrefix+"*"))
	if err != nil {
		return
	}
	for _, dir := range dirs {
		owner, _, _ := strings.Cut(strings.TrimPrefix(filepath.Base(dir), tempPrefix), "-")
		pid, err := strconv.Atoi(owner)
		if err == nil && errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) {
			_ = os.RemoveAll(dir)
		}
	}
}
