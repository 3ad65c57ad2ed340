package kops

import (
	"github.com/aws-operator/aws-operator/api/cluster/v1alpha1"
	"github.com/aws-operator/aws-operator/internal/translation"
)

var rootVolume = translation.VolumeNames{
	Kind: "rootVolumeType", Size: "rootVolumeSize", IOPS: "rootVolumeIops", Throughput: "rootVolumeThroughput",
}

// volumes translates further disks.
func (g *group) volumes() []v1alpha1.DataVolume {
	var all []v1alpha1.DataVolume
	for _, p := range g.spec.Sections("volumes", volumeFields) {
		v := v1alpha1.DataVolume{
			Device: p.Text("device"),
			Volume: translation.Volume(p, translation.VolumeNames{Kind: "type", Size: "size", IOPS: "iops", Throughput: "throughput"}),
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
