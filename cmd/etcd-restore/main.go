// Command etcd-restore makes a member of a new etcd cluster from the data that a snapshot holds, or
// verifies a snapshot. nodeup runs it on a slot that is restored, and aws-operator to verify a
// backup; see package internal/etcdrestore.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	"go.uber.org/zap"

	"github.com/aws-operator/aws-operator/internal/etcdrestore"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, os.Args[1:], os.Stdout)
	stop()
	if err == nil {
		return
	}
	fmt.Fprintln(os.Stderr, "etcd-restore:", err)
	if errors.Is(err, etcdrestore.ErrNoData) || errors.Is(err, etcdrestore.ErrDamaged) {
		os.Exit(3) // Trying again does not help.
	}
	os.Exit(1)
}

func run(ctx context.Context, args []string, out io.Writer) error {
	var o etcdrestore.Options
	var file, verify, scratch string
	flags := flag.NewFlagSet("etcd-restore", flag.ContinueOnError)
	flags.StringVar(&o.DataDir, "data-dir", "", "etcd's data directory")
	flags.StringVar(&o.Snapshot, "snapshot", "", "the snapshot that the directory's data is of")
	flags.StringVar(&file, "file", "", "a snapshot from etcd's API to make the member from; --snapshot is what the volume was created from")
	flags.StringVar(&o.Name, "name", "", "the member's name")
	flags.StringVar(&o.InitialCluster, "initial-cluster", "", "all members and their peer URLs, as etcd has them")
	flags.StringVar(&o.Token, "initial-cluster-token", "", "the new cluster's token, as etcd has it")
	flags.StringVar(&verify, "verify", "", "only verify this file, a snapshot from etcd's API, and print what it holds as JSON")
	flags.StringVar(&scratch, "scratch", "", "a folder that does not exist, to restore the snapshot into; it is left there")
	if err := flags.Parse(args); err != nil {
		return fmt.Errorf("read the command line: %w", err)
	}
	var err error
	if o.Log, err = logger(); err != nil {
		return err
	}
	switch {
	case verify != "" && scratch != "":
		report, err := etcdrestore.Verify(ctx, verify, scratch, o.Log)
		if err != nil {
			return err //nolint:wrapcheck // The error has the context.
		}
		return json.NewEncoder(out).Encode(report) //nolint:wrapcheck // A failed write to standard output needs no context.
	case o.DataDir == "" || o.Snapshot+file == "" || o.Name == "" || o.InitialCluster == "" || o.Token == "":
		return errors.New("--data-dir, --snapshot or --file, --name, --initial-cluster and --initial-cluster-token are needed, or --verify and --scratch")
	}
	return restore(ctx, o, file, out)
}

// restore makes the member of the file, or of the data in the directory if there is none.
func restore(ctx context.Context, o etcdrestore.Options, file string, out io.Writer) error {
	of, made, err := o.Snapshot, false, error(nil)
	if file != "" {
		of = file
		made, err = etcdrestore.RunFile(o, file)
	} else {
		made, err = etcdrestore.Run(ctx, o)
	}
	if err != nil {
		return err //nolint:wrapcheck // The error has the context.
	}
	if made {
		_, err = fmt.Fprintf(out, "made %s of %s\n", o.Name, of)
		return err //nolint:wrapcheck // A failed write to standard output needs no context.
	}
	_, err = fmt.Fprintf(out, "nothing, %s is made of %s\n", o.Name, of)
	return err //nolint:wrapcheck // A failed write to standard output needs no context.
}

// logger returns the log of etcd's own code, on standard error.
func logger() (*zap.Logger, error) {
	form := zap.NewProductionConfig()
	form.Level = zap.NewAtomicLevelAt(zap.WarnLevel)
	log, err := form.Build()
	if err != nil {
		return nil, fmt.Errorf("create etcd's logger: %w", err)
	}
	return log, nil
}
