// Command nodeup makes the machine that it runs on a node of a cluster. User
// data starts it; see package internal/nodeup.
package main

import (
	"context"
	"flag"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"os/signal"
	"syscall"
	"time"

	"k8s.io/utils/clock"

	"github.com/aws-operator/aws-operator/internal/nodeup"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "nodeup:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	flags := flag.NewFlagSet("nodeup", flag.ContinueOnError)
	bucket := flags.String("bucket", "", "the cluster's bucket")
	region := flags.String("region", "", "the cluster's region")
	hash := flags.String("bundle", "", "the SHA-256 of the bundle to carry out")
	root := flags.String("root", "", "the folder below which all files are; the machine's own when empty")
	keep := flags.Bool("keep-token", false, "keep the token that workers join with, until it is ended")
	backUp := flags.Bool("back-up", false, "back up etcd to the bucket on schedule, until it is ended")
	ship := flags.Bool("ship-audit-log", false, "ship the audit log to its bucket, until it is ended")
	serveKMS := flags.Bool("serve-kms", false, "serve the KMS plugin of the slot's API server, until it is ended")
	var from nodeup.Restoration
	flags.StringVar(&from.Key, "restore", "", "restore the slot's etcd from this backup in the bucket, once")
	flags.StringVar(&from.ProgramSHA256, "restore-program", "", "the SHA-256 of the program that restores")
	flags.StringVar(&from.Token, "restore-token", "", "the name of this restore, the same on all slots")
	if err := flags.Parse(args); err != nil {
		return fmt.Errorf("read the command line: %w", err)
	}
	if *bucket == "" || *region == "" || *hash == "" {
		return fmt.Errorf("--bucket, --region and --bundle are needed")
	}
	// User data keeps what it fetches to itself; what is installed is for all to read.
	const umask = 0o022
	syscall.Umask(umask)
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	work := nodeup.Run
	switch {
	case *keep:
		work = nodeup.KeepToken
	case *backUp:
		work = nodeup.BackUp
	case *ship:
		work = nodeup.ShipAuditLog
	case *serveKMS:
		work = nodeup.ServeKMS
	case from.Key != "":
		work = func(ctx context.Context, o nodeup.Options) error { return nodeup.RestoreBackup(ctx, o, from) }
	}
	return work(ctx, nodeup.Options{
		Bucket: *bucket, Region: *region, BundleSHA256: *hash, Root: *root,
		AWS:     nodeup.Connect(*region),
		HTTP:    &http.Client{Timeout: 10 * time.Minute},
		Resolve: nodeup.Resolve,
		Clock:   clock.RealClock{},
		Log:     slog.New(slog.NewTextHandler(os.Stderr, nil)),
	})
}
