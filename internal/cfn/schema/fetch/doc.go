// Command fetch makes the embedded resource schemas anew from the archive
// that AWS publishes:
//
//	go run ./internal/cfn/schema/fetch -out internal/cfn/schema/data/cfn-resource-schemas.json.gz
//
// It leaves out what the operator does not use, such as descriptions and
// handlers, and says which types are new and which are gone. With -zip it
// reads an archive that was downloaded already.
package main
