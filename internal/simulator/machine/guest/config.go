package guest

// InitName is the name by which the binary is process 1.
const InitName = "machine-init"

// Paths inside a machine.
const (
	// VolumesPath has the volumes.
	VolumesPath = "/run/machine/volumes"
	// DisksPath is where udev shows disks by their ids.
	DisksPath = "/dev/disk/by-id"
	// DiskPrefix begins the id of a volume of EC2's, which follows without its hyphen.
	DiskPrefix = "nvme-Amazon_Elastic_Block_Store_"
	// ImagePath has the binaries that the machine image is made of.
	ImagePath = "/usr/local/libexec/machine"
	// KubePath is the binary of the kube module: the static pods' programs.
	KubePath = ImagePath + "/kube"
	// controlSocket is where process 1 listens to systemctl.
	controlSocket = "/run/machine/init.sock"
	// DeviceFile, in a volume's folder, is what is shown as its device: empty at
	// first, as a new disk reads as zeros, and then the name of the file system,
	// which is in the folder dataDir.
	DeviceFile = "device"
	dataDir    = "data"
)

// Config says to process 1 what the machine is. Paths are the host's.
type Config struct {
	// InstanceID, Hostname and Address are the machine's.
	InstanceID, Hostname, Address string
	// Resolver is the address of the VPC's resolver.
	Resolver string
	// CACertificate is trusted, as PEM, beside the host's.
	CACertificate []byte
	// UserData is run as cloud-init would.
	UserData []byte
	// Machine and Kube are the binaries of the machine image.
	Machine, Kube string
	// Root is an empty folder for the root to be mounted on, Log becomes
	// /var/log, Disks /dev/disk/by-id, and Volumes has the volumes.
	Root, Log, Disks, Volumes string
}

// Environment is what process 1, and all that it starts, find.
func Environment() []string {
	return []string{
		"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
		"HOME=/root", "LANG=C.UTF-8",
	}
}
