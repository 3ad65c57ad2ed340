package operator

import (
	"bufio"
	"debug/elf"
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
	constant := constantParts(self)
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
		offset, offsetErr := strconv.ParseUint(fields[2], 16, 64)
		if !ok || startErr != nil || endErr != nil || offsetErr != nil || !constant(offset) {
			continue
		}
		// It is a hint: nothing depends on whether it is taken.
		_, _, _ = syscall.Syscall(syscall.SYS_MADVISE, uintptr(start), uintptr(end-start), syscall.MADV_DONTNEED)
	}
}

// constantParts tells which parts of a program's file are never written in
// memory. What is read-only now need not be: the dynamic linker fills in
// addresses and takes the right to write away afterwards (RELRO), and what it
// filled in would be lost.
func constantParts(path string) func(offset uint64) bool {
	file, err := elf.Open(path)
	if err != nil {
		return func(uint64) bool { return false }
	}
	defer func() { _ = file.Close() }()
	var writable []elf.ProgHeader
	for _, part := range file.Progs {
		if part.Type == elf.PT_LOAD && part.Flags&elf.PF_W != 0 {
			writable = append(writable, part.ProgHeader)
		}
	}
	page := uint64(os.Getpagesize())  //nolint:gosec // it is positive
	return func(offset uint64) bool { // of the beginning of a mapping, which is a whole number of pages
		for i := range writable {
			if begin := writable[i].Off / page * page; offset >= begin && offset < writable[i].Off+writable[i].Filesz {
				return false
			}
		}
		return true
	}
}
