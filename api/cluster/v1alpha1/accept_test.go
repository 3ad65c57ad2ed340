package v1alpha1_test

import "testing"

func TestKindsAreServed(t *testing.T) {
	newServer(t)
}
