package console

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/aws-operator/aws-operator/internal/cli/internal/progress"
	"github.com/aws-operator/aws-operator/internal/lazyregexp"
)

const (
	// logTail is how much of the end of the operator's log is searched.
	logTail = 16 << 20
	// maxCalls limits the calls of one object.
	maxCalls = 100
	// maxLine limits a line of the log.
	maxLine = 1 << 20
)

// callMessages are the messages of the lines about calls.
var callMessages = []string{"Called AWS", "AWS rejected a call"}

// call is a line of the operator's log about a call that changed something, or was to.
type call struct {
	Time time.Time `json:"time"`
	// Clock is the time of day in a log in text, which has no date.
	Clock   string `json:"-"`
	Message string `json:"msg"`
	// Controller is the kind of the object, in lower case.
	Controller string `json:"controller"`
	Namespace  string `json:"namespace"`
	Name       string `json:"name"`
	Service    string `json:"service"`
	Operation  string `json:"operation"`
	Target     string `json:"target"`
	Reason     string `json:"reason"`
	RequestID  string `json:"requestID"`
	Error      string `json:"error"`
}

// isFor reports whether the operator made the call for an object.
func (c *call) isFor(object *unstructured.Unstructured) bool {
	return strings.EqualFold(c.Controller, object.GetKind()) && c.Namespace == object.GetNamespace() && c.Name == object.GetName()
}

// callsOf lists the calls of AWS for one object, newest first, from the operator's log.
func (s *server) callsOf(object *unstructured.Unstructured) section {
	found := section{Title: "Calls of AWS", Columns: []string{"When", "Call", "Why", "Result", "Request ID"}}
	if s.log == "" {
		return section{}
	}
	calls, err := readCalls(s.log, object)
	if err != nil {
		found.Text = fmt.Sprintf("The calls are not shown: %v.", err)
	} else if len(calls) == 0 {
		found.Text = "The operator's log has no call for this object."
	}
	for _, c := range calls {
		when := cell{Text: c.Clock}
		if c.Clock == "" {
			when = cell{Time: c.Time.Unix()}
		}
		result := cell{Text: "done", Mark: progress.Done}
		if c.Error != "" {
			result = cell{Text: c.Error, Mark: progress.Troubled}
		}
		found.Rows = append(found.Rows, []cell{
			when, text(strings.TrimSpace(c.Service + " " + c.Operation + " " + c.Target)), text(c.Reason), result, text(c.RequestID),
		})
	}
	return found
}

// readCalls reads the calls for an object from the end of a log, newest first.
func readCalls(path string, object *unstructured.Unstructured) ([]call, error) {
	file, err := os.Open(path) //nolint:gosec // The user names the log.
	if err != nil {
		return nil, err
	}
	defer func() { _ = file.Close() }()
	if info, err := file.Stat(); err == nil && info.Size() > logTail {
		if _, err := file.Seek(-logTail, io.SeekEnd); err != nil {
			return nil, err
		}
	}
	var found []call
	lines := bufio.NewScanner(file)
	lines.Buffer(nil, maxLine)
	for lines.Scan() {
		line := lines.Bytes()
		if !bytes.Contains(line, []byte("AWS")) || !bytes.Contains(line, []byte(object.GetName())) {
			continue
		}
		c := parseCall(line)
		if !slices.Contains(callMessages, c.Message) || !c.isFor(object) {
			continue
		}
		if found = append(found, c); len(found) > maxCalls {
			found = found[1:]
		}
	}
	slices.Reverse(found)
	return found, lines.Err()
}

// attribute is a key and its value in a log in text.
var attribute = lazyregexp.New(`(\w+)=("(?:[^"\\]|\\.)*"|\S+)`)

// parseCall reads a line in JSON, or in the text that the operator writes on a terminal:
//
//	15:17:57 INFO  Called AWS  controller=sqsqueue namespace=default name=orders service=…
//
// Of other lines, the message is empty.
func parseCall(line []byte) (c call) {
	if json.Unmarshal(line, &c) == nil {
		return c
	}
	head, rest, _ := bytes.Cut(line, []byte("  controller="))
	words := strings.Fields(string(head))
	if len(words) < 3 {
		return call{}
	}
	c.Clock, c.Message = words[0], strings.Join(words[2:], " ")
	fields := map[string]*string{
		"controller": &c.Controller, "namespace": &c.Namespace, "name": &c.Name, "service": &c.Service, "operation": &c.Operation,
		"target": &c.Target, "reason": &c.Reason, "requestID": &c.RequestID, "error": &c.Error,
	}
	for _, found := range attribute.FindAllStringSubmatch("controller="+string(rest), -1) {
		value := found[2]
		if plain, err := strconv.Unquote(value); err == nil {
			value = plain
		}
		if field := fields[found[1]]; field != nil {
			*field = value
		}
	}
	return c
}
