// Package addons keeps the Helm charts of workload clusters as their release and
// their Cluster want them.
//
// [Wanted] merges the two: a Cluster pins, configures, leaves out and adds. An
// [Installer] then installs, upgrades and uninstalls what differs, with the Helm
// library, without a helm command and without a person's repositories.
//
// What is installed is asked of the cluster itself, once after a start: each
// Helm release that the installer made carries a digest of what it was made from
// in its labels. After that a reconcile of a cluster for which nothing changed makes
// no call, except to observe the workloads of its addons every ten minutes. Downloads and installations take their time, so they run beside the
// reconcile that asked for them; the cluster is looked at again when they end.
//
// The installer touches only Helm releases that carry its label. One of the same
// name that a person made is left alone, and said to be in the way.
package addons
