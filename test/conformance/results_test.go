package main

import (
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// ginkgoReport has a spec of each state, in the format of Ginkgo.
const ginkgoReport = `[{"SpecialSuiteFailureReasons": ["Suite Timeout Elapsed"], "SpecReports": [
 {"ContainerHierarchyTexts": null, "LeafNodeType": "SynchronizedBeforeSuite", "LeafNodeText": "", "State": "passed", "RunTime": 5},
 {"ContainerHierarchyTexts": ["[sig-a]"], "LeafNodeType": "It",
  "LeafNodeText": "passes [Conformance]", "State": "passed", "RunTime": 2500000000},
 {"ContainerHierarchyTexts": ["[sig-a]"], "LeafNodeType": "It",
  "LeafNodeText": "is no conformance spec", "State": "passed", "RunTime": 5},
 {"ContainerHierarchyTexts": ["[sig-a]"], "LeafNodeType": "It",
  "LeafNodeText": "fails [Conformance]", "State": "failed", "RunTime": 5,
  "Failure": {"Message": "expected\n  1 to be 2"}},
 {"ContainerHierarchyTexts": ["[sig-a]"], "LeafNodeType": "It",
  "LeafNodeText": "is too slow [Conformance]", "State": "timedout", "RunTime": 5,
  "Failure": {"Message": "A spec timeout occurred"}},
 {"ContainerHierarchyTexts": ["[sig-a]"], "LeafNodeType": "It",
  "LeafNodeText": "is cut off [Conformance]", "State": "timedout", "RunTime": 5,
  "Failure": {"Message": "A suite timeout occurred"}},
 {"ContainerHierarchyTexts": ["[sig-a]"], "LeafNodeType": "It",
  "LeafNodeText": "needs more [Conformance]", "State": "skipped", "RunTime": 5,
  "Failure": {"Message": "needs 3 nodes"}},
 {"ContainerHierarchyTexts": ["[sig-a]"], "LeafNodeType": "It",
  "LeafNodeText": "is left out [Conformance]", "State": "skipped"},
 {"ContainerHierarchyTexts": ["[sig-a]"], "LeafNodeType": "It",
  "LeafNodeText": "needs an image [Conformance]", "State": "skipped"}
]}]`

func parsed(t *testing.T) *results {
	t.Helper()
	var r report
	if err := json.Unmarshal([]byte(ginkgoReport), &r); err != nil {
		t.Fatal(err)
	}
	specs, reached := r.specs()
	if !reached {
		t.Error("the report does not say that the time limit was reached")
	}
	all := &results{Specs: map[string]spec{}}
	all.merge(specs, runOf{Reached: reached, Focus: "a|b", Limit: "1m"})
	return all
}

func writtenReasons(t *testing.T, text string) (*reasons, error) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "reasons.yaml")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return readReasons(path)
}

func TestStatesAreThoseOfTheReport(t *testing.T) {
	states := map[string]string{}
	for text, result := range parsed(t).Specs {
		states[strings.TrimSuffix(strings.TrimPrefix(text, "[sig-a] "), " "+conformance)] = result.State
	}
	want := map[string]string{
		"passes": passed, "fails": failed, "is too slow": failed, "is cut off": notRun, "needs more": skipSaid, "is left out": notRun,
		"needs an image": notRun,
	}
	if !maps.Equal(states, want) {
		t.Errorf("the states are %v, want %v", states, want)
	}
}

func TestASpecKeepsItsResultUntilItRunsAgain(t *testing.T) {
	all := parsed(t)
	all.merge(map[string]spec{
		"[sig-a] passes [Conformance]": {State: notRun}, "[sig-a] fails [Conformance]": {State: passed},
		"[sig-a] is left out [Conformance]": {State: failed},
	}, runOf{})
	for text, want := range map[string]string{"passes": passed, "fails": passed, "is left out": failed, "is too slow": failed} {
		if state := all.Specs["[sig-a] "+text+" [Conformance]"].State; state != want {
			t.Errorf("the spec that %s is %s, want %s", text, state, want)
		}
	}
	if last := all.Runs[1]; last.Passed != 1 || last.Failed != 1 {
		t.Errorf("the second run counts %d passed and %d failed", last.Passed, last.Failed)
	}
}

func TestPageListsEachSpecWithItsReason(t *testing.T) {
	reasons, err := writtenReasons(t, `
notRunnable: [{match: 'needs an image', reason: no image}]
failing: [{match: 'fails', reason: the moon is full}]
`)
	if err != nil {
		t.Fatal(err)
	}
	all := parsed(t)
	if c := all.count(reasons); c != (counts{passed: 1, failed: 2, unexplained: 1, notRunnable: 1, skipped: 1, notRun: 2}) {
		t.Errorf("the counts are %v", c)
	}
	page := all.page(reasons)
	for _, want := range []string{
		"**These results are partial: 2 of 7 specs have not run**", "| passed | 1 (33.3 % of those that ran) |", "| `a\\|b` | 1 | 2 |",
		"1m, reached",
		"## Failed\n\n- [sig-a] fails: the moon is full. The suite reports: `expected 1 to be 2`\n" +
			"- [sig-a] is too slow: not explained yet. The suite reports: `A spec timeout occurred`\n",
		"## Not runnable here\n\n- [sig-a] needs an image: no image\n", "## Skipped by themselves\n\n- [sig-a] needs more: `needs 3 nodes`\n",
		"## Not run\n\n- [sig-a] is cut off\n- [sig-a] is left out\n", "## Passed\n\n- [sig-a] passes\n",
	} {
		if !strings.Contains(page, want) {
			t.Errorf("the page does not have %q:\n%s", want, page)
		}
	}
}

func TestReasonsOfTheRepositoryAreComplete(t *testing.T) {
	if _, err := readReasons("reasons.yaml"); err != nil {
		t.Error(err)
	}
	if _, err := writtenReasons(t, `failing: [{match: x}]`); err == nil {
		t.Error("an entry without a reason is accepted")
	}
}
