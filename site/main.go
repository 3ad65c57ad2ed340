// Command site finishes the site of the documentation that Hugo has built: it lists the versions below a folder, and checks the
// links of one of them.
//
//	go run . ../bin/site v1.2.3
//
// It exits with 1 if a link leads nowhere, and prints each of them. It follows no link to another host, except for those to files
// of the repository, which it looks up in the parent of this folder.
package main

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/mod/semver"
)

func main() {
	if len(os.Args) != 3 {
		fmt.Fprintln(os.Stderr, "usage: site FOLDER VERSION")
		os.Exit(2)
	}
	if err := finish(os.Args[1], os.Args[2]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func finish(folder, version string) error {
	versions, err := list(folder)
	if err != nil {
		return err
	}
	content, err := json.Marshal(versions)
	if err != nil {
		return err
	}
	first := versions[0]
	if !semver.IsValid(first) { // there is no release
		first = version
	}
	start := fmt.Sprintf("<!doctype html>\n<title>aws-operator</title>\n<meta http-equiv=\"refresh\" content=\"0; url=%[1]s/index.html\">\n"+
		"<a href=\"%[1]s/index.html\">The documentation of aws-operator</a>\n", first)
	err = errors.Join(
		os.WriteFile(filepath.Join(folder, "versions.json"), content, 0o644),
		os.WriteFile(filepath.Join(folder, "index.html"), []byte(start), 0o644),
	)
	if err != nil {
		return err
	}
	pages, broken, err := check(filepath.Join(folder, version), "..")
	if err != nil {
		return err
	}
	if len(broken) > 0 {
		return fmt.Errorf("these links lead nowhere:\n%s", strings.Join(broken, "\n"))
	}
	fmt.Printf("%s has %d pages, whose links all lead somewhere\n", filepath.Join(folder, version), pages)
	return nil
}

// list returns the versions below a folder: the newest release first, and what is no release after them.
func list(folder string) ([]string, error) {
	entries, err := os.ReadDir(folder)
	if err != nil {
		return nil, err
	}
	var versions []string
	for _, entry := range entries {
		if _, err := os.Stat(filepath.Join(folder, entry.Name(), "search.json")); err == nil {
			versions = append(versions, entry.Name())
		}
	}
	if len(versions) == 0 {
		return nil, fmt.Errorf("%s has no version", folder)
	}
	slices.SortFunc(versions, func(a, b string) int { return cmp.Or(semver.Compare(b, a), cmp.Compare(a, b)) })
	return versions, nil
}
