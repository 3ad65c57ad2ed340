package stack

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"

	"github.com/aws-operator/aws-operator/internal/cfn/template"
)

const (
	tableIndexes = "GlobalSecondaryIndexes"
	throughput   = "ProvisionedThroughput"
)

// scaled are the capacities of tables in a template that Application Auto Scaling changes: paths that
// begin with the logical ID, and have no position of an index. They are no drift: "drift is expected
// for AWS-managed properties".
// https://docs.aws.amazon.com/AWSCloudFormation/latest/UserGuide/drift-aware-change-sets.html
// https://docs.aws.amazon.com/autoscaling/application/APIReference/API_RegisterScalableTarget.html
type scaled map[string]bool

// scaledIn returns the capacities of the tables that scalable targets in the template reference. The
// targets of one index count for all indexes of the table.
func scaledIn(t *template.Template) scaled {
	found := scaled{}
	for _, target := range t.Resources {
		if target.Type != "AWS::ApplicationAutoScaling::ScalableTarget" || target.Properties == nil {
			continue
		}
		dimension, _ := target.Properties.Get("ScalableDimension").Scalar()
		path := throughput
		if strings.HasPrefix(dimension, "dynamodb:index:") {
			path = tableIndexes + "/" + throughput
		} else if !strings.HasPrefix(dimension, "dynamodb:table:") {
			continue
		}
		for _, reference := range target.Properties.Get("ResourceId").References() {
			if table := t.Resources[reference.Target]; table != nil && table.Type == "AWS::DynamoDB::Table" {
				found[reference.Target+"/"+path+"/"+dimension[strings.LastIndexByte(dimension, ':')+1:]] = true
			}
		}
	}
	return found
}

// has reports whether Application Auto Scaling changes a property.
func (s scaled) has(resource, path string) bool {
	parts := strings.Split(path, "/")
	if len(parts) > 1 && parts[0] == tableIndexes {
		parts = slices.Delete(parts, 1, 2) // the position
	}
	return s[resource+"/"+strings.Join(parts, "/")]
}

// refusal says that a change set reverts a capacity; it is empty if it reverts none.
func (s scaled) refusal(id string, paths []string) string {
	for _, path := range paths {
		if s.has(id, path) {
			return fmt.Sprintf("CloudFormation would also revert %s/%s, which Application Auto Scaling sets, and cannot leave it out of a "+
				"change set. The operator reverts nothing. Undo the other drift in AWS.", id, path)
		}
	}
	return ""
}

// unscaled returns what a detection found without the capacities.
func (s scaled) unscaled(found []types.StackResourceDrift) []types.StackResourceDrift {
	if len(s) == 0 {
		return found
	}
	var left []types.StackResourceDrift
	for i := range found {
		one := found[i]
		id := aws.ToString(one.LogicalResourceId)
		all := len(one.PropertyDifferences)
		one.PropertyDifferences = slices.DeleteFunc(slices.Clone(one.PropertyDifferences), func(p types.PropertyDifference) bool {
			return s.has(id, pathIn(&p))
		})
		one.PropertyDifferences = s.withoutMoved(id, one.PropertyDifferences)
		if all == 0 || len(one.PropertyDifferences) > 0 {
			left = append(left, one)
		}
	}
	return left
}

func pathIn(p *types.PropertyDifference) string {
	return strings.TrimPrefix(aws.ToString(p.PropertyPath), "/")
}

// withoutMoved returns the differences without pairs of an index that was removed and one that was
// added at another position, if they differ in scaled capacities only: DynamoDB does not keep the
// order of indexes.
func (s scaled) withoutMoved(id string, differences []types.PropertyDifference) []types.PropertyDifference {
	moved := map[int]bool{}
	for i := range differences {
		if differences[i].DifferenceType != types.DifferenceTypeRemove {
			continue
		}
		expected, ok := s.index(id, &differences[i], differences[i].ExpectedValue)
		for j := range differences {
			if !ok || moved[j] || differences[j].DifferenceType != types.DifferenceTypeAdd {
				continue
			}
			if actual, ok := s.index(id, &differences[j], differences[j].ActualValue); ok && reflect.DeepEqual(expected, actual) {
				moved[i], moved[j] = true, true
				break
			}
		}
	}
	var left []types.PropertyDifference
	for i := range differences {
		if !moved[i] {
			left = append(left, differences[i])
		}
	}
	return left
}

// index decodes a whole index without its scaled capacities. It returns false for other properties.
func (s scaled) index(id string, p *types.PropertyDifference, value *string) (index map[string]any, ok bool) {
	list, position, _ := strings.Cut(pathIn(p), "/")
	if list != tableIndexes || strings.Contains(position, "/") || json.Unmarshal([]byte(aws.ToString(value)), &index) != nil {
		return nil, false
	}
	units, _ := index[throughput].(map[string]any)
	for name := range units {
		if s[id+"/"+tableIndexes+"/"+throughput+"/"+name] {
			delete(units, name)
		}
	}
	return index, true
}
