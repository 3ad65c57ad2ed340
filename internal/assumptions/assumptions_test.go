package assumptions

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// root is the repository's folder.
const root = "../.."

func TestAssumptionsAreComplete(t *testing.T) {
	sections, err := parse(text)
	if err != nil {
		t.Fatal(err)
	}
	for _, section := range sections {
		for _, row := range section.Rows {
			for _, test := range row.Tests {
				if folder, name := SplitTest(test); !slices.Contains(testsIn(t, folder), name) {
					t.Errorf("%s: package %s has no test %s", row.ID, folder, name)
				}
			}
			for _, by := range row.Confirmed {
				if _, err := os.Stat(filepath.Join(root, by.By)); err != nil {
					t.Errorf("%s: %s cannot confirm it: %v", row.ID, by.Client, err)
				}
			}
		}
	}
}

func TestIncompleteAssumptionsAreRefused(t *testing.T) {
	const good = `
- service: S3
  title: Objects
  rows:
    - id: s3-a
      statement: S3 stores objects.
      evidence: [https://docs.aws.amazon.com/AmazonS3/latest/userguide/Welcome.html]
      tests: [internal/state TestX]
`
	if _, err := parse([]byte(good)); err != nil {
		t.Fatal(err)
	}
	_, row, _ := strings.Cut(good, "  rows:\n")
	for name, test := range map[string]struct{ old, replacement, says string }{
		"a duplicate ID":        {"  rows:\n", "  rows:\n" + row, "s3-a is not unique"},
		"no evidence":           {"[https://docs.aws.amazon.com/AmazonS3/latest/userguide/Welcome.html]", "[]", "it has no evidence"},
		"evidence is no page":   {"https://docs", "docs", "is no address of a page"},
		"no test":               {"[internal/state TestX]", "[]", "no test relies on it"},
		"no name of a test":     {"internal/state TestX", "internal/state", "is not a package and a test"},
		"no sentence":           {"objects.", "objects", "no sentence"},
		"an ID of another form": {"s3-a", "S3", "does not match"},
		"no title":              {"  title: Objects\n", "", "lacks its service"},
		"an unknown field":      {"statement:", "claim:", "claim"},
		"a check of no tier":    {"TestX]", "TestX]\n      trial: [{checks: that objects are stored}]", "a check of a trial lacks"},
		"a client without test": {"TestX]", "TestX]\n      confirmed: [{client: curl, what: reads}]", "a confirmation lacks"},
	} {
		t.Run(name, func(t *testing.T) {
			changed := strings.Replace(good, test.old, test.replacement, 1)
			if _, err := parse([]byte(changed)); err == nil || !strings.Contains(err.Error(), test.says) {
				t.Errorf("want an error that says %q, got %v for %s", test.says, err, changed)
			}
		})
	}
}

// The page of the assumptions is generated, and users find it from the other pages.
func TestPageOfAssumptionsIsLinked(t *testing.T) {
	page, err := os.ReadFile(filepath.Join(root, "docs/reference/assumptions.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, section := range Sections() {
		for _, row := range section.Rows {
			if !strings.Contains(string(page), "`"+row.ID+"`") {
				t.Errorf("the page lacks %s; run make generate", row.ID)
			}
		}
	}
	for _, from := range []string{"README.md", "docs/design/README.md"} {
		if data, err := os.ReadFile(filepath.Join(root, from)); err != nil || !strings.Contains(string(data), "reference/assumptions.md") {
			t.Errorf("%s does not link the page: %v", from, err)
		}
	}
}

var testForm = regexp.MustCompile(`(?m)^func (Test\w+)\(`)

// testsIn returns the names of the tests in a folder.
func testsIn(t *testing.T, folder string) (names []string) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(root, folder, "*_test.go"))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, match := range testForm.FindAllSubmatch(data, -1) {
			names = append(names, string(match[1]))
		}
	}
	return names
}
