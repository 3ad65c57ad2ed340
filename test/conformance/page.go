package main

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// counts are the numbers of specs.
type counts struct {
	passed, failed, unexplained, notRunnable, skipped, notRun int
}

func (r *results) count(reasons *reasons) counts {
	var c counts
	for text, result := range r.Specs {
		switch {
		case result.State == passed:
			c.passed++
		case result.State == failed:
			c.failed++
			if of(reasons.Failing, text) == "" {
				c.unexplained++
			}
		case of(reasons.NotRunnable, text) != "":
			c.notRunnable++
		case result.State == skipSaid:
			c.skipped++
		default:
			c.notRun++
		}
	}
	return c
}

// share is the percentage of the specs that ran and passed.
func (c counts) share() float64 {
	if c.passed+c.failed == 0 {
		return 0
	}
	return 100 * float64(c.passed) / float64(c.passed+c.failed)
}

func (c counts) String() string {
	return fmt.Sprintf("%d passed, %d failed (%d of them not explained), %d not runnable here, %d skipped by themselves, %d not run",
		c.passed, c.failed, c.unexplained, c.notRunnable, c.skipped, c.notRun)
}

// page returns the page about the results.
func (r *results) page(reasons *reasons) string {
	c := r.count(reasons)
	p := &strings.Builder{}
	p.WriteString(`# Conformance

<!-- make conformance writes this page from the suite's report. Do not edit it: edit test/conformance. -->

Kubernetes' own conformance suite, the specs marked ` + "`[Conformance]` of `k8s.io/kubernetes/test/e2e`" + `, ran against a cluster that
the operator made from ` + "[minimal-public.yaml](../../" + manifest + ")" + ` in the simulator: one control-plane slot and two workers on
simulated machines with the real kubelet, containerd, runc, kube-proxy and CoreDNS
([container machines](simulator.md)). This is not a certified result: certification runs every spec, on one version of the
programs, with Kubernetes' own images. Nothing here has run on AWS.

`)
	r.summary(p, c)
	p.WriteString("\n## Runs\n\nResults are those of the last run in which a spec ran.\n\n" +
		"| date | commit | focus | passed | failed | took | limit | seed | specs at once |\n" +
		"| --- | --- | --- | --- | --- | --- | --- | --- | --- |\n")
	for i := range r.Runs {
		run := &r.Runs[i]
		focus, limit := "all", run.Limit
		if run.Focus != "" {
			focus = "`" + strings.ReplaceAll(run.Focus, "|", `\|`) + "`"
		}
		if run.Reached {
			limit += ", reached"
		}
		_, _ = fmt.Fprintf(p, "| %s | %s | %s | %d | %d | %s | %s | %d | %d |\n",
			run.Date, run.Commit, focus, run.Passed, run.Failed, run.Took, limit, run.Seed, run.Procs)
	}
	p.WriteString(`
` + "`make conformance`" + ` runs all specs, ` + "`make conformance FOCUS=ConfigMap LIMIT=30m`" + ` those that match a regular expression.
` + "`RESUME=-resume`" + ` keeps earlier results and runs only the specs that have not passed.

## Images under the names of others

The suite's pods pull these images by Kubernetes' names. There is no connection to a registry, so the build makes the images. A
spec that passes has not run on Kubernetes' own images.

| image | contains |
| --- | --- |
`)
	for _, image := range reasons.Images {
		_, _ = fmt.Fprintf(p, "| %s | %s |\n", image.Name, image.Contains)
	}
	r.sections(p, reasons)
	return p.String()
}

func (r *results) summary(p *strings.Builder, c counts) {
	if len(r.Runs) > 0 {
		_, _ = fmt.Fprintf(p, "The cluster reported: %s.\n\n", strings.Join(r.Runs[len(r.Runs)-1].Versions, ", "))
	}
	if c.notRun > 0 {
		_, _ = fmt.Fprintf(p, "**These results are partial: %d of %d specs have not run**, because of a focus or a time limit.\n\n",
			c.notRun, len(r.Specs))
	}
	_, _ = fmt.Fprintf(p, `| specs | number |
| --- | --- |
| all | %d |
| passed | %d (%.1f %% of those that ran) |
| failed | %d |
| not runnable here | %d |
| skipped by themselves | %d |
| not run | %d |
`, len(r.Specs), c.passed, c.share(), c.failed, c.notRunnable, c.skipped, c.notRun)
}

// sections writes a list for each kind of result.
func (r *results) sections(p *strings.Builder, reasons *reasons) {
	lists := map[string][]string{}
	for _, text := range slices.Sorted(maps.Keys(r.Specs)) {
		result := r.Specs[text]
		name, line := result.State, display(text)
		switch why := of(reasons.NotRunnable, text); {
		case result.State == failed:
			explained := of(reasons.Failing, text)
			if explained == "" {
				explained = "not explained yet"
			}
			line += ": " + explained + ". The suite reports: `" + firstLine(result.Message) + "`"
		case result.State == skipSaid:
			line += ": `" + firstLine(result.Message) + "`"
		case result.State == notRun && why != "":
			name = "not runnable here"
			line += ": " + why
		}
		lists[name] = append(lists[name], line)
	}
	for _, section := range []struct{ name, title string }{
		{failed, "Failed"},
		{"not runnable here", "Not runnable here"},
		{skipSaid, "Skipped by themselves"},
		{notRun, "Not run"},
		{passed, "Passed"},
	} {
		if len(lists[section.name]) == 0 {
			continue
		}
		_, _ = fmt.Fprintf(p, "\n## %s\n\n", section.title)
		for _, line := range lists[section.name] {
			_, _ = fmt.Fprintf(p, "- %s\n", line)
		}
	}
}

// display returns a spec's text without the marks that all specs have.
func display(text string) string {
	for _, mark := range []string{" " + conformance, " [NodeConformance]"} {
		text = strings.ReplaceAll(text, mark, "")
	}
	return strings.NewReplacer("<", `\<`, "*", `\*`, "|", `\|`).Replace(text)
}

// longest is the length at which messages are cut.
const longest = 200

func firstLine(message string) string {
	message = strings.ReplaceAll(strings.Join(strings.Fields(message), " "), "`", "'")
	if runes := []rune(message); len(runes) > longest {
		message = string(runes[:longest]) + "…"
	}
	return message
}
