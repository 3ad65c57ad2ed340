package dynamodb

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

var namePattern = regexp.MustCompile(`^[a-zA-Z0-9_.-]+$`)

// checkTableName applies the naming rules:
// https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/HowItWorks.NamingRulesDataTypes.html#HowItWorks.NamingRules
func checkTableName(name string) error {
	return checkName("TableName", "tableName", name)
}

func checkName(parameter, member, name string) error {
	switch {
	case name == "":
		return invalid("The parameter '%s' is required but was not present in the request", parameter)
	case !namePattern.MatchString(name):
		return invalid(
			"1 validation error detected: Value '%s' at '%s' failed to satisfy constraint: Member must satisfy regular expression pattern: [a-zA-Z0-9_.-]+",
			name,
			member,
		)
	case len(name) < 3:
		return invalid("%s must be at least 3 characters long and at most 255 characters long", parameter)
	case len(name) > 255:
		return invalid(
			"1 validation error detected: Value '%s' at '%s' failed to satisfy constraint: Member must have length less than or equal to 255",
			name,
			member,
		)
	}
	return nil
}

// checkCreate rejects inconsistent parameters of CreateTable.
func checkCreate(in *dynamodb.CreateTableInput) error {
	if err := checkTableName(deref(in.TableName)); err != nil {
		return err
	}
	if err := checkBilling(in.BillingMode, in.ProvisionedThroughput, ""); err != nil {
		return err
	}
	if err := checkDefinitions(in.AttributeDefinitions); err != nil {
		return err
	}
	if err := checkKeySchema(in.KeySchema, in.AttributeDefinitions); err != nil {
		return err
	}
	if err := checkIndexes(in); err != nil {
		return err
	}
	if err := checkAllUsed(in); err != nil {
		return err
	}
	if len(in.VectorIndexes) > 0 || in.GlobalTableSourceArn != nil {
		return invalid("One or more parameter values were invalid: The simulator has no vector indexes and no table copies")
	}
	return checkStream(in.StreamSpecification)
}

func checkStream(s *types.StreamSpecification) error {
	if s == nil {
		return nil
	}
	if deref(s.StreamEnabled) && s.StreamViewType == "" {
		return invalid(
			"One or more parameter values were invalid: StreamSpecification.StreamViewType is required when StreamSpecification.StreamEnabled is true",
		)
	}
	if !deref(s.StreamEnabled) && s.StreamViewType != "" {
		return invalid(
			"One or more parameter values were invalid: StreamSpecification.StreamViewType must not be specified when StreamSpecification.StreamEnabled is false",
		)
	}
	return nil
}

func checkBilling(mode types.BillingMode, throughput *types.ProvisionedThroughput, index string) error {
	suffix := ""
	if index != "" {
		suffix = " for index: " + index
	}
	switch mode {
	case types.BillingModePayPerRequest:
		if throughput != nil && (deref(throughput.ReadCapacityUnits) != 0 || deref(throughput.WriteCapacityUnits) != 0) {
			return invalid(
				"One or more parameter values were invalid: Neither ReadCapacityUnits nor WriteCapacityUnits can be specified when BillingMode is PAY_PER_REQUEST%s",
				suffix,
			)
		}
		return nil
	case types.BillingModeProvisioned, "":
		if throughput == nil || throughput.ReadCapacityUnits == nil || throughput.WriteCapacityUnits == nil {
			if index != "" {
				return invalid("One or more parameter values were invalid: ProvisionedThroughput must be specified%s", suffix)
			}
			return invalid(
				"One or more parameter values were invalid: ReadCapacityUnits and WriteCapacityUnits must both be specified when BillingMode is PROVISIONED",
			)
		}
		return checkUnits(throughput)
	}
	return invalid(
		"1 validation error detected: Value '%s' at 'billingMode' failed to satisfy constraint: Member must satisfy enum value set: [PROVISIONED, PAY_PER_REQUEST]",
		mode,
	)
}

