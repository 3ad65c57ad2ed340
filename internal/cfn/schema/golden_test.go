package schema_test

import (
	"os"
	"strings"
	"testing"
)

func embedded(t *testing.T) []byte {
	t.Helper()
	data, err := os.ReadFile("data/cfn-resource-schemas.json.gz")
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func split(path string) []string { return strings.Split(path, "/") }
