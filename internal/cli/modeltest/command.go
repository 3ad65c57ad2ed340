package modeltest

import (
	"errors"
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	servicev1alpha1 "github.com/aws-operator/aws-operator/api/service/v1alpha1"
	"github.com/aws-operator/aws-operator/internal/cli/internal/manifests"
	"github.com/aws-operator/aws-operator/internal/cli/internal/usage"
	"github.com/aws-operator/aws-operator/internal/manifest"
	"github.com/aws-operator/aws-operator/internal/service/kinds"
)

// Command returns the command model.
func Command() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "model",
		Short: "Work with ModelDefinitions",
		Args:  usage.None,
	}
	cmd.AddCommand(testCommand())
	return cmd
}

func testCommand() *cobra.Command {
	files := manifests.Flags{Others: true}
	cmd := &cobra.Command{
		Use:   "test -f FILE [-f FILE …]",
		Short: "Run the test cases of ModelDefinitions against the simulator of AWS",
		Long: `Run the cases of all manifests of kind ModelTest in the files against the simulator of AWS, each
with an account of its own. ModelDefinitions in the files define the kinds; the built-in kinds
exist, too.

A case has steps. Each applies objects, as the operator does, and waits until their stacks are
complete. It fails unless the stack of the last object has the resources, properties and outputs
that the step expects, or unless the object is refused with the expected message. After the last
step, the objects are deleted. The command contacts neither a cluster nor AWS.`,
		Example: `  aws-operator model test -f examples/webservice/definition.yaml -f examples/webservice/tests.yaml`,
		Args:    usage.None,
		RunE: func(cmd *cobra.Command, _ []string) error {
			set, err := files.Read(cmd)
			if err != nil {
				return err
			}
			return run(cmd, set)
		},
	}
	files.Add(cmd)
	return cmd
}

// run runs all cases and prints a line for each.
func run(cmd *cobra.Command, set *manifest.Set) error {
	tests, err := testsOf(set)
	if err != nil {
		return err
	}
	known, err := kinds.BuiltIn()
	if err != nil {
		return err
	}
	if err := known.Admit(cmd.Context(), set.Manifests); err != nil {
		return err
	}
	out, count, failed := cmd.OutOrStdout(), 0, 0
	for _, one := range tests {
		for i := range one.Cases {
			problems, err := one.Cases[i].run(cmd.Context(), known)
			if err != nil {
				return fmt.Errorf("%s, case %q: %w", one.name, one.Cases[i].Name, err)
			}
			count++
			verdict := "ok  "
			if len(problems) > 0 {
				failed++
				verdict = "FAIL"
			}
			_, _ = fmt.Fprintf(out, "%s  %s: %s\n", verdict, one.name, one.Cases[i].Name)
			for _, problem := range problems {
				_, _ = fmt.Fprintf(out, "      %s\n", problem)
			}
		}
	}
	if failed > 0 {
		return fmt.Errorf("%d of %d cases failed", failed, count)
	}
	_, _ = fmt.Fprintf(out, "All %d cases passed.\n", count)
	return nil
}

// testsOf takes the ModelTests out of the manifests.
func testsOf(set *manifest.Set) ([]test, error) {
	var tests []test
	var others []manifest.Manifest
	var problems []error
	for i := range set.Manifests {
		m := &set.Manifests[i]
		object, ok := m.Object.(*servicev1alpha1.Object)
		if !ok || object.Kind != kindTest {
			others = append(others, *m)
			continue
		}
		one, err := parse(object)
		if err != nil {
			problems = append(problems, fmt.Errorf("%s, line %d: %s %s: %w", m.File, m.Line, kindTest, object.Name, err))
			continue
		}
		tests = append(tests, one)
	}
	set.Manifests = others
	if len(problems) > 0 {
		return nil, errors.Join(problems...)
	}
	if !slices.ContainsFunc(tests, func(t test) bool { return len(t.Cases) > 0 }) {
		return nil, errors.New("no cases to run; give a manifest of kind ModelTest with -f")
	}
	return tests, nil
}
