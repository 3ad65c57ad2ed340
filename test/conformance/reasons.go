package main

import (
	"fmt"
	"os"
	"regexp"

	"sigs.k8s.io/yaml"
)

// reasons explain, as data, why specs do not run or fail here.
type reasons struct {
	// NotRunnable are left out of the run.
	NotRunnable []reason `json:"notRunnable"`
	// Failing explain failures. These specs run, and those that pass count as passed.
	Failing []reason `json:"failing"`
	// Images are the images that are made under the names of others.
	Images []imageNote `json:"images"`
}

// reason explains the specs whose full text matches a regular expression.
type reason struct {
	Match  string `json:"match"`
	Reason string `json:"reason"`

	pattern *regexp.Regexp
}

// imageNote says what an image contains.
type imageNote struct {
	Name     string `json:"name"`
	Contains string `json:"contains"`
}

func readReasons(path string) (*reasons, error) {
	text, err := os.ReadFile(path) //nolint:gosec // a file of the repository
	if err != nil {
		return nil, fmt.Errorf("read the reasons: %w", err)
	}
	r := &reasons{}
	if err := yaml.UnmarshalStrict(text, r); err != nil {
		return nil, fmt.Errorf("read the reasons in %s: %w", path, err)
	}
	for _, list := range [][]reason{r.NotRunnable, r.Failing} {
		for i := range list {
			if list[i].Reason == "" {
				return nil, fmt.Errorf("%s: %q has no reason", path, list[i].Match)
			}
			if list[i].pattern, err = regexp.Compile(list[i].Match); err != nil {
				return nil, fmt.Errorf("%s: %w", path, err)
			}
		}
	}
	return r, nil
}

// of returns the reason of the first entry that matches, "" if none does.
func of(list []reason, text string) string {
	for i := range list {
		if list[i].pattern.MatchString(text) {
			return list[i].Reason
		}
	}
	return ""
}
