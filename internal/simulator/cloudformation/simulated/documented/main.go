// Command documented extracts from AWS's documentation which attributes Fn::GetAtt returns for every
// resource of a type. It reads the folder doc_source of a clone of
// https://github.com/awsdocs/aws-cloudformation-user-guide, which AWS archived in 2023; its last
// commit with documentation is 6c68a17a. It writes names only: no text of the documentation.
//
//	go run ./documented -docs aws-cloudformation-user-guide/doc_source -out attributes.txt
package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/aws-operator/aws-operator/internal/cfn/schema"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "documented:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	flags := flag.NewFlagSet("documented", flag.ContinueOnError)
	folder := flags.String("docs", "", "the folder doc_source of the documentation")
	out := flags.String("out", "attributes.txt", "the file to write")
	if err := flags.Parse(args); err != nil {
		return err
	}
	files, err := filepath.Glob(filepath.Join(*folder, "aws-*.md"))
	if err != nil {
		return err
	}
	if len(files) == 0 {
		return errors.New("-docs has no page about a resource type")
	}
	described := map[string]map[string]string{}
	for _, file := range files {
		page, err := os.ReadFile(file) //nolint:gosec // a folder that a developer names
		if err != nil {
			return err
		}
		if name, attributes := parse(string(page)); name != "" {
			described[name] = attributes
		}
	}
	return os.WriteFile(*out, []byte(header+list(schema.Default(), described)), 0o644) //nolint:gosec // public facts
}

const header = `# Attributes that AWS documents without a condition, by resource type. The program in documented
# writes this file; documentation.go says how it is used.
`

var (
	title = regexp.MustCompile(`^# (AWS::\w+::\w+)<a`)
	entry = regexp.MustCompile("(?m)^`([\\w.]+)` *<a name=[^>]*></a>\n")
)

// parse returns the resource type of a page and the descriptions of its attributes.
func parse(page string) (name string, attributes map[string]string) {
	match := title.FindStringSubmatch(page)
	if match == nil {
		return "", nil
	}
	attributes = map[string]string{}
	_, values, found := strings.Cut(page, "\n### Fn::GetAtt")
	if !found {
		return match[1], attributes
	}
	values, _, _ = strings.Cut(values, "\n## ")
	entries := entry.FindAllStringSubmatchIndex(values, -1)
	for i, at := range entries {
		end := len(values)
		if i+1 < len(entries) {
			end = entries[i+1][0]
		}
		attributes[values[at[2]:at[3]]] = strings.Join(strings.Fields(strings.ReplaceAll(values[at[1]:end], `\`, "")), " ")
	}
	return match[1], attributes
}

// list returns a line for each type with attributes that every resource has.
func list(registry *schema.Registry, described map[string]map[string]string) string {
	var b strings.Builder
	for _, name := range registry.Names() {
		t, ok := registry.Type(name)
		if !ok {
			continue
		}
		var always []string
		for _, attribute := range t.Attributes() {
			if isAlways(name, attribute, described[name]) {
				always = append(always, attribute)
			}
		}
		if len(always) > 0 {
			fmt.Fprintf(&b, "%s %s\n", name, strings.Join(always, " "))
		}
	}
	return b.String()
}

// conditional matches descriptions that say when an attribute exists.
var conditional = regexp.MustCompile(`(?i)\bif\b|\bonly (if|when|for|applicable|necessary|used|returned)|used only|(applies only|only applies)|` +
	`not supported|isn't available|valid for|must specify|^\((interface|gateway)|not available`)

// later are attributes that appear after an event, such as a failure.
var later = regexp.MustCompile(`(Reason|Message|Error)$|LastSuccessful|LastEvaluated`)

// reviewed are attributes whose description has one of the words for another reason.
var reviewed = []string{
	"AWS::AppMesh::GatewayRoute.ResourceOwner", "AWS::AppMesh::Mesh.MeshOwner", "AWS::AppMesh::Mesh.ResourceOwner",
	"AWS::AppMesh::Route.ResourceOwner", "AWS::AppMesh::VirtualGateway.ResourceOwner", "AWS::AppMesh::VirtualNode.ResourceOwner",
	"AWS::AppMesh::VirtualRouter.ResourceOwner", "AWS::AppMesh::VirtualService.ResourceOwner", "AWS::DataSync::Agent.EndpointType",
	"AWS::DirectoryService::SimpleAD.Alias", "AWS::DirectoryService::MicrosoftAD.Alias", "AWS::EC2::IPAMResourceDiscovery.IsDefault",
	"AWS::EC2::IPAMResourceDiscoveryAssociation.IsDefault", "AWS::EC2::IPAMScope.IsDefault", "AWS::EC2::KeyPair.KeyFingerprint",
	"AWS::EKS::Cluster.ClusterSecurityGroupId", "AWS::ImageBuilder::Component.Type", "AWS::Lightsail::Container.Url",
	"AWS::Macie::AllowList.Status", "AWS::MediaConnect::FlowSource.SourceIngestPort", "AWS::Organizations::Policy.AwsManaged",
	"AWS::RDS::DBInstance.Endpoint.Address", "AWS::S3::AccessPoint.NetworkOrigin", "AWS::StepFunctions::StateMachine.Name",
	"AWS::Transfer::Certificate.Type", "AWS::VpcLattice::TargetGroup.Status", "AWS::WAFv2::LoggingConfiguration.ManagedByFirewallManager",
}

// isAlways reports whether the documentation describes an attribute, or a part of it, without a
// condition.
func isAlways(resourceType, attribute string, described map[string]string) bool {
	if later.MatchString(attribute) {
		return false
	}
	if slices.Contains(reviewed, resourceType+"."+attribute) {
		return true
	}
	for name, text := range described {
		part := name == attribute || strings.HasPrefix(name, attribute+".")
		if part && text != "" && !conditional.MatchString(text) {
			return true
		}
	}
	return false
}
