// Package dynamodb is Amazon DynamoDB in the simulator: tables with their
// items, indexes and settings, and the CloudFormation types
// AWS::DynamoDB::Table and AWS::DynamoDB::GlobalTable.
//
// A [Tables] holds everything, kept apart by account and region. Operations
// take and return the SDK's own types; [Tables.Service] offers them to the wire
// layer and [Tables.Providers] to the simulator's CloudFormation.
//
// Items live in ordered [index]es: one for the table and one for each of its
// secondary indexes, so that Query is a binary search and Scan resumes from any
// key. Expressions are parsed to trees (expression.go), checked against the
// names and values given with them, and evaluated on plain attribute values.
//
// What DynamoDB says when it refuses is part of its behaviour: the texts are
// those of the service, and the tests name the page where they are documented.
package dynamodb
