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
	page.WriteString(unreliable)
	page.WriteString(packets)
	page.WriteString(containerMachines)
	page.WriteString(debianMachines)
}

const unreliable = "\n" + `## What is as unreliable as in AWS

A seed decides what happens when: tests log it, and ` + "`aws-operator simulator`" + ` prints it. The option ` + "`WithSeed`" + ` or the flag
` + "`--seed`" + ` repeats a run, as far as calls arrive in the same order. What has "lag" in the last column happens only with ` + "`WithLag`" + ` or
` + "`--lag`" + `, which is also the bound: ` + "`make simulate`" + ` sets five seconds, the tests of single services a second. Everything else is always on.

| what | when | bound | page | on with |
| --- | --- | --- | --- | --- |
| Results have another order | reads whose order AWS does not document | | [DescribeInstances](https://docs.aws.amazon.com/AWSEC2/latest/APIReference/API_DescribeInstances.html) | |
| Pages are smaller than asked for | half of all reads with a page size | EC2's least size, 5 | [pagination](https://docs.aws.amazon.com/AWSEC2/latest/APIReference/Query-Requests.html#api-pagination) | |
| A read of EC2 returns the answer of before a change, or does not find what was just created | half of the reads after a change | lag | [eventual consistency](https://docs.aws.amazon.com/ec2/latest/devguide/eventual-consistency.html) | lag |
| DescribeStacks returns the status of before an operation | half of the reads after the call | lag | [aws-cdk-cli#1803](https://github.com/aws/aws-cdk-cli/pull/1803) | lag |
| EC2, STS, KMS, S3, and SQS do not know a role, user or instance profile that a client just created. CloudFormation waits for that itself. | always | lag | [IAM](https://docs.aws.amazon.com/IAM/latest/UserGuide/troubleshoot.html#troubleshoot_general_eventual-consistency) | lag |
| A bucket policy takes effect later | always | lag | [S3](https://docs.aws.amazon.com/AmazonS3/latest/userguide/Welcome.html#ConsistencyModel) | lag |
| A change of records is PENDING, and resolvers return the former answer | always | lag and TTL | [ChangeInfo](https://docs.aws.amazon.com/Route53/latest/APIReference/API_ChangeInfo.html) | lag |
| A load balancer is provisioning, and its name does not resolve | always | the lag | [state](https://docs.aws.amazon.com/elasticloadbalancing/latest/network/network-load-balancers.html#load-balancer-state) | lag |
| A target of a network load balancer is initial until it has passed all health checks | always | threshold × interval | [health checks](https://docs.aws.amazon.com/elasticloadbalancing/latest/network/target-group-health-checks.html) | |
| A call is throttled, with the service's code | one of 100 calls; the next of the same operation is not | | [EC2](https://docs.aws.amazon.com/AWSEC2/latest/APIReference/errors-overview.html), [S3](https://docs.aws.amazon.com/AmazonS3/latest/API/ErrorResponses.html) | lag |
| A call fails with a server error before it takes effect | one of 500 calls | | as above | lag |
| EC2 throttles an operation that is called too often | buckets of tokens, which fill 20 times as fast as in AWS, in ` + "`make simulate`" + ` as fast | | [throttling](https://docs.aws.amazon.com/ec2/latest/devguide/ec2-api-throttling.html) | lag |
| EventBridge delivers an event late, so that others overtake it | one of 5 deliveries | lag | [best practices](https://docs.aws.amazon.com/eventbridge/latest/userguide/eb-rules-best-practices.html) | lag |
| EventBridge delivers an event twice | one of 10 deliveries | lag | [best practices](https://docs.aws.amazon.com/eventbridge/latest/userguide/eb-rules-best-practices.html) | lag |

Lost events and answers, missing capacity, interruptions of spot instances, rebalance recommendations, and failed status checks happen
only on request: ` + "`make simulate`" + ` draws them, and tests call them.

A test in Go makes them happen by ` + "`Happen`" + `. Other programs post them as JSON to the control endpoint of ` + "`aws-operator simulator`" + `,
which returns 204, or 400 and the reason:

` + "```" + `text
$ curl -H 'Content-Type: application/json' "$AWS_ENDPOINT_URL/_simulator/incidents" -d '{"kind":"Capacity","zone":"us-east-1a"}'
` + "```" + `

| kind | fields | what happens |
| --- | --- | --- |
| ` + "`Capacity`" + ` | ` + "`zone`" + `, ` + "`instanceType`" + ` (default: every type), ` + "`resolved`" + ` | [Launches fail](https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/troubleshooting-launch.html#troubleshooting-launch-capacity) with InsufficientInstanceCapacity. |
| ` + "`SpotInterruption`" + ` | ` + "`instance`" + `, ` + "`action`" + ` (` + "`terminate`" + `, ` + "`stop`" + `) | The spot instance gets [its notice](https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/spot-instance-termination-notices.html), in instance metadata and as an event, and is interrupted two minutes later. |
| ` + "`RebalanceRecommendation`" + ` | ` + "`instance`" + ` | The spot instance gets [the recommendation](https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/rebalance-recommendations.html), in instance metadata and as an event. |
| ` + "`StatusCheck`" + ` | ` + "`instance`" + `, ` + "`check`" + ` (` + "`system`" + `, ` + "`instance`" + `), ` + "`resolved`" + ` | [The status check](https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/monitoring-system-instance-status-check.html) fails. |

` + "`account`" + ` and ` + "`region`" + ` default to those of the simulator. ` + "`resolved: true`" + ` ends what continues.

What exceeds a documented limit is refused with AWS's code: ` + "`internal/simulator/limits_test.go`" + ` lists the limits with their pages.
`

