package cloudformation

import (
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awscfn "github.com/aws/aws-sdk-go-v2/service/cloudformation"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"

	"github.com/aws-operator/aws-operator/internal/cfn/template"
	"github.com/aws-operator/aws-operator/internal/simulator/cloudformation/simulated"
	"github.com/aws-operator/aws-operator/internal/simulator/property"
)

// reversal is what a drift-aware change set compares with: the actual state of the stack's members
// when the change set was created.
// https://docs.aws.amazon.com/AWSCloudFormation/latest/UserGuide/drift-aware-change-sets.html
type reversal struct {
	// reader is the caller of CreateChangeSet. AWS does not say with whose permissions it reads; as
	// for a drift detection, these are the caller's.
	reader driftDetection
	// updated is the stack's last update before the first read.
	updated *time.Time
	members map[string]*actual
}

// actual is the actual state of one member.
type actual struct {
	status types.StackResourceDriftStatus
	read   time.Time
	// properties are those of the last deployment with the actual values of those that the update can
	// revert; nil if the member was not compared.
	properties map[string]any
	// drifted are the paths at which these differ from the last deployment.
	drifted [][]string
	// kept are the actual values that an update must leave alone.
	kept    []keptValue
	ignored []types.ResourceDriftIgnoredAttribute
}

// keptValue is an actual value that differs from the template and is not reverted, or, with tags, the
// tags with keys that the template does not have.
type keptValue struct {
	path  []string
	value any
	tags  []any
}

// templatesOnly are the types that support drift detection, but not drift-aware change sets.
// https://docs.aws.amazon.com/AWSCloudFormation/latest/UserGuide/drift-aware-change-sets.html
var templatesOnly = map[string]bool{
	"AWS::SageMaker::MlflowTrackingServer": true, "AWS::Route53Resolver::FirewallRuleGroup": true, "AWS::MediaLive::Multiplexprogram": true,
	"AWS::VpcLattice::ResourceConfiguration": true, "AWS::S3::StorageLensGroup": true, "AWS::Bedrock::AgentAlias": true,
	"AWS::MSK::Cluster": true, "AWS::RDS::DBProxy": true, "AWS::Redshift::ClusterParameterGroup": true, "AWS::QBusiness::Index": true,
	"AWS::NetworkManager::CoreNetwork": true, "AWS::IAM::OIDCProvider": true, "AWS::Organizations::ResourcePolicy": true,
	"AWS::SNS::TopicInlinePolicy": true, "AWS::Route53::KeySigningKey": true, "AWS::DataZone::PolicyGrant": true,
	"AWS::Transfer::Certificate": true, "AWS::SageMaker::ImageVersion": true, "AWS::Neptune::DBParameterGroup": true,
	"AWS::ODB::CloudVmCluster": true, "AWS::RolesAnywhere::TrustAnchor": true, "AWS::Detective::Graph": true,
	"AWS::Maester::DocumentType": true, "AWS::SageMaker::ModelPackageGroup": true, "AWS::S3Express::BucketPolicy": true,
	"AWS::Panorama::PackageVersion": true, "AWS::S3Tables::TableBucketPolicy": true,
}

// checkDriftAware returns CloudFormation's error for a deployment mode. Only its language server says
// with what the mode cannot be combined; the messages are not documented.
// https://github.com/aws-cloudformation/cloudformation-languageserver/pull/233
func checkDriftAware(in *awscfn.CreateChangeSetInput, kind types.ChangeSetType) error {
	refused := ""
	switch {
	case in.DeploymentMode == "":
		return nil
	case in.DeploymentMode != types.DeploymentModeRevertDrift:
		return invalid("1 validation error detected: Value '%s' at 'deploymentMode' failed to satisfy constraint: "+
			"Member must satisfy enum value set: [REVERT_DRIFT]", in.DeploymentMode)
	case kind != types.ChangeSetTypeUpdate:
		refused = "a change set of type " + string(kind)
	case len(in.ResourcesToImport) > 0 || aws.ToBool(in.ImportExistingResources):
		refused = "a change set that may import existing resources"
	case aws.ToBool(in.IncludeNestedStacks):
		refused = "a change set for nested stacks"
	case in.OnStackFailure != "" && in.OnStackFailure != types.OnStackFailureRollback:
		refused = "OnStackFailure " + string(in.OnStackFailure)
	default:
		return nil
	}
	return invalid("DeploymentMode %s is not supported for %s", in.DeploymentMode, refused)
}

