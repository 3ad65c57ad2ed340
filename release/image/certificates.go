package image

import (
	"bytes"
	"encoding/pem"
	"fmt"

	"golang.org/x/crypto/x509roots/fallback/bundle"
)

// certificatesFile is where crypto/x509 finds certificates on Linux.
// https://go.dev/src/crypto/x509/root_linux.go
const certificatesFile = "etc/ssl/certs/ca-certificates.crt"

// certificates returns Mozilla's root certificates as PEM, in the version that go.mod names. It omits
// those that Mozilla trusts under a condition, such as a date, which a file cannot have.
func certificates() ([]byte, error) {
	var out bytes.Buffer
	for root := range bundle.Roots() {
		if root.Constraint != nil {
			continue
		}
		if err := pem.Encode(&out, &pem.Block{Type: "CERTIFICATE", Bytes: root.Certificate}); err != nil {
			return nil, fmt.Errorf("encode a root certificate: %w", err)
		}
	}
	return out.Bytes(), nil
}