func checkUnits(t *types.ProvisionedThroughput) error {
	for member, units := range map[string]int64{
		"readCapacityUnits": deref(t.ReadCapacityUnits), "writeCapacityUnits": deref(t.WriteCapacityUnits),
	} {
		if units < 1 {
			return invalid(
				"1 validation error detected: Value '%d' at 'provisionedThroughput.%s' failed to satisfy constraint: Member must have value greater than or equal to 1",
				units,
				member,
			)
		}
	}
	return nil
}

func checkDefinitions(definitions []types.AttributeDefinition) error {
	seen := map[string]bool{}
	for i, d := range definitions {
		name := deref(d.AttributeName)
		if !slices.Contains(types.ScalarAttributeType("").Values(), d.AttributeType) {
			return invalid(
				"1 validation error detected: Value '%s' at 'attributeDefinitions.%d.member.attributeType' failed to satisfy constraint: Member must satisfy enum value set: [B, N, S]",
				d.AttributeType,
				i+1,
			)
		}
		if seen[name] {
			return invalid("Cannot have two attributes with the same name")
		}
		seen[name] = true
	}
	return nil
}

// checkKeySchema validates the key of a table or an index.
func checkKeySchema(schema []types.KeySchemaElement, definitions []types.AttributeDefinition) error {
	if err := checkKeyShape(schema); err != nil {
		return err
	}
	var missing []string
	for _, e := range schema {
		if !defined(definitions, *e.AttributeName) {
			missing = append(missing, *e.AttributeName)
		}
	}
	if len(missing) > 0 {
		return invalid(
			"One or more parameter values were invalid: Some index key attributes are not defined in AttributeDefinitions. Keys: [%s], AttributeDefinitions: [%s]",
			strings.Join(missing, ", "),
			strings.Join(definedNames(definitions), ", "),
		)
	}
	return nil
}

func checkKeyShape(schema []types.KeySchemaElement) error {
	switch {
	case len(schema) == 0:
		return invalid(
			"1 validation error detected: Value '[]' at 'keySchema' failed to satisfy constraint: Member must have length greater than or equal to 1",
		)
	case len(schema) > 2:
		return invalid(
			"1 validation error detected: Value '[%s]' at 'keySchema' failed to satisfy constraint: Member must have length less than or equal to 2",
			strings.Join(describeSchema(schema), ", "),
		)
	case slices.ContainsFunc(schema, func(e types.KeySchemaElement) bool { return e.AttributeName == nil }):
		return invalid(
			"1 validation error detected: Value null at 'keySchema.1.member.attributeName' failed to satisfy constraint: Member must not be null",
		)
	case schema[0].KeyType != types.KeyTypeHash:
		return invalid("Invalid KeySchema: The first KeySchemaElement is not a HASH key type")
	case len(schema) == 1:
		return nil
	case *schema[0].AttributeName == *schema[1].AttributeName:
		return invalid("Both the Hash Key and the Range Key element in the KeySchema have the same name")
	case schema[1].KeyType != types.KeyTypeRange:
		return invalid("Invalid KeySchema: The second KeySchemaElement is not a RANGE key type")
	}
	return nil
}

func describeSchema(schema []types.KeySchemaElement) []string {
	out := make([]string, len(schema))
	for i, e := range schema {
		out[i] = fmt.Sprintf("KeySchemaElement(attributeName=%s, keyType=%s)", deref(e.AttributeName), e.KeyType)
	}
	return out
}

func defined(definitions []types.AttributeDefinition, name string) bool {
	return slices.Contains(definedNames(definitions), name)
}

func definedNames(definitions []types.AttributeDefinition) []string {
	out := make([]string, len(definitions))
	for i, d := range definitions {
		out[i] = deref(d.AttributeName)
	}
	return out
}