const containerMachines = "\n" + `## Machines that run containers

` + "`aws-operator local up --machines container`" + ` boots instances on which programs run that this project did not write: the
kubelet, kube-proxy, containerd with its shim, runc, CNI plugins, CoreDNS, AWS's cloud controller manager and metrics-server. They judge
user data, bundle, kubelet configuration and addons.

| | |
| --- | --- |
| needs | Linux, root, version 1 of cgroups, overlayfs; to build: Go, gcc, pkg-config, libseccomp's headers, nftables and iptables |
| builds | ` + "`make containers`" + ` or ` + "`aws-operator local build --containers`" + `: ` + "`bin/containers`" + `, from ` + "`containers/go.mod`" + `, ` + "`containers/addons/go.mod`" + ` and ` + "`kube/go.mod`" + `, in the versions of the Release v1.36.3 except for addons |
| tests | ` + "`make test-containers`" + `: pods, addons and load balancers; the replacement of three slots and two workers under load; an upgrade from 1.35.4, which has not run to its end, and whose kubelet and images ` + "`bin/containers-v1.35.4`" + ` has. ` + "`make conformance`" + `, Kubernetes' own suite ([results](conformance.md)) |

Images of containers are made of these programs and served by the simulator as ` + "`registry.k8s.io`" + `; containerd trusts its CA, as it
does for AWS. No other images exist. ` + "`registry.k8s.io/machine/web:1`" + ` serves HTTP on port 8080 with the pod's name.

Two addons of the release are installed, by the operator, from their charts with the published values. The charts are those in the
modules of their programs, and the tag of the image is that of the program:

| addon | program | what it does |
| --- | --- | --- |
| ` + "`aws-cloud-controller-manager`" + ` | k8s.io/cloud-provider-aws v1.36.2, with the credentials of the node's role from instance metadata | initializes nodes, deletes the Nodes of terminated instances, and creates classic and network load balancers for Services of type LoadBalancer |
| ` + "`metrics-server`" + ` | sigs.k8s.io/metrics-server v0.9.0 | serves ` + "`kubectl top nodes`" + ` and ` + "`kubectl top pods`" + ` |

Load balancers have names as in AWS. Inside a VPC, a name resolves to the addresses of the load balancer's interfaces in its subnets, or to
public ones if it is internet-facing, and machines and pods reach it there. On the host it resolves to an address of the loopback network,
at the DNS server that ` + "`AWS_OPERATOR_RESOLVER`" + ` names (` + "`aws.env`" + ` sets it):

` + "```" + `text
$ source .local/aws.env
$ dig +short -p "${AWS_OPERATOR_RESOLVER#*:}" @127.0.0.1 "$(kubectl get service web -o jsonpath='{.status.loadBalancer.ingress[0].hostname}')"
` + "```" + `

What differs from EC2, in addition to package [process](../../internal/machines/process):

- There is no systemd, so containerd and the kubelet run with the cgroup driver ` + "`cgroupfs`" + `, and no pod is stopped when a machine
  shuts down. The kubelet runs with ` + "`failCgroupV1: false` and `failSwapOn: false`" + `, and evicts no pods when the
  host's disk is almost full. containerd runs with ` + "`restrict_oom_score_adj`" + `. The image of the machine adds these settings; bundles
  do not contain them.
- kube-proxy leaves the size of the connection tracking table alone, which only the host can change.
- A program of the machine image takes the place of the network addon. It installs a DaemonSet that configures the bridge plugin with the
  node's range, connects the nodes by VXLAN (UDP port 8472), as Flannel does, and masquerades packets that leave the pod network.
- A load balancer of the simulator that cannot connect to a target tries the next one. In AWS, a client gets no response from a dead target
  until its health checks fail. Classic load balancers check no health, and end their connections to an instance only when it is terminated.
- containerd mounts the machine's trusted CAs into every container: published images contain CAs that AWS's certificates chain to.
- The internet cannot be reached.
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
