package cli

import (
	"bytes"
	"io"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/aws-operator/aws-operator/internal/cli/exit"
)

func TestExitCodesAndOutputStreams(t *testing.T) {
	for _, test := range []struct {
		name     string
		args     []string
		code     int
		out, err string
	}{
		{name: "help is asked for, so it goes to standard output", args: []string{"--help"}, code: exit.Done, out: "Usage:"},
		{name: "what was asked for goes to standard output", args: []string{"version"}, code: exit.Done, out: "aws-operator v"},
		{name: "an unknown verb is wrong usage", args: []string{"lokal"}, code: exit.Failed, err: `unknown command "lokal"`},
		{name: "an unknown verb below a verb as well", args: []string{"local", "upp"}, code: exit.Failed, err: `unknown command "upp"`},
		{name: "an unknown flag names the help", args: []string{"operator", "--zone"}, code: exit.Failed, err: "aws-operator operator --help"},
		{name: "a flag's value is checked", args: []string{"operator", "--log-level=loud"}, code: exit.Failed, err: "debug, info, warn or error"},
		{name: "a failure is said in one line", args: []string{"local", "down", "--dir", "/nonexistent"}, code: exit.Failed, err: "nothing runs in /nonexistent"},
	} {
		t.Run(test.name, func(t *testing.T) {
			var out, errOut bytes.Buffer
			if code := Main(test.args, &out, &errOut); code != test.code {
				t.Errorf("exit code %d, want %d", code, test.code)
			}
			if !strings.Contains(out.String(), test.out) || !strings.Contains(errOut.String(), test.err) {
				t.Errorf("standard output %q, standard error %q, want them to hold %q and %q", &out, &errOut, test.out, test.err)
			}
		})
	}
}

func TestHelpOfRootGroupsCommands(t *testing.T) {
	_, out, _ := run("--help")
	if strings.Contains(out, "Additional Commands") {
		t.Errorf("a command has no group:\n%s", out)
	}
	at := 0
	for _, text := range []string{
		"\nClusters:\n", "\n  apply ", "\n  delete ", "\nServices:\n", "\n  render ", "\nLocal:\n", "\n  demo ", "\nOther:\n", "\n  completion ", "\n  help ",
	} {
		i := strings.Index(out[at:], text)
		if i < 0 {
			t.Fatalf("%q does not follow in\n%s", text, out)
		}
		at += i
	}
}

func TestEveryCommandHasHelp(t *testing.T) {
	var visit func(*cobra.Command)
	visit = func(cmd *cobra.Command) {
		if cmd.Short == "" || strings.HasSuffix(cmd.Short, ".") {
			t.Errorf("%s: its one line is %q, want words without a full stop", cmd.CommandPath(), cmd.Short)
		}
		for _, child := range cmd.Commands() {
			visit(child)
		}
	}
	visit(command(io.Discard, io.Discard))
}
