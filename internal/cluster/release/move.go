package release

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/version"

	"github.com/aws-operator/aws-operator/api/cluster/v1alpha1"
)

// oldestKubelet is by how many minor versions a kubelet may be older than an API server:
// https://kubernetes.io/releases/version-skew-policy/#kubelet
const oldestKubelet = 3

// Running is what of Kubernetes runs in a cluster, as far as it is known.
type Running struct {
	// Release is the Release that the whole control plane runs, or ran before a move that has not come to its end.
	Release string
	// ControlPlane are the versions that machines of the control plane run, or may run.
	ControlPlane []*version.Version
	// Etcd is etcd's version, nil if it is not known.
	Etcd *version.Version
	// Kubelets are the oldest versions by what they run on, as "instance group demo-workers".
	Kubelets map[string]*version.Version
}

// Refusal returns why the cluster cannot move to a Release and what to do instead, in sentences; "" if it can. Known are the names of the
// Releases that there are.
//
// Kubernetes' own rules are about minor versions: https://kubernetes.io/releases/version-skew-policy/. Patches of one minor version go
// up and down: nothing that one of them stores is unknown to another. A control plane that has not wholly moved goes back to where it
// came from, a minor version down, too: what the next version stores must be readable to the former,
// https://kubernetes.io/docs/reference/using-api/deprecation-policy/ (rule 4b). Once it has moved, nothing promises that.
func (r *Running) Refusal(to *v1alpha1.Release, known []string) string {
	target, err := version.ParseGeneric(to.Spec.Kubernetes)
	if err != nil || to.Name == r.Release || len(r.ControlPlane) == 0 {
		return ""
	}
	lowest, highest := slices.MinFunc(r.ControlPlane, byAge), slices.MaxFunc(r.ControlPlane, byAge)
	switch {
	case target.Major() != highest.Major():
		return fmt.Sprintf("Release %s is of another major version of Kubernetes than v%s, which runs. %s", to.Name, highest, r.goBack())
	case target.Minor() < highest.Minor():
		return fmt.Sprintf("Release %s is of Kubernetes v%s, and v%s runs: Kubernetes does not go back a minor version. %s", to.Name, target, highest, r.goBack())
	case target.Minor() > lowest.Minor()+1:
		next := fmt.Sprintf("v%d.%d.", lowest.Major(), lowest.Minor()+1)
		return fmt.Sprintf("Release %s is of Kubernetes v%s, and v%s runs: Kubernetes moves one minor version at a time. Set spec.release to one of %s first%s.",
			to.Name, target, lowest, strings.TrimSuffix(next, "."), named(known, next))
	}
	if problem := r.etcdRefusal(to); problem != "" {
		return problem
	}
	return r.kubeletRefusal(to, target)
}

// etcdRefusal looks at etcd, which moves one minor version at a time, too, and never down:
// https://etcd.io/docs/v3.6/upgrades/upgrade_3_6/ and https://etcd.io/docs/v3.6/downgrades/.
func (r *Running) etcdRefusal(to *v1alpha1.Release) string {
	target := etcdVersion(to)
	if target == nil || r.Etcd == nil {
		return ""
	}
	if target.Major() != r.Etcd.Major() || target.Minor() < r.Etcd.Minor() || target.Minor() > r.Etcd.Minor()+1 {
		return fmt.Sprintf("Release %s has etcd %s, and %s runs: etcd moves up one minor version at a time, and not down. %s", to.Name, target, r.Etcd, r.goBack())
	}
	return ""
}

// kubeletRefusal looks at the nodes that would be left behind.
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
	return fmt.Sprintf("Release %s is of Kubernetes v%s, and kubelets may be at most %d minor versions older: bring these up to date first: %s. %s",
		to.Name, target, oldestKubelet, strings.Join(left, ", "), r.goBack())
}

// goBack says how to be rid of the refusal.
func (r *Running) goBack() string {
	if r.Release == "" {
		return "Set spec.release back."
	}
	return "To stay as it is, set spec.release back to " + r.Release + "."
}

// named names the Releases that begin so.
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

// etcdVersion returns the version of a Release's etcd, nil if it leaves that to kubeadm.
func etcdVersion(of *v1alpha1.Release) *version.Version {
	tag, _, _ := strings.Cut(of.Spec.Components["etcd"], "-") // 3.6.8-0
	parsed, err := version.ParseGeneric(tag)
	if err != nil {
		return nil
	}
	return parsed
}

// AddControlPlane adds a version that a machine of the control plane runs, or may run. What is no version is none.
func (r *Running) AddControlPlane(text string) {
	if parsed, err := version.ParseGeneric(text); err == nil {
		r.ControlPlane = append(r.ControlPlane, parsed)
	}
}

// groupPrefix begins what Kubelets call an instance group.
const groupPrefix = "instance group "

// AddNode adds the version of the kubelet of a node that is no machine of the control plane; group is empty if it is of no instance group.
func (r *Running) AddNode(name, group, version string) {
	of := "node " + name
	if group != "" {
		of = groupPrefix + group
	}
	r.addKubelet(of, version)
}

// AddGroup adds the version that an instance group was made with, which counts if no node of it was added.
func (r *Running) AddGroup(name, version string) {
	if r.Kubelets[groupPrefix+name] == nil {
		r.addKubelet(groupPrefix+name, version)
	}
}

// SetEtcd notes the etcd of the Release that runs.
func (r *Running) SetEtcd(from *v1alpha1.Release) { r.Etcd = etcdVersion(from) }

// addKubelet adds the version of a kubelet, of which the oldest counts. What is no version is none.
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
