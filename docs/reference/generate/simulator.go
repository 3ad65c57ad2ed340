package main

import (
	"bytes"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/aws-operator/aws-operator/simulator"
)

const simulatorHead = `# Simulator reference

What the simulator of AWS answers, from Go tests (package [simulator](../../simulator)), as ` + "`aws-operator simulator`" + `, and in
local mode. ` + "`make generate`" + ` writes this page.

An operation that is not listed fails with the service's error code for an unknown operation. A stack with a resource type that is not
listed fails to be created.

What it answers comes from AWS's documentation and SDKs and has been tried with the AWS SDKs for Go and Python, the AWS CLI, and
Terraform's AWS provider. It has never been compared to AWS itself.

## Operations
`

// writeSimulator writes what the simulator supports.
func writeSimulator(page *bytes.Buffer) {
	cloud := simulator.New()
	defer cloud.Close()
	page.WriteString(simulatorHead)
	supported := cloud.Supported()
	page.WriteString("\n| service | operations |\n| --- | --- |\n")
	for _, service := range slices.Sorted(maps.Keys(supported)) {
		fmt.Fprintf(page, "| `%s` | %s |\n", service, strings.Join(supported[service], ", "))
	}
	page.WriteString("\n## CloudFormation types\n\n")
	for _, kind := range cloud.ResourceTypes() {
		fmt.Fprintf(page, "- `%s`\n", kind)
	}
	page.WriteString(containerMachines)
	page.WriteString(debianMachines)
}

const containerMachines = "\n" + `## Machines that run containers

` + "`aws-operator local up --machines container`" + ` boots instances on which programs run that this project did not write: the
kubelet, kube-proxy, containerd with its shim, runc, CNI plugins and CoreDNS. They judge user data, bundle and kubelet configuration.

| | |
| --- | --- |
| needs | Linux, root, version 1 of cgroups, overlayfs; to build: Go, gcc, pkg-config, libseccomp's headers, nftables and iptables |
| builds | ` + "`make containers`" + ` or ` + "`aws-operator local build --containers`" + `: ` + "`bin/containers`" + `, from ` + "`containers/go.mod`" + ` and ` + "`kube/go.mod`" + `, in the versions of the Release v1.36.3 |
| tests | ` + "`make test-containers`" + ` |

Images of containers are made of these programs and served by the simulator as ` + "`registry.k8s.io`" + `; containerd trusts its CA, as it
does for AWS. No other images exist. ` + "`registry.k8s.io/machine/web:1`" + ` serves HTTP on port 8080 with the pod's name.

What differs from EC2, in addition to package [process](../../internal/machines/process):

- There is no systemd, so containerd and the kubelet run with the cgroup driver ` + "`cgroupfs`" + `, and no pod is stopped when a machine
  shuts down. The kubelet runs with ` + "`failCgroupV1: false` and `failSwapOn: false`" + `, and evicts no pods when the
  host's disk is almost full. containerd runs with ` + "`restrict_oom_score_adj`" + `. The image of the machine adds these settings; bundles
  do not contain them.
- kube-apiserver runs with ` + "`--permit-port-sharing`" + `, because the load balancer listens on the same port of every machine. kube-proxy
  leaves the size of the connection tracking table alone, which only the host can change.
- A program of the machine image takes the place of two addons: of the cloud controller manager, for nodes only, and of the pod
  network. The latter is a DaemonSet that configures the bridge plugin with the node's range and routes those of the other nodes.
- Load balancers and the internet cannot be reached from pods with a network of their own. The API server can, through its Service.
- The capacity of a node is that of the host.
- Without CAP_SYS_RESOURCE, no process gets a lower ` + "`oom_score_adj`" + `.
`

const debianMachines = "\n" + `## Machines that run systemd and cloud-init

A test boots instances from a Debian 12 tree: process 1 is Debian's systemd 252, and its cloud-init 22.4 reads user data from the
simulated instance metadata service. Both judge user data, units, logind's limits and the metadata service. The built-in Releases boot
Ubuntu 24.04, whose versions are newer; Debian stood in for it, because debootstrap makes its tree without an Ubuntu mirror.

| | |
| --- | --- |
| needs | Linux, root, version 1 of cgroups, debootstrap and access to Debian's packages |
| tests | ` + "`make test-systemd`" + `. It makes the tree once, in ` + "`.cache`" + `, 400 MB. ` + "`make interop`" + ` runs it where the tree is in the cache, except for the cluster, and says so where it is not. CI does not make the tree. |

What differs from EC2, in addition to package [process](../../internal/machines/process):

- The network is configured before systemd starts. There is no DHCP server or client, so cloud-init reads the metadata with the network
  that it finds, and configures no interfaces.
- systemd knows that it is in a container: it starts no udev, and there are no device units. A stub of ` + "`systemd-detect-virt`" + ` tells other
  programs that they are on EC2, and ` + "`/sys/class/dmi/id`" + ` has the identifiers of an EC2 instance, by which cloud-init recognizes it.
- ` + "`blkid`" + `, ` + "`mkfs.ext4`" + `, ` + "`mount`" + ` of volumes and ` + "`modprobe`" + ` are stubs, because volumes are directories and the kernel is the host's.
- The kubelet is the node agent of process machines, and a drop-in keeps static pods alive when its unit restarts. It takes no inhibitor.
- Stopping, rebooting and terminating an instance shuts it down first, for at most two minutes. Its root volume is kept until the simulator
  ends, so that user data runs at the first boot only.
`
