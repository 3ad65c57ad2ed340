package release

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/version"

	"github.com/aws-operator/aws-operator/api/cluster/v1alpha1"
)

// oldestKubelet is how many minor versions a kubelet may be older than an API server:
// https://kubernetes.io/releases/version-skew-policy/#kubelet
const oldestKubelet = 3

// Running holds the Kubernetes versions that run in a cluster, as far as known.
type Running struct {
	// Release is the Release that the whole control plane runs, or ran before an upgrade in
	// progress.
	Release string
	// ControlPlane are the versions that control-plane instances run or may run.
	ControlPlane []*version.Version
	// Etcd is etcd's version, nil if unknown.
	Etcd *version.Version
	// Kubelets are the oldest versions by where they run, for example "instance group
	// demo-workers".
	Kubelets map[string]*version.Version
}

// Refusal returns why the cluster cannot change to a Release and what to do instead; "" if it can.
// Known are the names of the existing Releases.
//
// Kubernetes' rules concern minor versions: https://kubernetes.io/releases/version-skew-policy/.
// Patches of a minor version can be upgraded and downgraded, since they store the same data. A
// control plane whose upgrade is not complete can return to its previous Release, even by a minor
// version: the previous version must be able to read what the next one stores,
// https://kubernetes.io/docs/reference/using-api/deprecation-policy/ (rule 4b). After the upgrade,
// nothing guarantees that.
func (r *Running) Refusal(to *v1alpha1.Release, known []string) string {
	target, err := version.ParseGeneric(to.Spec.Kubernetes)
	if err != nil || to.Name == r.Release || len(r.ControlPlane) == 0 {
		return ""
	}
	lowest, highest := slices.MinFunc(r.ControlPlane, byAge), slices.MaxFunc(r.ControlPlane, byAge)
	switch {
	case target.Major() != highest.Major():
		return fmt.Sprintf("Release %s has another major version of Kubernetes than the running v%s. %s", to.Name, highest, r.goBack())
	case target.Minor() < highest.Minor():
		return fmt.Sprintf(
			"Release %s has Kubernetes v%s, but v%s is running: Kubernetes does not support downgrades of a minor version. %s",
			to.Name,
			target,
			highest,
			r.goBack(),
		)
	case target.Minor() > lowest.Minor()+1:
		next := fmt.Sprintf("v%d.%d.", lowest.Major(), lowest.Minor()+1)
		return fmt.Sprintf(
			"Release %s has Kubernetes v%s, but v%s is running: Kubernetes upgrades one minor version at a time. Set spec.release to one of %s first%s.",
			to.Name,
			target,
			lowest,
			strings.TrimSuffix(next, "."),
			named(known, next),
		)
	}
	if problem := r.etcdRefusal(to); problem != "" {
		return problem
	}
	return r.kubeletRefusal(to, target)
}

// etcdRefusal applies etcd's rules: it upgrades one minor version at a time, too, and does not
// support downgrades: https://etcd.io/docs/v3.6/upgrades/upgrade_3_6/ and
// https://etcd.io/docs/v3.6/downgrades/.
func (r *Running) etcdRefusal(to *v1alpha1.Release) string {
	target := etcdVersion(to)
	if target == nil || r.Etcd == nil {
		return ""
	}
	if target.Major() != r.Etcd.Major() || target.Minor() < r.Etcd.Minor() || target.Minor() > r.Etcd.Minor()+1 {
		return fmt.Sprintf(
			"Release %s has etcd %s, but %s is running: etcd upgrades one minor version at a time and cannot be downgraded. %s",
			to.Name,
			target,
			r.Etcd,
			r.goBack(),
		)
	}
	return ""
}

// kubeletRefusal finds nodes that would become too old.
func (r *Running) kubeletRefusal(to *v1alpha1.Release, target *version.Version) string {
	var left []string
	for of, kubelet := range r.Kubelets {
		if kubelet.Major() != target.Major() || kubelet.Minor()+oldestKubelet < target.Minor() {
			left = append(left, fmt.Sprintf("%s (v%s)", of, kubelet))
		}
	}
	if len(left) == 0 {
		return ""
	}
	slices.Sort(left)
	return fmt.Sprintf("Release %s has Kubernetes v%s, and kubelets may be at most %d minor versions older. Update these first: %s. %s",
		to.Name, target, oldestKubelet, strings.Join(left, ", "), r.goBack())
}

// goBack explains how to resolve the refusal.
func (r *Running) goBack() string {
	if r.Release == "" {
		return "Restore the previous spec.release."
	}
	return "To keep the running version, set spec.release back to " + r.Release + "."
}

// named lists the Releases with a prefix.
func named(known []string, prefix string) string {
	var found []string
	for _, name := range known {
		if strings.HasPrefix(name, prefix) {
			found = append(found, name)
		}
	}
	if len(found) == 0 {
		return ""
	}
	return ": " + strings.Join(found, ", ")
}

func byAge(a, b *version.Version) int {
	switch {
	case a.LessThan(b):
		return -1
	case b.LessThan(a):
		return 1
	default:
		return 0
	}
}

// etcdVersion returns the version of a Release's etcd, nil if kubeadm chooses it.
func etcdVersion(of *v1alpha1.Release) *version.Version {
	tag, _, _ := strings.Cut(of.Spec.Components["etcd"], "-") // 3.6.8-0
	parsed, err := version.ParseGeneric(tag)
	if err != nil {
		return nil
	}
	return parsed
}

// AddControlPlane adds a version that a control-plane instance runs or may run. It ignores invalid
// versions.
func (r *Running) AddControlPlane(text string) {
	if parsed, err := version.ParseGeneric(text); err == nil {
		r.ControlPlane = append(r.ControlPlane, parsed)
	}
}

// groupPrefix begins what Kubelets call an instance group.
const groupPrefix = "instance group "

// AddNode adds the kubelet version of a node outside the control plane; group is empty if it is in
// no instance group.
func (r *Running) AddNode(name, group, version string) {
	of := "node " + name
	if group != "" {
		of = groupPrefix + group
	}
	r.addKubelet(of, version)
}

// AddGroup adds the version that an instance group was created with, which counts if no node of it
// was added.
func (r *Running) AddGroup(name, version string) {
	if r.Kubelets[groupPrefix+name] == nil {
		r.addKubelet(groupPrefix+name, version)
	}
}

// SetEtcd records the etcd version of the running Release.
func (r *Running) SetEtcd(from *v1alpha1.Release) { r.Etcd = etcdVersion(from) }

// addKubelet adds a kubelet's version; the oldest one counts. It ignores invalid versions.
func (r *Running) addKubelet(of, text string) {
	parsed, err := version.ParseGeneric(text)
	if err != nil || r.Kubelets[of] != nil && !parsed.LessThan(r.Kubelets[of]) {
		return
	}
	if r.Kubelets == nil {
		r.Kubelets = map[string]*version.Version{}
	}
	r.Kubelets[of] = parsed
}
