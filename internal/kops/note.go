package kops

import "github.com/aws-operator/aws-operator/internal/translation"

// Note reports a field of a manifest without a counterpart.
type Note = translation.Note

// Severities of notes.
const (
	// Info is for fields that make no difference to the cluster, or that the operator handles in
	// another way.
	Info = translation.Info
	// Warning is for fields whose loss a user may notice.
	Warning = translation.Warning
)
