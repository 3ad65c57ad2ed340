// Package kms simulates AWS KMS: symmetric keys that really encrypt (AES-256-GCM bound to the
// encryption context), data keys, aliases, states, scheduled deletion, policies and tags; and the
// CloudFormation types AWS::KMS::Key and AWS::KMS::Alias. Other kinds of keys and custom key stores
// are not supported. Key policies, grants and conditions on the encryption context decide. Key
// material never leaves memory.
package kms
