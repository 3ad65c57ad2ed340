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

An operation that is not listed fails with the service's error code for an unknown operation.

What it answers comes from AWS's documentation and SDKs and has been tried with the AWS SDKs for Go and Python, the AWS CLI, and
Terraform's AWS provider. It has never been compared to AWS itself.

## Operations
`

// writeSimulator writes what the simulator supports.
func writeSimulator(page *bytes.Buffer) error {
	cloud := simulator.New()
	defer cloud.Close()
	page.WriteString(simulatorHead)
	supported := cloud.Supported()
	page.WriteString("\n| service | operations |\n| --- | --- |\n")
	for _, service := range slices.Sorted(maps.Keys(supported)) {
		fmt.Fprintf(page, "| `%s` | %s |\n", service, strings.Join(supported[service], ", "))
	}
	page.WriteString("\n## CloudFormation types\n\nThese types are made by a simulated service:\n\n")
	for _, kind := range cloud.ResourceTypes() {
		fmt.Fprintf(page, "- `%s`\n", kind)
	}
	page.WriteString(otherTypes)
	if err := writeMostUsed(page); err != nil {
		return err
	}
	page.WriteString(decides)
	page.WriteString(prices)
	page.WriteString(unreliable)
	page.WriteString(packets)
	page.WriteString(containerMachines)
	page.WriteString(debianMachines)
	return nil
}

const otherTypes = "\n" + `All other types of CloudFormation are simulated from their schema: resources have properties, an identifier and attributes, and do nothing.

