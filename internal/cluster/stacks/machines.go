package stacks

import (
	"crypto/sha256"
	"encoding/hex"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/aws-operator/aws-operator/api/cluster/v1alpha1"
	"github.com/aws-operator/aws-operator/internal/cluster/model"
	"github.com/aws-operator/aws-operator/internal/cluster/record"
)

// machinesOf describes the machines of a group's stack.
func machinesOf(shape *model.Group, release *v1alpha1.Release) record.Machines {
	return record.Machines{
		Roll: shape.Spec.Roll, DiskTags: shape.DiskTags, Release: release.Name, Version: release.Spec.Kubernetes,
		Engine: shape.Rolling.Engine,
		Pause:  metav1.Duration{Duration: shape.Rolling.Pause}, Ready: metav1.Duration{Duration: shape.Rolling.ReadyTimeout},
		Autoscaled: len(shape.AutoscalerTags) > 0,
	}
}

// latest returns the configurations that a stack's instances have or are getting, the newest first.
func latest(known *record.Stack) []*record.Machines {
	if known.Machines == nil {
		return nil
	}
	var of []*record.Machines
	for _, one := range []*record.Machines{known.Machines.Next, known.Machines.Now} {
		if one != nil {
			of = append(of, one)
		}
	}
	return of
}

// roll returns the text of the last request to replace instances: the current one or, if there is
// none, the previous one, so that removing the text replaces nothing.
func roll(known *record.Stack, asked string) string {
	for _, one := range latest(known) {
		if asked == "" {
			asked = one.Roll
		}
	}
	return asked
}

// diskTags returns the current or future tags of disks of instances with a shape; nil if there are
// no such instances.
func diskTags(known *record.Stack, shape string) map[string]string {
	for _, one := range latest(known) {
		if one.Shape == shape {
			return one.DiskTags
		}
	}
	return nil
}

// nodeup returns the hash of the nodeup that instances boot with. It stays the same as long as
// their bundle does: a new operator ships a new nodeup, which must not replace all instances.
func nodeup(known *record.Stack, bundle string, architecture v1alpha1.Architecture, find Nodeup) (string, error) {
	for _, one := range latest(known) {
		if one.Bundle == bundle && isHash(one.Nodeup) {
			return one.Nodeup, nil
		}
	}
	if p := known.Planned; p != nil && p.Bundle == bundle && isHash(p.Nodeup) {
		return p.Nodeup, nil
	}
	if isHash(known.Nodeup) && known.Bundle == bundle {
		return known.Nodeup, nil
	}
	return find(architecture)
}

// isHash reports whether a text is a SHA-256 in hexadecimal digits. Values from a status become
// part of a script that instances run.
func isHash(text string) bool {
	decoded, err := hex.DecodeString(text)
	return err == nil && len(decoded) == sha256.Size
}
