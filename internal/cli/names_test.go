package cli

import (
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/aws-operator/aws-operator/internal/cli/exit"
)

const clusterOfKops = `apiVersion: cluster-operator.aws/v1alpha1
kind: Cluster
metadata:
  name: NAME
  annotations: {cluster-operator.aws/kops-name: k8s.example.com}
spec: {release: v1.36.3, region: eu-central-1, network: {cidr: 10.0.0.0/16, zones: [eu-central-1a]}}
---
`

// kopsState is a state with clusters that have the same name in kops.
func kopsState(t *testing.T, names ...string) string {
	t.Helper()
	dir := t.TempDir()
	text := ""
	for _, name := range names {
		text += strings.ReplaceAll(clusterOfKops, "NAME", name)
	}
	file := filepath.Join(dir, "clusters.yaml")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	in := filepath.Join(dir, "state")
	if code, _, errOut := run("replace", "-f", file, "--state", in); code != exit.Done {
		t.Fatal(errOut)
	}
	return in
}

// ofOneCluster returns the words of every command that takes the name of an existing cluster.
func ofOneCluster(cmd *cobra.Command) [][]string {
	var found [][]string
	words := strings.Fields(cmd.CommandPath())[1:]
	_, arguments, _ := strings.Cut(cmd.Use, " ")
	switch {
	case cmd.CommandPath() == "aws-operator create cluster": // The cluster does not exist.
	case strings.HasPrefix(cmd.Use, "cluster NAME"), strings.HasPrefix(cmd.Use, "kubeconfig NAME"), cmd.Use == "clusters [NAME]":
		found = append(found, words)
	case strings.HasPrefix(arguments, "[cluster NAME]"):
		found = append(found, append(words, "cluster"))
	}
	for _, child := range cmd.Commands() {
		found = append(found, ofOneCluster(child)...)
	}
	return found
}

func TestEveryCommandKnowsClustersByTheirNamesInKops(t *testing.T) {
	two := kopsState(t, "blue", "green")
	commands := ofOneCluster(command(io.Discard, io.Discard))
	const atLeast = 10
	if len(commands) < atLeast {
		t.Fatalf("found only %v", commands)
	}
	for _, words := range append(commands, []string{"get", "instancegroups", "--cluster"}) {
		t.Run(strings.Join(words, " "), func(t *testing.T) {
			code, _, errOut := run(append(words, "k8s.example.com", "--state", two)...)
			if code != exit.Failed || !strings.Contains(errOut, "is the name in kops of 2 clusters, blue and green: use the name of one of them") {
				t.Errorf("exit code %d: %s", code, errOut)
			}
		})
	}
	code, out, errOut := run("get", "cluster", "k8s.example.com", "-o", "name", "--state", kopsState(t, "k8s"))
	if code != exit.Done || out != "cluster/k8s\n" {
		t.Errorf("exit code %d: %s%s", code, out, errOut)
	}
}
