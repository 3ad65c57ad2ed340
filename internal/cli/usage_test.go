package cli

import (
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/aws-operator/aws-operator/internal/cli/exit"
)

// commands are all commands of the tree that satisfy a condition, as words to call them by.
func commands(accept func(*cobra.Command) bool) [][]string {
	var all [][]string
	var visit func(*cobra.Command)
	visit = func(cmd *cobra.Command) {
		if accept(cmd) {
			all = append(all, strings.Fields(cmd.CommandPath())[1:])
		}
		for _, child := range cmd.Commands() {
			visit(child)
		}
	}
	visit(command(io.Discard, io.Discard))
	return all
}

func isLeaf(cmd *cobra.Command) bool   { return !cmd.HasSubCommands() && cmd.Name() != "help" }
func isParent(cmd *cobra.Command) bool { return cmd.HasSubCommands() }

func TestParentWithoutSubcommandPrintsItsUsage(t *testing.T) {
	for _, words := range commands(isParent) {
		path := strings.Join(append([]string{"aws-operator"}, words...), " ")
		t.Run(path, func(t *testing.T) {
			code, out, errOut := run(words...)
			if code != exit.Failed || out != "" {
				t.Errorf("exit code %d, standard output %q", code, out)
			}
			if !strings.Contains(errOut, "Usage:\n  "+path+" [command]\n") || strings.Contains(errOut, "Error:") {
				t.Errorf("standard error:\n%s", errOut)
			}
		})
	}
}

func TestParentsHelpGoesToStandardOutput(t *testing.T) {
	for _, words := range commands(isParent) {
		code, out, errOut := run(slices.Concat(words, []string{"--help"})...)
		if code != exit.Done || !strings.Contains(out, "Usage:") || errOut != "" {
			t.Errorf("%v: exit code %d, standard error %q, standard output:\n%s", words, code, errOut, out)
		}
	}
}

func TestUnknownSubcommandIsNamed(t *testing.T) {
	for _, words := range commands(isParent) {
		path := strings.Join(append([]string{"aws-operator"}, words...), " ")
		t.Run(path, func(t *testing.T) {
			for _, flags := range [][]string{nil, {"--state", "x"}} {
				code, out, errOut := run(slices.Concat(words, []string{"qqqqqq"}, flags)...)
				want := `Error: unknown command "qqqqqq" for "` + path + `"; `
				if code != exit.Failed || out != "" || !strings.HasPrefix(errOut, want) || strings.Count(errOut, "\n") != 1 {
					t.Errorf("exit code %d, standard output %q, standard error %q", code, out, errOut)
				}
			}
		})
	}
}

func TestTooManyArgumentsAreRefused(t *testing.T) {
	t.Chdir(t.TempDir())
	for _, words := range commands(isLeaf) {
		t.Run(strings.Join(words, " "), func(t *testing.T) {
			code, out, errOut := run(slices.Concat(words, []string{"one", "two", "three"})...)
			if code != exit.Failed || out != "" || strings.Count(errOut, "\n") != 1 || strings.Contains(errOut, "arg(s)") ||
				!strings.Contains(errOut, "aws-operator "+strings.Join(words, " ")) {
				t.Errorf("exit code %d, standard output %q, standard error %q", code, out, errOut)
			}
		})
	}
}

func TestMissingNameIsExplained(t *testing.T) {
	for _, words := range commands(func(cmd *cobra.Command) bool { return isLeaf(cmd) && strings.Contains(cmd.Use, " NAME") }) {
		if words[0] == "plan" || words[0] == "apply" { // Without a name, these mean all clusters.
			continue
		}
		t.Run(strings.Join(words, " "), func(t *testing.T) {
			code, out, errOut := run(words...)
			want := "Error: name the cluster: aws-operator " + strings.Join(words, " ") + " NAME\n"
			if code != exit.Failed || out != "" || errOut != want {
				t.Errorf("exit code %d, standard output %q, standard error %q, want %q", code, out, errOut, want)
			}
		})
	}
}

func TestWrongUsageNamesWhatToUse(t *testing.T) {
	for _, test := range []struct {
		args []string
		want string
	}{
		{[]string{"get", "cluster", "a", "b"}, "aws-operator get clusters takes one name, but got 2: a, b"},
		{[]string{"get", "inst"}, `unknown command "inst" for "aws-operator get"; did you mean "instancegroups"?`},
		{[]string{"get", "foo"}, `unknown command "foo" for "aws-operator get"; use aws-operator get clusters|fleets|instancegroups|releases`},
		{[]string{"validate", "demo"}, `unknown command "demo" for "aws-operator validate"; use aws-operator validate cluster`},
		{[]string{"lokal", "up", "--dir", "x"}, `unknown command "lokal" for "aws-operator"; did you mean "local"?`},
		{[]string{"updat"}, `unknown command "updat" for "aws-operator"; did you mean "update"?`},
		{[]string{"frobnicate"}, `unknown command "frobnicate" for "aws-operator"; see aws-operator --help`},
		{[]string{"help", "lokal"}, `unknown command "lokal" for "aws-operator"; did you mean "local"?`},
		{[]string{"help", "local", "upp"}, `unknown command "upp" for "aws-operator local"; did you mean "up"?`},
		{[]string{"render", "a.yaml"}, "aws-operator render takes no arguments, but got a.yaml: name files with -f FILE"},
		{[]string{"version", "x"}, "aws-operator version takes no arguments, but got x"},
		{[]string{"plan", "demo"}, "aws-operator plan does not understand demo: name one cluster as aws-operator plan cluster NAME"},
		{[]string{"apply", "cluster"}, "aws-operator apply does not understand cluster: name one cluster as aws-operator apply cluster NAME"},
		{[]string{"render"}, "set --filename: aws-operator render -f FILE [-f FILE …]\n"},
		{[]string{"create", "release"}, "set --from, --kubernetes, --programs: aws-operator create release"},
	} {
		t.Run(strings.Join(test.args, " "), func(t *testing.T) {
			code, out, errOut := run(test.args...)
			if code != exit.Failed || out != "" || !strings.HasPrefix(errOut, "Error: "+test.want) || strings.Count(errOut, "\n") != 1 {
				t.Errorf("exit code %d, standard output %q, standard error %q, want %q", code, out, errOut, test.want)
			}
		})
	}
}

func TestHelpOfACommandIsItsHelp(t *testing.T) {
	for _, args := range [][]string{{"help", "get"}, {"help", "local", "up"}, {"help"}} {
		if code, out, errOut := run(args...); code != exit.Done || !strings.Contains(out, "Usage:") || errOut != "" {
			t.Errorf("%v: exit code %d, standard error %q, standard output:\n%s", args, code, errOut, out)
		}
	}
}
