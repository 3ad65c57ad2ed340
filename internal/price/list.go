package price

import (
	_ "embed"
	"errors"
	"fmt"
	"math"
	"regexp"
	"slices"
	"sync"
	"time"

	"sigs.k8s.io/yaml"
)

// Format is the format of price lists that this package reads and writes.
const Format = "v1"

// Global is the region of prices that apply to all regions, such as those of hosted zones.
const Global = "global"

// List is a price list.
type List struct {
	// FormatVersion is [Format].
	FormatVersion string `json:"formatVersion"`
	// Sections are the prices by region and source.
	Sections []Section `json:"sections"`
}

// Section has prices of one region from one source.
type Section struct {
	// Region is the region, or [Global].
	Region string `json:"region"`
	// Offer is AWS's code of the service, such as AmazonEC2.
	Offer string `json:"offer"`
	// Date is when the source had these prices, as 2006-01-02.
	Date string `json:"date"`
	// Source is where they are from.
	Source string `json:"source"`
	// Prices are in USD for one unit, by the usage type in AWS's bills without the prefix of the
	// region. The unit is that of AWS's price list: an hour, a GB-month, an IOPS-month, a key. That of
	// throughput is a MiB/s-month. The usage types of load balancers have the kind as a suffix,
	// LoadBalancerUsage/network, since AWS's do not tell kinds apart.
	Prices map[string]float64 `json:"prices"`
}

// Parse reads a price list. Errors name the section and the field.
func Parse(data []byte) (*List, error) {
	l := &List{}
	if err := yaml.UnmarshalStrict(data, l); err != nil {
		return nil, fmt.Errorf("this is not a price list: %w", err)
	}
	if l.FormatVersion != Format {
		return nil, fmt.Errorf("formatVersion is %q, but must be %s", l.FormatVersion, Format)
	}
	if len(l.Sections) == 0 {
		return nil, errors.New("sections is empty: a price list has prices")
	}
	seen := map[string]bool{}
	for i := range l.Sections {
		if err := l.Sections[i].check(seen); err != nil {
			return nil, fmt.Errorf("sections[%d]: %w", i, err)
		}
	}
	return l, nil
}

// Names of regions and usage types.
var (
	regionName = regexp.MustCompile(`^[a-z]{2}(-[a-z]+)+-[0-9]+$|^` + Global + `$`)
	usageName  = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9:./-]*$`)
)

// check returns an error if a field is wrong, or if a price is in an earlier section as well.
func (s *Section) check(seen map[string]bool) error {
	switch _, err := time.Parse(time.DateOnly, s.Date); {
	case !regionName.MatchString(s.Region):
		return fmt.Errorf("region is %q: use the name of a region, or %s", s.Region, Global)
	case s.Offer == "":
		return errors.New("offer is missing: set AWS's code of the service, such as AmazonEC2")
	case err != nil:
		return fmt.Errorf("date is %q: use a date as 2006-01-02", s.Date)
	case s.Source == "":
		return errors.New("source is missing: say where the prices are from")
	}
	for usage, usd := range s.Prices {
		switch key := s.Region + " " + usage; {
		case !usageName.MatchString(usage):
			return fmt.Errorf("prices has %q: use a usage type of AWS, such as NatGateway-Hours", usage)
		case math.IsNaN(usd) || math.IsInf(usd, 0) || usd <= 0:
			return fmt.Errorf("prices.%s is %v: use a number of USD above 0, or leave it out if it is not known", usage, usd)
		case seen[key]:
			return fmt.Errorf("prices.%s of region %s is in an earlier section, too: keep one of them", usage, s.Region)
		default:
			seen[key] = true
		}
	}
	return nil
}

// Write returns the list as YAML.
func (l *List) Write() ([]byte, error) {
	text, err := yaml.Marshal(l)
	if err != nil {
		return nil, fmt.Errorf("write the price list: %w", err)
	}
	return text, nil
}

// Has reports whether the list has prices of a region.
func (l *List) Has(region string) bool {
	return slices.ContainsFunc(l.Sections, func(s Section) bool { return s.Region == region })
}

// Set adds a section, in place of those of its region and offer.
func (l *List) Set(section Section) {
	l.Sections = slices.DeleteFunc(l.Sections, func(s Section) bool { return s.Region == section.Region && s.Offer == section.Offer })
	l.Sections = append(l.Sections, section)
}

// find returns the section with the price of a usage type, nil if there is none. A price of the
// region precedes one of all regions.
func (l *List) find(region, usage string) *Section {
	for _, at := range []string{region, Global} {
		for i := range l.Sections {
			if s := &l.Sections[i]; s.Region == at && s.Prices[usage] > 0 {
				return s
			}
		}
	}
	return nil
}

//go:embed prices.yaml
var builtin []byte

// Builtin returns the price list of the repository. Callers must not change it. A test of this
// package rules out an error.
var Builtin = sync.OnceValues(func() (*List, error) { return Parse(builtin) })
