package program

import (
	"bufio"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
)

// Return releases the pages of the program's own file that were read so far. Most are not needed
// again, and the others come back from the page cache. The start reads some 50 MB of the program, a
// working operator some 20, a short command less.
func Return() {
	for _, p := range constant() {
		p.release()
	}
}

// constant returns the parts of the program that are never written. They do not move, so it reads
// them once.
var constant = sync.OnceValue(func() (found []part) {
	self, err := os.Executable()
	if err != nil {
		return nil
	}
	maps, err := os.Open("/proc/self/smaps")
	if err != nil {
		return nil
	}
	defer func() { _ = maps.Close() }()
	for lines := bufio.NewScanner(maps); lines.Scan(); {
		// A line "00400000-04e7c000 r-xp 00000000 fe:00 123 /path" for each mapping, and then lines
		// "Anonymous: 4 kB" on it; see proc_pid_smaps(5).
		line := lines.Text()
		name, rest, _ := strings.Cut(line, ":")
		switch {
		case name == "Anonymous" || name == "Swap":
			if strings.TrimSpace(rest) != "0 kB" {
				found[len(found)-1].written = true
			}
		case line[0] >= 'A' && line[0] <= 'Z':
		default:
			found = append(found, partOf(strings.Fields(line), self))
		}
	}
	return slices.DeleteFunc(found, func(p part) bool { return p.written || p.end <= p.start })
})

// part is a part of the program as it is mapped, of no length if it is none of the file's constant
// ones.
type part struct {
	start, end uint64
	// written says that some of it differs from the file. What is read-only now need not always
	// have been: the dynamic linker fills in addresses and takes the right to write away afterwards
	// (RELRO), and what it filled in would be lost.
	written bool
}

// partOf reads the first line on a mapping.
func partOf(fields []string, self string) part {
	if len(fields) != 6 || fields[5] != self || strings.Contains(fields[1], "w") {
		return part{}
	}
	from, to, _ := strings.Cut(fields[0], "-")
	start, startErr := strconv.ParseUint(from, 16, 64)
	end, endErr := strconv.ParseUint(to, 16, 64)
	if startErr != nil || endErr != nil {
		return part{}
	}
	return part{start: start, end: end}
}

func (p part) release() {
	// It is a hint: nothing depends on whether it is taken.
	_, _, _ = syscall.Syscall(syscall.SYS_MADVISE, uintptr(p.start), uintptr(p.end-p.start), syscall.MADV_DONTNEED)
}
