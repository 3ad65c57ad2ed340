//go:build linux

package agent

import (
	"errors"
	"net/netip"
	"os"
	"runtime"
	"testing"

	"github.com/google/nftables"
	"golang.org/x/sys/unix"
)

func TestMasqueradeRulesAreReplaced(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("making a network namespace needs root")
	}
	pods := netip.MustParsePrefix("100.64.1.0/24")
	one, two := netip.MustParsePrefix("100.64.2.0/24"), netip.MustParsePrefix("100.64.3.0/24")
	counts := make(chan int, 2)
	failed := make(chan error, 1)
	go func() {
		runtime.LockOSThread() // the thread ends in its own namespace
		failed <- errors.Join(unix.Unshare(unix.CLONE_NEWNET), masquerade(pods, []netip.Prefix{one, two}), count(counts),
			masquerade(pods, []netip.Prefix{one}), count(counts))
	}()
	if err := <-failed; err != nil {
		t.Fatal(err)
	}
	// One rule for each range that keeps the source, the node's own included, and one that masquerades.
	if first, second := <-counts, <-counts; first != 4 || second != 3 {
		t.Errorf("there are %d rules and then %d, want 4 and 3", first, second)
	}
}

// count reports how many rules the table has.
func count(to chan<- int) error {
	c, err := nftables.New()
	if err != nil {
		return err
	}
	table := &nftables.Table{Family: nftables.TableFamilyIPv4, Name: masqueradeTable}
	rules, err := c.GetRules(table, &nftables.Chain{Name: "postrouting", Table: table})
	to <- len(rules)
	return err
}
