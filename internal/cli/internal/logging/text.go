package logging

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// unread are attributes that text output omits: they repeat controller, namespace and name, or link
// lines for programs.
var unread = []string{"controllerGroup", "controllerKind", "object", "reconcileID"}

// startupMessages are the prefixes of messages that controller-runtime logs for each kind and
// component when it starts and stops. They are shown at the level debug only.
var startupMessages = []string{
	"Starting EventSource", "Starting Controller", "Starting workers", "Starting metrics server",
	"Shutdown signal received", "All workers finished", "Stopping and waiting for", "Shutting down metrics server",
	"shutting down server", "Wait completed",
}

// textHandler writes lines like
//
//	14:03:07 INFO  stack: created  kind=SQSQueue name=orders
type textHandler struct {
	mu     *sync.Mutex
	out    io.Writer
	level  slog.Level
	prefix string // of the attributes that WithAttrs added
	group  string
	name   string
}

func newTextHandler(out io.Writer, level slog.Level) *textHandler {
	return &textHandler{mu: &sync.Mutex{}, out: out, level: level}
}

// Enabled reports whether the level is logged.
func (h *textHandler) Enabled(_ context.Context, level slog.Level) bool { return level >= h.level }

// Handle writes one line.
func (h *textHandler) Handle(_ context.Context, record slog.Record) error {
	if h.level > slog.LevelDebug && record.Level == slog.LevelInfo && isStartupMessage(record.Message) {
		return nil
	}
	var line strings.Builder
	fmt.Fprintf(&line, "%s %-5s ", record.Time.Format("15:04:05"), levelName(record.Level))
	name := h.name
	var attrs strings.Builder
	record.Attrs(func(attr slog.Attr) bool {
		if attr.Key == loggerKey {
			name = attr.Value.String()
			return true
		}
		h.write(&attrs, attr)
		return true
	})
	if name != "" {
		line.WriteString(name + ": ")
	}
	line.WriteString(record.Message)
	if h.prefix != "" || attrs.Len() > 0 {
		line.WriteString(" " + h.prefix + attrs.String())
	}
	line.WriteByte('\n')
	h.mu.Lock()
	defer h.mu.Unlock()
	_, err := io.WriteString(h.out, line.String())
	return err
}

func isStartupMessage(message string) bool {
	return slices.ContainsFunc(startupMessages, func(start string) bool { return strings.HasPrefix(message, start) })
}

// loggerKey is where logr puts the name of a logger.
const loggerKey = "logger"

// WithAttrs returns a handler that adds attrs to each line.
func (h *textHandler) WithAttrs(attrs []slog.Attr) slog.Handler {
	clone := *h
	var prefix strings.Builder
	for _, attr := range attrs {
		if attr.Key == loggerKey {
			clone.name = attr.Value.String()
			continue
		}
		h.write(&prefix, attr)
	}
	clone.prefix += prefix.String()
	return &clone
}

// WithGroup returns a handler that puts the group's name before each key.
func (h *textHandler) WithGroup(name string) slog.Handler {
	clone := *h
	clone.group += name + "."
	return &clone
}

func (h *textHandler) write(to *strings.Builder, attr slog.Attr) {
	if attr.Equal(slog.Attr{}) || slices.Contains(unread, attr.Key) {
		return
	}
	value := attr.Value.Resolve()
	if value.Kind() == slog.KindGroup {
		for _, member := range value.Group() {
			member.Key = attr.Key + "." + member.Key
			h.write(to, member)
		}
		return
	}
	fmt.Fprintf(to, " %s%s=%s", h.group, attr.Key, quoted(value.String()))
}

// quoted leaves plain words as they are.
func quoted(value string) string {
	if value == "" || strings.ContainsAny(value, " \t\n\"=") {
		return strconv.Quote(value)
	}
	return value
}

func levelName(level slog.Level) string {
	switch {
	case level < slog.LevelInfo:
		return "DEBUG"
	case level < slog.LevelWarn:
		return "INFO"
	case level < slog.LevelError:
		return "WARN"
	}
	return "ERROR"
}
