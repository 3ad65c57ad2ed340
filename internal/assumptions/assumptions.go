package assumptions

import (
	_ "embed"
	"fmt"
	"net/url"
	"regexp"
	"strings"
	"sync"

	"sigs.k8s.io/yaml"
)

//go:embed assumptions.yaml
var text []byte

// Section groups the assumptions about a part of a service.
type Section struct {
	// Service is AWS's name of the service, Title that of the part.
	Service string `json:"service"`
	Title   string `json:"title"`
	Rows    []Row  `json:"rows"`
}

// Row is one assumption.
type Row struct {
	// ID names the row. It never changes.
	ID string `json:"id"`
	// Statement says what AWS does.
	Statement string `json:"statement"`
	// Evidence is a list of public pages that say so.
	Evidence []string `json:"evidence"`
	// Tests are the tests that rely on it, as "package Test".
	Tests []string `json:"tests"`
	// Confirmed lists the clients of others that rely on the same.
	Confirmed []Confirmation `json:"confirmed,omitempty"`
	// Trial lists what tiers of the command trial check of the statement, if not all of it.
	Trial []Check `json:"trial,omitempty"`
}

// Check is what a tier of the command trial checks of a statement.
type Check struct {
	Tier   string `json:"tier"`
	Checks string `json:"checks"`
}

// Confirmation is a client that this project did not write and that accepts what the simulator
// does.
type Confirmation struct {
	// Client is its name, By the file of the test that runs it, and What it does there.
	Client string `json:"client"`
	By     string `json:"by"`
	What   string `json:"what"`
}

// Sections returns all assumptions. It panics if the embedded list is invalid, which a test
// excludes.
var Sections = sync.OnceValue(func() []Section {
	sections, err := parse(text)
	if err != nil {
		panic(err)
	}
	return sections
})

// Find returns the row with an ID, and whether there is one.
func Find(id string) (Row, bool) {
	for _, section := range Sections() {
		for _, row := range section.Rows {
			if row.ID == id {
				return row, true
			}
		}
	}
	return Row{}, false
}

// Checks returns what a tier of the command trial checks of the statement, empty if that is all of it.
func (r *Row) Checks(tier string) string {
	for _, one := range r.Trial {
		if one.Tier == tier {
			return one.Checks
		}
	}
	return ""
}

// idForm is the form of IDs, which are also anchors of the page.
var idForm = regexp.MustCompile(`^[a-z0-9]+(-[a-z0-9]+)+$`)

// parse parses a list of sections. It returns an error if a row is incomplete, or its ID is not
// unique.
func parse(data []byte) ([]Section, error) {
	var sections []Section
	if err := yaml.UnmarshalStrict(data, &sections); err != nil {
		return nil, fmt.Errorf("parse the assumptions: %w", err)
	}
	seen := map[string]bool{}
	for _, section := range sections {
		if section.Service == "" || section.Title == "" || len(section.Rows) == 0 {
			return nil, fmt.Errorf("section %q of service %q lacks its service, title or rows", section.Title, section.Service)
		}
		for i := range section.Rows {
			row := &section.Rows[i]
			if seen[row.ID] {
				return nil, fmt.Errorf("the ID %s is not unique", row.ID)
			}
			seen[row.ID] = true
			if err := row.check(); err != nil {
				return nil, fmt.Errorf("assumption %q: %w", row.ID, err)
			}
		}
	}
	return sections, nil
}

// check returns an error if the row is incomplete.
func (r *Row) check() error {
	switch {
	case !idForm.MatchString(r.ID):
		return fmt.Errorf("the ID does not match %s", idForm)
	case !strings.HasSuffix(r.Statement, "."):
		return fmt.Errorf("the statement is no sentence: %q", r.Statement)
	case len(r.Evidence) == 0:
		return fmt.Errorf("it has no evidence")
	case len(r.Tests) == 0:
		return fmt.Errorf("no test relies on it")
	}
	for _, page := range r.Evidence {
		if parsed, err := url.Parse(page); err != nil || parsed.Scheme != "https" || parsed.Host == "" {
			return fmt.Errorf("the evidence %q is no address of a page", page)
		}
	}
	for _, test := range r.Tests {
		if folder, name := SplitTest(test); folder == "" || !strings.HasPrefix(name, "Test") {
			return fmt.Errorf("%q is not a package and a test", test)
		}
	}
	for _, one := range r.Trial {
		if one.Tier == "" || one.Checks == "" {
			return fmt.Errorf("a check of a trial lacks its tier or what it checks: %+v", one)
		}
	}
	for _, by := range r.Confirmed {
		if by.Client == "" || by.By == "" || by.What == "" {
			return fmt.Errorf("a confirmation lacks its client, its test or what it does: %+v", by)
		}
	}
	return nil
}

// SplitTest returns the folder of a test's package and its name.
func SplitTest(test string) (folder, name string) {
	folder, name, _ = strings.Cut(test, " ")
	return folder, name
}
