package template

import (
	"fmt"
	"maps"
	"slices"
)

// CloudFormation's limits on a template, from
// https://docs.aws.amazon.com/AWSCloudFormation/latest/UserGuide/cloudformation-limits.html.
const (
	// MaxResources is how many resources a template may declare.
	MaxResources = 500
	// MaxParameters is how many parameters a template may declare.
	MaxParameters = 200
	// MaxOutputs is how many outputs a template may declare.
	MaxOutputs = 200
	// MaxMappings is how many mappings a template may declare.
	MaxMappings = 200
	// MaxMappingAttributes is how many attributes a mapping may have.
	MaxMappingAttributes = 200
	// MaxDescription is the length of a template's description in bytes.
	MaxDescription = 1024
	// MaxName is the length of the name of a resource, parameter, output or mapping.
	MaxName = 255
	// MaxInlineBytes is the maximum size of a template in the request itself; a larger one must be
	// in S3.
	MaxInlineBytes = 51200
	// MaxBytes is the maximum size of a template in S3. The page says 1 MB; AWS's error says "Template
	// may not exceed 1000000 bytes in size": https://github.com/aws-samples/aws-vpc-cidr-mgmt/issues/10
	MaxBytes = 1_000_000
)

func (c *checker) limits() {
	t := c.t
	start := Position{File: t.File, Line: 1, Column: 1}
	for _, limit := range []struct {
		path  string
		what  string
		count int
		max   int
	}{
		{"Resources", "resources", len(t.Resources), MaxResources},
		{"Parameters", "parameters", len(t.Parameters), MaxParameters},
		{"Outputs", "outputs", len(t.Outputs), MaxOutputs},
		{"Mappings", "mappings", len(t.Mappings.keys()), MaxMappings},
		{"Description", "bytes of description", len(t.Description), MaxDescription},
		{"", "bytes", len(t.CanonicalJSON()), MaxBytes},
	} {
		if limit.count > limit.max {
			c.problem(
				start, limit.path, fmt.Sprintf("the template has %d %s; CloudFormation allows %d", limit.count, limit.what, limit.max), "",
			)
		}
	}
	c.nameLength("resource", slices.Sorted(maps.Keys(t.Resources)))
	c.nameLength("parameter", slices.Sorted(maps.Keys(t.Parameters)))
	c.nameLength("output", slices.Sorted(maps.Keys(t.Outputs)))
	c.nameLength("mapping", t.Mappings.keys())
	if t.Mappings == nil {
		return
	}
	for _, mapping := range t.Mappings.Fields {
		if count := len(mapping.Value.keys()); count > MaxMappingAttributes {
			c.problem(mapping.KeyPos, "Mappings/"+mapping.Key,
				fmt.Sprintf("mapping %s has %d attributes; CloudFormation allows %d", mapping.Key, count, MaxMappingAttributes), "")
		}
	}
}

func (c *checker) nameLength(what string, names []string) {
	for _, name := range names {
		if len(name) > MaxName {
			c.problem(Position{File: c.t.File, Line: 1, Column: 1}, "",
				fmt.Sprintf("the name of %s %s… is %d characters long; CloudFormation allows %d", what, name[:40], len(name), MaxName), "")
		}
	}
}
