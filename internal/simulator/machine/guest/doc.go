// Package guest is what runs inside a machine of package process: process 1,
// which makes the machine's file system, plays systemd and runs the user data,
// and the stand-ins for programs that would want real hardware.
//
// All are one binary, cmd/machine, which goes by the name it is called by:
//
//	machine-init      process 1; reads a [Config] from standard input
//	systemctl         asks process 1 to start, stop and show units
//	modprobe, sysctl, udevadm, swapoff, journalctl   say that they do nothing
//	blkid, mkfs.ext4, mount                          treat a volume, which is a folder, as a disk
//
// Units are read from /etc/systemd/system with their drop-ins, as systemd does:
// ExecStart, Environment, EnvironmentFile, WorkingDirectory, Type=oneshot, Restart
// and RestartSec count, all else is passed over. A unit whose program is not in
// the machine image, as containerd is, counts as active and does nothing.
package guest
