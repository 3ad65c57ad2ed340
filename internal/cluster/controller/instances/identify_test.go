package instances

import "testing"

func TestStackOfAutoScalingGroup(t *testing.T) {
	cases := map[string]struct{ group, want string }{
		"a name from CloudFormation":                      {"demo-workers-AutoScalingGroup-1A2B3C4D5E6F7", "demo-workers"},
		"a stack with a similar name":                     {"a-AutoScalingGroup-b-AutoScalingGroup-1A2B", "a-AutoScalingGroup-b"},
		"a foreign group":                                 {"web", ""},
		"a foreign group with another logical ID":         {"demo-Workers-1A2B3C4D5E6F7", ""},
		"a foreign group with another part in the middle": {"demo-AutoScalingGroup-blue-green", ""},
		"a group without a stack's name":                  {"AutoScalingGroup-1A2B", ""},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			if got := StackOf(c.group); got != c.want {
				t.Errorf("%q, want %q", got, c.want)
			}
		})
	}
}
