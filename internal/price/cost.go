package price

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/aws-operator/aws-operator/internal/cfn/template"
)

// HoursPerMonth is what AWS's own calculator multiplies prices of an hour by:
// https://aws.amazon.com/calculator/calculator-assumptions ("Time period")
const HoursPerMonth = 730

// Cost is what AWS charges in a month for a part of a resource: a price, or charges by usage, or
// something unknown.
type Cost struct {
	// Quantity says what is charged, such as "3 × m6i.large".
	Quantity string `json:"quantity"`
	// Low and High are the bounds of the price in USD, rounded to cents. They differ if the number or
	// the type of instances is not fixed.
	Low  float64 `json:"low"`
	High float64 `json:"high"`
	// Spot is true if the price includes spot instances, which cost at most High.
	Spot bool `json:"spot,omitempty"`
	// Usage says what is charged by usage, and so is in no total. Low and High are then 0.
	Usage string `json:"usage,omitempty"`
	// Unknown says what is not known. Low and High are then 0, and mean nothing.
	Unknown string `json:"unknown,omitempty"`
}

// part is a part of a resource that AWS charges for.
type part struct {
	name string
	cost Cost
}

// regional has the prices of one region, and records which of them were used.
type regional struct {
	list   *List
	region string
	used   map[*Section]bool
}

// usd returns the price of a usage type.
func (r *regional) usd(usage string) (float64, bool) {
	s := r.list.find(r.region, usage)
	if s == nil {
		return 0, false
	}
	r.used[s] = true
	return s.Prices[usage], true
}

// dates returns the first and the last date of the prices that were used, empty if none were.
func (r *regional) dates() (first, last string) {
	for s := range maps.Keys(r.used) {
		if first == "" || s.Date < first {
			first = s.Date
		}
		last = max(last, s.Date)
	}
	return first, last
}

// bill adds up what a part of a resource costs.
type bill struct {
	prices    *regional
	low, high float64
	missing   []string
}

// add adds a number of units of a usage type.
func (b *bill) add(usage string, low, high float64) {
	usd, ok := b.prices.usd(usage)
	if !ok {
		b.lacks("the price of " + usage)
		return
	}
	b.low += low * usd
	b.high += high * usd
}

func (b *bill) lacks(what string) {
	if !slices.Contains(b.missing, what) {
		b.missing = append(b.missing, what)
	}
}

// cost returns the sum for a number of such things.
func (b *bill) cost(quantity string, of count) Cost {
	c := Cost{Quantity: quantity, Unknown: strings.Join(b.missing, ", ")}
	if c.Unknown == "" {
		c.Low, c.High = cents(b.low*of.low), cents(b.high*of.high)
	}
	return c
}

// cents rounds to cents.
func cents(usd float64) float64 { return math.Round(usd*100) / 100 } //nolint:mnd // there are 100 in a dollar

// count is a number of things that may not be fixed.
type count struct{ low, high float64 }

var one = count{1, 1}

// String returns the number, or the range.
func (c count) String() string {
	if c.low == c.high {
		return plain(c.low)
	}
	return plain(c.low) + "–" + plain(c.high)
}

// of returns the number with what is counted.
func (c count) of(what string) string {
	if c == one {
		return what
	}
	return fmt.Sprintf("%s × %s", c, what)
}

func plain(n float64) string { return strconv.FormatFloat(n, 'f', -1, 64) }

// resource is one resource of a stack, with its properties resolved.
type resource struct {
	*template.Resource

	// all are the resources of the stack, by logical ID.
	all    map[string]*template.Resource
	prices *regional
}

// at returns the value at a path of its properties.
func (r *resource) at(path ...string) *template.Node {
	node := r.Properties
	for _, name := range path {
		node = node.Get(name)
	}
	return node
}

// text returns the text at a path, or a default if there is none. It is empty if only AWS knows it.
func (r *resource) text(or string, path ...string) string {
	node := r.at(path...)
	if node == nil {
		return or
	}
	text, _ := node.Scalar()
	return text
}

// items returns the number of items of a list; false if only AWS knows it.
func items(node *template.Node) (float64, bool) {
	if node == nil || node.Kind != template.List {
		return 0, false
	}
	return float64(len(node.Items)), true
}

// priced is a part with a price for one thing.
func (r *resource) priced(name, quantity, usage string, units float64) part {
	b := &bill{prices: r.prices}
	b.add(usage, units, units)
	return part{name, b.cost(quantity, one)}
}

// byUsage is a part that is charged by usage.
func byUsage(what string) part { return part{"usage", Cost{Usage: what}} }

// unknown is a part whose price is not known.
func unknown(name, quantity, what string) part {
	return part{name, Cost{Quantity: quantity, Unknown: what}}
}
