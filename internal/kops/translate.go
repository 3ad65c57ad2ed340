package kops

import (
	"errors"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/aws-operator/aws-operator/internal/manifest/tree"
)

// Translated is an object of ours.
type Translated struct {
	// Object is the *v1alpha1.Cluster or *v1alpha1.InstanceGroup.
	Object client.Object
	// From is the document that it was made of.
	From tree.Document
}

// Translate makes Clusters and InstanceGroups of documents of kops, which must be together: groups name the subnets of
// their cluster, and masters and bastions become parts of it. The error is tree.Problems.
func Translate(documents []tree.Document, options Options) ([]Translated, []Note, error) {
	return nil, nil, errors.ErrUnsupported
}
