package v1alpha1_test

const fleet = `
apiVersion: cluster-operator.aws/v1alpha1
kind: Fleet
metadata: {name: production}
spec:
  selector: {}
  template: {release: v1.36.3}
`

// fleetRefusals are cases of a fleet.
func fleetRefusals() []refusal {
	return []refusal{
		{
			"a name too long for a field manager", fleet,
			"metadata: {name: a12345678901234567890123456789012345678901234567890123456789012345}", "",
			"the field manager of the Clusters' fields is named after the fleet: use a name of at most 63 characters",
		},
		{"an empty template", fleet, "spec: {template: {release: null}}", "", "spec.template in body should have at least 1 properties"},
		{
			"no release later", fleet, "", "spec: {template: {release: null, backup: {keep: 3}}}",
			"release cannot be removed, since its Clusters need one: name a release",
		},
		{
			"none at the same time", fleet, "spec: {rollout: {maxConcurrent: 0}}", "",
			"maxConcurrent is a number of at least 1, or a percentage such as 10%",
		},
		{
			"more than all at the same time", fleet, "spec: {rollout: {maxConcurrent: 101%}}", "",
			"maxConcurrent is a number of at least 1, or a percentage such as 10%",
		},
		{"a deadline of a second", fleet, "spec: {rollout: {progressDeadline: 1s}}", "", "use 1m to 168h"},
		{"a wave with the name of the last", fleet, "spec: {rollout: {waves: [{name: rest}]}}", "", "rest is the name of the last wave: use another"},
		{"a soak time of a year", fleet, "spec: {rollout: {waves: [{name: a, soak: 8760h}]}}", "", "use 0s to 720h"},
	}
}
