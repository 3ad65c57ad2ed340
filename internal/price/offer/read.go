package offer

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/aws-operator/aws-operator/internal/price"
)

// Options select what Read keeps.
type Options struct {
	// Region is the region that the file is of, or [price.Global].
	Region string
	// Offer is AWS's code of the service.
	Offer string
	// Families are the families of instance types to keep, such as m6i; all if empty.
	Families []string
	// Source is where the file is from.
	Source string
}

// Read reads a price list file of a service. It returns an error if the file is of another service,
// if a price has an unknown unit, or if two products have one usage type and different prices.
func Read(file io.Reader, o Options) (price.Section, error) {
	r := &reader{decoder: json.NewDecoder(file), options: o, names: map[string]wanted{}, prices: map[string]float64{}}
	if err := r.file(); err != nil {
		return price.Section{}, fmt.Errorf("read the price list of %s for %s: %w", o.Offer, o.Region, err)
	}
	return price.Section{Region: o.Region, Offer: o.Offer, Date: r.date, Source: o.Source, Prices: r.prices}, nil
}

// wanted is a product to keep.
type wanted struct {
	usage string
	meter *meter
}

// reader reads a file.
type reader struct {
	decoder *json.Decoder
	options Options
	date    string
	// names are the products to keep, by SKU.
	names  map[string]wanted
	prices map[string]float64
}

func (r *reader) file() error {
	var date time.Time
	products := false
	err := r.object(func(name string) error {
		switch name {
		case "offerCode":
			var code string
			if err := r.decoder.Decode(&code); err != nil {
				return err
			}
			if code != r.options.Offer {
				return fmt.Errorf("the file is of %q", code)
			}
			return nil
		case "publicationDate":
			return r.decoder.Decode(&date)
		case "products":
			products = true
			return r.object(r.product)
		case "terms":
			if !products {
				return errors.New("the terms come before the products")
			}
			return r.object(r.terms)
		}
		return r.skip()
	})
	if err != nil {
		return err
	}
	if date.IsZero() {
		return errors.New("the file has no publicationDate")
	}
	r.date = date.UTC().Format(time.DateOnly)
	return nil
}

// object calls read for each member of the next value, which must read its value.
func (r *reader) object(read func(name string) error) error {
	if token, err := r.decoder.Token(); err != nil || token != json.Delim('{') {
		return cmp.Or(err, fmt.Errorf("there is %v instead of an object", token))
	}
	for r.decoder.More() {
		token, err := r.decoder.Token()
		if err != nil {
			return err
		}
		name, _ := token.(string) // the names of an object's members are strings
		if err := read(name); err != nil {
			return err
		}
	}
	_, err := r.decoder.Token()
	return err
}

// skip skips the next value without keeping it in memory: that of reserved instances has hundreds
// of MB.
func (r *reader) skip() error {
	for depth := 0; ; {
		token, err := r.decoder.Token()
		if err != nil {
			return err
		}
		switch token {
		case json.Delim('{'), json.Delim('['):
			depth++
		case json.Delim('}'), json.Delim(']'):
			depth--
		}
		if depth == 0 {
			return nil
		}
	}
}

// product keeps a product that a meter matches.
func (r *reader) product(sku string) error {
	var p product
	if err := r.decoder.Decode(&p); err != nil {
		return err
	}
	if of := p.Attributes["regionCode"]; of != "" && of != r.options.Region && r.options.Region != price.Global {
		return nil
	}
	for i := range meters {
		m := &meters[i]
		if m.offer != r.options.Offer {
			continue
		}
		if usage := m.name(&p); usage != "" && r.keeps(usage) {
			r.names[sku] = wanted{usage, m}
		}
	}
	return nil
}

// keeps reports whether a usage type is not one of an instance of another family.
func (r *reader) keeps(usage string) bool {
	kind, isInstance := strings.CutPrefix(usage, "BoxUsage:")
	family, _, _ := strings.Cut(kind, ".")
	return !isInstance || len(r.options.Families) == 0 || slices.Contains(r.options.Families, family)
}

// terms reads the prices on demand, and skips those of reservations.
func (r *reader) terms(kind string) error {
	if kind != "OnDemand" {
		return r.skip()
	}
	return r.object(func(sku string) error {
		of, ok := r.names[sku]
		if !ok {
			return r.skip()
		}
		var terms map[string]term
		if err := r.decoder.Decode(&terms); err != nil {
			return err
		}
		return r.keep(of, terms)
	})
}

// term is an offer of a product.
type term struct {
	Dimensions map[string]dimension `json:"priceDimensions"`
}

// dimension is a price of a range of quantities.
type dimension struct {
	Unit  string            `json:"unit"`
	Price map[string]string `json:"pricePerUnit"`
}

// keep keeps the price of a product: that of the most expensive range, because how much the account
// uses of it elsewhere is not known.
func (r *reader) keep(of wanted, terms map[string]term) error {
	var usd float64
	for _, name := range slices.Sorted(maps.Keys(terms)) {
		for _, code := range slices.Sorted(maps.Keys(terms[name].Dimensions)) {
			d := terms[name].Dimensions[code]
			divisor := of.meter.units[d.Unit]
			if divisor == 0 {
				return fmt.Errorf("the price of %s is for one %q, which is not one of %s",
					of.usage, d.Unit, strings.Join(slices.Sorted(maps.Keys(of.meter.units)), ", "))
			}
			text, ok := d.Price["USD"]
			if !ok {
				return fmt.Errorf("the price of %s is not in USD", of.usage)
			}
			one, err := strconv.ParseFloat(text, 64)
			if err != nil || one < 0 {
				return fmt.Errorf("the price of %s is %q, which is not a number of USD", of.usage, text)
			}
			usd = max(usd, one/divisor)
		}
	}
	if usd == 0 { // It is free, or has no price.
		return nil
	}
	if other, ok := r.prices[of.usage]; ok && other != usd {
		return fmt.Errorf("%s has two prices, %v and %v", of.usage, other, usd)
	}
	r.prices[of.usage] = usd
	return nil
}
