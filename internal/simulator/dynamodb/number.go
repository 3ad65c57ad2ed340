package dynamodb

import (
	"math/big"
	"strconv"
	"strings"
)

// The limits of a DynamoDB number, from
// https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/Constraints.html#limits-data-types-number
const (
	maxDigits    = 38
	maxMagnitude = 126  // 9.99…E+125 is below 1E+126
	minMagnitude = -129 // 1E-130 is 0.1E-129
)

// number is a decimal: ±0.digits × 10^exp, with no zeros at either end of
// digits. Zero has no digits.
type number struct {
	negative bool
	digits   string
	exp      int
}

// parseNumber parses a number and rejects one that DynamoDB cannot store.
func parseNumber(text string) (number, error) {
	mantissa, exponent, hasExponent := cutExponent(text)
	n := number{}
	if mantissa != "" && (mantissa[0] == '-' || mantissa[0] == '+') {
		n.negative = mantissa[0] == '-'
		mantissa = mantissa[1:]
	}
	whole, fraction, _ := strings.Cut(mantissa, ".")
	if !allDigits(whole+fraction) || whole+fraction == "" {
		return number{}, notANumber(text)
	}
	shift := 0
	if hasExponent {
		var err error
		if shift, err = strconv.Atoi(exponent); err != nil {
			return number{}, notANumber(text)
		}
	}
	return n.normalized(whole+fraction, len(whole)+shift)
}

func cutExponent(text string) (mantissa, exponent string, found bool) {
	i := strings.IndexAny(text, "eE")
	if i < 0 {
		return text, "", false
	}
	return text[:i], text[i+1:], true
}

func allDigits(s string) bool {
	for i := range len(s) {
		if s[i] < '0' || s[i] > '9' {
			return false
		}
	}
	return true
}

func notANumber(text string) error {
	return invalid("The parameter cannot be converted to a numeric value: %s", text)
}

// normalized sets the digits and the exponent, strips zeros and checks limits.
func (n number) normalized(digits string, exp int) (number, error) {
	trimmed := strings.TrimLeft(digits, "0")
	exp -= len(digits) - len(trimmed)
	trimmed = strings.TrimRight(trimmed, "0")
	if trimmed == "" {
		return number{}, nil
	}
	n.digits, n.exp = trimmed, exp
	switch {
	case n.exp > maxMagnitude:
		return number{}, invalid("Number overflow. Attempting to store a number with magnitude larger than supported range")
	case n.exp < minMagnitude:
		return number{}, invalid("Number underflow. Attempting to store a number with magnitude smaller than supported range")
	case len(n.digits) > maxDigits:
		return number{}, invalid("Attempting to store more than 38 significant digits in a Number")
	}
	return n, nil
}

// String formats the number as DynamoDB does: plain digits, no exponent.
func (n number) String() string {
	if n.digits == "" {
		return "0"
	}
	sign := ""
	if n.negative {
		sign = "-"
	}
	switch {
	case n.exp <= 0:
		return sign + "0." + strings.Repeat("0", -n.exp) + n.digits
	case n.exp >= len(n.digits):
		return sign + n.digits + strings.Repeat("0", n.exp-len(n.digits))
	default:
		return sign + n.digits[:n.exp] + "." + n.digits[n.exp:]
	}
}

// sortKey encodes the number so that byte order is numeric order.
func (n number) sortKey() string {
	if n.digits == "" {
		return "\x80"
	}
	const bias = 2000 // makes every exponent four digits long
	key := strconv.AppendInt([]byte{0x81}, int64(n.exp+bias), 10)
	key = append(key, n.digits...)
	key = append(key, 0)
	if n.negative {
		for i := range key {
			key[i] = ^key[i]
		}
	}
	return string(key)
}

// add returns n + m.
func (n number) add(m number) (number, error) {
	exp := min(n.exp-len(n.digits), m.exp-len(m.digits))
	sum := n.scaled(exp)
	sum.Add(sum, m.scaled(exp))
	digits := new(big.Int).Abs(sum).String()
	return number{negative: sum.Sign() < 0}.normalized(digits, len(digits)+exp)
}

// negated returns -n.
func (n number) negated() number {
	n.negative = !n.negative && n.digits != ""
	return n
}

// scaled returns n / 10^exp, which must be an integer.
func (n number) scaled(exp int) *big.Int {
	if n.digits == "" {
		return new(big.Int)
	}
	v, _ := new(big.Int).SetString(n.digits, 10)
	shift := new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(n.exp-len(n.digits)-exp)), nil)
	v.Mul(v, shift)
	if n.negative {
		v.Neg(v)
	}
	return v
}
