package bundle

// Version is the version of the document's format. Each nodeup reads only its own version, since
// both are published together.
const Version = 1

// What the operator and slots agree on in kube-system when a control plane shrinks.
const (
	// LeaveConfigMap is the ConfigMap in kube-system of the workload cluster.
	LeaveConfigMap = "cluster-operator.aws-etcd"
	// LeaveInstance is its key with the ID of the instance whose member leaves etcd. The operator writes it. It
	// names the instance and not the slot, so that it says nothing to a later instance of the slot.
	LeaveInstance = "leaveInstance"
	// LeftInstance is its key with the ID of the instance whose member has left etcd. That instance writes
	// it.
	LeftInstance = "leftInstance"
)

// Role is the role of an instance in its cluster.
type Role string

// Roles.
const (
	// ControlPlane runs etcd and the Kubernetes API.
	ControlPlane Role = "ControlPlane"
	// Worker runs workloads.
	Worker Role = "Worker"
)

// Bundle is everything that shapes a node. [Bundle.JSON] encodes it.
type Bundle struct {
	// Version is the version of the format, [Version].
	Version int `json:"version"`
	// Cluster is the cluster's name.
	Cluster string `json:"cluster"`
	// Role is the role of the instance.
	Role Role `json:"role"`
	// Kubernetes is the version of Kubernetes, with its v.
	Kubernetes string `json:"kubernetes"`
	// Architecture is the processor architecture that the artifacts are for.
	Architecture string `json:"architecture"`
	// Roll changes the bundle's hash, only to replace its instances.
	Roll string `json:"roll,omitempty"`
	// Artifacts are the files to install, in this order.
	Artifacts []Artifact `json:"artifacts,omitempty"`
	// Modules are the kernel modules to load, now and at each boot.
	Modules []string `json:"modules,omitempty"`
	// Sysctls are kernel settings by name.
	Sysctls map[string]string `json:"sysctls,omitempty"`
	// Files are written as they are, without placeholders.
	Files []File `json:"files,omitempty"`
	// Units are the systemd units to enable and start before kubeadm runs, in this order.
	Units []string `json:"units,omitempty"`
	// ExtraUnits are the user's systemd units. Files has their content and drop-ins.
	ExtraUnits []Unit `json:"extraUnits,omitempty"`
	// SSH has the keys of users who may log in.
	SSH *SSH `json:"ssh,omitempty"`
	// ExtraUserData is the user's shell script, run before kubeadm.
	ExtraUserData string `json:"extraUserData,omitempty"`
	// Etcd is a slot's etcd member.
	Etcd *Etcd `json:"etcd,omitempty"`
	// Audit, if not nil, makes a slot ship the audit log of its API server.
	Audit *AuditShipping `json:"audit,omitempty"`
	// Encryption, if not nil, makes a slot serve the KMS plugin with which its API server encrypts
	// resources in etcd.
	Encryption *Encryption `json:"encryption,omitempty"`
	// PKI are the files that a slot fetches from the bucket before kubeadm creates the others.
	PKI []PKIFile `json:"pki,omitempty"`
	// Chains are files that a slot writes after kubeadm has created certificates.
	Chains []Chain `json:"chains,omitempty"`
	// TokenParameter names the SSM parameter that holds a worker's bootstrap token.
	TokenParameter string `json:"tokenParameter,omitempty"`
	// TokenKey is where in the bucket the bootstrap token is, in place of the parameter, where
	// slots keep it: a slot makes and renews it, a worker reads it.
	TokenKey string `json:"tokenKey,omitempty"`
	// Join, if not nil, means that workers prove which instance they are before they get a
	// certificate, and describes how slots verify the proof.
	Join *Join `json:"join,omitempty"`
	// API is the address of the cluster that a worker joins.
	API *API `json:"api,omitempty"`
	// Kubeadm is kubeadm's input.
	Kubeadm Kubeadm `json:"kubeadm"`
	// Kubelet is the kubelet's command line.
	Kubelet Kubelet `json:"kubelet"`
}

// Format is how to install an artifact.
type Format string

// Formats.
const (
	// Binary is an executable, installed as it is.
	Binary Format = "Binary"
	// TarGz is an archive, unpacked below its path.
	TarGz Format = "TarGz"
)

// CacheFolder is the folder of a machine image with artifacts that are not installed, each named by
// its SHA-256. nodeup verifies them before it uses them, and downloads those that are missing.
const CacheFolder = "/var/cache/nodeup"

