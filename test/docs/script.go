package docs

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// Step is a part of the script of a page.
type Step struct {
	// Line and Section are those of its block.
	Line    int
	Section string
	// Code is its bash code.
	Code string
	// Output is what it prints, as the page shows it; empty if the page does not.
	Output string
}

// Steps returns the steps of blocks, in their order. It omits blocks for which skip returns true.
func Steps(blocks []*Block, skip func(*Block) bool) []*Step {
	var steps []*Step
	for _, b := range blocks {
		switch {
		case b.NotRun != "" || skip(b):
		case b.Output && len(steps) > 0:
			steps[len(steps)-1].Output += b.Text
		case b.File != "":
			steps = append(steps, b.step(heredoc("cat > "+b.File, b.Text)))
		case b.Language == "yaml" && isManifest(b.Text):
			steps = append(steps, b.step(heredoc("cat > manifest-of-the-page.yaml", b.Text)+"bin/aws-operator render -f manifest-of-the-page.yaml >/dev/null\n"))
		case b.Language == "console":
			steps = append(steps, b.console()...)
		case b.Commands():
			steps = append(steps, b.step(b.code(b.Text)))
		}
	}
	return steps
}

func (b *Block) step(code string) *Step { return &Step{Line: b.Line, Section: b.Section, Code: code} }

// isManifest reports whether YAML is whole manifests.
func isManifest(text string) bool {
	return strings.HasPrefix(text, "apiVersion: ")
}

// console splits a block into its commands, with what each of them prints.
func (b *Block) console() []*Step {
	var steps []*Step
	continued := false
	for line := range strings.Lines(b.Text) {
		command, isCommand := strings.CutPrefix(line, "$ ")
		switch {
		case isCommand:
			steps = append(steps, b.step(command))
		case continued:
			steps[len(steps)-1].Code += line
		case len(steps) > 0:
			steps[len(steps)-1].Output += line
		}
		continued = (isCommand || continued) && strings.HasSuffix(line, "\\\n")
	}
	for _, s := range steps {
		s.Code = b.code(s.Code)
	}
	return steps
}

// code returns the bash code of commands.
func (b *Block) code(commands string) string {
	switch {
	case b.Until != "":
		return heredoc("until_output '"+b.Until+"'", commands)
	case b.Fails:
		return heredoc("must_fail", commands)
	}
	return commands
}

func heredoc(command, text string) string {
	return command + " <<'END_OF_THE_BLOCK'\n" + text + "END_OF_THE_BLOCK\n"
}

// functions are those of code.
const functions = `set -e -o pipefail
until_output() {
  local commands out job
  commands=$(cat) out=$(mktemp)
  set -m
  bash -c "$commands" >"$out" 2>&1 & job=$!
  set +m
  until grep -Eq "$1" "$out"; do
    kill -0 $job 2>/dev/null || { cat "$out"; echo "it ended without Ctrl-C"; return 1; }
    sleep 0.2
  done
  kill -INT -- -$job
  wait $job || true
  cat "$out"
}
must_fail() {
  if bash -c "$(cat)"; then
    echo "it did not fail"
    return 1
  fi
}
`

// separator begins the output of each step, followed by the step's number and the time.
const separator = "\x1e"

// Script returns the bash script of steps.
func Script(steps []*Step) string {
	var script strings.Builder
	script.WriteString(functions)
	for i := range steps {
		_, _ = fmt.Fprintf(&script, "printf '\\x1e%d %%s\\n' \"${EPOCHREALTIME:-$SECONDS}\"\n%s", i, steps[i].Code)
	}
	_, _ = fmt.Fprintf(&script, "printf '\\x1e%d %%s\\n' \"${EPOCHREALTIME:-$SECONDS}\"\n", len(steps))
	return script.String()
}

// Result is the result of a step.
type Result struct {
	*Step
	// Printed is its output.
	Printed string
	// Took is how long it took; 0 for the step that failed.
	Took time.Duration
}

// Results splits the output of a script. The last result is of the step that failed, if one did.
func Results(steps []*Step, output string) []Result {
	var results []Result
	var before float64
	for i, part := range strings.Split(output, separator)[1:] {
		head, printed, _ := strings.Cut(part, "\n")
		_, text, _ := strings.Cut(head, " ")
		now, _ := strconv.ParseFloat(strings.Replace(text, ",", ".", 1), 64)
		if i > 0 {
			results[i-1].Took = time.Duration((now - before) * float64(time.Second))
		}
		before = now
		if i < len(steps) {
			results = append(results, Result{Step: steps[i], Printed: printed})
		}
	}
	return results
}

// Missing returns the lines that a step should have printed and did not. Words with digits match
// any word, and "…" matches any text.
func (r Result) Missing() []string {
	printed := strings.Join(strings.Fields(r.Printed), " ")
	var missing []string
	for line := range strings.Lines(r.Output) {
		words := strings.Fields(line)
		for i, word := range words {
			switch {
			case strings.ContainsAny(word, "0123456789"):
				words[i] = `\S+`
			default:
				words[i] = strings.ReplaceAll(regexp.QuoteMeta(word), "…", ".*")
			}
		}
		if !regexp.MustCompile(strings.Join(words, " ")).MatchString(printed) {
			missing = append(missing, strings.TrimSpace(line))
		}
	}
	return missing
}
