//go:build !linux

package tracer

import (
	"errors"
	"log/slog"
)

// Launcher is for systems where only root may trace.
type Launcher struct{ Lost chan struct{} }

// IsLauncher is never so here: tracerd's user may trace (its privileges are in the manifest).
func IsLauncher([]string) bool { return false }

// RunLauncher is not needed here.
func RunLauncher([]string) error { return errors.New("tracerd starts dtrace itself on this system") }

// StartLauncher is not needed here.
func StartLauncher(string, int, *slog.Logger) (*Launcher, error) {
	return nil, errors.New("--dtrace-uid is for Linux: dtrace runs as tracerd's own user here")
}

func (l *Launcher) start(string) (*traced, error) { return nil, errors.New("there is no launcher") }

// Close is not needed here.
func (l *Launcher) Close() {}
