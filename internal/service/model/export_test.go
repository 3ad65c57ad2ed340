package model

import "github.com/aws-operator/aws-operator/internal/cfn/schema"

// DerivedOutputNames returns the outputs that a definition of a type can list.
func DerivedOutputNames(resource *schema.Type) []string { return outputNames(deriveOutputs(resource)) }
