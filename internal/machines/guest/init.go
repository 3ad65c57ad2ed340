//go:build linux

package guest

import (
	"encoding/json"
	"fmt"
	"io"
	"log"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// userDataPath is cloud-init's path of the user data.
const userDataPath = "/var/lib/cloud/instance/scripts/part-001"

// Init is process 1 of a machine. It reads its Config from in. It returns only if it cannot create
// the machine, with the reason.
func Init(in io.Reader) error {
	log.SetFlags(log.Ltime | log.Lmicroseconds)
	log.SetPrefix("init: ")
	var c Config
	if err := json.NewDecoder(in).Decode(&c); err != nil {
		return fmt.Errorf("read what the machine is: %w", err)
	}
	if os.Getpid() != 1 {
		return fmt.Errorf("this is process %d, not 1: a simulated machine starts it", os.Getpid())
	}
	if c.Tree != "" {
		return bootTree(c)
	}
	if err := makeRoot(c); err != nil {
		return err
	}
	if err := unix.Sethostname([]byte(c.Hostname)); err != nil {
		return fmt.Errorf("name the machine: %w", err)
	}
	children := newChildren()
	units := newUnits(children)
	units.off = func() { units.powerOff(c.RootVolumeID) }
	if err := units.listen(controlSocket); err != nil {
		return err
	}
	log.Printf("%s is %s, %s", c.InstanceID, c.Hostname, c.Address)
	if c.Containers != "" {
		if err := units.start(networkUnit); err != nil {
			return err
		}
	}
	go runUserData(children, c.UserData)
	children.reap() // never returns
	return nil
}

// runUserData runs a script as cloud-init does:
// https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/user-data.html
func runUserData(children *children, script []byte) {
	if len(script) < 2 || string(script[:2]) != "#!" {
		log.Print("the user data is no script, so nothing runs")
		return
	}
	if err := os.MkdirAll(filepath.Dir(userDataPath), 0o700); err != nil {
		log.Printf("keep the user data: %v", err)
		return
	}
	if err := os.WriteFile(userDataPath, script, 0o700); err != nil { //nolint:gosec // a program
		log.Printf("keep the user data: %v", err)
		return
	}
	status, err := children.run(program{path: userDataPath, args: []string{userDataPath}, out: os.Stdout})
	if err != nil {
		log.Printf("run the user data: %v", err)
		return
	}
	log.Printf("the user data ended: %s", describe(status))
}
