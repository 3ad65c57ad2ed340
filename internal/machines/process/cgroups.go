//go:build linux

package process

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// cgroups are the cgroups of a machine, one in each version 1 hierarchy of the host. They are the
// roots of the machine's cgroup namespace.
type cgroups []string

// errNoHierarchies means that the host has only version 2 of cgroups.
var errNoHierarchies = errors.New("machines that run containers need version 1 of cgroups, and this host has only version 2")

// newCgroups creates the cgroups of a machine below those of this process.
func newCgroups(name string) (cgroups, error) {
	parents, err := ownCgroups()
	if err != nil {
		return nil, err
	}
	var all cgroups
	for _, parent := range parents {
		own := filepath.Join(parent, "aws-operator-"+name)
		if err := os.Mkdir(own, 0o755); err != nil && !errors.Is(err, os.ErrExist) { //nolint:gosec // as all cgroups
			all.remove()
			return nil, fmt.Errorf("make the cgroup of %s: %w", name, err)
		}
		all = append(all, own)
		// No process can be in a cgroup without processors and memory nodes.
		for _, file := range []string{"cpuset.cpus", "cpuset.mems"} {
			value, err := os.ReadFile(filepath.Join(parent, file)) //nolint:gosec // a file of the kernel's
			if errors.Is(err, os.ErrNotExist) {
				continue
			}
			if err == nil {
				err = os.WriteFile(filepath.Join(own, file), value, 0o600) //nolint:gosec // as above
			}
			if err != nil {
				all.remove()
				return nil, fmt.Errorf("make the cgroup of %s: %w", name, err)
			}
		}
	}
	return all, nil
}

// ownCgroups returns the folders of this process's cgroups in the version 1 hierarchies.
func ownCgroups() ([]string, error) {
	mounts, err := os.Open("/proc/self/mountinfo")
	if err != nil {
		return nil, fmt.Errorf("find the hierarchies of cgroups: %w", err)
	}
	defer func() { _ = mounts.Close() }()
	own, err := os.ReadFile("/proc/self/cgroup")
	if err != nil {
		return nil, fmt.Errorf("find this process's cgroups: %w", err)
	}
	var folders []string
	for lines := bufio.NewScanner(mounts); lines.Scan(); {
		// https://man7.org/linux/man-pages/man5/proc_pid_mountinfo.5.html
		mount, super, _ := strings.Cut(lines.Text(), " - ")
		fields, kind := strings.Fields(mount), strings.Fields(super)
		if len(fields) < 5 || len(kind) < 3 || kind[0] != "cgroup" {
			continue
		}
		for line := range strings.Lines(string(own)) {
			parts := strings.SplitN(strings.TrimSpace(line), ":", 3)
			if len(parts) != 3 || parts[1] == "" || !subset(strings.Split(parts[1], ","), strings.Split(kind[2], ",")) {
				continue
			}
			relative, err := filepath.Rel(fields[3], parts[2])
			if err == nil && !slices.Contains(folders, filepath.Join(fields[4], relative)) {
				folders = append(folders, filepath.Join(fields[4], relative))
			}
		}
	}
	if len(folders) == 0 {
		return nil, errNoHierarchies
	}
	return folders, nil
}

func subset(of, all []string) bool {
	return !slices.ContainsFunc(of, func(one string) bool { return !slices.Contains(all, one) })
}

// enter moves the calling thread, which must be locked, into the cgroups. Processes that it creates
// are in them.
func (c cgroups) enter() error {
	for _, folder := range c {
		if err := os.WriteFile(filepath.Join(folder, "tasks"), []byte(strconv.Itoa(unix.Gettid())), 0o600); err != nil {
			return fmt.Errorf("enter a cgroup: %w", err)
		}
	}
	return nil
}

// leave moves the calling thread back, so that the cgroups can be removed when the machine's
// processes have ended.
func (c cgroups) leave() error {
	for _, folder := range c {
		if err := os.WriteFile(filepath.Join(filepath.Dir(folder), "tasks"), []byte(strconv.Itoa(unix.Gettid())), 0o600); err != nil {
			return fmt.Errorf("leave a cgroup: %w", err)
		}
	}
	return nil
}

// freeze stops all processes in the cgroups, those of containers included, and returns a function
// that continues them: https://docs.kernel.org/admin-guide/cgroup-v1/freezer-subsystem.html
func (c cgroups) freeze() (thaw func(), err error) {
	i := slices.IndexFunc(c, func(folder string) bool {
		_, err := os.Stat(filepath.Join(folder, freezerState))
		return err == nil
	})
	if i < 0 {
		return nil, errors.New("the host has no freezer for cgroups")
	}
	state := filepath.Join(c[i], freezerState)
	thaw = func() { _ = os.WriteFile(state, []byte("THAWED"), 0o600) }
	timeout := time.NewTimer(freezeTime)
	defer timeout.Stop()
	for {
		// Writing again freezes processes that were not in a state to be frozen.
		if err := os.WriteFile(state, []byte("FROZEN"), 0o600); err != nil {
			return nil, fmt.Errorf("freeze a cgroup: %w", err)
		}
		now, err := os.ReadFile(state) //nolint:gosec // a file of the kernel's
		if err == nil && strings.TrimSpace(string(now)) == "FROZEN" {
			return thaw, nil
		}
		select {
		case <-timeout.C:
			thaw()
			return nil, errors.Join(err, errors.New("its processes do not stop"))
		case <-time.After(time.Millisecond):
		}
	}
}

const freezerState = "freezer.state"

// remove removes the cgroups with all below them, whose processes have ended.
func (c cgroups) remove() {
	for _, folder := range c {
		var below []string
		_ = filepath.WalkDir(folder, func(path string, entry os.DirEntry, err error) error {
			if err == nil && entry.IsDir() {
				below = append(below, path)
			}
			return nil
		})
		for _, path := range slices.Backward(below) {
			_ = unix.Rmdir(path) // one that is not empty is the kernel's to keep
		}
	}
}
