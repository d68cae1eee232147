// Package log is how the daemons log: log/slog on standard error, one line each, as text or as JSON. The service manager
// keeps it: systemd's journal, or a file of SMF.
package log

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"
	"sync"
)

// Format is how a line is written.
type Format string

const (
	// Text is key=value, readable in a terminal and on the page of the logs.
	Text Format = "text"
	// JSON is an object in each line.
	JSON Format = "json"
)

// MarshalText implements encoding.TextMarshaler, for flags.
func (f Format) MarshalText() ([]byte, error) { return []byte(f), nil }

// UnmarshalText implements encoding.TextUnmarshaler.
func (f *Format) UnmarshalText(text []byte) error {
	switch Format(text) {
	case Text, JSON:
		*f = Format(text)
		return nil
	}
	return fmt.Errorf("%q is no format: text or json", text)
}

// New makes a logger that writes level and worse. Lines to a file that is connected to systemd's journal begin with their
// priority, which the journal takes off and keeps as the entry's; lines to anything else do not.
func New(out io.Writer, format Format, level slog.Level) *slog.Logger {
	if file, ok := out.(*os.File); ok && connectedToJournal(file, os.Getenv("JOURNAL_STREAM")) {
		return slog.New(withPriority(out, format, level))
	}
	return slog.New(handler(out, format, level))
}

func handler(out io.Writer, format Format, level slog.Level) slog.Handler {
	options := &slog.HandlerOptions{Level: level}
	if format == JSON {
		return slog.NewJSONHandler(out, options)
	}
	return slog.NewTextHandler(out, options)
}

func withPriority(out io.Writer, format Format, level slog.Level) slog.Handler {
	to := &prefixed{out: out}
	return journalHandler{handler(to, format, level), to}
}

// journalHandler writes the priority of each record before its line, as sd-daemon(3) has it.
type journalHandler struct {
	slog.Handler
	to *prefixed
}

// prefixed writes a line with the priority that journalHandler has set. mu is held from setting it until the line is written.
type prefixed struct {
	mu       sync.Mutex
	out      io.Writer
	priority string
	line     []byte
}

func (p *prefixed) Write(line []byte) (int, error) {
	p.line = append(append(p.line[:0], p.priority...), line...)
	if _, err := p.out.Write(p.line); err != nil {
		return 0, err
	}
	return len(line), nil
}

func (h journalHandler) Handle(ctx context.Context, r slog.Record) error {
	h.to.mu.Lock()
	defer h.to.mu.Unlock()
	h.to.priority = priority(r.Level)
	return h.Handler.Handle(ctx, r)
}

func (h journalHandler) WithAttrs(attributes []slog.Attr) slog.Handler {
	return journalHandler{h.Handler.WithAttrs(attributes), h.to}
}

func (h journalHandler) WithGroup(name string) slog.Handler {
	return journalHandler{h.Handler.WithGroup(name), h.to}
}

// priority is a level as syslog numbers it: err, warning, notice, info, debug.
func priority(level slog.Level) string {
	switch {
	case level >= slog.LevelError:
		return "<3>"
	case level >= slog.LevelWarn:
		return "<4>"
	case level > slog.LevelInfo:
		return "<5>"
	case level == slog.LevelInfo:
		return "<6>"
	}
	return "<7>"
}
