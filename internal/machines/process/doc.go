// Package process boots simulated EC2 instances as real processes: each is a set of Linux processes
// in its own mount, PID, UTS, IPC and network namespaces, started from the instance's user data as
// cloud-init would start them.
//
// # What a machine is
//
// Its root is a tmpfs that contains the host's programs read-only (/usr and related directories)
// and nothing else of the host: /etc, /var, /tmp, /run, /root, /home, /opt, /srv and /usr/local
// belong to the machine and are deleted with it. Process 1 is cmd/machine, which simulates systemd
// for the units in /etc/systemd/system and runs the user data; see package guest. The machine image
// contains the artifacts of the local release, so that nothing is downloaded:
// /usr/local/bin/kubeadm is bin/kube, /usr/local/bin/kubelet the node agent of package agent.
// Static pods run as processes of bin/kube.
//
// With [Options.Containers], the image also contains containerd, runc and CNI plugins, and
// /usr/local/bin/kubelet is the real one, so that static pods and all others are containers. Such a
// machine is in cgroups and a cgroup namespace of its own, its /usr is writable, and the simulator
// serves container images at 169.254.169.249:443, under the names of registries. See
// docs/reference/simulator.md for what differs from EC2.
//
// With [Options.Tree], the root is that of a distribution: process 1 is its systemd, and its
// cloud-init runs the user data. Such a machine shuts down before it ends, and its root outlives it.
//
// # What it reaches
//
// Each VPC is a bridge, and all bridges are in one private network namespace of the host (the hub),
// so that two VPCs are isolated, two simulators do not conflict, and the host's network does not
// change. A machine has its private address on eth0. Sockets that the simulator opens inside the
// machine's network namespace serve the addresses that AWS serves:
//
//	169.254.169.254:80   instance metadata
//	169.254.169.253:53   the VPC's resolver, UDP and TCP
//	169.254.169.249:443  every AWS API; the resolver answers all names below
//	                     amazonaws.com with it, and the machine trusts its CA
//
// A VPC with load balancers has one more namespace: that of the VPC's router, to which machines send
// what is not in the VPC. The simulator opens the sockets of the VPC's load balancers in it
// ([Host.Serve]), at the addresses of their interfaces and at their public ones.
//
// # What differs from EC2
//
// Security groups, network ACLs, routes and the source and destination check are enforced between
// machines if the simulator provides a VPC's firewall (packages firewall and packetfilter). What
// does not leave a machine is subject to an evaluation of the same rules: calls of AWS's APIs in this
// package, connections of load balancers to targets in the simulator. Such a connection is accepted,
// and then gets no response. Packets of pods are wrapped in those of nodes. See
// docs/reference/simulator.md.
//
// All machines share the host's kernel, clock, memory and processors, regardless of their instance
// type. Only the architecture of the host boots.
//
// A volume is a directory: stubs of mkfs.ext4, blkid and mount treat it as a disk with a file
// system. A snapshot of an attached volume is a copy of that directory. All processes of the
// machine are stopped during the copy, so that it contains everything that they had written by
// then, and nothing later.
//
// Sysctls other than net.* and kernel modules do not change. A machine that powers itself off keeps
// its files in its root volume, and so in images of it, except for container images. A machine that
// ends otherwise and boots again starts with its image and its user data, as if its root volume were
// new; other volumes keep their data. A machine's root cannot do everything that the host's root can, but this is not a security
// boundary: user data runs as root of this host.
//
// # What is left behind
//
// Only [Options.Dir], which Close removes:
//
//	consoles/i-….log      the machine's console, as GetConsoleOutput returns it
//	machines/i-…/log/     its /var/log: units, and the containers of static pods
//	machines/i-…/root-volume/  the container images and pods of a machine that runs containers, and
//	                      what a distribution has written
//	volumes/vol-…/        the data of volumes and snapshots
//	image/                the binaries of the machine image
//
// Processes end with the simulator, even if it is killed, and namespaces, mounts and interfaces end
// with the last process in them.
package process
