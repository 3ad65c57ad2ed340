package quota

import (
	"fmt"
	"strconv"

	"github.com/aws-operator/aws-operator/internal/plural"
)

// MarkExceeded marks the lines of quotas that are certainly too low.
const MarkExceeded = "!"

// Exceeded reports whether a quota is certainly too low.
func (r *Report) Exceeded() bool {
	for i := range r.Findings {
		if r.Findings[i].Exceeded {
			return true
		}
	}
	return false
}

// Text describes a report in lines: the quotas that are or may be too low, how many suffice, and
// what was not checked.
func (r *Report) Text() []string {
	lines := []string{fmt.Sprintf("Quotas of the account in %s:", r.Region)}
	suffice := 0
	for i := range r.Findings {
		if f := &r.Findings[i]; f.MayExceed || f.Exceeded {
			lines = append(lines, f.text())
			if page := f.page(r.Region); page != "" {
				lines = append(lines, "    Request an increase: "+page)
			}
		} else {
			suffice++
		}
	}
	switch {
	case suffice > 0 && suffice == len(r.Findings):
		lines = append(lines, fmt.Sprintf("  They suffice: %s checked.", plural.Count(suffice, "quota")))
	case suffice > 0:
		lines = append(lines, fmt.Sprintf("  Sufficient: %s.", plural.Count(suffice, "other quota")))
	case len(r.Findings)+len(r.Unchecked) == 0:
		lines = append(lines, "  The change needs no more of them.")
	}
	for _, what := range r.Unchecked {
		lines = append(lines, "  Not checked: "+what)
	}
	return lines
}

func (f *Finding) text() string {
	const template = "  %s %s: %s of %s %s are in use, and the change needs %s more, "
	more := plain(f.High)
	if f.Low != f.High {
		more = "up to " + more
		if f.Low > 0 {
			more = plain(f.Low) + " to " + plain(f.High)
		}
	}
	mark, end := "?", fmt.Sprintf("at most %s too many.", plain(f.Used+f.High-f.Limit))
	if f.Exceeded {
		mark, end = MarkExceeded, fmt.Sprintf("%s too many.", plain(f.Used+f.Low-f.Limit))
	}
	return fmt.Sprintf(template, mark, f.Name, plain(f.Used), plain(f.Limit), f.Unit, more) + end
}

// page returns the page on which a user requests an increase, empty if it is not known.
func (f *Finding) page(region string) string {
	host, global := placeOf(region)
	if host == "" {
		return ""
	}
	if f.Global && global != "" {
		region = global
	}
	return fmt.Sprintf("https://%s/servicequotas/home/services/%s/quotas/%s?region=%s", host, f.Service, f.Code, region)
}

func plain(n float64) string { return strconv.FormatFloat(n, 'f', -1, 64) }
