package tagging_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/aws-operator/aws-operator/internal/simulator/tagging"
)

func TestTagsAreRefusedWithTheServicesErrors(t *testing.T) {
	rules := &tagging.Rules{
		Reserved: tagging.Refusal{Code: "Reserved", Message: "'{key}'"},
		Key:      tagging.Refusal{Code: "Key", Message: "key"},
		Value:    tagging.Refusal{Code: "Value", Message: "value"},
		TooMany:  tagging.Refusal{Code: "TooMany", Message: "too many", Status: 409},
	}
	many := func(n int, prefix string) map[string]string {
		tags := map[string]string{}
		for i := range n {
			tags[fmt.Sprintf("%s%d", prefix, i)] = "v"
		}
		return tags
	}
	for name, c := range map[string]struct {
		has, added map[string]string
		want       string
	}{
		"none":                      {nil, nil, ""},
		"longest":                   {nil, map[string]string{strings.Repeat("ü", 128): strings.Repeat("ü", 256)}, ""},
		"no key":                    {nil, map[string]string{"": "v"}, "Key: key"},
		"long key":                  {nil, map[string]string{strings.Repeat("k", 129): "v"}, "Key: key"},
		"long value":                {nil, map[string]string{"k": strings.Repeat("v", 257)}, "Value: value"},
		"reserved":                  {nil, map[string]string{"AWS:k": "v"}, "Reserved: 'AWS:k'"},
		"fifty":                     {many(49, "a"), many(1, "b"), ""},
		"fifty, one of them again":  {many(50, "a"), many(1, "a"), ""},
		"fifty-one":                 {many(50, "a"), many(1, "b"), "TooMany: too many"},
		"fifty and those of AWS":    {many(60, "aws:"), many(50, "b"), ""},
		"fifty-one in one request":  {nil, many(51, "a"), "TooMany: too many"},
		"a prefix without the rest": {nil, map[string]string{"aws": "v"}, ""},
	} {
		got := ""
		if err := rules.Check(c.has, c.added); err != nil {
			got = err.Error()
		}
		if got != c.want {
			t.Errorf("%s: got %q, want %q", name, got, c.want)
		}
	}
}
