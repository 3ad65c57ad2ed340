// Command images builds the operator's images for amd64 and arm64 as an OCI layout, from programs that
// make images has compiled, and pushes them to a repository. It needs no container engine.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"

	v1 "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/aws-operator/aws-operator/release/image"
)

const usage = `usage:
  images build -programs FOLDER -layout FOLDER -version VERSION [-revision COMMIT]
  images push -layout FOLDER -version VERSION -repository REPOSITORY`

func main() {
	if err := run(context.Background(), os.Args[1:], os.Stdout); err != nil {
		_, _ = fmt.Fprintln(os.Stderr, "images:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string, out io.Writer) error {
	if len(args) == 0 {
		return fmt.Errorf("%s", usage)
	}
	flags := flag.NewFlagSet("images", flag.ContinueOnError)
	programs := flags.String("programs", "", "folder with aws-operator, nodeup and etcd-restore, each with -linux-amd64 and -linux-arm64 after its name")
	layout := flags.String("layout", "", "folder of the OCI layout")
	version := flags.String("version", "", "version, the name of the images in the layout and their tag in the repository")
	revision := flags.String("revision", "", "commit of the source")
	repository := flags.String("repository", "", "repository, such as registry.example.com/aws-operator")
	if err := flags.Parse(args[1:]); err != nil {
		return err //nolint:wrapcheck // It is the flag's own sentence.
	}
	if *layout == "" || *version == "" || flags.NArg() > 0 {
		return fmt.Errorf("%s", usage)
	}
	switch {
	case args[0] == "build" && *programs != "":
		return build(out, *programs, *layout, *version, *revision)
	case args[0] == "push" && *repository != "":
		pushed, err := image.Push(ctx, *layout, *version, *repository)
		if err != nil {
			return err //nolint:wrapcheck // It says what failed.
		}
		_, err = fmt.Fprintf(out, "%s:%s@%s\n", *repository, *version, pushed)
		return err //nolint:wrapcheck // It is the writer's own.
	}
	return fmt.Errorf("%s", usage)
}

func build(out io.Writer, programs, layout, version, revision string) error {
	o := image.Options{
		Programs: map[string][]byte{}, Own: map[string][]byte{}, Entrypoint: "aws-operator", Command: []string{"operator"}, Name: version,
		Annotations: map[string]string{v1.AnnotationTitle: "aws-operator", v1.AnnotationVersion: version, v1.AnnotationLicenses: "Apache-2.0"},
	}
	if revision != "" {
		o.Annotations[v1.AnnotationRevision] = revision
	}
	for _, architecture := range []string{"amd64", "arm64"} {
		own, err := os.ReadFile(filepath.Join(programs, "aws-operator-linux-"+architecture)) //nolint:gosec // The flag names the folder.
		if err != nil {
			return fmt.Errorf("read a program: %w", err)
		}
		o.Own[architecture] = own
		// What the instances of clusters run, of either architecture: the operator puts it into their buckets.
		for _, name := range []string{"nodeup-linux-" + architecture, "etcd-restore-linux-" + architecture} {
			if o.Programs[name], err = os.ReadFile(filepath.Join(programs, name)); err != nil { //nolint:gosec // as above
				return fmt.Errorf("read a program: %w", err)
			}
		}
	}
	digest, err := image.Write(layout, o)
	if err != nil {
		return fmt.Errorf("write the images: %w", err)
	}
	_, err = fmt.Fprintf(out, "%s has aws-operator %s, %s\n", layout, version, digest)
	return err //nolint:wrapcheck // It is the writer's own.
}
