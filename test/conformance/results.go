package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"time"
)

// report is Ginkgo's report of one or more suites, with what this package reads of it. The names of its
// fields are those in JSON: https://pkg.go.dev/github.com/onsi/ginkgo/v2/types#Report
type report []struct {
	SpecReports                []specReport
	SpecialSuiteFailureReasons []string
}

type specReport struct {
	ContainerHierarchyTexts []string
	LeafNodeType            string
	LeafNodeText            string
	State                   string
	RunTime                 time.Duration
	Failure                 struct{ Message string }
}

// The states of a spec in the results.
const (
	passed   = "passed"
	failed   = "failed"
	skipSaid = "skipped" // by the spec itself
	notRun   = "not run"
)

// spec is the result of a conformance spec.
type spec struct {
	State   string `json:"state"`
	Message string `json:"message,omitempty"`
	Seconds int    `json:"seconds,omitempty"`
}

// runOf describes a run of the suite.
type runOf struct {
	Date     string   `json:"date"`
	Took     string   `json:"took"`
	Focus    string   `json:"focus"`
	Limit    string   `json:"limit"`
	Reached  bool     `json:"reached"` // the time limit
	Seed     int64    `json:"seed"`
	Procs    int      `json:"procs"`
	Commit   string   `json:"commit"`
	Versions []string `json:"versions"`
	Passed   int      `json:"passed"`
	Failed   int      `json:"failed"`
}

// results are the results of all conformance specs by their full text.
type results struct {
	Specs map[string]spec `json:"specs"`
	Runs  []runOf         `json:"runs"`
}

// conformance is in the text of each conformance spec.
const conformance = "[Conformance]"

// specs returns the conformance specs of a report, and whether it ended at the time limit.
func (r report) specs() (all map[string]spec, reached bool) {
	all = map[string]spec{}
	for _, suite := range r {
		reached = reached || slices.ContainsFunc(suite.SpecialSuiteFailureReasons, func(reason string) bool {
			return strings.Contains(reason, "Timeout") || strings.Contains(reason, "Interrupted")
		})
		for i := range suite.SpecReports {
			s := &suite.SpecReports[i]
			text := strings.Join(append(slices.Clone(s.ContainerHierarchyTexts), s.LeafNodeText), " ")
			if s.LeafNodeType == "It" && strings.Contains(text, conformance) {
				all[text] = s.result()
			}
		}
	}
	return all, reached
}

// suiteTimeout is what Ginkgo reports of specs that the time limit interrupts.
const suiteTimeout = "A suite timeout occurred"

// result returns the result of a spec. One that ran into the time limit of the whole suite has none.
// A spec that the focus leaves out is skipped without a message.
func (s *specReport) result() spec {
	result := spec{Seconds: int(s.RunTime.Seconds()), Message: s.Failure.Message}
	switch {
	case s.State == "passed":
		return spec{State: passed, Seconds: result.Seconds}
	case s.State == "skipped" && s.Failure.Message != "" && s.RunTime > 0:
		result.State = skipSaid
	case s.State == "failed", s.State == "panicked", s.State == "timedout" && !strings.HasPrefix(s.Failure.Message, suiteTimeout):
		result.State = failed
	default:
		return spec{State: notRun}
	}
	return result
}

// merge replaces the results of the specs that ran.
func (r *results) merge(specs map[string]spec, run runOf) {
	for text, result := range specs {
		if _, ok := r.Specs[text]; !ok || result.State != notRun {
			r.Specs[text] = result
		}
		switch result.State {
		case passed:
			run.Passed++
		case failed:
			run.Failed++
		}
	}
	r.Runs = append(r.Runs, run)
}

// passed returns the specs that have passed.
func (r *results) passed() []string {
	return slices.DeleteFunc(slices.Sorted(maps.Keys(r.Specs)), func(text string) bool { return r.Specs[text].State != passed })
}

func (r *results) read(path string) error {
	text, err := os.ReadFile(path) //nolint:gosec // the file that was named
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("read earlier results: %w", err)
	}
	if err := json.Unmarshal(text, r); err != nil {
		return fmt.Errorf("read earlier results: %w", err)
	}
	return nil
}

func (r *results) write(path string) error {
	text, err := json.MarshalIndent(r, "", " ")
	if err != nil {
		return err
	}
	return os.WriteFile(path, text, 0o600)
}

func quote(text string) string { return regexp.QuoteMeta(text) }
