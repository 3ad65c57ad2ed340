package access_test

import (
	"testing"

	"github.com/aws-operator/aws-operator/internal/simulator/access"
)

// FuzzDecode decodes any message without a panic, and bounds what a short message becomes.
func FuzzDecode(f *testing.F) {
	f.Add(access.Encode(&access.Request{Action: "ec2:RunInstances", Principal: "arn:aws:iam::1:user/a", Resource: "*"}, "explicit deny"))
	f.Add("not base64")
	f.Add("eJw")
	f.Fuzz(func(t *testing.T, encoded string) {
		text, err := access.Decode(encoded)
		if len(text) > 1<<20 || err != nil && text != "" {
			t.Errorf("%d bytes, %v", len(text), err)
		}
	})
}
