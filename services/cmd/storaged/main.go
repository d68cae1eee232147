// storaged takes metrics in, keeps them, and answers queries. One binary, sensible defaults: `storaged --data DIR`
// works on a laptop.
package main

// Signals, and the order of starting and stopping.

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"os/signal"
	"runtime/debug"
	"syscall"

	"cistern/services/sdnotify"
)

// version is set when Cistern is built.
var version = "development"

func main() {
	out := os.Stderr
	for _, argument := range os.Args[1:] { // what was asked for is the output, not a complaint
		switch argument {
		case "-h", "-help", "--help", "-print-config", "--print-config":
			out = os.Stdout
		}
	}
	c, err := parse(os.Args[1:], out)
	if errors.Is(err, errDone) {
		return
	}
	log := slog.New(slog.NewTextHandler(os.Stderr, nil))
	if err == nil {
		// Small when idle, within bounds when busy: with a small heap the collector is cheap, so it may run early.
		debug.SetMemoryLimit(c.Limits.Memory << 20)
		if os.Getenv("GOGC") == "" {
			debug.SetGCPercent(50)
		}
		ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
		err = run(ctx, c, log)
		stop()
	}
	if err != nil {
		log.Error("storaged ends", "error", err)
		os.Exit(1)
	}
}

// run serves until ctx ends or something fails, and leaves everything durable.
func run(ctx context.Context, c config, log *slog.Logger) error {
	s, err := start(c, log)
	if err != nil {
		return err
	}
	log.Info("ready", append([]any{"version", version, "data", c.Data, "http", s.httpNames}, s.addresses()...)...)
	if err := sdnotify.Ready(); err != nil {
		log.Warn("readiness could not be told", "error", err)
	}
	select {
	case <-ctx.Done():
	case err = <-s.failed:
	}
	_ = sdnotify.Stopping()
	return errors.Join(err, s.stop())
}
