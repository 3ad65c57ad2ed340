package schema

import "github.com/aws-operator/aws-operator/internal/cfn/template"

// Registry holds the types.
type Registry struct{}

// Default returns the embedded registry.
func Default() *Registry { return &Registry{} }

// Type returns a type.
func (r *Registry) Type(name string) (*Type, bool) { return nil, false }

// Names lists all types.
func (r *Registry) Names() []string { return nil }

// Suggest names the nearest type.
func (r *Registry) Suggest(name string) string { return "" }

// Validate checks t.
func (r *Registry) Validate(t *template.Template) template.Problems { return nil }

// IsCreateOnly reports whether a change at path replaces the resource.
func (t *Type) IsCreateOnly(path []string) bool { return false }

// Attributes lists what GetAtt may name.
func (t *Type) Attributes() []string { return nil }

// IsStateful reports whether the resource holds data.
func (t *Type) IsStateful() bool { return false }

// JSON returns the schema as AWS publishes it.
func (t *Type) JSON() []byte { return t.Raw }

// Resolve follows $ref.
func (t *Type) Resolve(p *Property) *Property { return p }
