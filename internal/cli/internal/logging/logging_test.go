package logging

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"
	"testing"
)

func TestTextFormatIsReadable(t *testing.T) {
	var out bytes.Buffer
	logger, err := (&Flags{level: "info", format: "text"}).Install(&out)
	if err != nil {
		t.Fatal(err)
	}
	logger = logger.WithName("stack").WithValues("kind", "SQSQueue", "reconcileID", "f00")
	logger.Info("created", "name", "orders", "reason", "two words")
	logger.Error(errors.New("no route"), "not sent")
	logger.Info("Starting EventSource", "source", "kind")
	logger.V(1).Info("a detail below the log level")
	lines := strings.Split(strings.TrimSpace(out.String()), "\n")
	if len(lines) != 2 {
		t.Fatalf("got %q, want two lines", lines)
	}
	const timeLength = len("15:04:05 ")
	if got, want := lines[0][timeLength:], `INFO  stack: created  kind=SQSQueue name=orders reason="two words"`; got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	if got, want := lines[1][timeLength:], `ERROR stack: not sent  kind=SQSQueue err="no route"`; got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

func TestAutoIsJSONOffATerminal(t *testing.T) {
	var out bytes.Buffer
	logger, err := (&Flags{level: "debug", format: "auto"}).Install(&out)
	if err != nil {
		t.Fatal(err)
	}
	logger.V(1).Info("looked", "stack", "a")
	var line map[string]any
	if err := json.Unmarshal(out.Bytes(), &line); err != nil {
		t.Fatalf("%q: %v", out.String(), err)
	}
	if line["msg"] != "looked" || line["stack"] != "a" {
		t.Errorf("got %v", line)
	}
}

func TestWrongFlagsListTheValidOnes(t *testing.T) {
	for _, flags := range []Flags{{level: "loud", format: "text"}, {level: "info", format: "xml"}} {
		if _, err := flags.Install(&bytes.Buffer{}); err == nil || !strings.Contains(err.Error(), "use ") {
			t.Errorf("%+v: got %v, want the values that there are", flags, err)
		}
	}
}
