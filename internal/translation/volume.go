package translation

import "github.com/aws-operator/aws-operator/api/cluster/v1alpha1"

// VolumeNames are how the fields of a volume are called, which differs from place to place.
type VolumeNames struct{ Kind, Size, IOPS, Throughput string }

// Least IOPS of volumes. https://docs.aws.amazon.com/ebs/latest/userguide/ebs-volume-types.html
const (
	gp3IOPS       = 3000
	gp3Throughput = 125
	minIOPS       = 100
)

// Volume translates a volume. Types that we do not make become the nearest that is at least as
// fast.
func Volume(p *Part, names VolumeNames) v1alpha1.Volume {
	v := v1alpha1.Volume{SizeGiB: p.Number(names.Size, 0)}
	kind := p.Text(names.Kind)
	iops, throughput := p.Number(names.IOPS, 0), p.Number(names.Throughput, 0)
	switch kind {
	case "", "gp3", "gp2", "standard", "st1", "sc1":
		if kind != "" {
			v.Type = v1alpha1.VolumeGP3
		}
		if kind != "" && kind != "gp3" {
			p.Note(names.Kind, Info, "a gp3 volume replaces it")
		}
		if iops > gp3IOPS {
			v.IOPS = iops
		}
		if throughput > gp3Throughput {
			v.ThroughputMiBps = throughput
		}
	case "io1", "io2":
		v.Type = v1alpha1.VolumeIO2
		if iops > 0 {
			v.IOPS = max(iops, minIOPS)
		}
		if kind == "io1" {
			p.Note(names.Kind, Info, "an io2 volume replaces it")
		}
	default:
		p.Refuse(names.Kind, "this is not an EBS volume type: use gp3 or io2")
	}
	return v
}
