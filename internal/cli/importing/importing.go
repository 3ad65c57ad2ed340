// Package importing implements the command import, which writes manifests of objects that adopt existing
// resources. It changes nothing.
package importing

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/aws-operator/aws-operator/api/service/v1alpha1"
	"github.com/aws-operator/aws-operator/internal/awsapi"
	"github.com/aws-operator/aws-operator/internal/cli/internal/usage"
	"github.com/aws-operator/aws-operator/internal/cli/version"
	"github.com/aws-operator/aws-operator/internal/operator"
	"github.com/aws-operator/aws-operator/internal/plural"
	"github.com/aws-operator/aws-operator/internal/service/adopt"
	"github.com/aws-operator/aws-operator/internal/service/kinds"
	"github.com/aws-operator/aws-operator/internal/service/render"
)

type options struct {
	find      finding
	stack     string
	terraform string

	namespace, out, region, operator string
}

// Command returns the command.
func Command() *cobra.Command {
	o := &options{}
	cmd := &cobra.Command{
		Use:   "import",
		Short: "Write manifests of objects that adopt existing AWS resources",
		Long: `Write manifests of objects that adopt existing resources: those of an account that the
flags select, those of a CloudFormation stack, or those in a state file of Terraform. The
command only reads.

The specs say what the resources have, so that a plan of the manifests changes nothing. An
object is of a built-in kind if that can say everything about the resource. Otherwise it is
of a kind that has all properties of the type, and the command writes the ModelDefinition of
the kind, too. The objects keep the resources when they are deleted (deletion-policy:
retain).

Resources that belong to a stack are left out, unless --stack names it: CloudFormation
manages a resource in one stack only. The command says what it left out, and why.`,
		Example: `  # All queues and tables of a team, one file for each:
  aws-operator import --type SQSQueue,DynamoDB --tag team=shop --out shop
  aws-operator plan -f shop

  # All resources of the built-in kinds whose names begin with orders:
  aws-operator import --name 'orders*'

  # The resources of a stack, or of Terraform, of another tool:
  aws-operator import --stack shop-prod --out shop
  aws-operator import --terraform-state terraform.tfstate --out shop`,
		Args: usage.None,
		RunE: func(cmd *cobra.Command, _ []string) error { return o.run(cmd) },
	}
	set := cmd.Flags()
	set.StringSliceVar(&o.find.types, "type", nil,
		"kinds or CloudFormation types, with * for any part, such as AWS::Events::* (default: the types of the built-in kinds)")
	set.StringArrayVar(&o.find.tags, "tag", nil, "KEY or KEY=VALUE of a tag that the resources have; all of them, if given several times")
	set.StringVar(&o.find.name, "name", "", "pattern of the resources' names, with * and ?")
	set.StringVar(&o.stack, "stack", "", "CloudFormation stack whose resources to import")
	set.StringVar(&o.terraform, "terraform-state", "", "state file of Terraform whose resources to import")
	set.StringVarP(&o.namespace, "namespace", "n", "default", "namespace of the objects")
	set.StringVar(&o.out, "out", "", "folder to write a file for each object to, instead of printing")
	set.StringVar(&o.region, "aws-region", "", "AWS region (default: the SDK's default chain, such as AWS_REGION)")
	set.StringVar(&o.operator, "cluster-name", operator.DefaultClusterName, "the operator's --cluster-name")
	for _, selecting := range []string{"type", "tag", "name"} { // they select resources of the account
		cmd.MarkFlagsMutuallyExclusive("stack", "terraform-state", selecting)
	}
	return cmd
}

// skipped is a resource, or a type, for which there is no manifest.
type skipped struct{ what, why string }

func (o *options) run(cmd *cobra.Command) error {
	ctx := cmd.Context()
	clients, err := awsapi.New(ctx, awsapi.Options{Region: o.region, UserAgent: "aws-operator/" + version.String()})
	if err != nil {
		return err
	}
	known, err := kinds.BuiltIn()
	if err != nil {
		return err
	}
	account, err := clients.Identity(ctx)
	if err != nil {
		return awsapi.Explain(err)
	}
	region := clients.Region(awsapi.Target{})
	adopter := adopt.New(known, o.namespace, render.Facts{Region: region, AccountID: account, ClusterName: o.operator})
	source := &source{clients: clients}
	found, err := o.search(ctx, source, adopter)
	if err != nil {
		return err
	}
	made, err := o.write(cmd.OutOrStdout(), adopter, source, found)
	if err != nil {
		return err
	}
	o.report(cmd.ErrOrStderr(), source, made)
	if len(made) == 0 {
		return errors.New("nothing to import")
	}
	return nil
}

