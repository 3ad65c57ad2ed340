package bootstrap

import (
	"github.com/aws-operator/aws-operator/internal/cluster/bootstrap/bundle"
)

// Bundle is the document that a machine boots from; see package bundle.
type Bundle = bundle.Bundle

// Parse reads a bundle's document; see [bundle.Parse].
func Parse(document []byte) (*Bundle, error) { return bundle.Parse(document) }
