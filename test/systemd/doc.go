// Package systemd tests instances that run a real distribution: a Debian tree whose systemd is
// process 1, and whose cloud-init reads user data from the simulated instance metadata service. Both
// are programs that this project did not write; they judge what the operator gives to instances.
//
// make test-systemd runs it. It needs Linux, root, version 1 of cgroups, and debootstrap, which
// downloads the packages once. The tree is kept in .cache.
package systemd
