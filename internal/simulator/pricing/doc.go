// Package pricing simulates AWS's Price List for one service: what instances cost on demand.
//
// It takes the filters of GetProducts, and returns a document for each instance type, with the price
// of package ec2. The prices are those of us-east-1 in all regions, without discounts. It refuses other
// services and other operations: it must never make up a price.
//
// https://docs.aws.amazon.com/awsaccountbilling/latest/aboutv2/price-changes.html
package pricing
