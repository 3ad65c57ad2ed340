// Package process boots simulated EC2 instances for real: each is a set of
// Linux processes in mount, PID, UTS, IPC and network namespaces of its own,
// started from the instance's user data as cloud-init would.
//
// # What a machine is
//
// Its root is a tmpfs that shows the host's programs read-only (/usr and what
// belongs to it) and nothing else of the host: /etc, /var, /tmp, /run, /root,
// /home, /opt, /srv and /usr/local are the machine's own and go with it. Process
// 1 is cmd/machine, which plays systemd for the units that it finds in
// /etc/systemd/system and runs the user data; see package guest. The machine
// image holds the artifacts of the local release, so that nothing is downloaded:
// /usr/local/bin/kubeadm is bin/kube, /usr/local/bin/kubelet the node agent of
// package agent. Static pods run as processes of bin/kube.
//
// # What it reaches
//
// Each VPC is a bridge, and all bridges are in one network namespace of the
// host's own (the hub), so that two VPCs do not see each other, two simulators
// do not collide, and the host's network stays as it is. A machine has its
// private address on eth0. Sockets that the simulator opens inside the
// machine's network namespace serve what AWS has there:
//
//	169.254.169.254:80   instance metadata
//	169.254.169.253:53   the VPC's resolver, UDP and TCP
//	169.254.169.249:443  every AWS API; the resolver answers all names below
//	                     amazonaws.com with it, and the machine trusts its CA
//	127.x.y.z            load balancers ([Host.Serve])
//
// # What differs from EC2
//
// Load balancers have loopback addresses, the same inside machines and on the
// host, so that one address of an API server serves both; therefore they listen
// with SO_REUSEPORT, and package agent has kube-apiserver do so too. Security
// groups, network ACLs and route tables are not enforced: machines of a VPC
// reach each other, and nothing else but the above. All machines share the
// host's kernel, clock, memory and processors, whatever their instance type
// says. A volume is a folder: mkfs.ext4, blkid and mount are stand-ins that
// treat it as a disk with a file system. A snapshot of a volume that a machine has is a copy of that folder, during
// which all of the machine's processes stand still: what they had written by then is in it, and nothing later. Sysctls other than net.* and kernel
// modules are left alone. Only the architecture of the host boots. A machine that
// is booted again begins with its image and its user data, as if its root volume
// were new; other volumes keep their data. A machine's root cannot do everything
// that the host's can, but this is no boundary of security: user data runs as root
// of this host.
//
// # What is left behind
//
// Nothing but [Options.Dir], which Close removes:
//
//	consoles/i-….log      what the machine's console showed, as GetConsoleOutput has it
//	machines/i-…/log/     its /var/log: units, and the containers of static pods
//	volumes/vol-…/        the data of volumes and snapshots
//	image/                the binaries of the machine image
//
// Processes die with the simulator, even when that is killed, and namespaces,
// mounts and interfaces go with the last process in them.
package process
