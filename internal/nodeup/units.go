package nodeup

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/aws-operator/aws-operator/internal/cluster/bootstrap/bundle"
)

// unitsTimeout bounds an attempt to start the user's units. systemd continues to start a unit that takes longer, and the next
// attempt waits for it. It is less than the deadline of the task, so that the log has an error by then.
const unitsTimeout = 4 * time.Minute

// startUnits enables the user's units, and starts those that kubeadm relies on. A user's unit that containerd requires
// (RequiredBy=containerd.service, Before=containerd.service) starts with it.
func (b *boot) startUnits(ctx context.Context) (string, error) {
	if len(b.bundle.Units) == 0 && len(b.bundle.ExtraUnits) == 0 {
		return "none", nil
	}
	if _, err := b.command(ctx, "systemctl", "daemon-reload"); err != nil {
		return "", err
	}
	for _, unit := range b.bundle.ExtraUnits {
		var err error
		switch {
		case unit.State == bundle.UnitMasked:
			err = b.maskUnit(ctx, unit.Name)
		case unit.State == bundle.UnitStarted && !b.startsElsewhere(unit.Name):
			_, err = b.command(ctx, "systemctl", "enable", unit.Name)
		}
		if err != nil {
			return "", err
		}
	}
	for _, unit := range b.bundle.Units {
		if err := b.startUnitOfBundle(ctx, unit); err != nil {
			return "", b.notRunning(ctx, err, unit)
		}
	}
	return strings.Join(b.bundle.Units, ", "), nil
}

// startUnitOfBundle enables a unit and starts it. If the user has drop-ins for it, the first run restarts it, since an image may
// have started it before they were there.
func (b *boot) startUnitOfBundle(ctx context.Context, name string) error {
	changed := slices.ContainsFunc(b.bundle.ExtraUnits, func(u bundle.Unit) bool { return u.Name == name+".service" })
	if !changed || b.unitsDone() {
		_, err := b.command(ctx, "systemctl", "enable", "--now", name)
		return err
	}
	if _, err := b.command(ctx, "systemctl", "enable", name); err != nil {
		return err
	}
	_, err := b.command(ctx, "systemctl", "restart", name)
	return err
}

// maskUnit stops a unit if it runs, and keeps everything from starting it. It stops it first: a timer that is masked while it runs
// ends as failed.
func (b *boot) maskUnit(ctx context.Context, name string) error {
	// It fails with the state in its output for each state but active.
	state, _ := b.command(ctx, "systemctl", "is-active", name)
	if slices.Contains([]string{"active", "activating", "reloading"}, strings.TrimSpace(state)) {
		if _, err := b.command(ctx, "systemctl", "stop", name); err != nil {
			return err
		}
	}
	_, err := b.command(ctx, "systemctl", "mask", name)
	return err
}

// unitsDone reports whether the user's units have been restarted with what the bundle has of them.
func (b *boot) unitsDone() bool {
	hash, err := b.files.read(unitsDoneFile)
	return err == nil && string(hash) == b.BundleSHA256
}

// startExtraUnits starts the user's units.
//
// A unit of the image may run since before nodeup wrote its drop-ins. So the first run restarts all units. Later ones, also
// those after a reboot, start what does not run.
func (b *boot) startExtraUnits(ctx context.Context) (string, error) {
	var names []string
	for _, unit := range b.bundle.ExtraUnits {
		if unit.State == bundle.UnitStarted && !b.startsElsewhere(unit.Name) {
			names = append(names, unit.Name)
		}
	}
	if len(b.bundle.ExtraUnits) == 0 {
		return "none", nil
	}
	if err := b.startTogether(ctx, names); err != nil {
		return "", err
	}
	_, err := b.files.write(unitsDoneFile, []byte(b.BundleSHA256), 0o600)
	return fmt.Sprintf("%d of %d started", len(names), len(b.bundle.ExtraUnits)), err
}

// startTogether starts units in one transaction, so that systemd orders them.
func (b *boot) startTogether(ctx context.Context, names []string) error {
	if len(names) == 0 {
		return nil
	}
	verb := "restart"
	if b.unitsRestarted || b.unitsDone() {
		verb = "start"
	}
	limited, cancel := context.WithTimeout(ctx, unitsTimeout)
	defer cancel()
	b.unitsRestarted = true
	if _, err := b.command(limited, "systemctl", slices.Concat([]string{verb}, names)...); err != nil {
		if errors.Is(limited.Err(), context.DeadlineExceeded) {
			err = fmt.Errorf("%w: they do not start within %s", err, unitsTimeout)
		}
		return b.notRunning(ctx, err, names...)
	}
	return nil
}

// startsElsewhere reports whether another task starts a unit of the user, which then only has drop-ins.
func (b *boot) startsElsewhere(name string) bool {
	return name == bundle.UnitKubelet || slices.Contains(b.bundle.Units, strings.TrimSuffix(name, ".service"))
}

// notRunning adds to an error which of the units failed, or still start, and the end of what they said.
func (b *boot) notRunning(ctx context.Context, err error, units ...string) error {
	for _, unit := range units {
		// It fails with the state in its output for each state but active.
		state, _ := b.command(ctx, "systemctl", "is-active", unit)
		state = strings.TrimSpace(state)
		if state != "failed" && state != "activating" {
			continue
		}
		said, _ := b.command(ctx, "journalctl", "--unit", unit, "--lines", "3", "--output", "cat", "--no-pager")
		err = fmt.Errorf("%w: the unit %s is %s%s", err, unit, state, end(said))
	}
	return err
}

// kubeletDown adds to an error of a task that needs the kubelet that it does not run.
func (b *boot) kubeletDown(ctx context.Context, err error) error {
	if err == nil {
		return nil
	}
	state, stateErr := b.command(ctx, "systemctl", "is-active", bundle.UnitKubelet)
	if stateErr == nil {
		return err
	}
	if state = strings.TrimSpace(state); state != "failed" && state != "activating" {
		return err // It has not been started yet, or systemd does not say.
	}
	return b.notRunning(ctx, fmt.Errorf("the unit %s does not run: %w", bundle.UnitKubelet, err), bundle.UnitKubelet)
}