// readAll reads the members with the given IDs, one after another, and then computes the change set.
func (s *stack) readAll(cs *changeSet, ids []string) {
	if len(ids) == 0 {
		s.computeUpdate(cs)
		if cs.reversal.updated != s.updated && cs.execution == types.ExecutionStatusAvailable {
			cs.execution = types.ExecutionStatusObsolete
		}
		return
	}
	m := s.members[ids[0]]
	found, latency := (*actual)(nil), time.Duration(0)
	if m != nil && m.physicalID != "" && m.status != types.ResourceStatusDeleteComplete {
		found, latency = s.readActual(cs, m)
	}
	s.after(latency, func() {
		if found != nil {
			cs.reversal.members[m.id] = found
		}
		s.readAll(cs, ids[1:])
	})
}

// readActual compares a member with its actual state. A resource that cannot be read has an unknown
// drift status; the change set then compares the templates, as for unsupported types.
func (s *stack) readActual(cs *changeSet, m *member) (*actual, time.Duration) {
	out := &actual{read: s.engine.now()}
	if s.unchecked(m.kind) || templatesOnly[m.kind] {
		out.status = types.StackResourceDriftStatusUnsupported
		return out, 0
	}
	read := s.readMember(&cs.reversal.reader, m)
	switch {
	case isNotFound(read.err):
		out.status = types.StackResourceDriftStatusDeleted
		return out, read.latency
	case read.err != nil:
		out.status = types.StackResourceDriftStatusUnknown
		return out, read.latency
	}
	c := comparison{stackTags: m.tags, actual: out}
	c.kind, _ = s.engine.registry.Type(m.kind)
	c.managed = func(path []string) bool { return s.managed(m, path) }
	c.all(m, read.Attributes)
	out.properties = m.properties
	for _, path := range c.paths {
		path = outsideLists(m.properties, path)
		if slices.ContainsFunc(out.drifted, func(p []string) bool { return slices.Equal(p, path) }) {
			continue
		}
		out.drifted = append(out.drifted, path)
		value := at(read.Attributes, path)
		if c.isTags(path) {
			value = c.tags(m.properties[path[0]], value)
		}
		out.properties = withValue(out.properties, path, decoded(value))
	}
	if c.kind != nil {
		out.properties = simulated.Coerce(c.kind, out.properties)
	}
	out.status = types.StackResourceDriftStatusInSync
	if len(out.drifted) > 0 || slices.ContainsFunc(out.kept, func(k keptValue) bool { return k.tags == nil }) {
		out.status = types.StackResourceDriftStatusModified
	}
	return out, read.latency
}

// decoded returns a value with the types that a template's values have. Those of services have their own.
func decoded(value any) any {
	decoder := json.NewDecoder(strings.NewReader(compact(value)))
	decoder.UseNumber()
	var out any
	if decoder.Decode(&out) != nil {
		return value
	}
	return out
}

// outsideLists cuts a path before the first index of a list: change sets show lists as a whole.
func outsideLists(properties map[string]any, path []string) []string {
	var value any = properties
	for i, part := range path {
		object, ok := value.(map[string]any)
		if !ok {
			return path[:i]
		}
		value = object[part]
	}
	return path
}

// withValue returns properties with another value at a path, nil for none.
func withValue(properties map[string]any, path []string, value any) map[string]any {
	out := maps.Clone(properties)
	if out == nil {
		out = map[string]any{}
	}
	switch items := asList(out[path[0]]); {
	case len(path) > 2 && len(items) > 0: // the path continues with the position in a list
		position, err := strconv.Atoi(path[1])
		if err != nil || position < 0 || position >= len(items) {
			return out
		}
		below, _ := items[position].(map[string]any)
		items = slices.Clone(items)
		items[position] = withValue(below, path[2:], value)
		out[path[0]] = items
	case len(path) > 1:
		below, _ := out[path[0]].(map[string]any)
		out[path[0]] = withValue(below, path[1:], value)
	case value == nil:
		delete(out, path[0])
	default:
		out[path[0]] = value
	}
	return out
}

// keeping returns the properties of an update with the actual values that it must leave alone.
func (m *member) keeping(properties map[string]any) map[string]any {
	for _, k := range m.kept {
		value := k.value
		if k.tags != nil {
			value = slices.Concat(asList(at(properties, k.path)), k.tags)
		}
		properties = withValue(properties, k.path, value)
	}
	return properties
}

