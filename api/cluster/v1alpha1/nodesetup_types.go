package v1alpha1

// NodeSetup adds files and systemd units to nodes. Both are part of what an instance boots with, so
// a change of them replaces the nodes: slots one at a time, those of an instance group as its
// rollingUpdate configures. Users who may read the object, and all nodes, can read them.
type NodeSetup struct {
	// Files are written to the nodes before systemd units start and the kubelet runs, and again at
	// each boot if they differ. At most 32, with at most 131072 characters of content together. The
	// content must not have secrets. A change replaces the nodes.
	// +optional
	// +listType=map
	// +listMapKey=path
	// +kubebuilder:validation:MaxItems=32
	// +kubebuilder:validation:XValidation:rule="self.map(f, has(f.content) ? f.content.size() : 0).sum() <= 131072",message="the files together have more than 131072 characters: put large files into the image, or download them in a unit"
	Files []NodeFile `json:"files,omitempty"`

	// Units are systemd units and drop-ins. They start before the kubelet runs, and at each boot. A
	// node whose unit does not start does not join, and a rollout stops with it. At most 32. They
	// must not have secrets. A change replaces the nodes.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=32
	Units []NodeUnit `json:"units,omitempty"`
}

// FileEncoding is how the content of a file is encoded.
//
// +kubebuilder:validation:Enum=base64
type FileEncoding string

// FileBase64 is the standard encoding of RFC 4648, with padding and without line breaks.
const FileBase64 FileEncoding = "base64"

// NodeFile is a file on nodes.
//
// +kubebuilder:validation:XValidation:rule="!has(self.encoding) || !has(self.content) || self.content.size() % 4 == 0 && self.content.matches('^[A-Za-z0-9+/]*={0,2}$')",message="content is not base64: encode it without line breaks (base64 -w0), or leave out encoding"
type NodeFile struct {
	// Path is the absolute path of the file, of letters, digits and /._@:+,=~-, at most 255
	// characters. Paths that the operator writes, those of systemd units, and /proc, /sys, /dev and
	// /run are refused. Missing folders are created.
	// +required
	// +kubebuilder:validation:MaxLength=255
	// +kubebuilder:validation:XValidation:rule="self.matches('^(/[A-Za-z0-9._@:+,=~-]+)+$') && !self.matches('/[.][.]?(/|$)')",message="write an absolute path of letters, digits and ._@:+,=~-, without . and .., for example /etc/motd"
	// +kubebuilder:validation:XValidation:rule="!self.matches('^/(proc|sys|dev|run|var/run)(/|$)')",message="/proc, /sys, /dev and /run do not keep files: use another path"
	// +kubebuilder:validation:XValidation:rule="!self.matches('^(/etc/kubernetes|/var/lib/(kubelet|nodeup|etcd|containerd))(/|$)|^/etc/(containerd/config[.]toml|crictl[.]yaml|modules-load[.]d/nodeup[.]conf|sysctl[.]d/90-nodeup[.]conf)$')",message="the operator writes /etc/kubernetes, /var/lib/kubelet, /var/lib/nodeup, /var/lib/etcd, /var/lib/containerd, /etc/containerd/config.toml, /etc/crictl.yaml, /etc/modules-load.d/nodeup.conf and /etc/sysctl.d/90-nodeup.conf: use another path, or a field of the spec"
	// +kubebuilder:validation:XValidation:rule="!self.matches('^(/etc|(/usr(/local)?)?/lib)/systemd/system(/|$)')",message="systemd reads units there: put the unit or drop-in into units"
	Path string `json:"path"`

	// Content is the content of the file, at most 65536 characters. It must not have secrets: it is
	// stored in this object, in the cluster's bucket, where all nodes can read it, and in Terraform's
	// state. Private keys are refused. Fetch secrets in a unit, with the permissions of the nodes.
	// +optional
	// +kubebuilder:validation:MaxLength=65536
	// +kubebuilder:validation:XValidation:rule="!self.contains('PRIVATE KEY-----')",message="content has a private key, which all users who may read this object, and all nodes, could read: fetch it in a unit, for example from Secrets Manager"
	Content string `json:"content,omitempty"`

	// Encoding is base64 for content that is encoded. By default, content is the text of the file.
	// +optional
	Encoding FileEncoding `json:"encoding,omitempty"`

	// Mode has the permissions in octal. The default is 0644.
	// +optional
	// +kubebuilder:default="0644"
	// +kubebuilder:validation:MaxLength=4
	// +kubebuilder:validation:XValidation:rule="self.matches('^0[0-7]{3}$')",message="write the permissions in octal, for example 0600"
	Mode string `json:"mode,omitempty"`

	// Owner is the name of the user that owns the file, with the user's group. The image must have
	// the user. The default is root.
	// +optional
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:XValidation:rule="self.matches('^[a-z_][a-z0-9_-]*$')",message="write the name of a user of the image, for example syslog"
	Owner string `json:"owner,omitempty"`
}

