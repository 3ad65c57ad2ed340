package chartrender

import (
	"fmt"
	"os"

	"github.com/landlock-lsm/go-landlock/landlock"
	"golang.org/x/sys/unix"
)

// confine gives up the ability to open files and connections, and limits memory and processor time.
// When memory is short, the kernel kills the child before its parent.
// https://docs.kernel.org/userspace-api/landlock.html,
// https://man7.org/linux/man-pages/man2/setrlimit.2.html
// https://docs.kernel.org/userspace-api/landlock.html,
// https://man7.org/linux/man-pages/man2/setrlimit.2.html
func confine() error {
	_ = os.WriteFile("/proc/self/oom_score_adj", []byte("1000"), 0o600) // Best effort: the limits apply without it.
	for resource, limit := range map[int]uint64{
		unix.RLIMIT_DATA: memory, // Not RLIMIT_AS: Go reserves far more addresses than it uses.
		unix.RLIMIT_CPU:  cpuSeconds, unix.RLIMIT_FSIZE: 0, unix.RLIMIT_CORE: 0,
	} {
		if err := unix.Setrlimit(resource, &unix.Rlimit{Cur: limit, Max: limit}); err != nil {
			return fmt.Errorf("limit resource %d: %w", resource, err)
		}
	}
	if err := landlock.V11.BestEffort().Restrict(); err != nil {
		return fmt.Errorf("drop access to files and connections: %w", err)
	}
	return nil
}
