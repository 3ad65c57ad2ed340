// Package nodeup is the program that an instance of a cluster runs when it boots.
//
// User data downloads the program and starts it with the hash of a bundle (package bundle). nodeup
// downloads that document, verifies the hash and applies it, one task after another.
// docs/design/boot.md has the order and the reason for each task.
//
// Every task first checks whether its result exists: after a crash, a kill or a reboot, nodeup ends
// in the same state. For this purpose, it also installs itself as nodeup.service, which systemd
// runs at each boot. A failing task is retried indefinitely, unless a retry cannot succeed (see
// [PermanentError]).
//
// # Requirements of a machine
//
// The instance metadata service (version 2) answers at 169.254.169.254:
// instance-id, instance-type, local-ipv4, local-hostname,
// placement/availability-zone, and the role's credentials.
//
// Programs are called by their names and found through PATH, in these forms and
// no others:
//
//	modprobe MODULE
//	sysctl -p FILE
//	blkid -o value -s TYPE DEVICE     exit code 2 and no output: there is nothing on it
//	mkfs.ext4 -q DEVICE
//	mount DEVICE DIRECTORY
//	systemctl daemon-reload
//	systemctl enable --now UNIT
//	systemctl enable UNIT, stop UNIT, mask UNIT, restart UNIT…, start UNIT…    for the user's units
//	systemctl is-active UNIT                                              before a stop, and after a failure
//	journalctl --unit UNIT …                                              after a failure
//	kubeadm init phase …, kubeadm join …
//	sh FILE                           the user's extra user data
//
// kubeadm itself calls systemctl daemon-reload, status UNIT, is-active UNIT
// (also of systemd-resolved), stop kubelet and restart kubelet. kubeadm join
// waits until http://127.0.0.1:10248/healthz answers and until the kubelet has
// written /etc/kubernetes/kubelet.conf.
//
// Files of interest:
//
//	/var/lib/nodeup/bundle.json        the bundle
//	/var/lib/nodeup/kubeadm.yaml       kubeadm's configuration, placeholders filled in
//	/etc/kubernetes/join.conf          the certificate that a worker joins with, while it does
//	/var/lib/nodeup/done               the hash of the bundle that was applied completely
//	/etc/systemd/system/kubelet.service with the kubelet's whole command line in ExecStart:
//	                                   no environment file; one argument a line,
//	                                   each line but the last ending in a backslash; an argument
//	                                   with a space, a quote or a backslash stands in double quotes
//	                                   with backslashes before those; % is written %% and $ is $$
//	/etc/kubernetes/manifests          the static pods of a slot
//	/etc/kubernetes/bootstrap-kubelet.conf, /etc/kubernetes/kubelet.conf
//	/var/lib/kubelet/config.yaml       KubeletConfiguration
//
// nodeup recognizes a mounted volume by its line in /proc/self/mounts.
package nodeup
