//go:build linux

package guest

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"

	"golang.org/x/sys/unix"
	"sigs.k8s.io/yaml"
)

// adapted are the programs that run with other settings than on EC2, by name: each function returns
// the arguments with which the program runs in a simulated machine.
var adapted = map[string]func(args []string) ([]string, error){
	"containerd": adaptContainerd, "kubelet": adaptKubelet, "kube-proxy": adaptProxy,
}

// RunAdapted replaces this process by a program of a machine image or container image, with the
// settings that a simulated machine needs. It returns only if it cannot, and reports false if the
// image does not contain the program.
func RunAdapted(name string, args []string, errOut io.Writer) (code int, ok bool) {
	adapt, known := adapted[name]
	program := filepath.Join(ContainersPath, name)
	if _, err := os.Stat(program); !known || err != nil {
		return 0, false
	}
	args, err := adapt(args)
	if err == nil {
		err = unix.Exec(program, append([]string{name}, args...), os.Environ())
	}
	_, _ = fmt.Fprintf(errOut, "%s: %v\n", name, err)
	return 1, true
}

// containerdConfig follows the node's own configuration: there is no systemd, and the machine's root
// may lack CAP_SYS_RESOURCE, without which no process may lower its oom_score_adj.
const containerdConfig = `version = 3
imports = ["/etc/containerd/config.toml", "` + settingsPath + `/containerd-cgroupfs.toml"]
`

const containerdOverrides = `version = 3
[plugins.'io.containerd.cri.v1.runtime']
restrict_oom_score_adj = true
[plugins.'io.containerd.cri.v1.runtime'.containerd.runtimes.runc.options]
SystemdCgroup = false
[plugins.'io.containerd.cri.v1.runtime'.containerd.runtimes.runc]
base_runtime_spec = "` + settingsPath + `/container.json"
`

// kubeletOverrides are merged into the kubelet's configuration: there is no systemd, the host has
// version 1 of cgroups, and its disk, which may be almost full, is not the node's to clean up.
const kubeletOverrides = `apiVersion: kubelet.config.k8s.io/v1beta1
kind: KubeletConfiguration
cgroupDriver: cgroupfs
failCgroupV1: false
failSwapOn: false
imageGCHighThresholdPercent: 100
evictionHard:
  memory.available: 100Mi
  nodefs.available: 0%
  nodefs.inodesFree: 0%
  imagefs.available: 0%
  imagefs.inodesFree: 0%
`

// kubeletInMemory is added to it if the files of pods are in memory, whose size the kubelet cannot
// tell.
const kubeletInMemory = "localStorageCapacityIsolation: false\n"

// settingsPath contains the settings of adapted programs.
const settingsPath = "/run/machine/settings"

// writeSettings writes the files in settingsPath.
func writeSettings(files map[string]string) error {
	if err := os.MkdirAll(settingsPath, 0o755); err != nil { //nolint:gosec // as in any root
		return fmt.Errorf("write a program's settings: %w", err)
	}
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(settingsPath, name), []byte(text), 0o600); err != nil {
			return fmt.Errorf("write a program's settings: %w", err)
		}
	}
	return nil
}

func adaptContainerd(args []string) ([]string, error) {
	base, err := baseSpec()
	if err != nil {
		return nil, err
	}
	err = writeSettings(map[string]string{
		"containerd.toml": containerdConfig, "containerd-cgroupfs.toml": containerdOverrides, "container.json": base,
	})
	return append([]string{"--config", settingsPath + "/containerd.toml"}, args...), err
}

// baseSpec returns the specification from which containerd makes that of a container: its own, and
// the machine's trusted CAs. Published images contain CAs that AWS's certificates chain to; that of
// the simulator is made with it.
// https://github.com/containerd/containerd/blob/main/docs/cri/config.md (base_runtime_spec)
func baseSpec() (string, error) {
	own, err := exec.Command(filepath.Join(ContainersPath, "ctr"), "oci", "spec").Output() //nolint:noctx,gosec // it ends at once
	if err != nil {
		return "", fmt.Errorf("ask containerd for its specification of containers: %w", err)
	}
	spec := map[string]any{}
	if err := json.Unmarshal(own, &spec); err != nil {
		return "", fmt.Errorf("read containerd's specification of containers: %w", err)
	}
	mounts, _ := spec["mounts"].([]any)
	spec["mounts"] = append(mounts, map[string]any{
		"destination": bundles[0], "type": "bind", "source": bundles[0], "options": []string{"rbind", "ro"},
	})
	text, err := json.Marshal(spec)
	if err != nil {
		return "", fmt.Errorf("write the specification of containers: %w", err)
	}
	return string(text), nil
}

func adaptKubelet(args []string) ([]string, error) {
	overrides := kubeletOverrides
	var fs unix.Statfs_t
	if err := unix.Statfs("/var/lib/kubelet", &fs); err != nil || fs.Type == unix.TMPFS_MAGIC {
		overrides += kubeletInMemory
	}
	err := writeSettings(map[string]string{"50-machine.conf": overrides})
	return append(args, "--config-dir="+settingsPath), err
}

// adaptProxy leaves the size of the connection tracking table alone: it is the host's, and cannot be
// changed from other network namespaces. With a configuration file, kube-proxy ignores its flags.
func adaptProxy(args []string) ([]string, error) {
	const flag = "--config="
	for i, arg := range args {
		if len(arg) <= len(flag) || arg[:len(flag)] != flag {
			continue
		}
		text, err := os.ReadFile(arg[len(flag):])
		if err != nil {
			return nil, fmt.Errorf("read kube-proxy's configuration: %w", err)
		}
		config := map[string]any{}
		if err := yaml.Unmarshal(text, &config); err != nil {
			return nil, fmt.Errorf("read kube-proxy's configuration: %w", err)
		}
		conntrack, _ := config["conntrack"].(map[string]any)
		if conntrack == nil {
			conntrack = map[string]any{}
		}
		conntrack["maxPerCore"] = 0
		config["conntrack"] = conntrack
		if text, err = yaml.Marshal(config); err != nil {
			return nil, fmt.Errorf("write kube-proxy's configuration: %w", err)
		}
		args[i] = flag + settingsPath + "/kube-proxy.yaml"
		return args, writeSettings(map[string]string{"kube-proxy.yaml": string(text)})
	}
	return args, nil
}