` + "`Fn::GetAtt`" + ` of an attribute that the resource does not have fails the stack with the words of AWS
([event](https://github.com/awsdocs/aws-cloudformation-user-guide/issues/1048)): "Attribute 'MasterUserSecret.SecretArn' does not exist". A schema lists
read-only properties and does not say when AWS sets them, so an attribute exists only if something else says so:

- The resource always has its primary identifier, its own ARN and ID, and read-only properties that the schema requires.
- It has an attribute with a condition if its properties meet the condition. ` + "`conditions`" + ` in
  [documentation.go](../../internal/simulator/cloudformation/simulated/documentation.go) lists these with AWS's pages.
- It has an attribute of an object that users set only if the object is set.
- It has the attributes in [attributes.txt](../../internal/simulator/cloudformation/simulated/attributes.txt), which AWS's documentation described without a
  condition when AWS archived its sources in 2023.

It has no others. So a stack can fail in the simulator because of an attribute that AWS has, most likely of a type or feature that is newer. The remedy is
a row in ` + "`conditions`" + ` with the page that documents the attribute.
`

const decides = "\n" + `## What IAM decides

The simulator authenticates and authorizes requests as AWS documents it. The option ` + "`WithIAM`" + ` and the flag ` + "`--iam`" + ` of
` + "`aws-operator simulator` and `local up`" + ` set what happens to requests that AWS would refuse: ` + "`enforce`" + `, the default, refuses them;
` + "`audit`" + ` answers them, and writes a line about each; ` + "`off`" + ` checks nothing except presigned STS requests and expired sessions.

| key | who it is |
| --- | --- |
| 12 digits, with the secret ` + "`secret`" + ` | the root user of the account with that number. It may do everything in its account except what a resource's policy denies, and [cannot assume roles](https://docs.aws.amazon.com/STS/latest/APIReference/API_AssumeRole.html). |
| from CreateAccessKey | the user |
| from STS or instance metadata, with its token | the session, until it expires |

| what | evaluated | page |
| --- | --- | --- |
| [signature version 4](https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_sigv-create-signed-request.html) | in headers and in presigned URLs. Key, token, signature, and time: 5 minutes, 15 for S3 and EC2. S3's bodies may be unsigned or in chunks, whose own signatures are not verified. Versions 2 and 4A are refused. | [errors](https://docs.aws.amazon.com/STS/latest/APIReference/CommonErrors.html), of [S3](https://docs.aws.amazon.com/AmazonS3/latest/API/ErrorResponses.html), of [EC2](https://docs.aws.amazon.com/AWSEC2/latest/APIReference/errors-overview.html) |
| policies of users and roles | inline and managed ones, permissions boundaries, session policies. Of AWS's own managed policies, a few have documents (` + "`AdministratorAccess`, `AmazonSSMManagedInstanceCore`" + ` …); the others allow nothing. | [evaluation logic](https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_policies_evaluation-logic.html) |
| trust policies | the credentials of instances; AssumeRole with external IDs, session tags and source identities; AssumeRoleWithWebIdentity by the provider's audiences and the token's claims. The signature of the token is not verified. | [AssumeRole](https://docs.aws.amazon.com/STS/latest/APIReference/API_AssumeRole.html) |
| policies of resources | buckets, KMS keys with grants, queues, topics, ECR repositories, DynamoDB tables. SNS and EventBridge need the policy of a queue or topic to deliver, or EventBridge the role of a target, which must trust it for the rule. | [cross-account](https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_policies_evaluation-logic-cross-account.html) |
| the policy language | all of it: NotAction, NotResource, NotPrincipal, variables, every operator with IfExists, ForAllValues and ForAnyValue | [elements](https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_policies_elements.html) |
| KMS keys behind S3, Parameter Store and EBS | ` + "`kms:ViaService`" + `, encryption contexts and ` + "`kms:GrantIsForAWSResource`" + ` | [ViaService](https://docs.aws.amazon.com/kms/latest/developerguide/conditions-kms.html#conditions-kms-via-service) |
| CloudFormation | acts with its caller's permissions or its service role's: one action for each operation on a resource, with ` + "`aws:CalledVia`" + `, on any resource. iam:PassRole for the role. | [service role](https://docs.aws.amazon.com/AWSCloudFormation/latest/UserGuide/using-iam-servicerole.html) |
| SimulatePrincipalPolicy, SimulateCustomPolicy, DecodeAuthorizationMessage | answer from the same code | [SimulatePrincipalPolicy](https://docs.aws.amazon.com/IAM/latest/APIReference/API_SimulatePrincipalPolicy.html) |

Files in ` + "`internal/simulator/access/actions`" + ` have, for each operation, its actions, the resources that each action is on, and the
condition keys from the request, with the page of AWS's service authorization reference. A test fails if an operation is missing. Besides
these, conditions can use the [global keys](https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_policies_condition-keys.html) of
principals, resources, tags and requests. ` + "`aws:SecureTransport`" + ` is true at the simulator's own address, which TLS would not protect further.

Not evaluated: groups (the simulator has none), policies of AWS Organizations and of VPC endpoints, MFA, access control lists except for
reads of public objects, the resources and tags of what CloudFormation creates, ec2:RunInstances for the caller who creates an Auto Scaling
group, and kms:Decrypt for parts of an upload.
A policy takes effect at once; in AWS it takes some seconds.
`

const prices = "\n" + `## Fleets and prices

` + "`CreateFleet`" + ` answers fleets of type ` + "`instant`" + ` only, and does not keep them. It launches from the cheapest pool first, or by priority, and
reports each pool without capacity in the response. Of the strategies by capacity, the simulator knows only which pools have none. The
permissions for what is launched are those of the caller; the error of a pool says what is missing.

Instances cost what they cost on demand in us-east-1, in every region and to the price list, and spot instances 40 % of it. There are neither
capacity reservations nor placement groups.
`

const unreliable = "\n" + `## What is as unreliable as in AWS

A seed decides what happens when: tests log it, and ` + "`aws-operator simulator`, `demo` and `local up`" + ` print it. The option ` + "`WithSeed`" + ` or the flag
` + "`--seed`" + ` repeats a run, as far as calls arrive in the same order. All of it is on by default, also in local mode. ` + "`WithLag`" + ` and the
flag ` + "`--lag`" + ` set the longest lag, which is one second by default; ` + "`make simulate`" + ` sets five. With a negative lag, what has "lag" in the
last column does not happen. The tests of the simulator itself and ` + "`make bench`" + ` use that.

| what | when | bound | page | on with |
| --- | --- | --- | --- | --- |
| Results have another order | reads whose order AWS does not document | | [DescribeInstances](https://docs.aws.amazon.com/AWSEC2/latest/APIReference/API_DescribeInstances.html) | |
| Pages are smaller than asked for | half of all reads with a page size | EC2's least size, 5 | [pagination](https://docs.aws.amazon.com/AWSEC2/latest/APIReference/Query-Requests.html#api-pagination) | |
| A read of EC2 returns the answer of before a change, also of tags | half of the reads after a change | lag | [eventual consistency](https://docs.aws.amazon.com/ec2/latest/devguide/eventual-consistency.html) | lag |
| A read of EC2 does not find an instance, volume, snapshot or security group that a client just created | half of the reads, for snapshots one of 20 | lag | [eventual consistency](https://docs.aws.amazon.com/ec2/latest/devguide/eventual-consistency.html) | lag |
| A call of KMS does not find a key that a client just created, nor DescribeTable a table | half of the calls | lag | [KMS](https://docs.aws.amazon.com/kms/latest/developerguide/programming-eventual-consistency.html), [DynamoDB](https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_DescribeTable.html) | lag |
| DescribeStacks returns the status of before an operation | half of the reads after the call | lag | [aws-cdk-cli#1803](https://github.com/aws/aws-cdk-cli/pull/1803) | lag |
| EC2, STS, KMS, S3, and SQS do not know a role, user or instance profile that a client just created. CloudFormation waits for that itself. | always | lag | [IAM](https://docs.aws.amazon.com/IAM/latest/UserGuide/troubleshoot.html#troubleshoot_general_eventual-consistency) | lag |
| A bucket policy takes effect later, and of the public access blocks that clients set, one of three | always | lag | [S3](https://docs.aws.amazon.com/AmazonS3/latest/userguide/Welcome.html#ConsistencyModel) | lag |
| A change of records is PENDING, and resolvers return the former answer | always | lag and TTL | [ChangeInfo](https://docs.aws.amazon.com/Route53/latest/APIReference/API_ChangeInfo.html) | lag |
| A load balancer is provisioning, and its name does not resolve | always | the lag | [state](https://docs.aws.amazon.com/elasticloadbalancing/latest/network/network-load-balancers.html#load-balancer-state) | lag |
| A target of a network load balancer is initial until it has passed all health checks | always | threshold × interval | [health checks](https://docs.aws.amazon.com/elasticloadbalancing/latest/network/target-group-health-checks.html) | |
| A call is throttled, with the service's code | one of 100 calls; the next of the same operation is not | | [EC2](https://docs.aws.amazon.com/AWSEC2/latest/APIReference/errors-overview.html), [S3](https://docs.aws.amazon.com/AmazonS3/latest/API/ErrorResponses.html) | lag |
| A call fails with a server error before it takes effect | one of 500 calls | | as above | lag |
| EC2 throttles an operation that is called too often | buckets of tokens, which fill 20 times as fast as in AWS, in ` + "`make simulate`" + ` as fast | | [throttling](https://docs.aws.amazon.com/ec2/latest/devguide/ec2-api-throttling.html) | lag |
| EventBridge delivers an event late, so that others overtake it | one of 5 deliveries | lag | [best practices](https://docs.aws.amazon.com/eventbridge/latest/userguide/eb-rules-best-practices.html) | lag |
| A rule that a client just created does not match events yet | always | lag | [PutRule](https://docs.aws.amazon.com/eventbridge/latest/APIReference/API_PutRule.html) | lag |
| EventBridge delivers an event twice | one of 10 deliveries | lag | [best practices](https://docs.aws.amazon.com/eventbridge/latest/userguide/eb-rules-best-practices.html) | lag |

Lost events and answers, missing capacity, interruptions of spot instances, rebalance recommendations, failed status checks, and
scheduled events happen only on request: ` + "`make simulate`" + ` draws all but scheduled events, and tests call them.

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
| ` + "`ScheduledEvent`" + ` | ` + "`instance`" + `, ` + "`event`" + ` (` + "`instance-retirement`, `instance-stop`, `instance-reboot`, `system-reboot`, `system-maintenance`" + `), ` + "`after`" + ` (default: two weeks), ` + "`resolved`" + ` | DescribeInstanceStatus and instance metadata have [the event](https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/monitoring-instances-status-check_sched.html), and AWS Health emits one. Then the instance is stopped or rebooted, and its Auto Scaling group replaces it. |

` + "`account`" + ` and ` + "`region`" + ` default to those of the simulator. ` + "`resolved: true`" + ` ends what continues.

What exceeds a documented limit is refused with AWS's code. Tests list the limits with their pages: ` + "`internal/simulator/limits_*test.go`" + `,
` + "`quotas_test.go`" + ` for those that AWS raises on request, and ` + "`tags_test.go`" + `. They also say which codes and texts are not on record.
`

const containerMachines = "\n" + `## Machines that run containers

` + "`aws-operator local up --machines container`" + ` boots instances on which programs run that this project did not write: the
kubelet, kube-proxy, containerd with its shim, runc, CNI plugins, CoreDNS, AWS's cloud controller manager and metrics-server. They judge
user data, bundle, kubelet configuration and addons.

| | |
| --- | --- |
| needs | Linux, root, version 1 of cgroups, overlayfs; to build: Go, gcc, pkg-config, libseccomp's headers, nftables and iptables |
| builds | ` + "`make containers`" + ` or ` + "`aws-operator local build --containers`" + `: ` + "`bin/containers`" + `, from ` + "`containers/go.mod`" + `, ` + "`containers/addons/go.mod`" + ` and ` + "`kube/go.mod`" + `, in the versions of the Release v1.36.3 except for addons |
| tests | ` + "`make test-containers`" + `: pods, addons and load balancers; an application with a role, by hand and by ` + "`config/pod-identity.yaml`" + `; the replacement of three slots and two workers under load; an upgrade of a slot and two workers from 1.35.4, whose kubelet and images ` + "`bin/containers-v1.35.4`" + ` has. ` + "`make conformance`" + `, Kubernetes' own suite ([results](conformance.md)) |

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
- An image of an instance has no container images: those are not on the simulated root volume.
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
- An image of an instance has none of its files.
`
