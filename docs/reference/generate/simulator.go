package main

import (
	"bytes"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/aws-operator/aws-operator/simulator"
)

const simulatorHead = `# Simulator reference

What the simulator of AWS answers, from Go tests (package [simulator](../../simulator)), as ` + "`aws-operator simulator`" + `, and in
local mode. ` + "`make generate`" + ` writes this page.

An operation that is not listed fails with the service's error code for an unknown operation. A stack with a resource type that is not
listed fails to be created.

What it answers comes from AWS's documentation and SDKs and has been tried with the AWS SDKs for Go and Python, the AWS CLI, and
Terraform's AWS provider. It has never been compared to AWS itself.

## Operations
`

// writeSimulator writes what the simulator supports.
func writeSimulator(page *bytes.Buffer) {
	cloud := simulator.New()
	defer cloud.Close()
	page.WriteString(simulatorHead)
	supported := cloud.Supported()
	page.WriteString("\n| service | operations |\n| --- | --- |\n")
	for _, service := range slices.Sorted(maps.Keys(supported)) {
		fmt.Fprintf(page, "| `%s` | %s |\n", service, strings.Join(supported[service], ", "))
	}
	page.WriteString("\n## CloudFormation types\n\n")
	for _, kind := range cloud.ResourceTypes() {
		fmt.Fprintf(page, "- `%s`\n", kind)
	}
}
