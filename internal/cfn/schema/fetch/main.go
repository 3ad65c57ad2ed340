package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"time"
)

// defaultURL is the archive of one region, as listed on
// https://docs.aws.amazon.com/AWSCloudFormation/latest/TemplateReference/resource-type-schemas.html.
const defaultURL = "https://schema.cloudformation.us-east-1.amazonaws.com/CloudformationSchema.zip"

// maxArchive limits the download; the archive has about 3 MB.
const maxArchive = 256 << 20

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := run(ctx, os.Args[1:], os.Stderr)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "fetch:", err)
		os.Exit(1)
	}
}

// run executes the command; log receives the report.
func run(ctx context.Context, args []string, log io.Writer) error {
	flags := flag.NewFlagSet("fetch", flag.ContinueOnError)
	flags.SetOutput(log)
	url := flags.String("url", defaultURL, "the URL of the archive")
	archive := flags.String("zip", "", "read this archive instead of downloading one")
	out := flags.String("out", "cfn-resource-schemas.json.gz", "the file to write")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if flags.NArg() > 0 {
		return fmt.Errorf("unexpected argument %q", flags.Arg(0))
	}
	data, err := read(ctx, *archive, *url)
	if err != nil {
		return err
	}
	types, err := unpack(data)
	if err != nil {
		return err
	}
	packed, err := pack(types)
	if err != nil {
		return err
	}
	before, err := os.ReadFile(*out)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("read the file to replace: %w", err)
	}
	report(log, before, types)
	return write(*out, packed)
}

func read(ctx context.Context, archive, url string) ([]byte, error) {
	if archive != "" {
		data, err := os.ReadFile(archive) //nolint:gosec // the user names the file
		if err != nil {
			return nil, fmt.Errorf("read the archive: %w", err)
		}
		return data, nil
	}
	ctx, cancel := context.WithTimeout(ctx, 5*time.Minute)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return nil, fmt.Errorf("download the archive: %w", err)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return nil, fmt.Errorf("download the archive: %w", err)
	}
	defer func() { _ = response.Body.Close() }()
	if response.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("download the archive: %s answers %s", url, response.Status)
	}
	data, err := io.ReadAll(io.LimitReader(response.Body, maxArchive))
	if err != nil {
		return nil, fmt.Errorf("download the archive: %w", err)
	}
	return data, nil
}

// write replaces the file atomically, so that a failed run keeps the old one.
func write(path string, data []byte) error {
	temporary, err := os.CreateTemp(filepath.Dir(path), ".schemas-*")
	if err != nil {
		return fmt.Errorf("write the schemas: %w", err)
	}
	defer func() { _ = os.Remove(temporary.Name()) }()
	_, err = temporary.Write(data)
	err = errors.Join(err, temporary.Chmod(0o644), temporary.Close())
	if err == nil {
		err = os.Rename(temporary.Name(), path)
	}
	if err != nil {
		return fmt.Errorf("write the schemas: %w", err)
	}
	return nil
}

// list writes names on one line, the first few of them.
func list(names []string) string {
	const most = 20
	if len(names) > most {
		return strings.Join(names[:most], ", ") + fmt.Sprintf(" and %d more", len(names)-most)
	}
	return strings.Join(names, ", ")
}
