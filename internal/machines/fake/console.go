package fake

import (
	"context"
	"log/slog"
)

// consoleKept is how much of a console a machine keeps, as EC2 does.
const consoleKept = 64 << 10

// write appends to the machine's console.
func (m *fakeMachine) write(text []byte) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.console = append(m.console, text...)
	m.console = m.console[max(0, len(m.console)-consoleKept):]
}

// report writes a line to the machine's console as nodeup does.
func (m *fakeMachine) report(ctx context.Context, level slog.Level, message string, attributes ...slog.Attr) {
	record := slog.NewRecord(m.host.options.Clock.Now(), level, message, 0)
	record.AddAttrs(attributes...)
	_ = slog.NewTextHandler(consoleWriter{m}, nil).Handle(ctx, record) // The writer never fails.
}

// consoleWriter writes to a machine's console.
type consoleWriter struct{ machine *fakeMachine }

// Write implements io.Writer.
func (w consoleWriter) Write(line []byte) (int, error) {
	w.machine.write(line)
	return len(line), nil
}
