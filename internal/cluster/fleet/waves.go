package fleet

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/aws-operator/aws-operator/api/cluster/v1alpha1"
)

const (
	// restWave is the name of the wave of the Clusters that no wave selects.
	restWave = "rest"
	// defaultConcurrent is how many Clusters of a wave are updated at the same time by default.
	defaultConcurrent = "10%"
	// maxUpdating limits the list in the status.
	maxUpdating = 200
)

// Wave is a stage of a rollout.
type Wave struct {
	Name          string
	MaxConcurrent intstr.IntOrString
	Soak          time.Duration

	selector labels.Selector
	size     *intstr.IntOrString
}

// Waves returns the waves of a rollout, the last of which takes all Clusters.
func Waves(rollout *v1alpha1.FleetRollout) ([]Wave, error) {
	concurrent := intstr.FromString(defaultConcurrent)
	if rollout.MaxConcurrent != nil {
		concurrent = *rollout.MaxConcurrent
	}
	var waves []Wave
	for i := range rollout.Waves {
		spec := &rollout.Waves[i]
		wave := Wave{Name: spec.Name, MaxConcurrent: concurrent, selector: labels.Everything(), size: spec.Size}
		if spec.Selector != nil {
			selector, err := metav1.LabelSelectorAsSelector(spec.Selector)
			if err != nil {
				return nil, fmt.Errorf("the selector of wave %s is invalid: %w", spec.Name, err)
			}
			wave.selector = selector
		}
		if spec.MaxConcurrent != nil {
			wave.MaxConcurrent = *spec.MaxConcurrent
		}
		for _, number := range []*intstr.IntOrString{spec.Size, &wave.MaxConcurrent} {
			if !isNumber(number) {
				return nil, fmt.Errorf("wave %s has %s: write a number of at least 1, or a percentage such as 10%%", spec.Name, number.String())
			}
		}
		if spec.Soak != nil {
			wave.Soak = spec.Soak.Duration
		}
		waves = append(waves, wave)
	}
	return append(waves, Wave{Name: restWave, MaxConcurrent: concurrent, selector: labels.Everything()}), nil
}

// isNumber reports whether a value is a number of at least 1 or a percentage. In a list, rules of the API server that say so
// would exceed its limit of their cost.
func isNumber(value *intstr.IntOrString) bool {
	if value == nil {
		return true
	}
	const whole = 100
	number, err := intstr.GetScaledValueFromIntOrPercent(value, whole, true)
	return err == nil && number >= 1 && (value.Type == intstr.Int || number <= whole)
}

// limit returns how many of a number of Clusters may be updated at the same time.
func (w *Wave) limit(clusters int) int {
	limit, err := intstr.GetScaledValueFromIntOrPercent(&w.MaxConcurrent, clusters, true)
	if err != nil { // Waves refuses such a value
		return 1
	}
	return min(max(1, limit), maxUpdating)
}

// Labeled is what decides a Cluster's wave.
type Labeled struct {
	UID    types.UID
	Labels map[string]string
}

// Assign returns the index of each Cluster's wave.
func Assign(waves []Wave, clusters []Labeled) []int {
	assigned := make([]int, len(clusters))
	left := make([]int, len(clusters))
	for i := range clusters {
		left[i], assigned[i] = i, len(waves)-1
	}
	for index := range waves {
		wave := &waves[index]
		var members, others []int
		for _, i := range left {
			if wave.selector.Matches(labels.Set(clusters[i].Labels)) {
				members = append(members, i)
			} else {
				others = append(others, i)
			}
		}
		if wave.size != nil {
			size, err := intstr.GetScaledValueFromIntOrPercent(wave.size, len(clusters), true)
			if err != nil { // Waves refuses such a value
				size = 1
			}
			slices.SortFunc(members, func(a, b int) int { return cmp.Compare(chance(clusters[a].UID), chance(clusters[b].UID)) })
			size = min(max(1, size), len(members))
			others, members = append(others, members[size:]...), members[:size]
		}
		for _, i := range members {
			assigned[i] = index
		}
		left = others
	}
	return assigned
}

// chance is the order in which a limited wave takes Clusters: like a random one, and always the same.
func chance(uid types.UID) string {
	sum := sha256.Sum256([]byte(uid))
	return hex.EncodeToString(sum[:])
}
