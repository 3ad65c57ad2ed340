package model

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/aws-operator/aws-operator/api/cluster/v1alpha1"
)

// graviton matches the instance types of Arm processors: the letter g among
// those behind the generation, or the first family of all.
// https://docs.aws.amazon.com/ec2/latest/instancetypes/instance-type-names.html
var graviton = regexp.MustCompile(`^[a-z]+[0-9]+[a-z]*g[a-z]*[.-]|^a1[.]`)

// ArchitectureOf returns the processor architecture of an instance type, by its name.
func ArchitectureOf(instanceType string) v1alpha1.Architecture {
	if graviton.MatchString(instanceType) {
		return v1alpha1.ARM64
	}
	return v1alpha1.AMD64
}

// Limits of volumes.
// https://docs.aws.amazon.com/ebs/latest/userguide/ebs-volume-types.html
const (
	gp3MaxIOPS           = 80000
	gp3MaxIOPSPerGiB     = 500
	gp3MaxThroughput     = 2000
	gp3IOPSPerThroughput = 4
	io2MaxIOPS           = 256000
	io2MaxIOPSPerGiB     = 1000
	minIOPS              = 100
	maxVolumeGiB         = 65536
)

// checkVolume checks a volume whose defaults are filled.
func checkVolume(problems *Problems, field string, v *v1alpha1.Volume) {
	if v.SizeGiB < 1 || v.SizeGiB > maxVolumeGiB {
		problems.add(field+".sizeGiB", fmt.Sprintf("set it to 1 to %d", maxVolumeGiB), "a volume cannot have %d GiB", v.SizeGiB)
		return
	}
	switch v.Type {
	case v1alpha1.VolumeGP3:
		if most := min(gp3MaxIOPS, max(gp3IOPS, gp3MaxIOPSPerGiB*v.SizeGiB)); v.IOPS < gp3IOPS || v.IOPS > most {
			problems.add(
				field+".iops",
				fmt.Sprintf("take %d to %d, or a bigger volume", gp3IOPS, most),
				"a gp3 volume of %d GiB cannot do %d IOPS",
				v.SizeGiB,
				v.IOPS,
			)
		}
		if most := min(gp3MaxThroughput, v.IOPS/gp3IOPSPerThroughput); v.ThroughputMiBps < gp3Throughput || v.ThroughputMiBps > most {
			problems.add(
				field+".throughputMiBps",
				fmt.Sprintf("take %d to %d, or more IOPS", gp3Throughput, most),
				"a gp3 volume of %d IOPS cannot do %d MiB/s",
				v.IOPS,
				v.ThroughputMiBps,
			)
		}
	case v1alpha1.VolumeIO2:
		if v.ThroughputMiBps != 0 {
			problems.add(field+".throughputMiBps", "leave it out", "the throughput of an io2 volume follows from its IOPS")
		}
		if most := min(io2MaxIOPS, io2MaxIOPSPerGiB*v.SizeGiB); v.IOPS < minIOPS || v.IOPS > most {
			problems.add(
				field+".iops",
				fmt.Sprintf("take %d to %d, or a bigger volume", minIOPS, most),
				"an io2 volume of %d GiB cannot do %d IOPS",
				v.SizeGiB,
				v.IOPS,
			)
		}
	default:
		problems.add(field+".type", "set gp3 or io2", "%q is not a type of volume that nodes can have", v.Type)
	}
}

// checkTags checks that the user's tags are not reserved for the operator or AWS.
func checkTags(problems *Problems, field string, tags map[string]string) {
	for _, key := range sortedKeys(tags) {
		switch {
		case strings.HasPrefix(strings.ToLower(key), "aws:"):
			problems.add(field, "choose another key", "tag %q begins with aws:, which AWS reserves", key)
		case strings.HasPrefix(key, TagOwnedPrefix), strings.HasPrefix(key, v1alpha1.Group+"/"):
			problems.add(field, "choose another key", "tag %q is reserved for the operator", key)
		}
	}
}

// checkLabels checks that kubelets may set the user's labels.
func checkLabels(problems *Problems, field string, labels map[string]string) {
	for _, key := range sortedKeys(labels) {
		const form = "use letters, digits, '-', '_' and '.', at most 63 in a name or value"
		switch {
		case !mayLabel(key):
			problems.add(
				field,
				"choose a key of your own domain, of node.kubernetes.io or of kubelet.kubernetes.io",
				"label %q cannot be set by a kubelet, or is reserved for the operator",
				key,
			)
		case len(validation.IsQualifiedName(key)) > 0:
			problems.add(field, form, "%q is not a valid label", key)
		case len(validation.IsValidLabelValue(labels[key])) > 0:
			problems.add(field, form, "label %q has the invalid value %q", key, labels[key])
		}
	}
}

// checkTaints checks that the user's taints are valid, since kubelets do not start with invalid
// ones.
func checkTaints(problems *Problems, field string, taints []corev1.Taint) {
	for i, taint := range taints {
		const form = "use letters, digits, '-', '_' and '.', at most 63 in a name or value"
		at := fmt.Sprintf("%s[%d]", field, i)
		if len(validation.IsQualifiedName(taint.Key)) > 0 {
			problems.add(at+".key", form, "%q is not a valid taint", taint.Key)
		}
		if len(validation.IsValidLabelValue(taint.Value)) > 0 {
			problems.add(at+".value", form, "taint %q has the invalid value %q", taint.Key, taint.Value)
		}
	}
}

// mostTags is how many tags a resource can have, without the name and, of a volume or a slot, the
// two that are put on those alone
// (https://docs.aws.amazon.com/tag-editor/latest/userguide/best-practices-and-strats.html).
const mostTags = 50 - 3

// checkNumberOfTags checks that the user's tags and the operator's together are within AWS's limit.
func checkNumberOfTags(problems *Problems, field string, tags map[string]string) {
	if len(tags) > mostTags {
		problems.add(field, fmt.Sprintf("remove at least %d, here or from the cluster's", len(tags)-mostTags),
			"with the cluster's and the operator's tags there are %d, but AWS permits %d", len(tags), mostTags)
	}
}

// mayLabel reports whether a user may set this label on nodes. What
// kubernetes.io keeps from kubelets is in
// https://kubernetes.io/docs/reference/access-authn-authz/admission-controllers/#noderestriction
func mayLabel(key string) bool {
	domain, _, ok := strings.Cut(key, "/")
	if !ok {
		return true
	}
	for _, own := range []string{"node.kubernetes.io", "kubelet.kubernetes.io"} {
		if domain == own || strings.HasSuffix(domain, "."+own) {
			return key != "node.kubernetes.io/instance-type"
		}
	}
	for _, kept := range []string{"kubernetes.io", "k8s.io"} {
		if domain == kept || strings.HasSuffix(domain, "."+kept) {
			return false
		}
	}
	return domain != v1alpha1.Group
}

// sortedKeys returns the keys in their order, so that problems have one.
func sortedKeys(m map[string]string) []string {
	keys := make([]string, 0, len(m))
	for key := range m {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	return keys
}
