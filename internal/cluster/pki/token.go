package pki

import (
	"errors"
	"fmt"

	"k8s.io/cluster-bootstrap/token/util"
)

// Token is a bootstrap token. It prints only its public half.
type Token struct{ id, secret string }

// NewToken creates a bootstrap token.
func NewToken() (Token, error) {
	token, err := util.GenerateBootstrapToken()
	if err != nil {
		return Token{}, fmt.Errorf("create a bootstrap token: %w", err)
	}
	return ParseToken(token)
}

// ParseToken parses a token's value, id.secret. Its error does not quote the input.
func ParseToken(value string) (Token, error) {
	const idLength = 6
	if !util.IsValidBootstrapToken(value) {
		return Token{}, errors.New(
			"this is not a bootstrap token: it must be six characters, a dot and sixteen characters, lower case letters and digits",
		)
	}
	return Token{id: value[:idLength], secret: value[idLength+1:]}, nil
}

// ID returns the public half.
func (t Token) ID() string { return t.id }

// Secret returns the secret half.
func (t Token) Secret() string { return t.secret }

// Value returns the token, id.secret, which the SSM parameter contains.
func (t Token) Value() string { return t.id + "." + t.secret }

// String returns the public half.
func (t Token) String() string { return t.id + ".(not shown)" }

// GoString returns the public half.
func (t Token) GoString() string { return t.String() }

// MarshalLog returns the public half.
func (t Token) MarshalLog() any { return t.String() }
