package diagnosis

import (
	"regexp"
	"slices"
)

// Cause is the most likely cause of a stalled boot.
type Cause struct {
	// Reason is one word, for programs.
	Reason string `json:"reason"`
	// Text describes the cause, Remedy what to do about it. Both are sentences.
	Text   string `json:"text"`
	Remedy string `json:"remedy"`
}

// Reasons of causes.
const (
	ReasonSilentConsole      = "SilentConsole"
	ReasonUserDataSilent     = "UserDataSilent"
	ReasonNoRoute            = "NoRoute"
	ReasonNameNotResolved    = "NameNotResolved"
	ReasonNoRole             = "NoRole"
	ReasonAccessDenied       = "AccessDenied"
	ReasonImageUnsuitable    = "ImageUnsuitable"
	ReasonNodeupChanged      = "NodeupChanged"
	ReasonBundleInvalid      = "BundleInvalid"
	ReasonArtifactChecksum   = "ArtifactChecksum"
	ReasonArtifactMissing    = "ArtifactMissing"
	ReasonUntrustedServer    = "UntrustedServer"
	ReasonDiskFull           = "DiskFull"
	ReasonVolumeElsewhere    = "VolumeElsewhere"
	ReasonVolumeHeld         = "VolumeHeld"
	ReasonVolumeDamaged      = "VolumeDamaged"
	ReasonVolumeBlank        = "VolumeBlank"
	ReasonDNSNotPublished    = "DNSNotPublished"
	ReasonUnitFailed         = "UnitFailed"
	ReasonKubeletDown        = "KubeletDown"
	ReasonUserScript         = "UserScript"
	ReasonEncryptionDiffers  = "EncryptionDiffers"
	ReasonKeyUnusable        = "KeyUnusable"
	ReasonNoQuorum           = "NoQuorum"
	ReasonAPIBlocked         = "APIBlocked"
	ReasonAPIDown            = "APIDown"
	ReasonTokenUnknown       = "TokenUnknown"
	ReasonCertificateDenied  = "CertificateDenied"
	ReasonCertificatePending = "CertificatePending"
	ReasonUnknown            = "Unknown"
)

// rule is a cause and how to recognize it.
type rule struct {
	// stages are the stages to which the rule applies, all if there are none.
	stages []string
	// error matches the error.
	error *regexp.Regexp
	cause Cause
}

const (
	timeouts = `timed? ?out|deadline exceeded|Client\.Timeout|[Nn]etwork is unreachable|[Nn]o route to host|Failed to connect|Couldn't connect`
	denied   = `AccessDenied|UnauthorizedOperation|[Nn]ot authorized|Access Denied|explicit deny`
)

// checkRoute is what to check if an instance cannot reach AWS or the internet.
const checkRoute = "Check that the route table of its subnet has a route to a NAT or internet gateway, or that the VPC has the endpoints, " +
	"and that network ACLs and the security group allow outbound connections to port 443."

