package v1alpha1

import (
	"encoding/json"
	"slices"
	"strconv"
)

// RawJSON is a JSON value kept as it was read: cheap to hold, decoded only when it is needed.
//
// +kubebuilder:object:generate=false
type RawJSON []byte

// MarshalJSON writes the value as it is; an empty one is an empty object.
func (r RawJSON) MarshalJSON() ([]byte, error) {
	if len(r) == 0 {
		return []byte("{}"), nil
	}
	return r, nil
}

// UnmarshalJSON keeps a copy of data.
func (r *RawJSON) UnmarshalJSON(data []byte) error {
	*r = slices.Clone(data)
	return nil
}

// DeepCopyInto copies the value into out.
func (r *RawJSON) DeepCopyInto(out *RawJSON) { *out = slices.Clone(*r) }

// DeepCopy returns a copy of the value.
func (r RawJSON) DeepCopy() RawJSON { return slices.Clone(r) }

// Value is one output of a stack: a text, or a number that is written without quotes.
//
// +kubebuilder:object:generate=false
type Value struct {
	// Text is the output as CloudFormation gave it.
	Text string
	// Number says that the output is written as a JSON number; Text is then its literal.
	Number bool
}

// MarshalJSON writes a string or a number.
func (v Value) MarshalJSON() ([]byte, error) {
	if v.Number && json.Valid([]byte(v.Text)) { // ParseFloat accepts NaN and 0x1, too.
		if _, err := strconv.ParseFloat(v.Text, 64); err == nil {
			return []byte(v.Text), nil
		}
	}
	return json.Marshal(v.Text)
}

// UnmarshalJSON reads a string or a number; anything else is kept as its JSON text.
func (v *Value) UnmarshalJSON(data []byte) error {
	*v = Value{}
	if len(data) > 0 && data[0] == '"' {
		return json.Unmarshal(data, &v.Text)
	}
	if string(data) == "null" {
		return nil
	}
	v.Text = string(data)
	_, err := strconv.ParseFloat(v.Text, 64)
	v.Number = err == nil
	return nil
}
