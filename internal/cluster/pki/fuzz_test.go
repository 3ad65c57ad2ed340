package pki

import (
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	clocktesting "k8s.io/utils/clock/testing"
)

// FuzzSecret reads any Secret of a CA without a panic. An error never quotes the key.
func FuzzSecret(f *testing.F) {
	f.Add([]byte("-----BEGIN CERTIFICATE-----\nMAA=\n-----END CERTIFICATE-----\n"),
		[]byte("-----BEGIN EC PRIVATE KEY-----\nc2VjcmV0c2VjcmV0c2VjcmV0\n-----END EC PRIVATE KEY-----\n"))
	f.Add([]byte("-----BEGIN PUBLIC KEY-----\n-----END PUBLIC KEY-----\n"), []byte{})
	now := clocktesting.NewFakePassiveClock(time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC))
	made, err := newCA(now.Now(), "demo")
	if err != nil {
		f.Fatal(err)
	}
	f.Add(made.certificatePEM, made.keyPEM)
	f.Fuzz(func(t *testing.T, certificate, key []byte) {
		data := map[string][]byte{corev1.TLSCertKey: certificate, corev1.TLSPrivateKeyKey: key}
		parsed, err := parseCA(now, data)
		if err == nil && (parsed.key == nil || parsed.certificate == nil) || err != nil && parsed != nil {
			t.Errorf("%+v, %v", parsed, err)
		}
		_, pairErr := parseKeyPair(data)
		for _, err := range []error{err, pairErr} {
			if err != nil && len(key) > 16 && strings.Contains(err.Error(), string(key)) {
				t.Errorf("the error quotes the key: %v", err)
			}
		}
	})
}

// FuzzToken reads any token without a panic, and never prints its secret.
func FuzzToken(f *testing.F) {
	f.Add("abcdef.0123456789abcdef")
	f.Add("abcdef.0123456789abcdeF")
	f.Add("abcdef.0123456789abcdef\n")
	f.Fuzz(func(t *testing.T, value string) {
		token, err := ParseToken(value)
		if err == nil && (token.Value() != value || strings.Contains(token.String(), token.Secret())) {
			t.Errorf("%q is read as %s", value, token.Value())
		}
	})
}