func checkIndexes(in *dynamodb.CreateTableInput) error {
	names := map[string]bool{}
	for _, x := range in.LocalSecondaryIndexes {
		if len(in.KeySchema) < 2 {
			return invalid(
				"One or more parameter values were invalid: Table KeySchema does not have a range key, which is required when specifying a LocalSecondaryIndex",
			)
		}
		if err := checkIndex(names, x.IndexName, x.KeySchema, x.Projection, in.AttributeDefinitions); err != nil {
			return err
		}
		if *x.KeySchema[0].AttributeName != *in.KeySchema[0].AttributeName {
			return invalid(
				"One or more parameter values were invalid: Index KeySchema does not have the same leading hash key as table KeySchema for index: %s. index hash key: %s, table hash key: %s",
				*x.IndexName,
				*x.KeySchema[0].AttributeName,
				*in.KeySchema[0].AttributeName,
			)
		}
		if len(x.KeySchema) < 2 {
			return invalid(
				"One or more parameter values were invalid: Index KeySchema does not have a range key for index: %s", *x.IndexName,
			)
		}
	}
	if len(in.LocalSecondaryIndexes) > 5 {
		return invalid("One or more parameter values were invalid: Number of LocalSecondaryIndexes exceeds per-table limit of 5")
	}
	for _, x := range in.GlobalSecondaryIndexes {
		if err := checkIndex(names, x.IndexName, x.KeySchema, x.Projection, in.AttributeDefinitions); err != nil {
			return err
		}
		if err := checkBilling(in.BillingMode, x.ProvisionedThroughput, *x.IndexName); err != nil {
			return err
		}
	}
	if len(in.GlobalSecondaryIndexes) > 20 {
		return invalid("One or more parameter values were invalid: GlobalSecondaryIndex count exceeds the per-table limit of 20")
	}
	return nil
}

func checkIndex(
	names map[string]bool,
	name *string,
	schema []types.KeySchemaElement,
	projection *types.Projection,
	definitions []types.AttributeDefinition,
) error {
	if err := checkName("IndexName", "indexName", deref(name)); err != nil {
		return err
	}
	if names[*name] {
		return invalid("One or more parameter values were invalid: Duplicate index name: %s", *name)
	}
	names[*name] = true
	if err := checkKeySchema(schema, definitions); err != nil {
		return err
	}
	if projection == nil || projection.ProjectionType == "" {
		return invalid("One or more parameter values were invalid: Unknown ProjectionType: null")
	}
	include := projection.ProjectionType == types.ProjectionTypeInclude
	if include && len(projection.NonKeyAttributes) == 0 {
		return invalid("One or more parameter values were invalid: ProjectionType is INCLUDE, but NonKeyAttributes is not specified")
	}
	if !include && len(projection.NonKeyAttributes) > 0 {
		return invalid(
			"One or more parameter values were invalid: ProjectionType is %s, but NonKeyAttributes is specified", projection.ProjectionType,
		)
	}
	return nil
}

// checkAllUsed rejects attribute definitions that no key uses.
func checkAllUsed(in *dynamodb.CreateTableInput) error {
	used := map[string]bool{}
	add := func(schema []types.KeySchemaElement) {
		for _, e := range schema {
			used[*e.AttributeName] = true
		}
	}
	add(in.KeySchema)
	for _, x := range in.LocalSecondaryIndexes {
		add(x.KeySchema)
	}
	for _, x := range in.GlobalSecondaryIndexes {
		add(x.KeySchema)
	}
	if len(used) >= len(in.AttributeDefinitions) {
		return nil
	}
	if len(in.LocalSecondaryIndexes)+len(in.GlobalSecondaryIndexes) == 0 {
		return invalid(
			"One or more parameter values were invalid: Number of attributes in KeySchema does not exactly match number of attributes defined in AttributeDefinitions",
		)
	}
	var keys []string
	for _, name := range definedNames(in.AttributeDefinitions) {
		if used[name] {
			keys = append(keys, name)
		}
	}
	return invalid(
		"One or more parameter values were invalid: Some AttributeDefinitions are not used. AttributeDefinitions: [%s], keys used: [%s]",
		strings.Join(definedNames(in.AttributeDefinitions), ", "),
		strings.Join(keys, ", "),
	)
}
