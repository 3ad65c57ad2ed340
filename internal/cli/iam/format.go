package iam

import (
	"bytes"
	"encoding/json"
	"fmt"

	"sigs.k8s.io/yaml"

	"github.com/aws-operator/aws-operator/internal/permissions"
)

// Formats of output.
const (
	formatJSON           = "json"
	formatCloudFormation = "cloudformation"
	formatTerraform      = "terraform"
)

// format returns the policies in a format: as JSON, one document after the other.
func format(as string, documents []permissions.Document) ([]byte, error) {
	switch as {
	case formatCloudFormation:
		return cloudFormation(documents)
	case formatTerraform:
		return terraform(documents), nil
	}
	var out bytes.Buffer
	for i := range documents {
		out.Write(documents[i].JSON())
	}
	return out.Bytes(), nil
}

// cloudFormation returns a template with a managed policy for each document.
// https://docs.aws.amazon.com/AWSCloudFormation/latest/TemplateReference/aws-resource-iam-managedpolicy.html
func cloudFormation(documents []permissions.Document) ([]byte, error) {
	resources, outputs := map[string]any{}, map[string]any{}
	for i := range documents {
		name := fmt.Sprintf("Policy%d", i+1)
		resources[name] = map[string]any{
			"Type": "AWS::IAM::ManagedPolicy",
			"Properties": map[string]any{
				"ManagedPolicyName": documents[i].Name, "PolicyDocument": json.RawMessage(documents[i].JSON()),
			},
		}
		outputs[name] = map[string]any{"Value": map[string]string{"Ref": name}}
	}
	text, err := yaml.Marshal(map[string]any{
		"AWSTemplateFormatVersion": "2010-09-09", "Description": "What aws-operator may do. Create the stack with CAPABILITY_NAMED_IAM.",
		"Resources": resources, "Outputs": outputs,
	})
	if err != nil {
		return nil, fmt.Errorf("write the template: %w", err)
	}
	return text, nil
}

// terraform returns a configuration with a policy for each document. A policy here has no text that
// Terraform would interpolate.
// https://registry.terraform.io/providers/hashicorp/aws/latest/docs/resources/iam_policy
func terraform(documents []permissions.Document) []byte {
	var out bytes.Buffer
	for i := range documents {
		if i > 0 {
			out.WriteString("\n")
		}
		fmt.Fprintf(&out, "resource \"aws_iam_policy\" %q {\n  name   = %q\n  policy = <<-EOT\n", label(documents[i].Name), documents[i].Name)
		for line := range bytes.Lines(documents[i].JSON()) {
			fmt.Fprintf(&out, "    %s", line)
		}
		out.WriteString("  EOT\n}\n")
	}
	return out.Bytes()
}
