package pattern_test

import (
	"testing"

	"github.com/aws-operator/aws-operator/internal/simulator/pattern"
)

// The operators as documented:
// https://docs.aws.amazon.com/eventbridge/latest/userguide/eb-create-pattern-operators.html
func TestMatch(t *testing.T) {
	tests := []struct {
		name, pattern, document string
		want                    bool
	}{
		{"exact value", `{"source":["aws.ec2"]}`, `{"source":"aws.ec2"}`, true},
		{"other value", `{"source":["aws.ec2"]}`, `{"source":"aws.s3"}`, false},
		{"one of several", `{"source":["a","b"]}`, `{"source":"b"}`, true},
		{"all fields must match", `{"a":["1"],"b":["2"]}`, `{"a":"1","b":"3"}`, false},
		{"nested field", `{"detail":{"state":["on"]}}`, `{"detail":{"state":"on","x":1}}`, true},
		{"list in the event: any element", `{"resources":["r2"]}`, `{"resources":["r1","r2"]}`, true},
		{"null is a value", `{"a":[null]}`, `{"a":null}`, true},
		{"null is not absence", `{"a":[null]}`, `{}`, false},
		{"number by value", `{"a":[1.0]}`, `{"a":1}`, true},
		{"number is not its text", `{"a":[1]}`, `{"a":"1"}`, false},
		{"prefix", `{"a":[{"prefix":"ab"}]}`, `{"a":"abc"}`, true},
		{"prefix in any case", `{"a":[{"prefix":{"equals-ignore-case":"AB"}}]}`, `{"a":"abc"}`, true},
		{"suffix", `{"a":[{"suffix":".png"}]}`, `{"a":"x.png"}`, true},
		{"in any case", `{"a":[{"equals-ignore-case":"ALICE"}]}`, `{"a":"alice"}`, true},
		{"wildcard in the middle", `{"a":[{"wildcard":"arn:*:stack/x-*/e"}]}`, `{"a":"arn:aws:stack/x-1/e"}`, true},
		{"wildcard that does not fit", `{"a":[{"wildcard":"a*c"}]}`, `{"a":"abd"}`, false},
		{"escaped star", `{"a":[{"wildcard":"a\\*c"}]}`, `{"a":"abc"}`, false},
		{"anything but one", `{"a":[{"anything-but":"x"}]}`, `{"a":"y"}`, true},
		{"anything but a list", `{"a":[{"anything-but":["x","y"]}]}`, `{"a":"y"}`, false},
		{"anything but a prefix", `{"a":[{"anything-but":{"prefix":"x"}}]}`, `{"a":"xy"}`, false},
		{"anything but several prefixes", `{"a":[{"anything-but":{"prefix":["x","y"]}}]}`, `{"a":"yz"}`, false},
		{"anything-but needs the field", `{"a":[{"anything-but":"x"}]}`, `{}`, false},
		{"numeric range", `{"a":[{"numeric":[">",0,"<=",5]}]}`, `{"a":5}`, true},
		{"outside the range", `{"a":[{"numeric":[">",0,"<=",5]}]}`, `{"a":6}`, false},
		{"exists", `{"a":[{"exists":true}]}`, `{"a":false}`, true},
		{"does not exist", `{"a":{"b":[{"exists":false}]}}`, `{"a":{}}`, true},
		{"exists is about leaves", `{"a":[{"exists":true}]}`, `{"a":{"b":1}}`, false},
		{"address in a block", `{"ip":[{"cidr":"10.0.0.0/24"}]}`, `{"ip":"10.0.0.255"}`, true},
		{"either of two", `{"$or":[{"a":["1"]},{"b":["2"]}]}`, `{"b":"2"}`, true},
		{"neither of two", `{"$or":[{"a":["1"]},{"b":["2"]}]}`, `{"b":"1"}`, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			p, err := pattern.Parse(tt.pattern)
			if err != nil {
				t.Fatal(err)
			}
			if got := p.MatchJSON([]byte(tt.document)); got != tt.want {
				t.Errorf("got %v", got)
			}
		})
	}
}

func TestInvalidPatternsAreRefused(t *testing.T) {
	for name, text := range map[string]string{
		"no JSON":              `{`,
		"value without a list": `{"source":"aws.ec2"}`,
		"unknown operator":     `{"a":[{"like":"x"}]}`,
		"empty object":         `{"detail":{}}`,
		"empty list":           `{"a":[]}`,
		"two operators":        `{"a":[{"prefix":"a","suffix":"b"}]}`,
	} {
		if _, err := pattern.Parse(text); err == nil {
			t.Errorf("%s was taken", name)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add(`{"a":[{"wildcard":"*x*"}]}`, `{"a":"yxy"}`)
	f.Fuzz(func(_ *testing.T, text, document string) {
		if p, err := pattern.Parse(text); err == nil {
			p.MatchJSON([]byte(document))
		}
	})
}

func TestMayMatch(t *testing.T) {
	p, err := pattern.Parse(`{"source": ["aws.ec2"], "detail-type": [{"prefix": "EC2 Instance"}], "detail": {"state": ["running"]}}`)
	if err != nil {
		t.Fatal(err)
	}
	for reason, c := range map[string]struct {
		known map[string]any
		may   bool
	}{
		"nothing is known":                 {nil, true},
		"what is known fits":               {map[string]any{"source": "aws.ec2", "detail-type": "EC2 Instance State-change Notification"}, true},
		"one field fits, the other cannot": {map[string]any{"source": "aws.ec2", "detail-type": "EBS Volume Notification"}, false},
		"a field without a condition":      {map[string]any{"region": "eu-central-1"}, true},
		"the nested part speaks against":   {map[string]any{"detail": map[string]any{"state": "pending"}}, false},
	} {
		if p.MayMatch(c.known) != c.may {
			t.Errorf("%s: %v", reason, !c.may)
		}
	}
}
