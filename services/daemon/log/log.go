// Package log is how the daemons log: log/slog on standard error, one line each, as text or as JSON. The service manager
// keeps it: systemd's journal, or a file of SMF.
package log

import (
	"fmt"
	"io"
	"log/slog"
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

// New makes a logger that writes level and worse.
func New(out io.Writer, format Format, level slog.Level) *slog.Logger {
	options := &slog.HandlerOptions{Level: level}
	if format == JSON {
		return slog.New(slog.NewJSONHandler(out, options))
	}
	return slog.New(slog.NewTextHandler(out, options))
}
