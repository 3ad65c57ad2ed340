package price

import (
	"fmt"
	"strings"

	"github.com/aws-operator/aws-operator/internal/cfn/launch"
	"github.com/aws-operator/aws-operator/internal/cfn/template"
)

// What the price of the size of a gp3 volume includes:
// https://docs.aws.amazon.com/ebs/latest/userguide/general-purpose.html#gp3-ebs-volume-type
const (
	gp3IOPS    = 3000
	gp3MiBps   = 125
	usageOfIO1 = "piops" // the name of io1 in usage types
)

// io2Tiers are the numbers of IOPS up to which an IOPS of an io2 volume has the price of the tier:
// https://aws.amazon.com/ebs/pricing/
var io2Tiers = []struct {
	upTo  float64
	usage string
}{
	{32000, "EBS:VolumeP-IOPS.io2"}, {64000, "EBS:VolumeP-IOPS.io2.tier2"}, {launch.Most, "EBS:VolumeP-IOPS.io2.tier3"},
}

// disk adds the price of a volume, as AWS::EC2::Volume or a block device mapping defines it, and
// describes it. The type defaults to gp2:
// https://docs.aws.amazon.com/AWSEC2/latest/APIReference/API_CreateVolume.html
func (b *bill) disk(size, kind, iops, throughput *template.Node) string {
	gib, ok := launch.Number(size, 0)
	if !ok || size == nil {
		b.lacks("the size of a volume")
	}
	name := "gp2"
	if kind != nil {
		name, _ = kind.Scalar()
	}
	ops, ok := launch.Number(iops, 0)
	if !ok {
		b.lacks("the IOPS of a volume")
	}
	mibps, ok := launch.Number(throughput, 0)
	if !ok {
		b.lacks("the throughput of a volume")
	}
	switch name {
	case "gp3":
		b.add("EBS:VolumeUsage.gp3", gib, gib)
		if extra := ops - gp3IOPS; extra > 0 {
			b.add("EBS:VolumeP-IOPS.gp3", extra, extra)
		}
		if extra := mibps - gp3MiBps; extra > 0 {
			b.add("EBS:VolumeP-Throughput.gp3", extra, extra)
		}
	case "io1":
		b.add("EBS:VolumeUsage."+usageOfIO1, gib, gib)
		b.add("EBS:VolumeP-IOPS."+usageOfIO1, ops, ops)
	case "io2":
		b.add("EBS:VolumeUsage.io2", gib, gib)
		from := 0.0
		for _, tier := range io2Tiers {
			if in := min(ops, tier.upTo) - from; in > 0 {
				b.add(tier.usage, in, in)
			}
			from = tier.upTo
		}
	case "gp2", "st1", "sc1":
		b.add("EBS:VolumeUsage."+name, gib, gib)
	case "standard":
		b.add("EBS:VolumeUsage", gib, gib)
	default:
		b.lacks(fmt.Sprintf("volumes of type %q", name))
		name = "volume"
	}
	return performance(fmt.Sprintf("%s GiB %s", plain(gib), name), name, ops, mibps)
}

// performance adds the IOPS and the throughput of a volume to its description, unless its size
// includes them.
func performance(text, kind string, iops, mibps float64) string {
	var with []string
	if iops > 0 && (kind != "gp3" || iops > gp3IOPS) {
		with = append(with, plain(iops)+" IOPS")
	}
	if mibps > gp3MiBps {
		with = append(with, plain(mibps)+" MiB/s")
	}
	if len(with) == 0 {
		return text
	}
	return text + " with " + strings.Join(with, " and ")
}

// volume: the size of a volume from a snapshot defaults to that of the snapshot, which only AWS
// knows.
func (r *resource) volume() []part {
	b := &bill{prices: r.prices}
	quantity := b.disk(r.at("Size"), r.at("VolumeType"), r.at("Iops"), r.at("Throughput"))
	return []part{{"storage", b.cost(quantity, one)}}
}