// Artifact is a file to install.
type Artifact struct {
	// Name is its name in messages.
	Name string `json:"name"`
	// URL is its source.
	URL string `json:"url"`
	// SHA256 is the hash of the download, in hex. nodeup refuses an artifact without one.
	SHA256 string `json:"sha256,omitempty"`
	// Unverified is the reason why there is no hash.
	Unverified string `json:"unverified,omitempty"`
	// Format is how to install it.
	Format Format `json:"format"`
	// Path is the file of a Binary, or the folder of a TarGz.
	Path string `json:"path"`
}

// File is a file to write.
type File struct {
	// Path is its path on the instance.
	Path string `json:"path"`
	// Mode is its mode, in octal, for example 0644.
	Mode string `json:"mode"`
	// Content is its content.
	Content string `json:"content"`
	// Base64 reports that Content is encoded in base64.
	Base64 bool `json:"base64,omitempty"`
	// Owner is the name of the user of the image that owns it; root if empty.
	Owner string `json:"owner,omitempty"`
}

// UnitFolder is where systemd reads units, and UnitKubelet the unit that nodeup writes and kubeadm
// starts.
const (
	UnitFolder  = "/etc/systemd/system"
	UnitKubelet = "kubelet.service"
)

// UnitState is what to do with a unit.
type UnitState string

// States of units.
const (
	// UnitStarted enables a unit, and starts it before the kubelet.
	UnitStarted UnitState = "Started"
	// UnitInstalled does nothing with a unit: another one starts it.
	UnitInstalled UnitState = "Installed"
	// UnitMasked stops a unit and keeps everything from starting it.
	UnitMasked UnitState = "Masked"
)

// Unit is a systemd unit of a user.
type Unit struct {
	// Name is its name, with its type.
	Name string `json:"name"`
	// State is what to do with it.
	State UnitState `json:"state"`
}

// SSH has the users who may log in.
type SSH struct {
	// User is the image's user.
	User string `json:"user"`
	// AuthorizedKeys are that user's public keys.
	AuthorizedKeys []string `json:"authorizedKeys"`
}

// Etcd is a slot's etcd member: its volume and its name.
type Etcd struct {
	// Slot is the slot's number.
	Slot int `json:"slot"`
	// VolumeTags are the tags that identify the volume.
	VolumeTags map[string]string `json:"volumeTags"`
	// Device is the device name of the volume's attachment.
	Device string `json:"device"`
	// MountPoint is the folder at which it is mounted.
	MountPoint string `json:"mountPoint"`
	// HostedZoneID and DNSName are the zone and the name under which the instance publishes its
	// address.
	HostedZoneID string `json:"hostedZoneID"`
	DNSName      string `json:"dnsName"`
	// Members are the DNS names of all members, by member name.
	Members map[string]string `json:"members"`
	// FormedKey is the key in the bucket of an object that exists once the cluster's etcd has had a
	// quorum. A slot whose volume is blank then joins the other members, and never creates a
	// cluster. If empty, every slot starts as a member of a new cluster.
	FormedKey string `json:"formedKey,omitempty"`
	// Restore, if not nil, means that the volume was created from a snapshot, and describes how to
	// restore the member from its data.
	Restore *EtcdRestore `json:"restore,omitempty"`
	// Backup, if not nil, means that slots back up etcd to the cluster's bucket, in turns.
	Backup *EtcdBackup `json:"backup,omitempty"`
}

// EtcdBackup is how slots back up etcd to the cluster's bucket.
type EtcdBackup struct {
	// IntervalSeconds is the time between two backups, in seconds.
	IntervalSeconds int64 `json:"intervalSeconds"`
	// Keep is the number of backups to keep.
	Keep int `json:"keep"`
}

// AuditShipping is how a slot ships the audit log of its API server.
type AuditShipping struct {
	// Folder is the folder of the log on the instance, and File the name of its current file.
	Folder string `json:"folder"`
	File   string `json:"file"`
	// Bucket is the bucket, and Prefix begins the keys of objects in it, before the names of the
	// cluster and the slot.
	Bucket string `json:"bucket"`
	Prefix string `json:"prefix"`
	// EverySeconds is the longest time between two objects, in seconds, while there is something to
	// ship.
	EverySeconds int64 `json:"everySeconds"`
}

// AuditCondition is the condition of a slot's Node that says whether the slot ships its audit log.
const AuditCondition = "AuditLogShipped"