// rules are in order of precedence.
var rules = []rule{
	{[]string{UserData}, regexp.MustCompile(`S3 needs an image with curl|option .*(aws-sigv4|unknown)|error: 400`), Cause{
		ReasonImageUnsuitable, "The image's curl is too old to sign requests for S3.",
		"Use an image with curl 7.87 or later.",
	}},
	{[]string{UserData}, regexp.MustCompile(`not found|Exec format|cannot execute`), Cause{
		ReasonImageUnsuitable, "The image lacks a program that boot needs, or has another architecture.",
		"Use a Linux image with a POSIX shell, curl and sha256sum, of the architecture of the instance type.",
	}},
	{[]string{UserData}, regexp.MustCompile(`sha256sum|nodeup: FAILED`), Cause{
		ReasonNodeupChanged, "The nodeup in the cluster's bucket does not have the hash that the user data names.",
		"Check who else writes to the bucket; restart the operator, which uploads its nodeup.",
	}},
	{[]string{UserData}, regexp.MustCompile(`error: 404`), Cause{
		ReasonNoRole, "The instance has no role, or the bucket has no nodeup for its architecture.",
		"Check that the instance profile of the launch template exists and has a role, and that the operator stored nodeup in the bucket.",
	}},
	{[]string{UserData}, regexp.MustCompile(`error: 403`), Cause{
		ReasonAccessDenied, "S3 denies the instance's role access to the bucket.",
		"Check the role's policies and its permissions boundary, service control policies, and the policies of the bucket, its key and the S3 endpoint.",
	}},
	{[]string{UserData}, regexp.MustCompile(`169\.254\.169\.254`), Cause{
		ReasonNoRole, "The instance metadata service does not respond.",
		"Check the metadata options of the launch template and that nothing on the image blocks 169.254.169.254.",
	}},
	{nil, regexp.MustCompile(`no space left`), Cause{
		ReasonDiskFull, "The root volume is full.", "Increase the size of the root volume.",
	}},
	{nil, regexp.MustCompile(`the unit kubelet\.service does not run`), Cause{
		ReasonKubeletDown, "The kubelet does not run.",
		"Correct the drop-ins of kubelet.service in the spec, and kubeletExtraArgs. On the instance, journalctl -u kubelet has all it says.",
	}},
	{[]string{"encryption at rest"}, regexp.MustCompile(`the data of etcd is`), Cause{
		ReasonEncryptionDiffers, "The data on the slot's etcd volume is not encrypted as the spec says.",
		"Set spec.api.encryption to what it was before. Only an operator can add it to an existing cluster, in stages.",
	}},
	{[]string{"encryption at rest"}, regexp.MustCompile(`kms:(Encrypt|Decrypt)`), Cause{
		ReasonKeyUnusable, "KMS does not encrypt or decrypt with the key of spec.api.encryption.",
		"Check that the key is enabled and not pending deletion, its policy and that of the control plane's role, and that slots reach KMS.",
	}},
	{nil, regexp.MustCompile(denied), Cause{
		ReasonAccessDenied, "The instance's role lacks a permission.",
		"Check the role's policies and its permissions boundary, and service control policies, for the action in the error.",
	}},
	{nil, regexp.MustCompile(`failed to (get|refresh|retrieve).*credentials|no EC2 IMDS role`), Cause{
		ReasonNoRole, "The instance has no credentials of a role.", "Check that the instance profile of the launch template exists and has a role.",
	}},
	{[]string{"bundle"}, regexp.MustCompile(`SHA-256`), Cause{
		ReasonBundleInvalid, "The bundle in the cluster's bucket is not the one that the user data names.", "Check who else writes to the bucket.",
	}},
	{[]string{"artifacts"}, regexp.MustCompile(`has the SHA-256 .* expects`), Cause{
		ReasonArtifactChecksum, "The server has another file than the Release expects.",
		"Compare the artifact's url and sha256 in the Release with the publisher's checksum. Use a new Release to correct them.",
	}},
	{[]string{"artifacts"}, regexp.MustCompile(`has no SHA-256`), Cause{
		ReasonArtifactChecksum, "The Release has no checksum for this artifact.", "Use a Release with a sha256 for it.",
	}},
	{[]string{"artifacts"}, regexp.MustCompile(`: [45]\d\d `), Cause{
		ReasonArtifactMissing, "The server does not have the artifact, or refuses to serve it.",
		"Check the artifact's url in the Release.",
	}},
	{[]string{"artifacts"}, regexp.MustCompile(`connection refused`), Cause{
		ReasonArtifactMissing, "The server of the artifact does not accept connections.", "Check the artifact's url in the Release, and the server.",
	}},
	{[]string{"artifacts"}, regexp.MustCompile(`x509|certificate`), Cause{
		ReasonUntrustedServer, "The instance does not trust the server's certificate, as behind a proxy that inspects TLS.",
		"Add the CA to the image, or serve the artifacts from a server with a public certificate.",
	}},
	{[]string{"etcd volume"}, regexp.MustCompile(`there are 0 volumes|ZoneMismatch`), Cause{
		ReasonVolumeElsewhere, "The slot's etcd volume does not exist in the zone of the instance.",
		"Check the zones of the volume and of the slot's subnet. If the volume is lost, see docs/guide/backups.md#recover-from-a-lost-volume.",
	}},
	{[]string{"etcd volume"}, regexp.MustCompile(`there are \d+ volumes`), Cause{
		ReasonVolumeElsewhere, "More than one volume has the tags of the slot's etcd volume.", "Remove the tags from the volumes that are not the slot's.",
	}},
	{[]string{"etcd volume"}, regexp.MustCompile(`still attached`), Cause{
		ReasonVolumeHeld, "Another instance holds the slot's etcd volume.", "Terminate that instance, unless it is terminating already.",
	}},
	{[]string{"etcd file system"}, regexp.MustCompile(`damaged`), Cause{
		ReasonVolumeDamaged, "The slot's etcd volume is damaged.", "See docs/guide/backups.md#recover-from-a-lost-volume.",
	}},
	{[]string{"etcd member"}, regexp.MustCompile(`blank`), Cause{
		ReasonVolumeBlank, "The slot's etcd volume is blank, and no majority of the other slots is available.",
		"Bring the other slots up, or restore a snapshot with spec.controlPlane.restoreSnapshot.",
	}},
	{[]string{"units", "extra units"}, regexp.MustCompile(`.`), Cause{
		ReasonUnitFailed, "A systemd unit of the spec does not start, or containerd does not.",
		"Correct the unit that the error names, or its drop-ins, in units of the InstanceGroup or of the Cluster's nodes or controlPlane.",
	}},
	{[]string{"extra user data"}, regexp.MustCompile(`.`), Cause{
		ReasonUserScript, "The script in spec.extraUserData fails.", "Correct the script; it must exit with 0, and may run more than once.",
	}},
	{[]string{"API"}, regexp.MustCompile(timeouts), Cause{
		ReasonAPIBlocked, "The API's load balancer does not accept connections from the instance.",
		"Check that the security groups and spec.api.allowedCIDRs allow port 6443 from the instance, or from the address of its NAT gateway, " +
			"and that the load balancer has a healthy target.",
	}},
	{[]string{"API"}, regexp.MustCompile(`refused|reset|EOF|does not answer|answers`), Cause{
		ReasonAPIDown, "No control-plane instance serves the API yet.", "Check the control plane first.",
	}},
	{[]string{"join"}, regexp.MustCompile(`is Denied`), Cause{
		ReasonCertificateDenied, "A slot denied the instance's certificate, for the reason in the error.",
		"Check that the instance has the cluster's worker role and tags, and belongs to an Auto Scaling group.",
	}},
	{[]string{"join"}, regexp.MustCompile(`no slot has decided`), Cause{
		ReasonCertificatePending, "No slot approves certificates.",
		"Check on a slot that nodeup-token.service runs (journalctl -u nodeup-token) and that slots reach STS and EC2.",
	}},
	{[]string{"join"}, regexp.MustCompile(`token|answers 401`), Cause{
		ReasonTokenUnknown, "The instance has no valid bootstrap token.",
		"Check that the control plane renews the token: before resource set 1.2.0 the operator does, later nodeup-token.service on the slots.",
	}},
	{nil, regexp.MustCompile(`no such host|[Cc]ould not resolve`), Cause{
		ReasonNameNotResolved, "The instance cannot resolve a name.",
		"Check the name in the error, that the VPC has enableDnsSupport and enableDnsHostnames on, and its DHCP options.",
	}},
	{[]string{"etcd name"}, regexp.MustCompile(`.`), Cause{
		ReasonDNSNotPublished, "The slot's name does not resolve to the instance yet.",
		"Check that the VPC has enableDnsSupport and enableDnsHostnames on and uses the resolver of the VPC.",
	}},
	{waitForQuorum, regexp.MustCompile(timeouts + `|refused|EOF|etcdserver|rate limiter|InternalError|not yet ready|reset`), Cause{
		ReasonNoQuorum, "The slot's API server does not serve: etcd needs a majority of the slots.",
		"Check the other slots, and that the control plane's security group allows ports 2379, 2380 and 6443 between slots. " +
			"On the instance, crictl ps -a shows the containers.",
	}},
	{nil, regexp.MustCompile(timeouts), Cause{
		ReasonNoRoute, "The instance has no route to the server.", checkRoute,
	}},
}

