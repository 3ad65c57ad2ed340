// Package dynamodb simulates Amazon DynamoDB: tables with their items, indexes and settings, and
// the CloudFormation types AWS::DynamoDB::Table and AWS::DynamoDB::GlobalTable.
//
// A [Tables] keeps everything in memory, separated by account and region. Operations take and
// return the SDK's types; [Tables.Service] provides them to the wire layer and [Tables.Providers]
// to the simulator's CloudFormation.
//
// Items are in ordered [index]es: one for the table and one for each of its secondary indexes, so
// that Query is a binary search and Scan resumes from any key. Expressions are parsed to trees
// (expression.go), checked against their names and values, and evaluated on attribute values.
//
// Error messages are part of the behavior: they are DynamoDB's own, and the tests name the pages
// that document them.
package dynamodb