// UnitState is what happens with a unit when a node boots.
//
// +kubebuilder:validation:Enum=Started;Installed;Masked
type UnitState string

// Unit states.
const (
	// UnitStarted enables the unit, and starts it before the kubelet runs.
	UnitStarted UnitState = "Started"
	// UnitInstalled only writes the unit and its drop-ins: another unit starts it.
	UnitInstalled UnitState = "Installed"
	// UnitMasked stops a unit of the image and keeps everything from starting it.
	UnitMasked UnitState = "Masked"
)

// NodeUnit is a systemd unit on nodes: one of its own, or drop-ins for a unit of the image or the
// operator.
//
// +kubebuilder:validation:XValidation:rule="!(self.name in ['kubelet.service', 'containerd.service']) || !has(self.content) && (!has(self.state) || self.state == 'Started')",message="the operator writes and starts kubelet.service and containerd.service: leave out content and state, and use dropIns"
// +kubebuilder:validation:XValidation:rule="!has(self.state) || self.state != 'Masked' || !has(self.content) && !has(self.dropIns)",message="a masked unit does not start: leave out content and dropIns, or state"
// +kubebuilder:validation:XValidation:rule="!self.name.contains('@.') || has(self.state) && self.state == 'Installed'",message="a template such as a@.service cannot start: set state to Installed, and add an instance such as a@b.service"
type NodeUnit struct {
	// Name is the name of the unit, for example agent.service. It ends in .service, .timer, .socket,
	// .path, .mount or .slice. Units through which nodes boot are refused, except for drop-ins of
	// kubelet.service and containerd.service.
	// +required
	// +kubebuilder:validation:MaxLength=128
	// +kubebuilder:validation:XValidation:rule="self.matches(r'^[A-Za-z0-9][A-Za-z0-9:_.@\\\\-]*[.](service|timer|socket|path|mount|slice)$')",message="write the name of a systemd unit: a service, timer, socket, path, mount or slice, for example agent.service"
	// +kubebuilder:validation:XValidation:rule="!self.matches('^(nodeup|cloud-|var-lib-etcd[.])')",message="nodes boot through units whose names begin with nodeup or cloud-, and var-lib-etcd.mount: use another name"
	Name string `json:"name"`

	// Content is the content of the unit file, at most 16384 characters. If empty, the unit is one
	// of the image or the operator; one of the image restarts at the first boot. It must not have
	// secrets, and must not wait for cloud-final.service or nodeup.service, which wait for the unit.
	// +optional
	// +kubebuilder:validation:MaxLength=16384
	Content string `json:"content,omitempty"`

	// State is Started (the default), Installed or Masked. Started enables the unit and starts it
	// before the kubelet runs. Installed only writes it, for a unit that another one starts, such as
	// the service of a timer. Masked stops a unit of the image and keeps everything from starting it.
	// +optional
	State UnitState `json:"state,omitempty"`

	// DropIns change the unit: each is a file NAME in the folder UNIT.d. At most 8.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=8
	DropIns []UnitDropIn `json:"dropIns,omitempty"`
}

// UnitDropIn is a drop-in of a systemd unit.
type UnitDropIn struct {
	// Name is the name of the file, which ends in .conf, for example 10-proxy.conf.
	// +required
	// +kubebuilder:validation:MaxLength=64
	// +kubebuilder:validation:XValidation:rule="self.matches('^[A-Za-z0-9_@-][A-Za-z0-9._@-]*[.]conf$')",message="write a file name that ends in .conf, for example 10-proxy.conf"
	Name string `json:"name"`

	// Content is the content of the file, at most 8192 characters. It must not have secrets.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=8192
	Content string `json:"content"`
}