// search finds the resources.
func (o *options) search(ctx context.Context, from *source, adopter *adopt.Adopter) ([]adopt.Resource, error) {
	switch {
	case o.stack != "":
		return from.ofStack(ctx, o.stack)
	case o.terraform != "":
		return from.ofTerraform(ctx, o.terraform)
	default:
		return from.ofAccount(ctx, &o.find, adopter.Types())
	}
}

// write writes the manifests, and returns the objects.
func (o *options) write(out io.Writer, adopter *adopt.Adopter, from *source, found []adopt.Resource) ([]*adopt.Adopted, error) {
	var all []*adopt.Adopted
	var definitions [][]byte
	for _, r := range found {
		made, err := adopter.Of(r)
		if err != nil {
			from.skip(r, "%s", err)
			continue
		}
		all = append(all, made)
		if made.Definition != nil {
			text, err := adopt.YAML(made.Definition)
			if err != nil {
				return nil, err
			}
			definitions = append(definitions, text)
		}
	}
	if len(definitions) > 0 {
		if err := o.put(out, "kinds", join(definitions)); err != nil {
			return nil, err
		}
	}
	for _, made := range all {
		text, err := adopt.YAML(made.Object)
		if err != nil {
			return nil, err
		}
		if made.Instead != "" {
			text = append([]byte("# "+strings.ReplaceAll(made.Instead, "\n", " ")+".\n"), text...)
		}
		if err := o.put(out, strings.ToLower(made.Object.Kind)+"-"+made.Object.Name, text); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// join joins documents of YAML.
func join(documents [][]byte) []byte {
	var all []byte
	for i, text := range documents {
		if i > 0 {
			all = append(all, "---\n"...)
		}
		all = append(all, text...)
	}
	return all
}

// put prints a manifest, or writes it to a file of the folder.
func (o *options) put(out io.Writer, name string, text []byte) error {
	if o.out == "" {
		_, err := fmt.Fprintf(out, "---\n%s", text)
		return err
	}
	if err := os.MkdirAll(o.out, 0o750); err != nil {
		return fmt.Errorf("make the folder for the manifests: %w", err)
	}
	file, err := os.OpenFile(filepath.Join(o.out, name+".yaml"), os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600) //nolint:gosec // the user names the folder
	if err != nil {
		return fmt.Errorf("write a manifest; choose an empty folder with --out: %w", err)
	}
	if _, err := file.Write(text); err != nil {
		_ = file.Close()
		return fmt.Errorf("write a manifest: %w", err)
	}
	if err := file.Close(); err != nil {
		return fmt.Errorf("write a manifest: %w", err)
	}
	return nil
}

// report says what was written and left out, and what to do next.
func (o *options) report(errOut io.Writer, from *source, made []*adopt.Adopted) {
	say := func(format string, args ...any) { _, _ = fmt.Fprintf(errOut, format+"\n", args...) }
	for _, s := range from.skipped {
		say("Left out %s: %s.", s.what, s.why)
	}
	if len(made) == 0 {
		return
	}
	say("Wrote %s and left out %d.", plural.Count(len(made), "object"), len(from.skipped))
	for _, step := range from.steps {
		say("%s", step)
	}
	say("Before you apply the manifests, an administrator must allow their adoption with these flags of the operator:")
	for _, flag := range grants(o.namespace, made) {
		say("  %s", flag)
	}
}

// grants returns the flags that let the operator adopt the resources: one each, or, for many, one for each
// type.
func grants(namespace string, made []*adopt.Adopted) []string {
	const most = 20
	var flags []string
	for _, one := range made {
		identifier := one.Object.Annotations[v1alpha1.AdoptAnnotation]
		if len(made) > most {
			identifier = "*"
		}
		flags = append(flags, fmt.Sprintf("--allow-adoption='%s=%s/%s'", namespace, one.Type, identifier))
	}
	slices.Sort(flags)
	return slices.Compact(flags)
}
