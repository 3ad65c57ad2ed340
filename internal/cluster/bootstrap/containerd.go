package bootstrap

import (
	"strings"

	"github.com/aws-operator/aws-operator/api/cluster/v1alpha1"
	"github.com/aws-operator/aws-operator/internal/cluster/bootstrap/bundle"
)

// runtime is what a container runtime needs.
type runtime struct {
	files []bundle.File
	units []string
}

// containerd returns what containerd needs, if the release installs it; otherwise the image has a
// runtime of its own.
func containerd(b *Bundle, release v1alpha1.ReleaseSpec) runtime {
	installed, ok := artifact(b, "containerd")
	if !ok {
		return runtime{}
	}
	version := ""
	for _, a := range release.Artifacts {
		if a.Name == installed.Name {
			version = strings.TrimPrefix(a.Version, "v")
		}
	}
	configuration := containerd2
	if strings.HasPrefix(version, "1.") {
		configuration = containerd1
	}
	pause := ""
	if tag := release.Components["pause"]; tag != "" {
		pause = imageRepository(release) + "/pause:" + tag
	}
	return runtime{
		units: []string{"containerd"},
		files: []bundle.File{
			{Path: "/etc/containerd/config.toml", Mode: "0644", Content: configuration(pause)},
			{
				Path:    "/etc/systemd/system/containerd.service",
				Mode:    "0644",
				Content: containerdUnit(strings.TrimSuffix(installed.Path, "/")),
			},
		},
	}
}

// containerd2 is the configuration of containerd 2
// (https://github.com/containerd/containerd/blob/main/docs/cri/config.md).
func containerd2(pause string) string {
	text := `version = 3

[plugins.'io.containerd.cri.v1.runtime'.containerd.runtimes.runc]
runtime_type = 'io.containerd.runc.v2'

[plugins.'io.containerd.cri.v1.runtime'.containerd.runtimes.runc.options]
SystemdCgroup = true

[plugins.'io.containerd.cri.v1.images'.registry]
config_path = '/etc/containerd/certs.d'
`
	if pause != "" {
		text += "\n[plugins.'io.containerd.cri.v1.images'.pinned_images]\nsandbox = '" + pause + "'\n"
	}
	return text
}

// containerd1 is the configuration of containerd 1.
func containerd1(pause string) string {
	text := "version = 2\n\n"
	if pause != "" {
		text += "[plugins.'io.containerd.grpc.v1.cri']\nsandbox_image = '" + pause + "'\n\n"
	}
	return text + `[plugins.'io.containerd.grpc.v1.cri'.containerd.runtimes.runc]
runtime_type = 'io.containerd.runc.v2'

[plugins.'io.containerd.grpc.v1.cri'.containerd.runtimes.runc.options]
SystemdCgroup = true

[plugins.'io.containerd.grpc.v1.cri'.registry]
config_path = '/etc/containerd/certs.d'
`
}

// containerdUnit is the unit of containerd below a folder. Its processes are containers: stopping
// it leaves them running, and neither tasks nor memory are counted against it.
func containerdUnit(folder string) string {
	return `[Unit]
Description=containerd container runtime
After=network.target

[Service]
ExecStartPre=-/sbin/modprobe overlay
ExecStart=` + folder + `/bin/containerd
Type=notify
Delegate=yes
KillMode=process
Restart=always
RestartSec=5
LimitNPROC=infinity
LimitCORE=infinity
TasksMax=infinity
OOMScoreAdjust=-999

[Install]
WantedBy=multi-user.target
`
}
