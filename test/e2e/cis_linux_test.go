package e2e

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/aws-operator/aws-operator/internal/machines/process"
	"github.com/aws-operator/aws-operator/internal/patience"
)

// The environment variable names the folder of kube-bench's sources, in which the program was built.
const kubeBench = "KUBE_BENCH"

// benchmark is the newest that kube-bench has of the CIS Kubernetes Benchmark. It has none for Kubernetes 1.35 and later yet.
const benchmark = "cis-1.12"

// findProcesses stands for ps in the machine: kube-bench finds programs by the names of their files, and in simulated machines
// all programs of Kubernetes are one file.
const findProcesses = `#!/bin/sh
if [ "$1" = -C ]; then
  %[1]s/real-ps -eo args --no-headers | awk -v n="$2" '{ c = $1; sub(".*/", "", c); if (c == n) print }'
else
  exec %[1]s/real-ps "$@"
fi
`

// TestCISBenchmark lets kube-bench judge the slot of the audited example: every check that fails is explained in docs/reference/cis.md, and
// no other.
func TestCISBenchmark(t *testing.T) {
	if err := process.Supported(); err != nil {
		t.Skip(err)
	}
	folder := os.Getenv(kubeBench)
	if folder == "" {
		t.Skip(kubeBench + " does not name the folder of kube-bench: make test-cis says how to build it")
	}
	t.Parallel()
	c, host := newProcessCloud(t, nil)
	objects := c.apply(strings.ReplaceAll(example(t, "audited"), "release: v1.36.3", "release: "+processRelease))
	c.awaitReady(objects...)
	got := judge(t, folder, filepath.Join(host.Dir(), "machines"))
	page, err := os.ReadFile("../../docs/reference/cis.md")
	if err != nil {
		t.Fatal(err)
	}
	var explained []string
	for _, row := range regexp.MustCompile(`(?m)^\| ([0-9.]+) \| fails \|`).FindAllStringSubmatch(string(page), -1) {
		explained = append(explained, row[1])
	}
	slices.Sort(explained)
	if !slices.Equal(got["FAIL"], explained) {
		t.Errorf("these checks fail: %v\ndocs/reference/cis.md explains %v", got["FAIL"], explained)
	}
	totals := fmt.Sprintf("%d pass, %d fail, and %d are left to a person", len(got["PASS"]), len(got["FAIL"]), len(got["WARN"]))
	if !strings.Contains(string(page), totals) {
		t.Errorf("docs/reference/cis.md does not say that %s", totals)
	}
	c.remove(objects...)
}

// judge runs kube-bench in the machine of the slot, and returns the numbers of the checks by their result.
func judge(t *testing.T, folder, machines string) map[string][]string {
	t.Helper()
	api := strconv.Itoa(apiServerBelow(t, machines))
	inside := "/run/kube-bench"
	copyTo := filepath.Join("/proc", api, "root", inside)
	script := fmt.Sprintf(findProcesses, inside)
	for _, err := range []error{
		os.MkdirAll(copyTo, 0o755), os.CopyFS(filepath.Join(copyTo, "cfg"), os.DirFS(filepath.Join(folder, "cfg"))),
		copyProgram(filepath.Join(folder, "kube-bench"), filepath.Join(copyTo, "kube-bench")),
		copyProgram("/bin/ps", filepath.Join(copyTo, "real-ps")), os.WriteFile(filepath.Join(copyTo, "ps"), []byte(script), 0o755),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	// The file is replaced in the mount namespace of the machine only.
	cmd := exec.CommandContext(t.Context(), "nsenter", "-t", api, "-m", "-p", "-n", "-i", "-u", "sh", "-c",
		"mount --make-rprivate / && mount --bind "+inside+"/ps /bin/ps && exec "+inside+"/kube-bench run --json --config-dir "+inside+
			"/cfg --config "+inside+"/cfg/config.yaml --benchmark "+benchmark+" --targets master,etcd,controlplane,node")
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("kube-bench: %v\n%s", err, out)
	}
	var report struct {
		Controls []struct {
			Tests []struct {
				Results []struct {
					Number string `json:"test_number"`
					Status string `json:"status"`
				} `json:"results"`
			} `json:"tests"`
		} `json:"Controls"`
	}
	if err := json.Unmarshal(out, &report); err != nil {
		t.Fatalf("kube-bench printed %v:\n%s", err, out)
	}
	results := map[string][]string{}
	for _, control := range report.Controls {
		for _, test := range control.Tests {
			for _, result := range test.Results {
				results[result.Status] = append(results[result.Status], result.Number)
			}
		}
	}
	for _, numbers := range results {
		slices.Sort(numbers)
	}
	return results
}

func copyProgram(from, to string) error {
	content, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	return os.WriteFile(to, content, 0o755)
}

// apiServerBelow returns the process ID of the API server of a machine whose files are below a folder.
func apiServerBelow(t *testing.T, machines string) (pid int) {
	t.Helper()
	patience.Until(t, "a machine runs an API server", func() error {
		files, err := filepath.Glob("/proc/[0-9]*/cmdline")
		if err != nil {
			return err
		}
		for _, file := range files {
			line, _ := os.ReadFile(file) // the process may have ended
			mounts, _ := os.ReadFile(filepath.Join(filepath.Dir(file), "mountinfo"))
			if strings.HasPrefix(string(line), "kube-apiserver\x00--advertise-address=10.11.") && strings.Contains(string(mounts), machines) {
				pid, err = strconv.Atoi(filepath.Base(filepath.Dir(file)))
				return err
			}
		}
		return fmt.Errorf("none has a folder below %s", machines)
	})
	return pid
}
