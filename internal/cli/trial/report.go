package trial

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/aws-operator/aws-operator/internal/assumptions"
	"github.com/aws-operator/aws-operator/internal/cli/exit"
	"github.com/aws-operator/aws-operator/internal/cli/version"
	"github.com/aws-operator/aws-operator/internal/plural"
)

// finding returns the result of a row of the tier.
func (r *runner) finding(id string) finding {
	if known, ok := r.findings[id]; ok {
		return known
	}
	return finding{notChecked, "An earlier step did not succeed."}
}

// count returns how many rows have a result.
func (r *runner) count(of result) (n int) {
	for _, id := range r.tier.rows {
		if r.finding(id).result == of {
			n++
		}
	}
	return n
}

// markdown returns the report.
func (r *runner) markdown(began time.Time) string {
	all := 0
	for _, section := range assumptions.Sections() {
		all += len(section.Rows)
	}
	var b strings.Builder
	fmt.Fprintf(&b, `# Trial of the assumptions about AWS, tier %s

- Account %s, region %s, aws-operator %s
- Began %s, took %s
- %d held, %d differed, %d not checked. The other %d assumptions are not part of this tier.
`, r.tier.name, r.account, r.region, version.String(), began.UTC().Format(time.RFC3339), r.clock.Now().Sub(began).Round(time.Second),
		r.count(held), r.count(differed), r.count(notChecked), all-len(r.tier.rows))
	if r.stopped != "" {
		fmt.Fprintf(&b, "- The checks stopped: %s\n", r.stopped)
	}
	b.WriteString("\nA check may cover a part of its statement only: what comes after \"Checked:\", if that is there. The last column says " +
		"what was seen.\n" +
		"\n| id | statement | result | seen |\n| --- | --- | --- | --- |\n")
	for _, id := range r.tier.rows {
		row, _ := assumptions.Find(id)
		found := r.finding(id)
		statement := row.Statement
		if checked := row.Checks(r.tier.name); checked != "" {
			statement += " Checked: " + checked + "."
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s | %s |\n", id, cell(statement), found.result, cell(found.seen))
	}
	fmt.Fprintf(&b, "\n## Cleanup\n\nDeleted %s.\n", plural.Count(len(r.deleted), "stack"))
	if r.tier.finishes {
		b.WriteString("EC2 lists terminated instances with their tags for about an hour, and the deletion of the KMS key is pending for 30 days. " +
			"Neither costs anything.\n")
	}
	if len(r.left) == 0 {
		b.WriteString("Nothing is left: no stack, EC2 resource or load balancer has the tag `" + tagName +
			"`, and CloudFormation reports every resource of the deleted stacks as deleted.\n")
		return b.String()
	}
	b.WriteString("**These resources are left:**\n\n")
	for _, one := range r.left {
		fmt.Fprintf(&b, "- %s\n", one)
	}
	return b.String()
}

// summary returns one line about the results, for a user who does not see the report.
func (r *runner) summary(file string) string {
	line := fmt.Sprintf("%d held, %d differed, %d not checked.", r.count(held), r.count(differed), r.count(notChecked))
	if len(r.left) == 0 {
		line += " Nothing is left."
	}
	if file != "" {
		line += " The report is in " + file + "."
	}
	return line
}

// verdict returns the error with the exit code of the results.
func (r *runner) verdict() error {
	switch {
	case len(r.left) > 0:
		return errors.New("some resources are left; the report lists them")
	case r.count(differed) > 0:
		return exit.Invalid(nil)
	case r.stopped != "":
		return errors.New("not everything was checked; the report says why")
	default:
		return nil
	}
}

// cell makes a text fit into a table.
func cell(text string) string {
	return strings.NewReplacer("|", `\|`, "<", "&lt;", "*", `\*`, "\n", " ").Replace(strings.TrimSpace(text))
}
