package start

import (
	"runtime/debug"
	"testing"
)

func TestOverRestoresTheGarbageCollector(t *testing.T) {
	percentBefore := percent
	t.Cleanup(func() { debug.SetGCPercent(percentBefore) })
	percent = 70 // As by GOGC=70.
	if now := debug.SetGCPercent(-1); now != -1 {
		t.Errorf("while packages are set up, garbage is collected at %d %%", now)
	}
	Over()
	if now := debug.SetGCPercent(-1); now != 70 {
		t.Errorf("after that, garbage is collected at %d %%, not at the 70 %% that it was told", now)
	}
}
