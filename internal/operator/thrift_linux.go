package operator

import (
	"bufio"
	"os"
	"strconv"
	"strings"
	"syscall"
)

// returnProgram lets go of the parts of the program's own file that starting up
// has touched: what is needed again comes back from the page cache, and most is
// not. Starting reads some 60 MB of the program, working some 20.
func returnProgram() {
	self, err := os.Executable()
	if err != nil {
		return
	}
	maps, err := os.Open("/proc/self/maps")
	if err != nil {
		return
	}
	defer func() { _ = maps.Close() }()
	for lines := bufio.NewScanner(maps); lines.Scan(); {
		// 00400000-04e7c000 r-xp 00000000 fe:00 123 /path; see proc_pid_maps(5).
		fields := strings.Fields(lines.Text())
		if len(fields) != 6 || fields[5] != self || strings.Contains(fields[1], "w") {
			continue
		}
		from, to, ok := strings.Cut(fields[0], "-")
		start, startErr := strconv.ParseUint(from, 16, 64)
		end, endErr := strconv.ParseUint(to, 16, 64)
		if !ok || startErr != nil || endErr != nil {
			continue
		}
		// It is a hint: nothing depends on whether it is taken.
		_, _, _ = syscall.Syscall(syscall.SYS_MADVISE, uintptr(start), uintptr(end-start), syscall.MADV_DONTNEED)
	}
}
