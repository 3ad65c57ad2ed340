// Package template implements the command template, which renders manifests from templates and
// values.
package template

import (
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/aws-operator/aws-operator/internal/cli/internal/usage"
	"github.com/aws-operator/aws-operator/internal/manifest/templates"
)

type flags struct {
	templates, snippets       []string
	values, outputs           []string
	set, setString            []string
	name, out                 string
	failOnMissing, formatYAML bool
}

// Command returns the command.
func Command() *cobra.Command {
	var f flags
	cmd := &cobra.Command{
		Use:   "template --template FILE [--values FILE …]",
		Short: "Render manifests from templates and values",
		Long: `Render manifests from Go templates, with the functions of sprig, include and toYaml.
Values come from YAML or JSON files, from the outputs of Terraform, and from the command
line, in this order; later values are merged over earlier ones. Outputs are available by
name, as .vpc_id and as .vpc_id.value.

The command reads only the named files and writes only --output.`,
		Example: `  terraform -chdir=1-prerequisites output -json > values.json
  aws-operator template --template cluster-template.yml --values-terraform values.json --format-yaml > cluster.yml

  # A folder of templates with snippets, values for all clusters and for one:
  aws-operator template --template templates --snippets snippets --values all.yaml --values demo.yaml \
    --set groups.nodes.maxSize=5 --output demo.yml`,
		Args: usage.None,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return f.run(cmd.InOrStdin(), cmd.OutOrStdout())
		},
	}
	set := cmd.Flags()
	set.StringArrayVar(&f.templates, "template", nil, "template, or folder of templates; - is standard input")
	set.StringArrayVar(&f.snippets, "snippets", nil, "snippet, or folder of snippets, which templates include by file name")
	set.StringArrayVar(&f.values, "values", nil, "file of values in YAML or JSON; - is standard input")
	set.StringArrayVar(&f.outputs, "values-terraform", nil, "file with the output of terraform output -json; - is standard input")
	set.StringArrayVar(&f.set, "set", nil, "values as a=1,b.c=true,d[0]=x")
	set.StringArrayVar(&f.setString, "set-string", nil, "values as with --set, all as strings")
	set.StringVar(&f.name, "name", "", "value of clusterName")
	set.BoolVar(&f.failOnMissing, "fail-on-missing", true, "fail on missing values instead of leaving them empty")
	set.BoolVar(&f.formatYAML, "format-yaml", false, "parse the output and print each document in a canonical format, without comments")
	set.StringVarP(&f.out, "output", "o", "", "file to write (default: standard output)")
	_ = cmd.MarkFlagRequired("template")
	return cmd
}

func (f *flags) run(in io.Reader, out io.Writer) error {
	input := templates.Input{FailOnMissing: f.failOnMissing, FormatYAML: f.formatYAML}
	if err := f.read(&input, in); err != nil {
		return err
	}
	text, err := templates.Render(input)
	if err != nil {
		return err
	}
	if f.out == "" || f.out == "-" {
		_, err := out.Write(text)
		return err
	}
	if err := os.WriteFile(f.out, text, 0o600); err != nil {
		return fmt.Errorf("write the manifests: %w", err)
	}
	return nil
}

// read reads all inputs of the flags.
func (f *flags) read(input *templates.Input, in io.Reader) error {
	var err error
	if input.Templates, err = files(f.templates, in); err != nil {
		return err
	}
	if input.Snippets, err = files(f.snippets, in); err != nil {
		return err
	}
	for _, source := range []struct {
		paths []string
		add   func(string, []byte) error
	}{{f.values, input.Values.AddFile}, {f.outputs, input.Values.AddTerraform}} {
		read, err := files(source.paths, in)
		if err != nil {
			return err
		}
		for _, one := range read {
			if err := source.add(one.Name, []byte(one.Text)); err != nil {
				return err
			}
		}
	}
	for _, one := range f.set {
		if err := input.Values.Set(one); err != nil {
			return err
		}
	}
	for _, one := range f.setString {
		if err := input.Values.SetString(one); err != nil {
			return err
		}
	}
	if f.name != "" {
		input.Values.Put("clusterName", f.name)
	}
	return nil
}

// files reads files, and all files in folders and below.
func files(paths []string, in io.Reader) ([]templates.File, error) {
	var all []templates.File
	for _, path := range paths {
		if path == "-" {
			data, err := io.ReadAll(in)
			if err != nil {
				return nil, fmt.Errorf("read standard input: %w", err)
			}
			all = append(all, templates.File{Name: "standard input", Text: string(data)})
			continue
		}
		err := filepath.WalkDir(path, func(file string, entry fs.DirEntry, err error) error {
			if err != nil || entry.IsDir() {
				return err
			}
			data, err := os.ReadFile(file) //nolint:gosec // the user names it
			if err != nil {
				return err
			}
			all = append(all, templates.File{Name: file, Text: string(data)})
			return nil
		})
		if err != nil {
			return nil, fmt.Errorf("read the files: %w", err)
		}
	}
	return all, nil
}
