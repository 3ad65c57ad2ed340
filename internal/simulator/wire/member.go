package wire

// Optional is a member that is left out of the answer when it is empty.
func Optional(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}
