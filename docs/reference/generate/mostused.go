package main

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/aws-operator/aws-operator/internal/service/mostused"
)

const mostUsedHead = `
## The most used types

A test takes the types that public templates use most through their life, with the operator, each as a kind that is derived
from the type: it creates an object and compares the outputs with the forms that AWS documents, changes the object, changes the resource by
Cloud Control API and back, adopts a resource that Cloud Control API made, and deletes everything. Like everything on this page, it
has run only against the simulator.

The list has every type that at least %d templates of these repositories declare: the first fifty, and those that tie with the fiftieth.
%s

| type | templates | changed in place | drift | adopted |
| --- | --- | --- | --- | --- |
`

// writeMostUsed writes which types a test takes through their life, and what it does not test.
func writeMostUsed(page *bytes.Buffer) error {
	list, err := mostused.Load()
	if err != nil {
		return err
	}
	var sources []string
	for _, s := range list.Sources {
		name := strings.TrimPrefix(s.Repository, "https://github.com/")
		sources = append(sources, fmt.Sprintf("[%s](%s/tree/%s)", name, s.Repository, s.Commit))
	}
	fewest := list.Types[len(list.Types)-1].Templates
	fmt.Fprintf(page, mostUsedHead, fewest, strings.Join(sources, ", ")+".")
	for i := range list.Types {
		t := &list.Types[i]
		changed, drift := "no: "+t.Refused.Update, "no: "+t.Refused.Drift
		switch {
		case t.Change != nil:
			changed = "`" + t.Change.Property + "`"
		case t.Refused.Update == "":
			changed = "not tested"
		}
		switch {
		case t.Refused.Drift == "" && t.Change != nil:
			drift = "yes"
		case t.Refused.Drift == "":
			drift = "in sync; not changed"
		}
		adopted := "yes"
		if t.Refused.Adopt != "" {
			adopted = "no: " + t.Refused.Adopt
		}
		fmt.Fprintf(page, "| `%s` | %d | %s | %s | %s |\n", t.Name, t.Templates, changed, drift, adopted)
	}
	page.WriteString(mostUsedRefusals)
	return nil
}

const mostUsedRefusals = `
"No" means that AWS refuses it, and that the test expects the refusal:

- CloudFormation neither checks nor imports resources that it cannot read: their types lack a handler for it in
  [AWS's schemas](https://docs.aws.amazon.com/AWSCloudFormation/latest/UserGuide/resource-type-schemas.html), and in its
  [list](https://docs.aws.amazon.com/AWSCloudFormation/latest/UserGuide/resource-import-supported-resources.html).
  [handlers.txt](../../internal/simulator/cloudformation/handlers.txt) lists the handlers that all types lack.
- It compares no [write-only properties](https://docs.aws.amazon.com/cloudformation-cli/latest/userguide/resource-type-schema.html).
- A change of create-only properties replaces the resource, and Cloud Control API refuses it.

The example of a gateway attachment is not changed, because each gateway of the test is attached already. ` + "`Lambda::Function`" + ` and the other types
without a service of their own in the simulator do nothing: the test shows how CloudFormation and the operator treat them.
`
