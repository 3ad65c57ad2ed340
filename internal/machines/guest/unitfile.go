package guest

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

// unitFolders are searched in this order.
var unitFolders = []string{"/etc/systemd/system", "/run/systemd/system", "/usr/local/lib/systemd/system"}

// unit holds the supported settings of a service's unit file:
// https://www.freedesktop.org/software/systemd/man/latest/systemd.service.html
type unit struct {
	name             string
	start            []string
	environment      []string
	environmentFiles []string
	dir              string
	oneshot          bool
	restart          string
	restartAfter     time.Duration
}

// readUnit reads a unit and its drop-ins from the first directory that contains it. It returns
// os.ErrNotExist if none does.
func readUnit(name string, folders []string) (*unit, error) {
	u := &unit{name: name, restartAfter: 100 * time.Millisecond}
	var found bool
	for _, folder := range folders {
		if target, err := os.Readlink(filepath.Join(folder, name)); err == nil && target == os.DevNull {
			return nil, fmt.Errorf("unit %s is masked", name)
		}
		data, err := os.ReadFile(filepath.Join(folder, name)) //nolint:gosec // the machine's own
		if err != nil {
			continue
		}
		found = true
		u.read(string(data))
		break
	}
	if !found {
		return nil, fmt.Errorf("unit %s: %w", name, os.ErrNotExist)
	}
	for _, folder := range folders {
		extra, err := filepath.Glob(filepath.Join(folder, name+".d", "*.conf"))
		if err != nil {
			return nil, fmt.Errorf("unit %s: %w", name, err)
		}
		for _, path := range extra {
			data, err := os.ReadFile(path) //nolint:gosec // the machine's own
			if err != nil {
				return nil, fmt.Errorf("unit %s: %w", name, err)
			}
			u.read(string(data))
		}
	}
	return u, nil
}

// read parses a unit file's settings.
func (u *unit) read(text string) {
	section := ""
	for line := range strings.Lines(joinLines(text)) {
		line = strings.TrimSpace(line)
		if strings.HasPrefix(line, "[") {
			section = line
			continue
		}
		key, value, ok := strings.Cut(line, "=")
		if ok && section == "[Service]" {
			u.set(strings.TrimSpace(key), strings.TrimSpace(value))
		}
	}
}

// joinLines joins continued lines and removes comments, also between them.
func joinLines(text string) string {
	var out strings.Builder
	for line := range strings.Lines(text) {
		trimmed := strings.TrimSpace(line)
		if strings.HasPrefix(trimmed, "#") || strings.HasPrefix(trimmed, ";") {
			continue
		}
		if head, continues := strings.CutSuffix(trimmed, `\`); continues {
			out.WriteString(head + " ")
			continue
		}
		out.WriteString(trimmed + "\n")
	}
	return out.String()
}

func (u *unit) set(key, value string) {
	switch key {
	case "ExecStart":
		u.start = nil // An empty value clears the previous ones.
		if value != "" {
			u.start = words(strings.TrimLeft(value, "-@:+!"))
		}
	case "Environment":
		u.environment = append(u.environment, words(value)...)
	case "EnvironmentFile":
		u.environmentFiles = append(u.environmentFiles, value)
	case "WorkingDirectory":
		u.dir = strings.TrimPrefix(value, "-")
	case "Type":
		u.oneshot = value == "oneshot"
	case "Restart":
		u.restart = value
	case "RestartSec":
		u.restartAfter = span(value)
	}
}

// span parses a time span; plain numbers are seconds.
func span(value string) time.Duration {
	if seconds, err := strconv.ParseFloat(value, 64); err == nil {
		return time.Duration(seconds * float64(time.Second))
	}
	parsed, err := time.ParseDuration(strings.ReplaceAll(value, " ", ""))
	if err != nil {
		return time.Second
	}
	return parsed
}

// words splits a line at unquoted blanks, and decodes escapes:
// https://www.freedesktop.org/software/systemd/man/latest/systemd.syntax.html#Quoting
func words(line string) []string {
	var (
		all     []string
		word    strings.Builder
		quote   rune
		in, esc bool
	)
	for _, r := range line {
		switch {
		case esc:
			word.WriteRune(escaped(r))
			esc = false
		case r == '\\':
			esc, in = true, true
		case quote != 0 && r == quote:
			quote = 0
		case quote == 0 && (r == '"' || r == '\''):
			quote, in = r, true
		case quote == 0 && (r == ' ' || r == '\t'):
			if in {
				all = append(all, word.String())
			}
			word.Reset()
			in = false
		default:
			word.WriteRune(r)
			in = true
		}
	}
	if in {
		all = append(all, word.String())
	}
	return all
}

// escaped returns the meaning of a letter after a backslash.
func escaped(r rune) rune {
	switch r {
	case 'n':
		return '\n'
	case 't':
		return '\t'
	default:
		return r
	}
}

// command returns the unit's command with variables expanded, and its environment.
func (u *unit) command() (args, environment []string, err error) {
	environment = slices.Clone(u.environment)
	for _, path := range u.environmentFiles {
		optional := strings.HasPrefix(path, "-")
		data, err := os.ReadFile(strings.TrimPrefix(path, "-"))
		if err != nil {
			if optional {
				continue
			}
			return nil, nil, fmt.Errorf("unit %s: %w", u.name, err)
		}
		for line := range strings.Lines(string(data)) {
			if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "#") {
				name, value, _ := strings.Cut(line, "=")
				environment = append(environment, name+"="+strings.Trim(value, `"'`))
			}
		}
	}
	for _, word := range u.start {
		args = append(args, fill(word, environment)...)
	}
	if len(args) == 0 {
		return nil, nil, fmt.Errorf("unit %s has no ExecStart", u.name)
	}
	return args, environment, nil
}

// fill expands variables: $NAME as a word of its own expands to any number of words, ${NAME} stays
// within its word, $$ and %% are a dollar and a percent sign.
func fill(word string, environment []string) []string {
	lookup := func(name string) string {
		if name == "$" {
			return "$"
		}
		for _, setting := range slices.Backward(environment) {
			if value, ok := strings.CutPrefix(setting, name+"="); ok {
				return value
			}
		}
		return ""
	}
	if name, ok := strings.CutPrefix(word, "$"); ok && !strings.HasPrefix(name, "{") && !strings.HasPrefix(name, "$") {
		return words(lookup(name))
	}
	return []string{strings.ReplaceAll(os.Expand(word, lookup), "%%", "%")}
}
