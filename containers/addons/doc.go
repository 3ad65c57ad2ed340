// Package addons pins the programs of addons that run in containers of simulated machines, as tools of
// this module: the cloud controller manager of AWS and metrics-server. Their libraries have the versions
// of kube/go.mod.
package addons
