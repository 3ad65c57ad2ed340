// Package containers pins the programs with which simulated machines run containers: containerd,
// runc, CNI plugins and CoreDNS, as tools of this module, and small programs for container images.
package containers
