package wire

// Optional returns nil for an empty string, which omits the member from the response.
func Optional(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}
