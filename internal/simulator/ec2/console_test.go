package ec2_test

import (
	"bytes"
	"encoding/base64"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsec2 "github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/aws-operator/aws-operator/internal/simulator/wire/wiretest"
)

// output returns the console output of an instance.
func (w *suite) output(id string, latest bool) []byte {
	w.t.Helper()
	out, err := w.GetConsoleOutput(w.t.Context(), &awsec2.GetConsoleOutputInput{InstanceId: &id, Latest: &latest})
	if err != nil {
		w.t.Fatal(err)
	}
	if aws.ToString(out.InstanceId) != id {
		w.t.Errorf("the output is of %q", aws.ToString(out.InstanceId))
	}
	text, err := base64.StdEncoding.DecodeString(aws.ToString(out.Output))
	if err != nil {
		w.t.Errorf("the output is not base64: %v", err)
	}
	if len(text) > 0 && out.Timestamp == nil {
		w.t.Error("the output has no timestamp")
	}
	return text
}

func TestLatestConsoleOutputIsTheEndOfTheConsole(t *testing.T) {
	w := start(t)
	i := w.launch(w.request())
	if text := w.output(*i.InstanceId, true); len(text) > 0 {
		t.Errorf("a machine that has written nothing shows %q", text)
	}
	w.host.show(append(bytes.Repeat([]byte("old\n"), 32<<10), "new\n"...))
	if text := w.output(*i.InstanceId, true); len(text) != 64<<10 || !bytes.HasSuffix(text, []byte("old\nnew\n")) {
		t.Errorf("it shows %d bytes, which end %q", len(text), text[max(0, len(text)-10):])
	}
}

func TestConsoleOutputIsPostedWhenTheInstanceChanges(t *testing.T) {
	w := start(t)
	i := w.launch(w.request())
	w.host.show([]byte("booting\n"))
	if text := w.output(*i.InstanceId, false); len(text) > 0 {
		t.Errorf("it shows %q before a change of state", text)
	}
	if _, err := w.RebootInstances(t.Context(), &awsec2.RebootInstancesInput{InstanceIds: []string{*i.InstanceId}}); err != nil {
		t.Fatal(err)
	}
	w.eventually("the output to be posted", func() bool { return string(w.output(*i.InstanceId, false)) == "booting\n" })
	w.host.show([]byte("booting\nonce more\n"))
	if text := w.output(*i.InstanceId, false); string(text) != "booting\n" {
		t.Errorf("it shows %q after the change of state", text)
	}
	if _, err := w.TerminateInstances(t.Context(), &awsec2.TerminateInstancesInput{InstanceIds: []string{*i.InstanceId}}); err != nil {
		t.Fatal(err)
	}
	w.until(*i.InstanceId, types.InstanceStateNameTerminated)
	if text := w.output(*i.InstanceId, true); string(text) != "booting\nonce more\n" {
		t.Errorf("a terminated instance shows %q", text)
	}
}

func TestConsoleOutputIsRefused(t *testing.T) {
	w := start(t)
	in := w.request()
	in.InstanceType = types.InstanceTypeT2Large
	xen := w.launch(in)
	for _, c := range []struct {
		reason string
		in     awsec2.GetConsoleOutputInput
		code   string
	}{
		{"an unknown instance", awsec2.GetConsoleOutputInput{InstanceId: aws.String("i-0123456789abcdef0")}, "InvalidInstanceID.NotFound"},
		{"what is no ID", awsec2.GetConsoleOutputInput{InstanceId: aws.String("one")}, "InvalidInstanceID.Malformed"},
		{"the latest output of Xen", awsec2.GetConsoleOutputInput{InstanceId: xen.InstanceId, Latest: aws.Bool(true)}, "UnsupportedOperation"},
		{"a dry run", awsec2.GetConsoleOutputInput{InstanceId: xen.InstanceId, DryRun: aws.Bool(true)}, "DryRunOperation"},
	} {
		t.Run(c.reason, func(t *testing.T) {
			_, err := w.GetConsoleOutput(t.Context(), &c.in)
			wiretest.WantCode(t, err, c.code)
		})
	}
}
