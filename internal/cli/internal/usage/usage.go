package usage

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/aws-operator/aws-operator/internal/cli/exit"
)

// Check makes all commands below root, and root itself, report wrong usage. A command with
// subcommands prints its usage to standard error if none is named, and returns an error for an
// unknown one. Call it after setting root's output, because cobra's completion commands keep it.
func Check(root *cobra.Command) {
	root.InitDefaultHelpCmd()
	root.InitDefaultCompletionCmd()
	root.SetFlagErrorFunc(wrongFlag)
	root.SetUsageFunc(withoutRun(root.UsageFunc()))
	check(root)
}

func check(cmd *cobra.Command) {
	switch {
	case cmd.HasSubCommands():
		cmd.Args, cmd.RunE, cmd.ValidArgsFunction = subcommand, printUsage, cobra.NoFileCompletions
	case cmd.Name() == "help":
		cmd.Args = topic
	default:
		own := cmd.Args
		cmd.Args = func(cmd *cobra.Command, args []string) error {
			if err := own(cmd, args); err != nil {
				return err
			}
			return requiredFlags(cmd)
		}
	}
	for _, child := range cmd.Commands() {
		check(child)
	}
}

// printUsage runs a command that was called without a subcommand.
func printUsage(cmd *cobra.Command, _ []string) error {
	cmd.PrintErr(cmd.UsageString())
	return exit.Misused()
}

// withoutRun returns a usage function that does not show commands with subcommands as commands of
// their own.
func withoutRun(show func(*cobra.Command) error) func(*cobra.Command) error {
	return func(cmd *cobra.Command) error {
		if cmd.HasSubCommands() {
			run := cmd.RunE
			cmd.RunE = nil
			defer func() { cmd.RunE = run }()
		}
		return show(cmd)
	}
}

// subcommand returns an error if a command with subcommands has an argument, since that is none of
// them.
func subcommand(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	return fmt.Errorf("unknown command %q for %q%s", args[0], cmd.CommandPath(), instead(cmd, args[0]))
}

// instead returns the subcommand that is closest to a word, or else those that there are.
func instead(cmd *cobra.Command, word string) string {
	const typos = 2
	for cmd.SuggestionsMinimumDistance = 1; cmd.SuggestionsMinimumDistance <= typos; cmd.SuggestionsMinimumDistance++ {
		if near := cmd.SuggestionsFor(word); len(near) > 0 {
			return fmt.Sprintf("; did you mean %q?", near[0])
		}
	}
	if !cmd.HasParent() {
		return fmt.Sprintf("; see %s --help", cmd.CommandPath())
	}
	var names []string
	for _, child := range cmd.Commands() {
		names = append(names, child.Name())
	}
	return fmt.Sprintf("; use %s %s", cmd.CommandPath(), strings.Join(names, "|"))
}

// topic returns an error if the arguments of help do not name a command.
func topic(cmd *cobra.Command, args []string) error {
	found, rest, err := cmd.Root().Find(args)
	if err != nil || !found.HasSubCommands() {
		return err
	}
	return subcommand(found, rest)
}

// wrongFlag adds where to find the flags. After an unknown subcommand, flags are unknown as well,
// so that it reports the subcommand.
func wrongFlag(cmd *cobra.Command, err error) error {
	if cmd.HasSubCommands() {
		if unknown := subcommand(cmd, cmd.Flags().Args()); unknown != nil {
			return unknown
		}
	}
	return fmt.Errorf("%w (see %s --help)", err, cmd.CommandPath())
}

// requiredFlags returns an error if required flags are missing.
func requiredFlags(cmd *cobra.Command) error {
	var missing []string
	cmd.Flags().VisitAll(func(flag *pflag.Flag) {
		if _, required := flag.Annotations[cobra.BashCompOneRequiredFlag]; required && !flag.Changed {
			missing = append(missing, "--"+flag.Name)
		}
	})
	if len(missing) == 0 {
		return nil
	}
	return fmt.Errorf("set %s: %s", strings.Join(missing, ", "), strings.TrimSuffix(cmd.UseLine(), " [flags]"))
}
