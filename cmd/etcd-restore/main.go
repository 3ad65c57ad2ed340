// Command etcd-restore makes a member of a new etcd cluster from the data that a snapshot holds.
// nodeup runs it on a slot whose volume was made from a snapshot; see package internal/etcdrestore.
package main

import (
	"context"
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
	if errors.Is(err, etcdrestore.ErrNoData) {
		os.Exit(3) // Trying again does not help.
	}
	os.Exit(1)
}

func run(ctx context.Context, args []string, out io.Writer) error {
	var o etcdrestore.Options
	flags := flag.NewFlagSet("etcd-restore", flag.ContinueOnError)
	flags.StringVar(&o.DataDir, "data-dir", "", "etcd's data directory")
	flags.StringVar(&o.Snapshot, "snapshot", "", "the snapshot that the directory's data is of")
	flags.StringVar(&o.Name, "name", "", "the member's name")
	flags.StringVar(&o.InitialCluster, "initial-cluster", "", "all members and their peer URLs, as etcd has them")
	flags.StringVar(&o.Token, "initial-cluster-token", "", "the new cluster's token, as etcd has it")
	if err := flags.Parse(args); err != nil {
		return fmt.Errorf("read the command line: %w", err)
	}
	if o.DataDir == "" || o.Snapshot == "" || o.Name == "" || o.InitialCluster == "" || o.Token == "" {
		return errors.New("--data-dir, --snapshot, --name, --initial-cluster and --initial-cluster-token are needed")
	}
	form := zap.NewProductionConfig()
	form.Level = zap.NewAtomicLevelAt(zap.WarnLevel)
	log, err := form.Build()
	if err != nil {
		return fmt.Errorf("create etcd's logger: %w", err)
	}
	o.Log = log
	made, err := etcdrestore.Run(ctx, o)
	if err != nil {
		return err //nolint:wrapcheck // The error has the context.
	}
	if made {
		_, err = fmt.Fprintf(out, "made %s of %s\n", o.Name, o.Snapshot)
		return err //nolint:wrapcheck // A failed write to standard output needs no context.
	}
	_, err = fmt.Fprintf(out, "nothing, %s is made of %s\n", o.Name, o.Snapshot)
	return err //nolint:wrapcheck // A failed write to standard output needs no context.
}
