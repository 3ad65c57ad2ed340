package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"

	"k8s.io/utils/clock"
)

// options are the command's flags.
type options struct {
	root       string
	programs   string
	focus      string
	limit      time.Duration
	procs      int
	seed       int64
	page       string
	results    string
	resume     bool
	serve      bool
	kubeconfig string
	clock      clock.WithTicker
}

func main() {
	o := options{clock: clock.RealClock{}}
	flag.StringVar(&o.root, "root", ".", "the root of the repository")
	flag.StringVar(&o.programs, "programs", "bin/conformance", "the folder of the suite's programs")
	flag.StringVar(&o.focus, "focus", "", "regular expression of the conformance specs to run; all by default")
	flag.DurationVar(&o.limit, "limit", 3*time.Hour, "time limit of the suite")
	flag.IntVar(&o.procs, "procs", 4, "number of specs that run at the same time")
	flag.Int64Var(&o.seed, "seed", 0, "seed of the order of the specs; 0 for one of the time")
	flag.StringVar(&o.page, "page", "docs/reference/conformance.md", "the page to write")
	flag.StringVar(&o.results, "results", "bin/conformance/results.json", "the file that keeps results")
	flag.BoolVar(&o.resume, "resume", false, "keep earlier results, and run only specs that have not passed")
	flag.BoolVar(&o.serve, "serve", false, "start the cluster, print its kubeconfig's path, and stay until a signal")
	flag.StringVar(&o.kubeconfig, "kubeconfig", "", "run against the cluster of this file instead of starting one")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, o); err != nil {
		_, _ = fmt.Fprintln(os.Stderr, "conformance:", err)
		stop()
		os.Exit(1) //nolint:gocritic // stop was called
	}
}

func run(ctx context.Context, o options) (err error) {
	for _, path := range []*string{&o.root, &o.programs, &o.page, &o.results} {
		if *path, err = filepath.Abs(*path); err != nil {
			return err
		}
	}
	reasons, err := readReasons(filepath.Join(o.root, "test", "conformance", "reasons.yaml"))
	if err != nil {
		return err
	}
	images := filepath.Join(o.programs, "images")
	if err := writeImages(ctx, o.root, o.programs, images); err != nil {
		return err
	}
	if o.kubeconfig == "" {
		cluster, err := start(ctx, o, images)
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, cluster.stop(context.WithoutCancel(ctx))) }()
		o.kubeconfig = cluster.kubeconfig
	}
	if o.serve {
		_, _ = fmt.Fprintln(os.Stderr, "the cluster's kubeconfig is", o.kubeconfig)
		<-ctx.Done()
		return nil
	}
	return judge(ctx, o, reasons)
}

// judge runs the suite, merges what it reports into the results, and writes the page.
func judge(ctx context.Context, o options, reasons *reasons) error {
	all := &results{Specs: map[string]spec{}}
	if o.resume {
		if err := all.read(o.results); err != nil {
			return err
		}
	}
	if o.seed == 0 {
		o.seed = o.clock.Now().Unix()
	}
	versions, err := clusterVersions(ctx, o.kubeconfig)
	if err != nil {
		return err
	}
	began := o.clock.Now()
	report, err := runSuite(ctx, o, reasons, all.passed())
	if err != nil {
		return err
	}
	specs, reached := report.specs()
	all.merge(specs, runOf{
		Date: began.UTC().Format(time.DateOnly), Took: o.clock.Since(began).Round(time.Second).String(),
		Focus: o.focus, Limit: o.limit.String(),
		Reached: reached, Seed: o.seed, Procs: o.procs, Commit: commit(ctx, o.root), Versions: versions,
	})
	if err := all.write(o.results); err != nil {
		return err
	}
	_, _ = fmt.Fprintln(os.Stderr, all.count(reasons))
	return os.WriteFile(o.page, []byte(all.page(reasons)), 0o644) //nolint:gosec // a page for all to read
}