// managed reports whether a service of AWS changes a property without a user, as far as the stack shows
// it: "Drift-aware change sets recognize that drift is expected for AWS-managed properties and leave
// their actual value untouched".
// https://docs.aws.amazon.com/AWSCloudFormation/latest/UserGuide/drift-aware-change-sets.html
func (s *stack) managed(m *member, path []string) bool {
	with := func(kind string, wanted map[string]string) bool {
		for _, other := range s.members {
			if other.kind == kind && !slices.ContainsFunc(slices.Collect(maps.Keys(wanted)), func(name string) bool {
				return textProperty(other.properties, name) != wanted[name]
			}) {
				return true
			}
		}
		return false
	}
	scaled := func(resource, dimension string) bool {
		return with("AWS::ApplicationAutoScaling::ScalableTarget", map[string]string{"ResourceId": resource, "ScalableDimension": dimension})
	}
	if scales, index := m.indexCapacity(path); index != "" {
		return scaled("table/"+m.physicalID+"/index/"+index, "dynamodb:index:"+scales)
	}
	switch m.kind + "/" + strings.Join(path, "/") {
	case "AWS::RDS::DBInstance/EngineVersion":
		text, _ := property.Text(m.properties["AutoMinorVersionUpgrade"])
		return text == "true"
	case "AWS::DynamoDB::Table/ProvisionedThroughput/ReadCapacityUnits":
		return scaled("table/"+m.physicalID, "dynamodb:table:ReadCapacityUnits")
	case "AWS::DynamoDB::Table/ProvisionedThroughput/WriteCapacityUnits":
		return scaled("table/"+m.physicalID, "dynamodb:table:WriteCapacityUnits")
	case "AWS::AutoScaling::AutoScalingGroup/DesiredCapacity":
		return with("AWS::AutoScaling::ScalingPolicy", map[string]string{"AutoScalingGroupName": m.physicalID})
	}
	return false
}

// indexCapacity returns the name of the capacity and of the index, if the path is that of the capacity of
// a table's index.
func (m *member) indexCapacity(path []string) (capacity, index string) {
	const length = 4 // GlobalSecondaryIndexes, position, ProvisionedThroughput, capacity
	if m.kind != "AWS::DynamoDB::Table" || len(path) != length || path[0] != "GlobalSecondaryIndexes" {
		return "", ""
	}
	indexes := asList(m.properties[path[0]])
	position, err := strconv.Atoi(path[1])
	if err != nil || position < 0 || position >= len(indexes) {
		return "", ""
	}
	of, _ := indexes[position].(map[string]any)
	name, _ := property.Text(of["IndexName"])
	return path[3], name
}

// keeps handles a property that a drift-aware change set does not revert although its actual value
// differs: it cannot be changed in place ("Drift-aware change sets do not support drift reconciliation
// for immutable properties"), or AWS manages it.
func (c *comparison) keeps(path []string, expected, live any) bool {
	if c.actual == nil {
		return false
	}
	managed := c.managed(path)
	if !managed && (c.kind == nil || !c.kind.IsCreateOnly(path)) {
		return false
	}
	if same := (comparison{kind: c.kind}); !same.differ(path, expected, live) {
		return false
	}
	c.actual.kept = append(c.actual.kept, keptValue{path: path, value: live})
	if managed {
		c.ignore(path, types.DriftIgnoredReasonManagedByAws)
	}
	return true
}

// differ reports whether the values of a property differ.
func (c *comparison) differ(path []string, expected, live any) bool {
	c.compare(path, nil, expected, live)
	return len(c.differences) > 0
}

// ignore records that the drift of a property is ignored.
func (c *comparison) ignore(path []string, reason types.DriftIgnoredReason) {
	if c.actual != nil {
		c.actual.ignored = append(c.actual.ignored, types.ResourceDriftIgnoredAttribute{
			Path: aws.String("/Properties/" + strings.Join(path, "/")), Reason: reason,
		})
	}
}

func (c *comparison) isTags(path []string) bool {
	return c.kind != nil && len(path) == 1 && path[0] == c.kind.TagProperty
}

// ownTags separates the tags with keys in the template from others: "Drift-aware change sets do not
// remove or modify tag keys that were not specified in the template".
func (c *comparison) ownTags(path []string, expected, live any) any {
	have, ok := live.([]any)
	if c.actual == nil || !ok {
		return live
	}
	own := asList(c.tags(expected, live))
	if len(own) < len(have) {
		c.actual.kept = append(c.actual.kept, keptValue{path: path, tags: without(have, own)})
	}
	return own
}

// tags returns the tags whose keys the template has.
func (c *comparison) tags(expected, live any) any {
	have, ok := live.([]any)
	if !ok {
		return live
	}
	wanted := asList(expected)
	return slices.DeleteFunc(slices.Clone(have), func(tag any) bool {
		return !slices.ContainsFunc(wanted, func(w any) bool { return tagKey(w) == tagKey(tag) })
	})
}

func asList(v any) []any {
	list, _ := v.([]any)
	return list
}

func tagKey(tag any) string {
	object, _ := tag.(map[string]any)
	text, _ := property.Text(object["Key"])
	return text
}

// without returns the tags of a list whose keys another lacks.
func without(tags, others []any) []any {
	return slices.DeleteFunc(slices.Clone(tags), func(tag any) bool {
		return slices.ContainsFunc(others, func(o any) bool { return tagKey(o) == tagKey(tag) })
	})
}

