package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"runtime/pprof"
	"strconv"
	"strings"
	"time"

	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
)

// profiles writes Go profiles of one measurement into a folder: of this program, which contains the
// simulator and the fake machines, of the operator and of the API server. Without a folder it does
// nothing.
type profiles struct {
	dir  string
	file *os.File
	done chan error
	// client is a client of the API server.
	client rest.Interface
	stop   context.CancelFunc
}

// begin starts CPU profiles of the programs.
func (p *profiles) begin(ctx context.Context, o *operator, server *rest.Config) error {
	if p.dir == "" {
		return nil
	}
	clients, err := kubernetes.NewForConfig(server)
	if err != nil {
		return fmt.Errorf("create a client: %w", err)
	}
	p.client = clients.RESTClient()
	if err := os.MkdirAll(p.dir, 0o750); err != nil {
		return fmt.Errorf("create the folder for profiles: %w", err)
	}
	if p.file, err = os.Create(filepath.Join(p.dir, "simulator-cpu.pprof")); err != nil {
		return fmt.Errorf("create a profile: %w", err)
	}
	if err := pprof.StartCPUProfile(p.file); err != nil {
		return fmt.Errorf("start a profile: %w", err)
	}
	ctx, p.stop = context.WithCancel(ctx)
	p.done = make(chan error, 1)
	go func() { p.done <- p.cpu(ctx, o) }()
	return nil
}

// end writes the CPU profiles, and heap profiles of both programs.
func (p *profiles) end(ctx context.Context, o *operator) error {
	if p.dir == "" {
		return nil
	}
	pprof.StopCPUProfile()
	p.stop()
	heap, err := os.Create(filepath.Join(p.dir, "simulator-heap.pprof"))
	if err != nil {
		return fmt.Errorf("create a profile: %w", err)
	}
	runtime.GC() // the profile is as of the last collection
	return errors.Join(<-p.done, p.file.Close(), pprof.WriteHeapProfile(heap), heap.Close(),
		p.fetch(ctx, o, "operator-heap.pprof", "heap?gc=1"), p.fetch(ctx, o, "operator-allocations.pprof", "allocs"))
}

// heap writes a heap profile of the operator.
func (p *profiles) heap(ctx context.Context, o *operator) error {
	if p.dir == "" {
		return nil
	}
	if err := os.MkdirAll(p.dir, 0o750); err != nil {
		return fmt.Errorf("create the folder for profiles: %w", err)
	}
	return p.fetch(ctx, o, "operator-heap.pprof", "heap?gc=1")
}

// cpu fetches consecutive profiles of the operator and of the API server, ten seconds each, until
// ctx ends.
func (p *profiles) cpu(ctx context.Context, o *operator) error {
	for i := 0; ctx.Err() == nil; i++ {
		served := make(chan error, 1)
		go func() { served <- p.serverCPU(ctx, i) }()
		err := p.fetch(ctx, o, fmt.Sprintf("operator-cpu-%02d.pprof", i), "profile?seconds=10")
		if err := errors.Join(err, <-served); err != nil && ctx.Err() == nil {
			return err
		}
	}
	return nil
}

func (p *profiles) serverCPU(ctx context.Context, i int) error {
	body, err := p.client.Get().AbsPath("/debug/pprof/profile").Param("seconds", "10").DoRaw(ctx)
	if err != nil {
		return fmt.Errorf("read a profile of the API server: %w", err)
	}
	return os.WriteFile(filepath.Join(p.dir, fmt.Sprintf("server-cpu-%02d.pprof", i)), body, 0o600)
}

func (p *profiles) fetch(ctx context.Context, o *operator, name, page string) error {
	response, err := get(ctx, "http://"+o.profiles+"/debug/pprof/"+page)
	if err != nil {
		return err
	}
	defer func() { _ = response.Body.Close() }()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		return fmt.Errorf("read a profile of the operator: %w", err)
	}
	return os.WriteFile(filepath.Join(p.dir, name), body, 0o600)
}

// spent is the CPU time of programs, by name.
type spent map[string]time.Duration

// spentNow returns the CPU time that this program ("simulator") and each program that it started
// have used so far.
func spentNow() (spent, error) {
	stats, err := filepath.Glob("/proc/[0-9]*/stat")
	if err != nil {
		return nil, fmt.Errorf("list processes: %w", err)
	}
	all, self := spent{}, os.Getpid()
	for _, path := range stats {
		stat, err := os.ReadFile(path) //nolint:gosec // a file in /proc
		if err != nil {
			continue // it ended meanwhile
		}
		process, err := parseStat(string(stat))
		if err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		switch {
		case process.id == self:
			all["simulator and machines"] += process.cpu
		case process.parent == self:
			all[programOf(path, process.name)] += process.cpu
		}
	}
	return all, nil
}

// programOf returns the name of the program that a multi-call binary runs: "kube kube-apiserver".
func programOf(stat, name string) string {
	line, err := os.ReadFile(filepath.Join(filepath.Dir(stat), "cmdline"))
	arguments := strings.Split(string(line), "\x00")
	if err != nil || len(arguments) < 2 {
		return name
	}
	return name + " " + arguments[1]
}

// process is the content of /proc for one process.
type process struct {
	id, parent int
	name       string
	cpu        time.Duration
}

// parseStat reads /proc/<id>/stat; see proc(5).
func parseStat(stat string) (process, error) {
	head, rest, ok := strings.Cut(stat, ") ")
	id, name, _ := strings.Cut(head, " (")
	fields := strings.Fields(rest)
	if !ok || len(fields) < 13 {
		return process{}, errors.New("not the format of /proc/<id>/stat")
	}
	p := process{name: name}
	var err error
	if p.id, err = strconv.Atoi(id); err != nil {
		return process{}, fmt.Errorf("the process's number: %w", err)
	}
	if p.parent, err = strconv.Atoi(fields[1]); err != nil {
		return process{}, fmt.Errorf("the parent's number: %w", err)
	}
	for _, field := range fields[11:13] {
		ticks, err := strconv.ParseInt(field, 10, 64)
		if err != nil {
			return process{}, fmt.Errorf("parse the CPU time: %w", err)
		}
		p.cpu += time.Duration(ticks) * time.Second / 100
	}
	return p, nil
}
