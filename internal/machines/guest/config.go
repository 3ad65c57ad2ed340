package guest

import (
	"crypto/sha256"
	"encoding/hex"
)

// InitName is the name under which the binary is process 1.
const InitName = "machine-init"

// Paths inside a machine.
const (
	// VolumesPath contains the volumes.
	VolumesPath = "/run/machine/volumes"
	// DisksPath contains udev's links to disks by ID.
	DisksPath = "/dev/disk/by-id"
	// DiskPrefix is the prefix of the disk ID of an EBS volume; the volume's ID without its hyphen
	// follows.
	DiskPrefix = "nvme-Amazon_Elastic_Block_Store_"
	// ImagePath contains the binaries of the machine image.
	ImagePath = "/usr/local/libexec/machine"
	// ContainersPath contains the programs of a machine image that runs containers, and those of its
	// container images; ImagesDir, in their folder on the host, holds the container images.
	ContainersPath = ImagePath + "/containers"
	ImagesDir      = "images"
	// KubePath is the binary of the kube module: the static pods' programs.
	KubePath = ImagePath + "/kube"
	// controlSocket is the socket through which systemctl reaches process 1.
	controlSocket = "/run/machine/init.sock"
	// DeviceFile, in a volume's directory, represents its device. It is empty at first, as a new
	// disk reads as zeros, and then contains the name of the file system, whose files are in the
	// directory dataDir.
	DeviceFile = "device"
	dataDir    = "data"
)

// Config configures process 1 of a machine. Paths are the host's.
type Config struct {
	// InstanceID, Hostname and Address are the machine's.
	InstanceID, Hostname, Address string
	// Resolver is the address of the VPC's resolver.
	Resolver string
	// CACertificate, as PEM, is trusted in addition to the host's CAs.
	CACertificate []byte
	// UserData is run as cloud-init would run it.
	UserData []byte
	// Machine and Kube are the binaries of the machine image.
	Machine, Kube string
	// Tree is the root directory of a distribution whose systemd is process 1 and whose cloud-init runs
	// the user data. Without it, process 1 simulates both. It needs a RootVolume, which keeps what the
	// machine writes, and version 1 of cgroups.
	Tree string
	// Containers is the directory of the programs with which the machine runs containers; without it,
	// the node agent simulates them. Unpacked are the hashes of archives that the image contains.
	Containers string
	Unpacked   []string
	// Kubelet, if not empty, is the kubelet in place of that in Containers.
	Kubelet string
	// RootVolume is an empty directory in which the images of containers and the files of pods are;
	// without it, they are in memory, like the rest of the machine's root.
	RootVolume string
	// RootVolumeID is the volume that keeps the machine's files at an orderly shutdown, for the next
	// start; without it, none does.
	RootVolumeID string
	// Root is an empty directory on which the root is mounted. Log becomes /var/log, Disks becomes
	// /dev/disk/by-id, and Volumes contains the volumes.
	Root, Log, Disks, Volumes string
}

// machineID returns 32 hexadecimal digits that depend on the instance.
func (c Config) machineID() string {
	id := sha256.Sum256([]byte(c.InstanceID))
	return hex.EncodeToString(id[:16])
}

// Environment returns the environment of process 1 and all programs that it starts.
func Environment() []string {
	return []string{
		"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
		"HOME=/root", "LANG=C.UTF-8",
	}
}
