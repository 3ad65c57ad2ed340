package model

import (
	"cmp"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/aws-operator/aws-operator/api/cluster/v1alpha1"
)

// Defaults that the API server does not fill in, because they depend on other
// fields or would only clutter what people read.
const (
	rootVolumeGiB = 30
	etcdVolumeGiB = 20
	// What gp3 gives without extra charge.
	// https://docs.aws.amazon.com/ebs/latest/userguide/general-purpose.html
	gp3IOPS       = 3000
	gp3Throughput = 125
	// io2 has no default; this is enough for etcd and within 500 a GiB from 6 GiB on.
	io2IOPS = 3000

	drainTimeout = 10 * time.Minute
	readyTimeout = 15 * time.Minute
)

// Defaults of the API that are filled in here again, for objects that no API
// server has seen.
const (
	defaultPodCIDR     = "100.64.0.0/13"
	defaultServiceCIDR = "172.20.0.0/16"
	defaultSlots       = 3
	// MostSlots is the largest number of slots of a control plane.
	MostSlots           = 5
	defaultInstanceType = "m6i.large"
	defaultBastionType  = "t3.micro"
	defaultNamespace    = "kube-system"
	defaultAuditDays    = 30
	defaultAuditBackups = 10
	defaultAuditMiB     = 100
	defaultAuditPrefix  = "audit/"
	defaultAuditEvery   = time.Minute
	defaultBackupsKept  = 28
	defaultBackupEvery  = 6 * time.Hour
)

// defaulted returns a copy of the spec with every default filled.
func defaulted(spec *v1alpha1.ClusterSpec) v1alpha1.ClusterSpec {
	s := *spec.DeepCopy()
	n := &s.Network
	n.Topology = cmp.Or(n.Topology, v1alpha1.TopologyPrivate)
	n.PodCIDR = cmp.Or(n.PodCIDR, defaultPodCIDR)
	n.ServiceCIDR = cmp.Or(n.ServiceCIDR, defaultServiceCIDR)
	n.NAT = cmp.Or(n.NAT, defaultNAT(n))
	if dns := n.NodeLocalDNS; dns != nil {
		dns.Forward = cmp.Or(dns.Forward, v1alpha1.ForwardToResolver)
	}
	s.API.Access = cmp.Or(s.API.Access, v1alpha1.APIPublic)
	if len(s.API.AllowedCIDRs) == 0 {
		s.API.AllowedCIDRs = []string{"0.0.0.0/0"}
	}
	if a := s.API.Audit; a != nil {
		a.MaxAge = cmp.Or(a.MaxAge, defaultAuditDays)
		a.MaxBackups = cmp.Or(a.MaxBackups, defaultAuditBackups)
		a.MaxSize = cmp.Or(a.MaxSize, defaultAuditMiB)
		if ship := a.Ship; ship != nil {
			ship.Prefix = cmp.Or(ship.Prefix, defaultAuditPrefix)
			if ship.Every == nil {
				ship.Every = &metav1.Duration{Duration: defaultAuditEvery}
			}
		}
	}
	if e := s.API.Encryption; e != nil {
		e.Resources = EncryptedResources(e)
	}
	if b := s.Backup.Bucket; b != nil {
		b.Keep = cmp.Or(b.Keep, defaultBackupsKept)
		if b.Interval == nil {
			b.Interval = &metav1.Duration{Duration: defaultBackupEvery}
		}
	}
	fillNodeSetup(&s.Nodes)
	fillControlPlane(&s.ControlPlane)
	if b := s.Bastion; b != nil {
		b.InstanceType = cmp.Or(b.InstanceType, defaultBastionType)
		b.Replicas = cmp.Or(b.Replicas, 1)
		if len(b.AllowedCIDRs) == 0 {
			b.AllowedCIDRs = s.SSH.AllowedCIDRs
		}
	}
	for i := range s.Addons {
		s.Addons[i].Namespace = cmp.Or(s.Addons[i].Namespace, defaultNamespace)
	}
	s.UpdatePolicy = cmp.Or(s.UpdatePolicy, v1alpha1.UpdateAutomatic)
	s.VolumePolicy = cmp.Or(s.VolumePolicy, v1alpha1.VolumesRetain)
	return s
}

// fillControlPlane fills the defaults of the control plane.
func fillControlPlane(cp *v1alpha1.ControlPlane) {
	if cp.EKS != nil {
		fillEKS(cp)
		return
	}
	cp.Replicas = cmp.Or(cp.Replicas, defaultSlots)
	cp.InstanceType = cmp.Or(cp.InstanceType, defaultInstanceType)
	fillVolume(&cp.RootVolume, rootVolumeGiB)
	fillVolume(&cp.EtcdVolume, etcdVolumeGiB)
	fillNodeSetup(&cp.NodeSetup)
}

// defaultNAT returns the default of spec.network.nat: private subnets of an existing VPC have their
// own routes, and public nodes need no NAT.
func defaultNAT(n *v1alpha1.Network) v1alpha1.NAT {
	switch {
	case n.VPC != "":
		return v1alpha1.NATExisting
	case n.Topology == v1alpha1.TopologyPublic:
		return v1alpha1.NATNone
	}
	return v1alpha1.NATSingle
}

// fillVolume fills the volume's defaults.
func fillVolume(v *v1alpha1.Volume, size int32) {
	v.Type = cmp.Or(v.Type, v1alpha1.VolumeGP3)
	v.SizeGiB = cmp.Or(v.SizeGiB, size)
	if v.Type == v1alpha1.VolumeGP3 {
		v.IOPS = cmp.Or(v.IOPS, gp3IOPS)
		v.ThroughputMiBps = cmp.Or(v.ThroughputMiBps, gp3Throughput)
		return
	}
	v.IOPS = cmp.Or(v.IOPS, io2IOPS)
}

// defaultedGroup returns a copy of the spec with every default filled.
func defaultedGroup(spec *v1alpha1.InstanceGroupSpec) v1alpha1.InstanceGroupSpec {
	s := *spec.DeepCopy()
	s.Architecture = cmp.Or(s.Architecture, v1alpha1.AMD64)
	fillVolume(&s.RootVolume, rootVolumeGiB)
	fillNodeSetup(&s.NodeSetup)
	for i := range s.Volumes {
		fillVolume(&s.Volumes[i].Volume, rootVolumeGiB)
	}
	if s.Spot != nil {
		s.Spot.Strategy = cmp.Or(s.Spot.Strategy, v1alpha1.SpotPriceCapacityOptimized)
	}
	r := &s.RollingUpdate
	if r.BatchSize == nil {
		r.BatchSize = new(intstr.FromInt32(1))
	}
	if r.MinInService == nil {
		r.MinInService = new(intstr.FromInt32(s.MinSize))
	}
	if r.Pause == nil {
		r.Pause = &metav1.Duration{}
	}
	if r.Surge == nil {
		r.Surge = new(intstr.FromInt32(0))
	}
	if r.ReadyTimeout == nil {
		r.ReadyTimeout = &metav1.Duration{Duration: readyTimeout}
	}
	if r.DrainTimeout == nil {
		r.DrainTimeout = &metav1.Duration{Duration: drainTimeout}
	}
	r.Engine = cmp.Or(r.Engine, v1alpha1.RollCloudFormation)
	r.OnDrainTimeout = cmp.Or(r.OnDrainTimeout, v1alpha1.DrainContinue)
	s.UpdatePolicy = cmp.Or(s.UpdatePolicy, v1alpha1.UpdateAutomatic)
	return s
}
