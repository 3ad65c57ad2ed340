package docs

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var (
	link        = regexp.MustCompile(`\]\(([^)\s]*)\)`)
	fencedBlock = regexp.MustCompile("(?ms)^[ \t]*```.*?^[ \t]*```")
	heading     = regexp.MustCompile(`(?m)^#+ +(.+)$`)
	// dropped are the characters that GitHub omits from the anchor of a heading.
	dropped = regexp.MustCompile(`[^\p{L}\p{N}_ -]`)
)

// TestLinksExist tests that the files and headings exist to which pages link.
func TestLinksExist(t *testing.T) {
	for _, page := range allPages(t) {
		text := fencedBlock.ReplaceAllString(contentOf(t, page), "")
		for _, found := range link.FindAllStringSubmatch(text, -1) {
			target, anchor, _ := strings.Cut(found[1], "#")
			if strings.Contains(target, "://") || strings.HasPrefix(target, "mailto:") {
				continue
			}
			file := page
			if target != "" {
				file = filepath.Join(filepath.Dir(page), target)
			}
			if _, err := os.Stat(file); err != nil {
				t.Errorf("%s links to %s: %v", page, found[1], err)
				continue
			}
			if anchor != "" && strings.HasSuffix(file, ".md") && !anchors(t, file)[anchor] {
				t.Errorf("%s links to %s, which has no such heading", page, found[1])
			}
		}
	}
}

// allPages returns all pages of the project.
func allPages(t *testing.T) []string {
	t.Helper()
	var all []string
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && (entry.Name() == ".git" || entry.Name() == "bin" || entry.Name() == ".local" || entry.Name() == ".cache"):
			return fs.SkipDir
		case filepath.Ext(path) == ".md":
			all = append(all, path)
		}
		return nil
	})
	if err != nil || len(all) == 0 {
		t.Fatalf("there are no pages: %v", err)
	}
	return all
}

// anchors returns the anchors of a page's headings.
func anchors(t *testing.T, page string) map[string]bool {
	t.Helper()
	all := map[string]bool{}
	for _, found := range heading.FindAllStringSubmatch(fencedBlock.ReplaceAllString(contentOf(t, page), ""), -1) {
		all[strings.ReplaceAll(dropped.ReplaceAllString(strings.ToLower(strings.TrimSpace(found[1])), ""), " ", "-")] = true
	}
	return all
}

func contentOf(t *testing.T, file string) string {
	t.Helper()
	content, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return string(content)
}