// waitForQuorum are the tasks that need the API on the slot.
var waitForQuorum = []string{
	"kubeadm upload-config", "etcd formed", "own node", "kubeadm mark-control-plane", "kubeadm bootstrap-token", "kubeadm addons",
}

// causeOf returns the most likely cause of a stalled boot with an error, which may be empty.
func causeOf(boot *Boot, problem string) Cause {
	if problem == "" {
		return silentCause(boot)
	}
	for i := range rules {
		if r := &rules[i]; (len(r.stages) == 0 || slices.Contains(r.stages, boot.Stage)) && r.error.MatchString(problem) {
			return r.cause
		}
	}
	return Cause{
		ReasonUnknown, "The cause is not one of the known ones.",
		"See docs/design/boot.md#troubleshoot-a-node for this stage.",
	}
}

// silentCause returns the most likely cause of a boot whose stage has reported nothing.
func silentCause(boot *Boot) Cause {
	switch {
	case boot.Silent:
		return Cause{
			ReasonSilentConsole, "The console is empty: the image does not boot, or writes nothing to the serial console.",
			"Check the image, its architecture, and the instance's status checks.",
		}
	case boot.Stage == UserData:
		return Cause{
			ReasonUserDataSilent, "The user data has reported nothing: either the image does not run user data, or a download hangs for lack of a route.",
			"Check that the image is a Linux image with cloud-init. " + checkRoute,
		}
	case boot.Stage == "artifacts":
		return Cause{
			ReasonNoRoute, "A download is slow or hangs.", checkRoute,
		}
	default:
		return Cause{
			ReasonUnknown, "The stage has neither failed nor finished.", "See docs/design/boot.md#troubleshoot-a-node for this stage.",
		}
	}
}
