package approver

import (
	"bytes"
	"encoding/pem"
	"strings"
	"testing"
)

// The token of a worker suffices to create requests.
func TestLargeRequestsAreDeniedBeforeTheyAreParsed(t *testing.T) {
	var request signingRequest
	request.Spec.Request = pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE REQUEST", Bytes: bytes.Repeat([]byte{0x30}, 1<<20)})
	_, _, err := asked(&request)
	if err == nil || !strings.Contains(err.Error(), "more than 16384") {
		t.Errorf("the request is judged: %v", err)
	}
}