// stackStatus is the stack's drift status in a drift-aware change set.
func (r *reversal) stackStatus() types.StackDriftStatus {
	out := types.StackDriftStatusInSync
	for _, found := range r.members {
		if found.deleted() || found.status == types.StackResourceDriftStatusModified {
			return types.StackDriftStatusDrifted
		}
		if found.status == types.StackResourceDriftStatusUnknown {
			out = types.StackDriftStatusUnknown
		}
	}
	return out
}

// actual returns the actual state of a member, nil if the change set is not drift-aware.
func (p *planner) actual(id string) *actual {
	if p.reversal == nil {
		return nil
	}
	return p.reversal.members[id]
}

// deleted reports whether the resource was deleted outside of CloudFormation.
func (a *actual) deleted() bool { return a != nil && a.status == types.StackResourceDriftStatusDeleted }

// before returns the state that an update changes.
func (a *actual) before(m *member) map[string]any {
	if a == nil || a.properties == nil {
		return m.properties
	}
	return a.properties
}

// annotate adds to the details of a change what a drift-aware change set says of them, and the
// properties whose template now has the actual value.
func (a *actual) annotate(m *member, wanted map[string]any, details []types.ResourceChangeDetail) []types.ResourceChangeDetail {
	if a == nil {
		return details
	}
	left := a.drifted
	for i := range details {
		target := details[i].Target
		if target.Attribute != types.ResourceAttributeProperties {
			continue
		}
		target.AfterValueFrom, target.BeforeValueFrom = types.AfterValueFromTemplate, types.BeforeValueFromPreviousDeploymentState
		if a.properties != nil {
			target.BeforeValueFrom = types.BeforeValueFromActualState
		}
		left = slices.DeleteFunc(slices.Clone(left), func(path []string) bool {
			if "/Properties/"+strings.Join(path, "/") != *target.Path {
				return false
			}
			target.Drift = a.drift(m, path)
			return true
		})
	}
	for _, path := range left {
		if plain(at(a.properties, path)) != plain(at(wanted, path)) {
			continue // part of a detail above
		}
		details = append(details, types.ResourceChangeDetail{
			Evaluation: types.EvaluationTypeStatic, ChangeSource: types.ChangeSourceNoModification,
			Target: &types.ResourceTargetDefinition{
				Attribute: types.ResourceAttributeProperties, Name: aws.String(path[0]),
				Path:               aws.String("/Properties/" + strings.Join(path, "/")),
				RequiresRecreation: types.RequiresRecreationNever, AttributeChangeType: types.AttributeChangeTypeSyncWithActual,
				BeforeValue: valueText(at(a.properties, path)), AfterValue: valueText(at(wanted, path)),
				BeforeValueFrom: types.BeforeValueFromActualState, AfterValueFrom: types.AfterValueFromTemplate, Drift: a.drift(m, path),
			},
		})
	}
	return details
}

func (a *actual) drift(m *member, path []string) *types.LiveResourceDrift {
	return &types.LiveResourceDrift{
		PreviousValue: valueText(at(m.properties, path)), ActualValue: valueText(at(a.properties, path)), DriftDetectionTimestamp: &a.read,
	}
}

// show adds to a change what a drift-aware change set says of its resource.
func (a *actual) show(m *member, change *types.ResourceChange) {
	if a == nil {
		return
	}
	change.ResourceDriftStatus, change.ResourceDriftIgnoredAttributes = a.status, a.ignored
	change.PreviousDeploymentContext = aws.String(compact(map[string]any{"Properties": m.properties}))
	onlySynced := len(change.Details) > 0 && !slices.ContainsFunc(change.Details, func(d types.ResourceChangeDetail) bool {
		return d.Target.AttributeChangeType != types.AttributeChangeTypeSyncWithActual
	})
	if change.Action == types.ChangeActionModify && onlySynced {
		change.Action, change.Replacement = types.ChangeActionSyncWithActual, ""
	}
}

// asActual returns a member as a drift-aware change set found it, which the update changes, and keeps
// that state for a rollback: "CloudFormation will roll back resources to their actual pre-deployment
// state".
func (s *stack) asActual(m *member) *member {
	was := *m
	was.kept = nil
	found := s.reverting[m.id]
	if found == nil || found.properties == nil {
		return &was
	}
	was.actual, was.kept = found.properties, found.kept
	s.members[m.id] = &was
	now := was
	now.properties, now.actual = found.properties, nil
	return &now
}

// target returns the properties to which a rollback restores a member.
func (m *member) target() map[string]any {
	if m.actual == nil {
		return m.properties
	}
	return m.keeping(m.actual)
}

// written returns the template's value of a member's property.
func (m *member) written(name string) *template.Node {
	if m.definition == nil {
		return nil
	}
	return m.definition.Properties.Get(name)
}
