package approver

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/json"
	"encoding/pem"
	"errors"
	"testing"
)

// FuzzRequest reads any certificate signing request without a panic. A request that is not denied is one
// for a node's certificate, and the error of another one is a denial.
func FuzzRequest(f *testing.F) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		f.Fatal(err)
	}
	for _, subject := range []pkix.Name{
		{CommonName: "system:node:ip-10-0-1-2.eu-central-1.compute.internal", Organization: []string{"system:nodes"}},
		{CommonName: "system:node:../secrets", Organization: []string{"system:nodes"}},
		{CommonName: "system:node:a", Organization: []string{"system:nodes", "system:masters"}},
		{CommonName: "kubernetes-admin", Organization: []string{"system:masters"}},
	} {
		der, err := x509.CreateCertificateRequest(rand.Reader, &x509.CertificateRequest{Subject: subject}, key)
		if err != nil {
			f.Fatal(err)
		}
		text := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE REQUEST", Bytes: der})
		object, err := json.Marshal(map[string]any{
			"metadata": map[string]any{"name": "csr-1"},
			"spec": map[string]any{
				"request": text, "signerName": Signer, "groups": []string{Group}, "expirationSeconds": 3600,
				"usages": []string{"client auth", "digital signature"},
			},
			"status": map[string]any{"conditions": []any{map[string]any{"type": "Approved", "reason": confirmed}}},
		})
		if err != nil {
			f.Fatal(err)
		}
		f.Add(object)
	}
	f.Add([]byte(`{"spec":{"request":"LS0tLS1CRUdJTg==","expirationSeconds":-1}}`))
	f.Add([]byte(`{"status":{"conditions":[null,1,{"type":[]}]},"spec":null}`))
	f.Fuzz(func(t *testing.T, object []byte) {
		joinedAs := joined(object)
		if joinedAs != "" && !nodeName.MatchString(joinedAs) {
			t.Errorf("it joins as %q", joinedAs)
		}
		var request signingRequest
		if err := json.Unmarshal(object, &request); err != nil {
			return
		}
		node, publicKey, err := asked(&request)
		if err != nil {
			if _, denied := errors.AsType[*denial](err); !denied || node != "" || publicKey != nil {
				t.Errorf("the error %v is no denial, or it gives node %q", err, node)
			}
			return
		}
		if !nodeName.MatchString(node) || publicKey == nil || *request.Spec.ExpirationSeconds > int32(MaxValidity.Seconds()) {
			t.Errorf("it asks for %q, key %v, for %d seconds", node, publicKey, *request.Spec.ExpirationSeconds)
		}
		text, err := withCondition(object, map[string]string{"type": "Approved"})
		if err != nil || !json.Valid(text) {
			t.Errorf("with a condition it is %s, %v", text, err)
		}
	})
}
