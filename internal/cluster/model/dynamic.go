package model

import (
	"encoding/json"

	"github.com/aws-operator/aws-operator/internal/cfn/dynamic"
)

// inNoTemplate are the fields that are never part of a template.
var inNoTemplate = []string{
	"spec.addons", "spec.nodes", "spec.controlPlane.files", "spec.controlPlane.units", "spec.files", "spec.units",
}

// checkDynamic rejects CloudFormation's dynamic references in a spec: templates contain its values,
// and CloudFormation would insert secrets that the operator, but not the author, may read. Addons,
// files and units are never part of a template.
func checkDynamic(problems *Problems, spec any) {
	var values any
	data, err := json.Marshal(spec)
	if err == nil {
		err = json.Unmarshal(data, &values)
	}
	if err != nil {
		problems.add("spec", "correct it", "it cannot be read: %v", err)
		return
	}
	for _, found := range dynamic.Values("spec", values, inNoTemplate) {
		problems.add(
			found.Field,
			"write the value itself",
			"a dynamic reference ({{resolve:…}}), or a piece of one, would read secrets with the operator's permissions",
		)
	}
}
