package logging

import (
	"fmt"
	"io"
	"log/slog"
	"os"

	"github.com/go-logr/logr"
	"github.com/spf13/pflag"
	"golang.org/x/term"
	"k8s.io/klog/v2"
	ctrl "sigs.k8s.io/controller-runtime"
)

// Flags are the flags of every command that logs.
type Flags struct{ level, format string }

// Add adds the flags to a command's.
func (f *Flags) Add(flags *pflag.FlagSet) {
	flags.StringVar(&f.level, "log-level", "info", "log level: debug, info, warn or error")
	flags.StringVar(&f.format, "log-format", "auto", "log format: text, json, or auto (text on a terminal, else json)")
}

// Install creates the logger that the flags describe, and makes it the logger of the process. It
// returns an error if a flag has an unknown value.
func (f *Flags) Install(out io.Writer) (logr.Logger, error) {
	handler, err := f.handler(out)
	if err != nil {
		return logr.Logger{}, err
	}
	logger := logr.FromSlogHandler(handler)
	slog.SetDefault(slog.New(handler))
	ctrl.SetLogger(logger)
	klog.SetLogger(logger.WithName("client-go"))
	return logger, nil
}

func (f *Flags) handler(out io.Writer) (slog.Handler, error) {
	var level slog.Level
	if err := level.UnmarshalText([]byte(f.level)); err != nil {
		return nil, fmt.Errorf("--log-level=%s: use debug, info, warn or error", f.level)
	}
	switch f.format {
	case "json":
		return jsonHandler(out, level), nil
	case "text":
		return newTextHandler(out, level), nil
	case "auto":
		if isTerminal(out) {
			return newTextHandler(out, level), nil
		}
		return jsonHandler(out, level), nil
	}
	return nil, fmt.Errorf("--log-format=%s: use text, json or auto", f.format)
}

func jsonHandler(out io.Writer, level slog.Level) slog.Handler {
	return slog.NewJSONHandler(out, &slog.HandlerOptions{Level: level})
}

func isTerminal(out io.Writer) bool {
	file, ok := out.(*os.File)
	return ok && term.IsTerminal(int(file.Fd()))
}
