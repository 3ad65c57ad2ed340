package program

import (
	"bufio"
	"os"
	"strconv"
	"strings"
	"testing"
)

// held is how many kilobytes of its own file this process holds that it cannot write to.
func held(t *testing.T) (sum int) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	maps, err := os.Open("/proc/self/smaps")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = maps.Close() }()
	own := false
	for lines := bufio.NewScanner(maps); lines.Scan(); {
		fields := strings.Fields(lines.Text())
		switch {
		case !strings.HasSuffix(fields[0], ":"):
			own = len(fields) == 6 && fields[5] == self && !strings.Contains(fields[1], "w")
		case own && fields[0] == "Rss:":
			size, err := strconv.Atoi(fields[1])
			if err != nil {
				t.Fatal(err)
			}
			sum += size
		}
	}
	return sum
}

func TestWhatWasReadOfTheProgramIsLetGo(t *testing.T) {
	before := held(t)
	if before == 0 {
		t.Fatal("nothing of the program is in memory")
	}
	Return()
	if after := held(t); after >= before {
		t.Errorf("%d kB of the program were in memory, %d kB still are", before, after)
	}
}

func TestOnlyReadOnlyPagesAreReleased(t *testing.T) {
	for name, test := range map[string]struct {
		line string
		want part
	}{
		"code":                      {"00400000-00500000 r-xp 00000000 fe:00 12 /bin/it", part{start: 0x400000, end: 0x500000}},
		"data":                      {"00400000-00500000 rw-p 00000000 fe:00 12 /bin/it", part{}},
		"another file":              {"00400000-00500000 r-xp 00000000 fe:00 12 /bin/other", part{}},
		"no file":                   {"00400000-00500000 rw-p 00000000 00:00 0", part{}},
		"addresses of another form": {"x-y r-xp 00000000 fe:00 12 /bin/it", part{}},
	} {
		t.Run(name, func(t *testing.T) {
			if got := partOf(strings.Fields(test.line), "/bin/it"); got != test.want {
				t.Errorf("got %+v, want %+v", got, test.want)
			}
		})
	}
}
