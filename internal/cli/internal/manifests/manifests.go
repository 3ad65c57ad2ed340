// Package manifests holds the flags of commands that read manifests from files, and prints notes
// about fields that could not be translated.
package manifests

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"github.com/aws-operator/aws-operator/internal/kops"
	"github.com/aws-operator/aws-operator/internal/manifest"
	"github.com/aws-operator/aws-operator/internal/service/kinds"
	"github.com/aws-operator/aws-operator/internal/yamltree"
)

// Flags are the flags of a command that reads manifests.
type Flags struct {
	// Others allows objects of other API groups in the files.
	Others bool
	// Optional reports that the command has another source. It then calls [Flags.Given].
	Optional bool

	files   []string
	options manifest.Options
}

// Add gives the command the flags --filename, --strict, --kops-release and --kops-name.
func (f *Flags) Add(cmd *cobra.Command) {
	set := cmd.Flags()
	set.StringArrayVarP(&f.files, "filename", "f", nil, "file or folder of manifests; - is standard input")
	set.BoolVar(&f.options.Kops.Strict, "strict", false, "refuse manifests of kops and eksctl with fields that cannot be translated")
	set.StringVar(
		&f.options.Kops.Release,
		"kops-release",
		"",
		"Release of clusters that manifests of kops define (default: the nearest to their kubernetesVersion)",
	)
	set.StringVar(
		&f.options.Kops.Name,
		"kops-name",
		"",
		"name of the cluster that manifests of kops define (default: the first label of its name there)",
	)
	if !f.Optional {
		_ = cmd.MarkFlagRequired("filename")
	}
}

// Given reports whether there are files to read.
func (f *Flags) Given() bool { return len(f.files) > 0 }

// Read reads the files. It prints notes about fields of kops manifests without a counterpart to the
// command's error output.
func (f *Flags) Read(cmd *cobra.Command) (*manifest.Set, error) {
	sources, err := manifest.Open(f.files, cmd.InOrStdin())
	if err != nil {
		return nil, err
	}
	f.options.Others, f.options.Eksctl.Strict = f.Others, f.options.Kops.Strict
	set, err := manifest.Read(sources, f.options)
	if problems, ok := errors.AsType[yamltree.Problems](err); ok && f.Others {
		err = complete(cmd.Context(), sources, set, problems)
	}
	if err != nil {
		return nil, err
	}
	Print(cmd, set.Notes)
	return set, nil
}

// complete returns the problems of manifests that could not be read together with those of the
// others, so that users see all at once.
func complete(ctx context.Context, sources []manifest.Source, set *manifest.Set, problems yamltree.Problems) error {
	known, err := kinds.BuiltIn()
	if err != nil {
		return err
	}
	more, _ := errors.AsType[yamltree.Problems](known.Admit(ctx, set.Manifests))
	for _, problem := range more {
		if problem.Path != "kind" { // The definition of an unknown kind may be among those that could not be read.
			problems = append(problems, problem)
		}
	}
	order := map[string]int{}
	for i, source := range sources {
		order[source.Name] = i
	}
	slices.SortStableFunc(problems, func(a, b yamltree.Problem) int {
		return cmp.Or(cmp.Compare(order[a.File], order[b.File]), cmp.Compare(a.Line, b.Line))
	})
	return problems
}

// Print prints notes to the command's error output, one per line.
func Print(cmd *cobra.Command, notes []kops.Note) {
	for _, note := range notes {
		_, _ = fmt.Fprintf(cmd.ErrOrStderr(), "%s: %s\n", note.Severity, note)
	}
}
