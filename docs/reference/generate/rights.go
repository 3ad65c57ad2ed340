package main

import (
	"bytes"
	"fmt"
	"os"
)

const rightsHead = `# Rights reference

This page lists what subjects with the roles of the chart, as in ` + "`config/operator.yaml`" + ` and ` + "`config/aggregate.yaml`" + `, may do in their namespace with
the operator's resources, and with Secrets, which have the keys of clusters. A test binds a subject to each role and asks a
kube-apiserver for its list, as ` + "`kubectl auth can-i --list`" + ` does; it fails when this page differs. ` + "`make golden-update generate`" + ` writes the
page. In other namespaces, a RoleBinding allows nothing. What the operator does for an object is bounded [by
flags](../guide/install.md#access-control).

No role includes a status, a wildcard or a kind of a ModelDefinition of yours; only ` + "`cluster-admin`" + ` has them.
`

// writeRights writes the page of rights with the tables that the test of the manifests keeps.
func writeRights(page *bytes.Buffer, tables string) error {
	text, err := os.ReadFile(tables) //nolint:gosec // The Makefile names the file.
	if err != nil {
		return fmt.Errorf("read the tables of rights: %w", err)
	}
	page.WriteString(rightsHead)
	page.Write(text)
	return nil
}
