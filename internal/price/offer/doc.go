// Package offer reads AWS's price list files, as the bulk API serves them, and takes from them the
// prices that package price computes with.
//
// The format is that of
// https://docs.aws.amazon.com/awsaccountbilling/latest/aboutv2/reading-service-price-list-file-for-services.html.
// The file of EC2 has some hundred MB for each region, so [Read] reads it as a stream and keeps only
// what matches. The package is pure: package cli/prices downloads the files.
package offer
