package diagnosis

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// Bounds of what is read and returned.
const (
	// maxConsole is how much EC2 keeps of a console.
	maxConsole = 64 << 10
	// maxError is the maximum number of characters of Boot.Error.
	maxError = 300
)

// Read reads the console of a slot or of a worker.
func Read(console []byte, slot bool) Boot {
	text := string(console[max(0, len(console)-maxConsole):])
	r := reader{stages: stagesOf(slot), boot: Boot{Stage: UserData, Silent: strings.TrimSpace(text) == ""}}
	for line := range strings.Lines(text) {
		r.line(line)
	}
	if r.boot.Joined {
		return Boot{Joined: true, Since: r.boot.Since}
	}
	r.boot.Cause = causeOf(&r.boot, r.full)
	return r.boot
}

// reader reads a console line by line.
type reader struct {
	stages []string
	boot   Boot
	// full is the whole error, of which Boot.Error is an excerpt.
	full string
}

// line reads one line. Syslog and cloud-init may put something before a program's line.
func (r *reader) line(line string) {
	line = plain(line)
	if at := strings.Index(line, "time="); at >= 0 && strings.Contains(line[at:], " level=") {
		r.nodeup(fields(line[at:]))
		return
	}
	if at := strings.Index(line, "nodeup: "); at >= 0 && r.boot.Stage != UserData {
		r.boot.Ended = true // Its last line, which repeats the error.
		return
	}
	if r.boot.Stage != UserData {
		return
	}
	if found := userDataError.FindString(line); found != "" {
		r.fail(found)
		r.boot.Ended = r.boot.Ended || strings.HasPrefix(found, "S3 needs")
	}
}

// userDataError matches the errors of the programs in the user data: curl, sha256sum, the shell and
// the script itself.
var userDataError = regexp.MustCompile(
	`curl: (\(\d+\)|option |try ).*|sha256sum: WARNING.*|nodeup: FAILED.*|S3 needs an image with curl.*|` +
		`\S*: .*(curl|sha256sum|expr): (command )?not found.*|.*nodeup.*(Exec format error|cannot execute).*`,
)

// nodeup reads one of nodeup's lines.
func (r *reader) nodeup(line map[string]string) {
	at, _ := time.Parse(time.RFC3339Nano, line["time"])
	message := line["msg"]
	if message == joined {
		r.boot.Joined, r.boot.Since = true, at
		return
	}
	index := slices.Index(r.stages, message)
	if index < 1 {
		return // Another program's.
	}
	r.boot.Joined = false
	if line["level"] == "INFO" {
		next := r.stages[min(index+1, len(r.stages)-1)]
		r.boot = Boot{Stage: next, Since: at}
		r.full = ""
		return
	}
	if r.boot.Stage != message {
		r.boot = Boot{Stage: message, Since: at}
	}
	r.fail(line["error"])
	r.boot.Ended = line["level"] == "ERROR"
}

// fail records the error of an attempt.
func (r *reader) fail(problem string) {
	problem = requestID.ReplaceAllString(strings.Join(strings.Fields(problem), " "), "")
	r.full = urlSecret.ReplaceAllString(problem, "$1$3")
	r.boot.Error = excerpt(r.full)
}

// requestID matches what the AWS SDK puts before the error of a service.
var requestID = regexp.MustCompile(`https response error StatusCode: \d+, RequestID: [^,]*, (HostID: [^,]*, )?`)

// urlSecret matches the parts of a URL that may contain a secret: the user, and the query, such as
// that of a presigned URL.
var urlSecret = regexp.MustCompile(`(https?://)([^/\s"?@]*@)?([^\s"?]*)(\?[^\s"]*)?`)

// fields parses a line of key=value pairs as package log/slog writes it. Quotes of keys and values
// are removed.
func fields(line string) map[string]string {
	found := map[string]string{}
	for line = strings.TrimSpace(line); line != ""; line = strings.TrimLeft(line, " ") {
		key, rest := word(line, "=")
		if !strings.HasPrefix(rest, "=") {
			break
		}
		value, rest := word(rest[1:], " ")
		if _, known := found[key]; !known {
			found[key] = plain(value)
		}
		line = rest
	}
	return found
}

// word returns the quoted or plain word that begins a text, and the rest. The quoted word of an
// incomplete line has no end.
func word(text, end string) (found, rest string) {
	if strings.HasPrefix(text, `"`) {
		quoted, err := strconv.QuotedPrefix(text)
		if err != nil {
			return text[1:], ""
		}
		found, err = strconv.Unquote(quoted)
		if err != nil {
			return quoted, text[len(quoted):]
		}
		return found, text[len(quoted):]
	}
	if at := strings.Index(text, end); at >= 0 {
		return text[:at], text[at:]
	}
	return text, ""
}

// escapes matches the sequences that control a terminal.
var escapes = regexp.MustCompile(`\x1b(\[[0-9;?]*[ -/]*[@-~]|\][^\x07\x1b]*(\x07|\x1b\\)?|.)`)

// plain replaces everything that is not printable, such as control characters, invalid bytes and
// characters that change the direction of text, by spaces.
func plain(text string) string {
	text = escapes.ReplaceAllString(strings.ToValidUTF8(text, " "), "")
	return strings.TrimSpace(strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return ' '
		}
		return r
	}, text))
}

// excerpt shortens a long text to its beginning and its end, which has the last of several causes.
func excerpt(text string) string {
	if utf8.RuneCountInString(text) <= maxError {
		return text
	}
	const gap = " ... "
	runes := []rune(text)
	half := (maxError - len(gap)) / 2
	return string(runes[:half]) + gap + string(runes[len(runes)-half:])
}
