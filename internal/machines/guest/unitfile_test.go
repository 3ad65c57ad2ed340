package guest

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"
)

func TestUnitFilesAreParsedLikeSystemd(t *testing.T) {
	folder := t.TempDir()
	write := func(name, text string) {
		path := filepath.Join(folder, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("extra", "EXTRA=--one --two\n# a remark\n")
	write("kubelet.service", "[Unit]\nDescription=ExecStart=no\n[Service]\n# ExecStart=no\n"+
		"Environment=\"ADDRESS=10.0.0.1\" B=c\nEnvironmentFile=-"+folder+"/extra\nEnvironmentFile=-/nowhere\n"+
		"ExecStart=/bin/old\nRestart=always\nRestartSec=2\n")
	write("kubelet.service.d/10.conf", "[Service]\nExecStart=\nExecStart=-/bin/kubelet \\\n  --config=a \\\n; between\n"+
		"  \"--labels=a b\\\"c\" --at=${ADDRESS} $EXTRA $$price --share=5%%\n")
	u, err := readUnit("kubelet.service", []string{filepath.Join(folder, "none"), folder})
	if err != nil {
		t.Fatal(err)
	}
	args, environment, err := u.command()
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"/bin/kubelet", "--config=a", `--labels=a b"c`, "--at=10.0.0.1", "--one", "--two", "$price", "--share=5%"}
	if !slices.Equal(args, want) {
		t.Errorf("it runs %q, want %q", args, want)
	}
	if !slices.Contains(environment, "EXTRA=--one --two") || !slices.Contains(environment, "B=c") {
		t.Errorf("its environment is %q", environment)
	}
	if u.restart != "always" || u.restartAfter != 2*time.Second {
		t.Errorf("it restarts %s after %v", u.restart, u.restartAfter)
	}
}

func TestInvalidUnitsReturnErrors(t *testing.T) {
	folder := t.TempDir()
	if _, err := readUnit("none.service", []string{folder}); !os.IsNotExist(err) && err == nil {
		t.Errorf("a unit that is not there: %v", err)
	}
	for reason, text := range map[string]string{
		"without ExecStart":                   "[Service]\nRestart=always\n",
		"whose environment file is not there": "[Service]\nExecStart=/bin/true\nEnvironmentFile=/nowhere\n",
	} {
		u := &unit{name: "a.service"}
		u.read(text)
		if _, _, err := u.command(); err == nil {
			t.Errorf("a unit %s runs", reason)
		}
	}
}

func TestSpans(t *testing.T) {
	for value, want := range map[string]time.Duration{
		"2": 2 * time.Second, "0.5": 500 * time.Millisecond, "100ms": 100 * time.Millisecond, "1m 30s": 90 * time.Second,
	} {
		if got := span(value); got != want {
			t.Errorf("%s is %v, want %v", value, got, want)
		}
	}
}
