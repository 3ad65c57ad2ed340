package simulation

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/aws-operator/aws-operator/api/cluster/v1alpha1"
)

const (
	cluster = "demo"
	group   = "workers"
	// oldRelease and newRelease are one minor version apart.
	oldRelease = "v1.35.7-simulated"
	newRelease = "v1.36.3-simulated"
)

// scenario is everything that a run's seed determines.
type scenario struct {
	seed   uint64
	random *rand.Rand // decides before the run what happens, and during the run to which instance

	slots, replicas int32
	release         string
	group           v1alpha1.InstanceGroupSpec
	stops           time.Duration // how long the application's pods take to terminate
	troubles        []planned
}

// planned is a trouble and its time since the cluster was ready.
type planned struct {
	at   time.Duration
	name string
}

// draw creates the scenario of a seed.
func draw(seed uint64) *scenario {
	r := rand.New(rand.NewPCG(seed, 0))
	s := &scenario{seed: seed, random: r, slots: 3, release: newRelease}
	if r.IntN(4) == 0 {
		s.slots = 1
	}
	if r.IntN(2) == 0 {
		s.release = oldRelease
	}
	least := 1 + r.Int32N(4)
	s.group = v1alpha1.InstanceGroupSpec{
		Cluster: cluster, MinSize: least, MaxSize: least + r.Int32N(3), InstanceTypes: []string{"m6i.large"},
		Architecture: v1alpha1.AMD64, UpdatePolicy: v1alpha1.UpdateAutomatic,
		RollingUpdate: v1alpha1.RollingUpdate{
			ReadyTimeout: duration(r, 5*time.Minute, 15*time.Minute), DrainTimeout: duration(r, time.Minute, 10*time.Minute),
		},
		Repair: v1alpha1.Repair{After: duration(r, 3*time.Minute, 10*time.Minute)},
	}
	if r.IntN(3) == 0 {
		s.group.RollingUpdate.BatchSize = new(intstr.FromInt32(1 + r.Int32N(3)))
	}
	if r.IntN(3) == 0 {
		s.group.RollingUpdate.Pause = duration(r, 0, 2*time.Minute)
	}
	if r.IntN(4) == 0 {
		s.group.Spot = &v1alpha1.Spot{Strategy: v1alpha1.SpotPriceCapacityOptimized}
	}
	if r.IntN(4) == 0 {
		s.group.RollingUpdate.Engine = v1alpha1.RollOperator
	}
	s.replicas = 2 + r.Int32N(6)
	s.stops = time.Duration(r.IntN(90)) * time.Second
	names := slices.Sorted(maps.Keys(troubles))
	for range 3 + r.IntN(6) {
		s.troubles = append(s.troubles, planned{at: time.Duration(r.IntN(1800)) * time.Second, name: names[r.IntN(len(names))]})
	}
	slices.SortStableFunc(s.troubles, func(a, b planned) int { return int(a.at - b.at) })
	return s
}

// duration draws a duration of whole seconds.
func duration(r *rand.Rand, from, to time.Duration) *metav1.Duration {
	return &metav1.Duration{Duration: from + time.Duration(r.IntN(int((to-from)/time.Second)+1))*time.Second}
}

// String describes the scenario.
func (s *scenario) String() string {
	var text strings.Builder
	rolling := s.group.RollingUpdate
	fmt.Fprintf(
		&text,
		"seed %d: %d slots of %s, %d to %d workers (batch %v, pause %v, ready in %v, drained in %v, engine %q, spot %v), %d pods that take %s to end",
		s.seed,
		s.slots,
		s.release,
		s.group.MinSize,
		s.group.MaxSize,
		rolling.BatchSize,
		rolling.Pause,
		rolling.ReadyTimeout,
		rolling.DrainTimeout,
		rolling.Engine,
		s.group.Spot != nil,
		s.replicas,
		s.stops,
	)
	for _, t := range s.troubles {
		fmt.Fprintf(&text, "\n  %8s %s", t.at, t.name)
	}
	return text.String()
}

// theCluster returns the Cluster of a scenario, with the defaults of the API server.
func (s *scenario) theCluster() *v1alpha1.Cluster {
	return &v1alpha1.Cluster{
		ObjectMeta: metav1.ObjectMeta{Name: cluster, Namespace: namespace},
		Spec: v1alpha1.ClusterSpec{
			Release: s.release, Region: region, UpdatePolicy: v1alpha1.UpdateAutomatic, VolumePolicy: v1alpha1.VolumesRetain,
			API: v1alpha1.APIEndpoint{Access: v1alpha1.APIPublic},
			Network: v1alpha1.Network{
				CIDR: "10.0.0.0/16", Zones: []string{"eu-central-1a", "eu-central-1b", "eu-central-1c"}, Topology: v1alpha1.TopologyPublic,
			},
			ControlPlane: v1alpha1.ControlPlane{Replicas: s.slots, InstanceType: "m6i.large"},
		},
	}
}

func (s *scenario) theGroup() *v1alpha1.InstanceGroup {
	return &v1alpha1.InstanceGroup{ObjectMeta: metav1.ObjectMeta{Name: group, Namespace: namespace}, Spec: *s.group.DeepCopy()}
}
