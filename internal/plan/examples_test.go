package plan_test

import (
	"path/filepath"
	"testing"
)

// What was just made is what is planned, for every example; and knowing so costs few calls.
func TestRightAfterCreationThereAreNoChanges(t *testing.T) {
	files, err := filepath.Glob("../../examples/clusters/*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatalf("there are no examples: %v", err)
	}
	for _, path := range files {
		file := filepath.Base(path)
		t.Run(file, func(t *testing.T) {
			t.Parallel() // most of it is waiting
			w := newWorld(t)
			objects := example(t, file)
			for _, c := range clustersOf(objects) {
				w.network(c)
			}
			w.put(objects...)
			for _, c := range clustersOf(objects) {
				w.apply(c.Name)
				before := w.calls()
				if made := w.plan(c.Name); !made.Empty() || len(made.Notes) > 0 {
					t.Errorf("%s: %s", c.Name, text(t, made))
				}
				if calls, most := w.calls()-before, 5; calls > most {
					t.Errorf("%s: the plan took %d calls, at most %d are allowed", c.Name, calls, most)
				}
			}
		})
	}
}
