package pki

import (
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
)

// Paths of an issuer's documents, in the cluster's bucket and below the issuer's URL. The first is
// defined by https://openid.net/specs/openid-connect-discovery-1_0.html#ProviderConfig, the second
// is the one that API servers use.
const (
	issuerPrefix  = "oidc/"
	discoveryPath = ".well-known/openid-configuration"
	keysPath      = "openid/v1/jwks"
)

// IssuerDocuments returns the public documents with which AWS verifies service-account tokens, by
// key in the bucket.
func (a *CAs) IssuerDocuments(issuer string) (map[string][]byte, error) {
	var listed []any
	for _, one := range a.sets() {
		key, err := one.serviceAccount.webKey()
		if err != nil {
			return nil, err
		}
		listed = append(listed, key)
	}
	keys, err := json.MarshalIndent(map[string]any{"keys": listed}, "", "  ")
	if err != nil {
		return nil, fmt.Errorf("encode the issuer's keys: %w", err)
	}
	discovery, err := json.MarshalIndent(map[string]any{
		"issuer": issuer, "jwks_uri": issuer + "/" + keysPath,
		"response_types_supported": []string{"id_token"}, "subject_types_supported": []string{"public"},
		"id_token_signing_alg_values_supported": []string{"ES256"},
	}, "", "  ")
	if err != nil {
		return nil, fmt.Errorf("encode the issuer's configuration: %w", err)
	}
	return map[string][]byte{
		issuerPrefix + discoveryPath: discovery,
		issuerPrefix + keysPath:      keys,
	}, nil
}

// webKey returns the public key as a JSON Web Key (https://www.rfc-editor.org/rfc/rfc7517).
func (p *keyPair) webKey() (map[string]any, error) {
	public := &p.key.PublicKey
	encoded, err := x509.MarshalPKIXPublicKey(public)
	if err != nil {
		return nil, fmt.Errorf("encode the service-account key: %w", err)
	}
	point, err := public.Bytes() // 4, X, Y: https://www.secg.org/sec1-v2.pdf, 2.3.3
	if err != nil {
		return nil, fmt.Errorf("encode the service-account key: %w", err)
	}
	const coordinate = 32
	if len(point) != 1+2*coordinate {
		return nil, errors.New("the service-account key is not on the curve P-256")
	}
	// API servers identify their keys by the hash of the public key, which tokens contain.
	id := sha256.Sum256(encoded)
	text := base64.RawURLEncoding.EncodeToString
	return map[string]any{
		"use": "sig", "kty": "EC", "kid": text(id[:]), "crv": "P-256", "alg": "ES256",
		"x": text(point[1 : 1+coordinate]), "y": text(point[1+coordinate:]),
	}, nil
}
