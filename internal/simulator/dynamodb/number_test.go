package dynamodb

import (
	"math/big"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// Limits:
// https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/HowItWorks.NamingRulesDataTypes.html#HowItWorks.DataTypes.Number
func TestParseNumber(t *testing.T) {
	tests := map[string]struct{ in, want, refused string }{
		"zeros at both ends are removed": {in: "0012.3400", want: "12.34"},
		"an exponent is written out":     {in: "1.5E3", want: "1500"},
		"a negative exponent is too":     {in: "-15e-4", want: "-0.0015"},
		"minus zero is zero":             {in: "-0.0", want: "0"},
		"38 digits are kept":             {in: strings.Repeat("7", 38), want: strings.Repeat("7", 38)},
		"the largest": {
			in:   "9.9999999999999999999999999999999999999E+125",
			want: strings.Repeat("9", 38) + strings.Repeat("0", 88),
		},
		"39 digits are refused": {
			in:      strings.Repeat("7", 39),
			refused: "Attempting to store more than 38 significant digits in a Number",
		},
		"above the largest": {
			in:      "1E126",
			refused: "Number overflow. Attempting to store a number with magnitude larger than supported range",
		},
		"below the smallest": {
			in:      "1E-131",
			refused: "Number underflow. Attempting to store a number with magnitude smaller than supported range",
		},
		"letters are refused":               {in: "ten", refused: "The parameter cannot be converted to a numeric value: ten"},
		"an empty text is refused":          {in: "", refused: "The parameter cannot be converted to a numeric value: "},
		"a point alone is refused":          {in: ".", refused: "The parameter cannot be converted to a numeric value: ."},
		"trailing zeros are not a 39th one": {in: "1" + strings.Repeat("0", 60), want: "1" + strings.Repeat("0", 60)},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			got, err := parseNumber(tt.in)
			if tt.refused != "" {
				if err == nil || messageOf(err) != tt.refused {
					t.Fatalf("got %v, want %q", err, tt.refused)
				}
				return
			}
			if err != nil || got.String() != tt.want {
				t.Fatalf("got %s, %v, want %s", got, err, tt.want)
			}
		})
	}
}

func drawNumber(t *rapid.T, name string) number {
	text := rapid.StringMatching(`-?[0-9]{1,12}(\.[0-9]{1,12})?(E-?[0-9]{1,2})?`).Draw(t, name)
	v, err := parseNumber(text)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func rational(n number) *big.Rat {
	r, _ := new(big.Rat).SetString(n.String())
	return r
}

func TestSortKeysOrderLikeNumbers(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, b := drawNumber(t, "a"), drawNumber(t, "b")
		if got, want := strings.Compare(a.sortKey(), b.sortKey()), rational(a).Cmp(rational(b)); got != want {
			t.Fatalf("%s and %s compare %d, want %d", a, b, got, want)
		}
	})
}

func TestSumsAreExact(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, b := drawNumber(t, "a"), drawNumber(t, "b")
		got, err := a.add(b)
		if err != nil {
			t.Skip("the sum has more than 38 digits")
		}
		if want := new(big.Rat).Add(rational(a), rational(b)); rational(got).Cmp(want) != 0 {
			t.Fatalf("%s + %s = %s, want %s", a, b, got, want.FloatString(40))
		}
	})
}

func TestReservedWords(t *testing.T) {
	if len(reservedWords) != 573 {
		t.Fatalf("%d words, the page lists 573", len(reservedWords))
	}
	if !isReserved("Name") || isReserved("artist") {
		t.Fatal("Name is reserved in any case, artist is not")
	}
}

func TestEscapedKeysStayDistinct(t *testing.T) {
	keys := []string{
		escapeKey("a") + escapeKey("b"),
		escapeKey("a\x00b") + escapeKey(""),
		escapeKey("a") + escapeKey("\x00b"),
		escapeKey("") + escapeKey("a\x00b"),
	}
	slices.Sort(keys)
	if len(slices.Compact(keys)) != 4 {
		t.Fatal("two different keys have one encoding")
	}
}
