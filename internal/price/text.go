package price

import (
	"bytes"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"

	"github.com/aws-operator/aws-operator/internal/plural"
)

// Text describes a comparison in lines: what changes, the totals, and what they do not include.
func (c *Comparison) Text() []string {
	if c.Missing {
		return []string{fmt.Sprintf(
			"Monthly price: unknown, since the price list has no prices of region %[1]s. Make a list with "+
				"aws-operator prices update --region %[1]s --out FILE, and pass it with --prices FILE.", c.Region,
		)}
	}
	lines := []string{"Monthly price in USD (" + c.basis() + "):"}
	lines = append(lines, c.table()...)
	if c.Before.Spot || c.After.Spot {
		lines = append(lines, "  Spot instances cost at most what they cost on demand.")
	}
	if byUsage := c.byUsage(); len(byUsage) > 0 {
		lines = append(lines, "  By usage, and in no total: "+strings.Join(byUsage, ", ")+".")
	}
	if without := max(c.Before.Unknown, c.After.Unknown); without > 0 {
		lines = append(lines, fmt.Sprintf("  The totals lack %s whose price is unknown.", plural.Count(without, "item")))
	}
	return append(lines, "  Total: "+c.total())
}

// basis says by which prices the comparison was made.
func (c *Comparison) basis() string {
	text := fmt.Sprintf("%d hours on demand, without discounts and taxes", HoursPerMonth)
	switch c.OldestPrice {
	case "":
	case c.NewestPrice:
		text += "; prices of " + c.OldestPrice
	default:
		text += fmt.Sprintf("; prices of %s to %s", c.OldestPrice, c.NewestPrice)
	}
	return text
}

// table has a line for each priced part that changes, and for each that is unknown.
func (c *Comparison) table() []string {
	var b bytes.Buffer
	const gap = 2
	w := tabwriter.NewWriter(&b, 0, 0, gap, ' ', 0)
	for i := range c.Lines {
		l := &c.Lines[i]
		if l.usage() != "" {
			continue
		}
		mark := "~"
		switch {
		case c.whole:
			mark = " "
		case l.Before == nil:
			mark = "+"
		case l.After == nil:
			mark = "-"
		}
		_, _ = fmt.Fprintf(w, "  %s %s/%s\t%s\t%s\n", mark, l.Stack, l.Resource, l.quantity(), l.amount()) // A buffer never fails.
	}
	_ = w.Flush()
	text := strings.TrimSuffix(b.String(), "\n")
	if text == "" {
		return nil
	}
	return strings.Split(text, "\n")
}

// usage returns what is charged by usage, if that is all that the line is about.
func (l *Line) usage() string {
	for _, c := range []*Cost{l.After, l.Before} {
		if c != nil && c.Usage != "" {
			return c.Usage
		}
	}
	return ""
}

func (l *Line) quantity() string {
	switch {
	case l.Before == nil:
		return l.After.Quantity
	case l.After == nil || l.Before.Quantity == l.After.Quantity:
		return l.Before.Quantity
	}
	return l.Before.Quantity + " → " + l.After.Quantity
}

func (l *Line) amount() string {
	switch {
	case l.Before == nil:
		return l.After.amount()
	case l.After == nil:
		return l.Before.amount()
	}
	return l.Before.amount() + " → " + l.After.amount()
}

func (c *Cost) amount() string {
	if c.Unknown != "" {
		return "unknown: " + c.Unknown
	}
	return amount(c.Low, c.High, c.Spot)
}

// amount writes a price, a range, or an upper bound.
func amount(low, high float64, spot bool) string {
	switch {
	case spot && low == 0:
		return "at most " + money(high)
	case low == high:
		return money(low)
	}
	return money(low) + " to " + money(high)
}

func money(usd float64) string { return strconv.FormatFloat(usd, 'f', 2, 64) }

// byUsage returns what is charged by usage of resources that change, sorted and each once.
func (c *Comparison) byUsage() []string {
	var all []string
	for i := range c.Lines {
		if what := c.Lines[i].usage(); what != "" {
			all = append(all, what)
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// total writes the totals, and their difference if both are exact.
func (c *Comparison) total() string {
	before, after := c.Before.amount(), c.After.amount()
	switch {
	case c.whole:
		return after + "."
	case before == after:
		return after + ", as before."
	}
	text := before + " → " + after
	if exact := c.Before.Low == c.Before.High && c.After.Low == c.After.High; exact && c.Before.Unknown+c.After.Unknown == 0 {
		text += fmt.Sprintf(" (%+.2f)", c.After.Low-c.Before.Low)
	}
	return text + "."
}

func (t *Total) amount() string {
	if t.High == 0 && t.Unknown > 0 {
		return "unknown"
	}
	return amount(t.Low, t.High, t.Spot)
}