// Encryption is how a slot encrypts the seeds from which its API server derives keys.
type Encryption struct {
	// KeyARN is the ARN of the KMS key.
	KeyARN string `json:"keyARN"`
	// Context is the encryption context.
	Context map[string]string `json:"context"`
	// Socket is the path on the instance of the socket of the plugin. Its folder is the plugin's.
	Socket string `json:"socket"`
	// Added is what the API server does if encryption was added to an existing cluster, whose etcd has
	// data in plain text; empty in a cluster that was created with it.
	Added Added `json:"added,omitempty"`
}

// Added is what the API servers of a cluster do to which encryption was added. All slots must be
// [AddedReadable] before the first one becomes [AddedEncrypting].
type Added string

// What API servers do.
const (
	// AddedReadable reads encrypted objects, and writes plain text.
	AddedReadable Added = "Readable"
	// AddedEncrypting encrypts what it writes, and reads plain text.
	AddedEncrypting Added = "Encrypting"
)

// Keys of the encryption context. Their values are in clear text in CloudTrail:
// https://docs.aws.amazon.com/kms/latest/developerguide/encrypt_context.html
const (
	ContextAccount = "cluster-operator.aws/account"
	ContextCluster = "cluster-operator.aws/cluster"
)

// EtcdRestore is how to restore an etcd member from the data of one member of the previous cluster.
type EtcdRestore struct {
	// Snapshot is the EBS snapshot from which all slots' volumes were created.
	Snapshot string `json:"snapshot"`
	// Program is the key of the restore program in the bucket.
	Program string `json:"program"`
	// ProgramSHA256 is the hash of the program, in hex. nodeup runs no other. It is empty in
	// bundles of clusters that were restored before bundles had it.
	ProgramSHA256 string `json:"programSHA256,omitempty"` //nolint:tagliatelle // as Kubernetes spells initialisms
	// Name is the member's name.
	Name string `json:"name"`
	// InitialCluster has all members and their peer URLs in the format of etcd's --initial-cluster.
	// Token is its --initial-cluster-token, which differs for each snapshot.
	InitialCluster string `json:"initialCluster"`
	Token          string `json:"token"`
}

// Join is how workers prove their identity.
type Join struct {
	// STSHost is the host of the region's STS, for which proofs are signed.
	STSHost string `json:"stsHost"`
	// WorkerRole is the ARN of the workers' role, and InstanceTags are tags of all instances of the
	// cluster's groups. Slots compare them.
	WorkerRole   string            `json:"workerRole,omitempty"`
	InstanceTags map[string]string `json:"instanceTags,omitempty"`
	// KubeletServing makes slots decide about requests for the serving certificates of kubelets.
	KubeletServing bool `json:"kubeletServing,omitempty"`
}

// JoinKubeconfig is the file with the certificate that a worker joins with. Its kubeadm
// configuration names it.
const JoinKubeconfig = "/etc/kubernetes/join.conf"

// API is the cluster's Kubernetes API.
type API struct {
	// Server is its address, https://host:port.
	Server string `json:"server"`
	// CACertificate is the certificate of the cluster's CA, PEM, which its certificate is signed
	// by.
	CACertificate string `json:"caCertificate"`
}

// PKIFile is a file of the cluster's CAs.
type PKIFile struct {
	// Key is its key in the bucket.
	Key string `json:"key"`
	// Path is its path on the instance.
	Path string `json:"path"`
	// Mode is its mode, in octal.
	Mode string `json:"mode"`
}

// Chain is a file with a certificate that kubeadm creates, followed by those with which clients verify it that do
// not trust its CA.
type Chain struct {
	// Path is the path of the file on the instance.
	Path string `json:"path"`
	// Certificate is the path of the certificate, Issuers that of the certificates that follow it.
	Certificate string `json:"certificate"`
	Issuers     string `json:"issuers"`
}

// Kubeadm is kubeadm's input.
type Kubeadm struct {
	// Config is kubeadm's configuration, YAML documents with placeholders.
	Config string `json:"config"`
	// Addons are those of kubeadm's own addons (coredns, kube-proxy) for which the release has no
	// chart. A slot installs them.
	Addons []string `json:"addons,omitempty"`
}

// Kubelet is the kubelet's command line. nodeup adds the label of the bundle's own hash.
type Kubelet struct {
	// Path is the kubelet's executable.
	Path string `json:"path"`
	// Args are its arguments by name, without dashes, with placeholders.
	Args map[string]string `json:"args"`
	// Labels are the node's labels, with placeholders; those that a kubelet may set.
	Labels map[string]string `json:"labels,omitempty"`
	// Taints are the node's taints, as key=value:effect.
	Taints []string `json:"taints,omitempty"`
}
