// Package usage checks how a command is called: with which subcommand, how many arguments and which
// required flags. Each error is one line that names what is wrong and the command to use instead.
//
// Commands declare their arguments with [None], [Name], [OptionalName] or [ClusterOrAll]. [Check]
// adds everything else to the entire tree, so that no command has to.
package usage
