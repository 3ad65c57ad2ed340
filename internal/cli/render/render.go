// Package render implements the command render, which prints the CloudFormation templates that the
// operator would send for manifests, without a cluster and without AWS.
package render

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	clusterv1alpha1 "github.com/aws-operator/aws-operator/api/cluster/v1alpha1"
	"github.com/aws-operator/aws-operator/internal/cli/internal/manifests"
	"github.com/aws-operator/aws-operator/internal/cli/internal/usage"
	"github.com/aws-operator/aws-operator/internal/local/environment"
	"github.com/aws-operator/aws-operator/internal/manifest"
	"github.com/aws-operator/aws-operator/internal/operator"
	"github.com/aws-operator/aws-operator/internal/service/kinds"
	"github.com/aws-operator/aws-operator/internal/service/render"
	"github.com/aws-operator/aws-operator/internal/yamltree"
)

type flags struct {
	files manifests.Flags
	out   string
	facts render.Facts
}

// Command returns the command.
func Command() *cobra.Command {
	f := flags{files: manifests.Flags{Others: true}}
	cmd := &cobra.Command{
		Use:   "render -f FILE [-f FILE …]",
		Short: "Print the CloudFormation templates of manifests",
		Long: `Print the CloudFormation template of every object in the manifests, as the operator
would send it, after the checks that the operator makes. The command contacts neither a
cluster nor AWS. ModelDefinitions in the files define further kinds. Where an object uses
outputs of another one, the template has placeholders of the same form.`,
		Example: `  aws-operator render -f examples/quickstart/dynamodb.yaml

  # A file for each stack, for another tool to check:
  aws-operator render -f examples/sqsqueue.yaml --out templates && cfn-lint templates/*.yaml`,
		Args: usage.None,
		RunE: func(cmd *cobra.Command, _ []string) error {
			set, err := f.files.Read(cmd)
			if err != nil {
				return err
			}
			return f.run(cmd.Context(), set, cmd.OutOrStdout())
		},
	}
	f.files.Add(cmd)
	set := cmd.Flags()
	set.StringVar(&f.out, "out", "", "folder to write a file for each stack to, instead of printing")
	set.StringVar(
		&f.facts.ClusterName,
		"cluster-name",
		operator.DefaultClusterName,
		"the operator's --cluster-name, which prefixes stack names",
	)
	set.StringVar(&f.facts.Region, "aws-region", environment.Region, "AWS region")
	set.StringVar(&f.facts.AccountID, "aws-account-id", environment.Account, "AWS account")
	return cmd
}

// run prints all stacks, or nothing if a manifest is invalid.
func (f *flags) run(ctx context.Context, set *manifest.Set, out io.Writer) error {
	known, err := kinds.BuiltIn()
	if err != nil {
		return err
	}
	if err := known.Admit(ctx, set.Manifests); err != nil {
		return err
	}
	var problems yamltree.Problems
	stacks := make([]*render.Desired, len(set.Manifests))
	for i := range set.Manifests {
		stacks[i], err = stackOf(known, &set.Manifests[i], f.facts)
		problems = append(problems, known.Problems(&set.Manifests[i], err)...)
	}
	if err := problems.Err(); err != nil {
		return err
	}
	for i, m := range set.Manifests {
		switch kind := m.Object.GetObjectKind().GroupVersionKind(); {
		case kind.Group == clusterv1alpha1.Group:
			_, err = fmt.Fprintf(
				out,
				"# %s: the stacks of a %s are not printed, since they depend on its Release and on existing AWS resources\n",
				m.File,
				kind.Kind,
			)
		case stacks[i] != nil:
			err = f.write(stacks[i], out)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (f *flags) write(stack *render.Desired, out io.Writer) error {
	text := fmt.Sprintf("# stack %s\n%s", stack.Name, stack.Template.YAML())
	if f.out == "" {
		_, err := fmt.Fprintf(out, "---\n%s", text)
		return err
	}
	if err := os.MkdirAll(f.out, 0o750); err != nil {
		return fmt.Errorf("make the folder for the templates: %w", err)
	}
	if err := os.WriteFile(filepath.Join(f.out, stack.Name+".yaml"), []byte(text), 0o600); err != nil {
		return fmt.Errorf("write the template of %s: %w", stack.Name, err)
	}
	return nil
}
