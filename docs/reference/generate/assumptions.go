package main

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/aws-operator/aws-operator/internal/assumptions"
)

const assumptionsHead = `# Assumptions about AWS

What the project assumes of AWS, with the evidence, and the tests that rely on it. ` + "`make generate`" + ` writes this page from
` + "[internal/assumptions/assumptions.yaml](../../internal/assumptions/assumptions.yaml)" + `.

**No row has been verified in an AWS account.** The tests run against the simulator, which does what the rows say. Where both are
wrong, every test passes. The column before the last names clients that this project did not write and that rely on the same against the simulator.
They show that a program made for AWS accepts what the simulator does, not that AWS does it: the AWS CLI, boto3 and moto confirm little
more than the shapes of requests and answers.

[` + "`aws-operator trial`" + `](commands.md#trial) checks some rows in an account of yours; where a tier checks less than the statement, the
last column says what. If a row differs from what you see in AWS, open an issue with its id.
`

// writeAssumptions writes the page of what is assumed of AWS.
func writeAssumptions(page *bytes.Buffer) {
	page.WriteString(assumptionsHead)
	all, confirmed := 0, 0
	for _, section := range assumptions.Sections() {
		for i := range section.Rows {
			all++
			if len(section.Rows[i].Confirmed) > 0 {
				confirmed++
			}
		}
	}
	fmt.Fprintf(page, "\n%d rows; other clients rely on %d of them.\n", all, confirmed)
	for _, section := range assumptions.Sections() {
		fmt.Fprintf(page, "\n## %s: %s\n\n| id | statement | evidence | tests | relied on by | checked in an account |\n| --- | --- | --- | --- | --- | --- |\n",
			section.Service, section.Title)
		for i := range section.Rows {
			row := &section.Rows[i]
			fmt.Fprintf(page, "| `%s` | %s | %s | %s | %s | %s |\n",
				row.ID, escaped(row.Statement), strings.Join(links(row.Evidence), "<br>"), strings.Join(tests(row.Tests), "<br>"),
				strings.Join(clients(row.Confirmed), "<br>"), strings.Join(checks(row.Trial), "<br>"))
		}
	}
}

// links returns links to pages, named by their hosts and last parts.
func links(pages []string) []string {
	named := make([]string, 0, len(pages))
	for _, page := range pages {
		host, path, _ := strings.Cut(strings.TrimPrefix(page, "https://"), "/")
		parts := strings.Split(strings.Trim(path, "/"), "/")
		name := strings.TrimSuffix(parts[len(parts)-1], ".html")
		if before, _, anchored := strings.Cut(name, ".html#"); anchored {
			name = before
		}
		switch host {
		case "docs.aws.amazon.com":
		case "github.com":
			name = strings.Join(parts[:min(2, len(parts))], "/")
			if len(parts) == 4 { //nolint:mnd // owner/name/issues/number
				name += "#" + parts[3]
			}
		default:
			name = host
		}
		named = append(named, fmt.Sprintf("[%s](%s)", name, page))
	}
	return named
}

// tests returns the names of tests with links to the folders of their packages.
func tests(names []string) []string {
	linked := make([]string, 0, len(names))
	for _, test := range names {
		folder, name := assumptions.SplitTest(test)
		linked = append(linked, fmt.Sprintf("[%s](../../%s) %s", folder, folder, name))
	}
	return linked
}

// clients returns who relies on a row, and how.
func clients(confirmed []assumptions.Confirmation) []string {
	said := make([]string, 0, len(confirmed))
	for _, by := range confirmed {
		said = append(said, fmt.Sprintf("%s ([%s](../../%s)) %s", by.Client, by.By, by.By, escaped(by.What)))
	}
	return said
}

// checks returns what tiers of the command trial check.
func checks(all []assumptions.Check) []string {
	said := make([]string, 0, len(all))
	for _, one := range all {
		said = append(said, "tier `"+one.Tier+"`: "+escaped(one.Checks))
	}
	return said
}

// escaped escapes a text for a table.
func escaped(text string) string {
	return strings.NewReplacer("|", `\|`, "<", "&lt;", "*", `\*`, "_", `\_`).Replace(strings.TrimSpace(text))
}
