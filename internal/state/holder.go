package state

import (
	"fmt"
	"time"
)

// Holder is who holds a lock.
type Holder struct {
	// User, Host and Process are the user's name, the machine and the ID of the process.
	User    string `json:"user,omitempty"`
	Host    string `json:"host,omitempty"`
	Process int    `json:"process,omitempty"`
	// Since is when it was taken.
	Since time.Time `json:"since"`
	// Purpose is what for, such as "apply".
	Purpose string `json:"purpose,omitempty"`
}

// String says it in words.
func (h Holder) String() string {
	return fmt.Sprintf("%s on %s (process %d) since %s, for %s", h.User, h.Host, h.Process, h.Since.UTC().Format(time.RFC3339), h.Purpose)
}
