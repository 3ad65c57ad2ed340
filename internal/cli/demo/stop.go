package demo

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strings"

	"github.com/aws-operator/aws-operator/internal/local/environment"
	"github.com/aws-operator/aws-operator/internal/local/process"
)

// stop stops the environment and checks that it left nothing behind.
func stop(ctx context.Context, env *environment.Environment, out io.Writer) error {
	heading(out, "Stop")
	state := env.State()
	if err := env.Stop(ctx); err != nil {
		return fmt.Errorf("stop: %w", err)
	}
	var errs []error
	for _, address := range []string{state.APIServer, state.AWS, state.Metrics} {
		errs = append(errs, closed(ctx, address))
	}
	if state.OperatorPID != 0 && process.Running(state.OperatorPID) {
		errs = append(errs, fmt.Errorf("the operator, process %d, still runs", state.OperatorPID))
	}
	if _, err := os.Stat(env.Dir()); !errors.Is(err, os.ErrNotExist) {
		errs = append(errs, fmt.Errorf("the folder %s is still there", env.Dir()))
	}
	if err := errors.Join(errs...); err != nil {
		return err
	}
	_, _ = fmt.Fprint(out, "  no process, no open port and no file is left\n")
	return nil
}

// closed returns an error if a server still listens at the address of a URL.
func closed(ctx context.Context, url string) error {
	_, address, ok := strings.Cut(url, "://")
	if !ok {
		return nil
	}
	address, _, _ = strings.Cut(address, "/")
	conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", address)
	if err != nil {
		return nil //nolint:nilerr // A refused connection means that the port is free.
	}
	_ = conn.Close()
	return fmt.Errorf("something still listens at %s", address)
}
