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
	page.WriteString(packets)
	page.WriteString(containerMachines)
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
