package kops

import "github.com/aws-operator/aws-operator/api/cluster/v1alpha1"

// volumeNames are how the fields of a volume are called, which differs from place to place.
type volumeNames struct{ kind, size, iops, throughput string }

// Least IOPS of volumes. https://docs.aws.amazon.com/ebs/latest/userguide/ebs-volume-types.html
const (
	gp3IOPS       = 3000
	gp3Throughput = 125
	minIOPS       = 100
)

// volumeOf translates a volume. Types that we do not make become the nearest that is at least as
// fast.
func volumeOf(p *part, names volumeNames) v1alpha1.Volume {
	v := v1alpha1.Volume{SizeGiB: p.Number(names.size, 0)}
	kind := p.Text(names.kind)
	iops, throughput := p.Number(names.iops, 0), p.Number(names.throughput, 0)
	switch kind {
	case "", "gp3", "gp2", "standard", "st1", "sc1":
		if kind != "" {
			v.Type = v1alpha1.VolumeGP3
		}
		if kind != "" && kind != "gp3" {
			p.Note(names.kind, Info, "a gp3 volume replaces it")
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
			p.Note(names.kind, Info, "an io2 volume replaces it")
		}
	default:
		p.Refuse(names.kind, "this is not an EBS volume type: use gp3 or io2")
	}
	return v
}

var rootVolume = volumeNames{kind: "rootVolumeType", size: "rootVolumeSize", iops: "rootVolumeIops", throughput: "rootVolumeThroughput"}

// volumes translates further disks.
func (g *group) volumes() []v1alpha1.DataVolume {
	var all []v1alpha1.DataVolume
	for _, p := range g.spec.Sections("volumes", volumeFields) {
		v := v1alpha1.DataVolume{
			Device: p.Text("device"),
			Volume: volumeOf(p, volumeNames{kind: "type", size: "size", iops: "iops", throughput: "throughput"}),
		}
		if !isDevice(v.Device) {
			p.Refuse("device", "write one of /dev/sdf to /dev/sdp")
		}
		p.Finish()
		all = append(all, v)
	}
	return all
}

func isDevice(name string) bool {
	return len(name) == len("/dev/sdf") && name[:len("/dev/sd")] == "/dev/sd" && name[len(name)-1] >= 'f' && name[len(name)-1] <= 'p'
}
