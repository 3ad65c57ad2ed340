// Command fetch re-creates the embedded resource schemas from the archive that AWS publishes:
//
//	go run ./internal/cfn/schema/fetch -out internal/cfn/schema/data/cfn-resource-schemas.json.gz
//
// It omits what the operator does not use, such as descriptions and handlers, and reports the types
// that are added and removed. With -zip it reads an archive that was already downloaded.
package main
