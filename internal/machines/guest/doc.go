// Package guest runs inside a machine of package process: it contains process 1, which creates the
// machine's file system, simulates systemd and runs the user data, and stubs of programs that need
// real hardware.
//
// All are one binary, cmd/machine, which selects the program by the name under which it is called:
//
//	machine-init      process 1; reads a [Config] from standard input
//	systemctl         asks process 1 to start, stop and show units, and to power off
//	poweroff          is systemctl poweroff
//	modprobe, udevadm, swapoff, journalctl           report that they do nothing
//	sysctl                                           sets what belongs to the machine
//	ecr-credential-provider                          has no credentials for any registry
//	blkid, mkfs.ext4, mount                          treat a volume, which is a directory, as a disk
//
// Units are read from /etc/systemd/system with their drop-ins, as systemd does. ExecStart,
// Environment, EnvironmentFile, WorkingDirectory, Type=oneshot, Restart and RestartSec are
// supported; all other settings are ignored. A unit whose program is not in the machine image, such
// as containerd, counts as active and does nothing.
//
// In an image that runs containers, the binary is also containerd, kubelet and kube-proxy: it runs
// the real program with the settings that a simulated machine needs.
//
// With [Config.Tree], process 1 only creates the machine's root of a distribution's tree, and is
// replaced by the distribution's systemd. Of the stubs, those of disks and modprobe remain.
package guest
