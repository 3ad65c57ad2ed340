// Package addons reconciles the Helm charts of workload clusters to their Release and their
// Cluster.
//
// [Wanted] merges the two: a Cluster pins, configures, removes and adds addons. An [Installer] then
// installs, upgrades and uninstalls what differs, with the Helm library, without a helm command and
// without a user's repositories.
//
// The cluster itself records what is installed, which the installer reads once after a start: each
// of its Helm releases has a label with a digest of its inputs. After that, a reconcile of an
// unchanged cluster makes no call, except to observe the addons' workloads every ten minutes.
// Downloads and installations take time, so they run outside the reconcile, which is enqueued again
// when they end.
//
// The installer must only change Helm releases that have its label. It does not touch a user's
// release of the same name, and reports the conflict.
package addons
