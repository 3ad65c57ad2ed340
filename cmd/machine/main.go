//go:build linux

// Command machine is what a simulated instance runs on beside its cluster's own
// programs: process 1, the stubs of systemctl, mount and others, and, called
// kubelet, the node agent. See package guest and package agent. It does nothing
// outside of such a machine.
package main

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/aws-operator/aws-operator/internal/machines/agent"
	"github.com/aws-operator/aws-operator/internal/machines/guest"
)

func main() { os.Exit(run(filepath.Base(os.Args[0]), os.Args[1:])) }

func run(name string, args []string) int {
	if name == "machine" && len(args) > 0 {
		name, args = args[0], args[1:]
	}
	if code, ok := guest.RunAdapted(name, args, os.Stderr); ok {
		return code
	}
	switch name {
	case guest.InitName:
		_, _ = fmt.Fprintf(os.Stderr, "the machine cannot start: %v\n", guest.Init(os.Stdin))
		return 1
	case agent.NetworkName:
		return agent.NetworkMain(os.Stderr)
	case agent.PodNetworkName:
		return agent.PodNetworkMain(os.Stderr)
	case agent.Name:
		return agent.Main(args, os.Stdout, os.Stderr)
	}
	if code, ok := guest.RunStub(name, args, os.Stdout, os.Stderr); ok {
		return code
	}
	_, _ = fmt.Fprintf(os.Stderr, "%s: this program runs inside simulated machines, by the name of what it stands in for\n", name)
	return 2
}
