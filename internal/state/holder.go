package state

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"os/user"
	"syscall"
	"time"

	"k8s.io/utils/clock"
)

// Holder is the holder of a lock.
type Holder struct {
	// User, Host and Process are the user's name, the machine and the ID of the process.
	User    string `json:"user,omitempty"`
	Host    string `json:"host,omitempty"`
	Process int    `json:"process,omitempty"`
	// Since is the time at which the lock was acquired.
	Since time.Time `json:"since"`
	// Purpose is the purpose of the lock, such as "apply".
	Purpose string `json:"purpose,omitempty"`
	// ID identifies one acquisition of the lock.
	ID string `json:"id,omitempty"`
}

// holder returns this process as a holder.
func holder(clock clock.PassiveClock, purpose string) Holder {
	h := Holder{
		Process: os.Getpid(),
		Since:   clock.Now().UTC().Truncate(time.Second),
		Purpose: purpose,
		User:    os.Getenv("USER"),
		ID:      string(newUID()),
	}
	if u, err := user.Current(); err == nil {
		h.User = u.Username
	}
	h.Host, _ = os.Hostname() // a lock without a host name is better than none
	return h
}

// String describes the holder.
func (h Holder) String() string {
	if h.Since.IsZero() {
		return "an unnamed holder"
	}
	return fmt.Sprintf(
		"%s on %s (process %d) since %s, for %s",
		cmp.Or(
			h.User,
			"an unnamed user",
		),
		cmp.Or(h.Host, "an unnamed machine"),
		h.Process,
		h.Since.UTC().Format(time.RFC3339),
		cmp.Or(h.Purpose, "an unnamed purpose"),
	)
}

// exited reports whether the holder was a process of this machine that has exited. It is false for
// other machines.
func (h Holder) exited() bool {
	host, err := os.Hostname()
	if err != nil || host == "" || h.Host != host || h.Process <= 0 {
		return false
	}
	return errors.Is(syscall.Kill(h.Process, 0), syscall.ESRCH)
}
