package modeltest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"

	servicev1alpha1 "github.com/aws-operator/aws-operator/api/service/v1alpha1"
)

// kindTest is the kind of manifests with cases. Only this command reads it.
const kindTest = "ModelTest"

// test is the spec of a ModelTest.
type test struct {
	name string

	Cases []testCase `json:"cases"`
}

// testCase is a sequence of steps in an account without resources.
type testCase struct {
	Name  string `json:"name"`
	Steps []step `json:"steps"`
}

// step applies objects.
type step struct {
	// Objects are applied in their order. A later step that names an object again changes it.
	Objects []map[string]any `json:"objects"`
	// Refused is a part of the message with which the last object is refused.
	Refused string `json:"refused"`
	// Expect is what the stack of the last object must have.
	Expect *expectation `json:"expect"`
}

// expectation is what a stack must have.
type expectation struct {
	// Resources are properties of the stack's resources by logical ID. A resource may have further
	// properties. A resource that is null must not exist.
	Resources map[string]map[string]any `json:"resources"`
	// Output are fields of the object's output.
	Output map[string]any `json:"output"`
	// Replaces are the logical IDs of the resources that the step replaces. All others must stay.
	Replaces []string `json:"replaces"`
}

// parse reads the spec of a ModelTest.
func parse(object *servicev1alpha1.Object) (test, error) {
	one := test{name: object.Name}
	decoder := json.NewDecoder(bytes.NewReader(object.Spec))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&one); err != nil {
		return one, fmt.Errorf("spec: %w", err)
	}
	for i := range one.Cases {
		c := &one.Cases[i]
		at := fmt.Sprintf("spec.cases[%d]", i)
		if c.Name == "" {
			return one, errors.New(at + ".name: give the case a name")
		}
		if len(c.Steps) == 0 {
			return one, errors.New(at + ".steps: the case does nothing; add a step")
		}
		for j := range c.Steps {
			if err := c.Steps[j].check(); err != nil {
				return one, fmt.Errorf("%s.steps[%d]%w", at, j, err)
			}
		}
	}
	return one, nil
}

func (s *step) check() error {
	switch {
	case len(s.Objects) == 0:
		return errors.New(".objects: the step applies nothing; add an object")
	case s.Refused != "" && s.Expect != nil:
		return errors.New(": an object that is refused has no stack; remove refused or expect")
	}
	return nil
}
