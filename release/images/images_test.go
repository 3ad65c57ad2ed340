package main

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

func TestUsageIsShown(t *testing.T) {
	for _, args := range [][]string{
		{},
		{"pull", "-layout", "l", "-version", "v1"},
		{"build", "-layout", "l", "-version", "v1"},
		{"push", "-layout", "l", "-version", "v1"},
		{"push", "-repository", "example.com/aws-operator", "-version", "v1"},
	} {
		if err := run(t.Context(), args, &bytes.Buffer{}); err == nil || !strings.HasPrefix(err.Error(), "usage:") {
			t.Errorf("%q gives %v", args, err)
		}
	}
}

func TestImagesHaveTheProgramsOfAFolder(t *testing.T) {
	folder := t.TempDir()
	for _, name := range []string{"aws-operator", "nodeup", "etcd-restore"} {
		for _, architecture := range []string{"amd64", "arm64"} {
			if err := os.WriteFile(filepath.Join(folder, name+"-linux-"+architecture), []byte(name+architecture), 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
	args := []string{"build", "-programs", folder, "-layout", filepath.Join(folder, "layout"), "-version", "v1.2.3", "-revision", "abc"}
	var out bytes.Buffer
	if err := run(t.Context(), args, &out); err != nil || !strings.Contains(out.String(), "aws-operator v1.2.3, sha256:") {
		t.Fatalf("printed %q, %v", out.String(), err)
	}
	if err := os.Remove(filepath.Join(folder, "etcd-restore-linux-arm64")); err != nil {
		t.Fatal(err)
	}
	args[4] = filepath.Join(folder, "another")
	if err := run(t.Context(), args, &out); err == nil || !strings.Contains(err.Error(), "etcd-restore-linux-arm64") {
		t.Errorf("without a program, got %v", err)
	}
}

// The images depend on the commit only, and not on the folder of the clone or the time.
func TestTwoClonesGiveTheSameImages(t *testing.T) {
	if os.Getenv("TEST_IMAGES") == "" {
		t.Skip("it compiles all programs for two architectures, which takes many minutes: set TEST_IMAGES=1 to run it here")
	}
	var indexes [][]byte
	for range 2 {
		clone := filepath.Join(t.TempDir(), "clone")
		command(t, "git", "clone", "--quiet", "../..", clone)
		command(t, "make", "-C", clone, "images", "VERSION=v1.2.3")
		index, err := os.ReadFile(filepath.Join(clone, "bin/images/layout/index.json")) // It has the digest of all else.
		if err != nil {
			t.Fatal(err)
		}
		indexes = append(indexes, index)
	}
	if !bytes.Equal(indexes[0], indexes[1]) {
		t.Errorf("the indexes differ:\n%s\n%s", indexes[0], indexes[1])
	}
}

func command(t *testing.T, name string, args ...string) {
	t.Helper()
	cmd := exec.CommandContext(context.WithoutCancel(t.Context()), name, args...)
	cmd.Stdout, cmd.Stderr = t.Output(), t.Output()
	if err := cmd.Run(); err != nil {
		t.Fatalf("%s %q: %v", name, args, err)
	}
}
