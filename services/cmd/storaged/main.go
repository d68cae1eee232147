// storaged takes metrics in, keeps them, and answers queries. One binary, sensible defaults: `storaged --data DIR`
// works on a laptop.
package main

// Signals, and the order of starting and stopping. Flags are in flags.go, what there is to start in inputs.go.

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"os/signal"
	"path/filepath"
	"runtime/debug"
	"syscall"
	"time"

	"cistern/services/daemon/diagnostics"
	"cistern/services/daemon/sdnotify"
	"cistern/services/store/tsdb"
)

// version is set when Cistern is built.
var version = "development"

// stopWithin is how long an orderly end may take. What is not in a block by then is in the journal, and is read from
// there at the next start.
const stopWithin = 8 * time.Second // and a second or two until the kernel has taken gigabytes back

func main() {
	if len(os.Args) > 1 {
		if command := commands[os.Args[1]]; command != nil {
			os.Exit(command(os.Args[2:], os.Stdout, os.Stderr))
		}
	}
	c, err := parseFlags(os.Args[1:], os.Stdout)
	if errors.Is(err, errAnswered) {
		return
	}
	log := slog.New(slog.NewTextHandler(os.Stderr, nil))
	if err == nil {
		// Small when idle, within bounds when busy: with a small heap the collector is cheap, so it may run early.
		debug.SetMemoryLimit(c.Limits.MemoryMiB << 20)
		ctx, stop := signal.NotifyContext(context.Background(), endings()...)
		err = run(ctx, c, log)
		stop()
	}
	if err != nil {
		log.Error("storaged ends", "error", advise(err))
		os.Exit(1)
	}
}

// endings are the signals that end it in order.
func endings() []os.Signal {
	signals := []os.Signal{syscall.SIGTERM, syscall.SIGINT}
	if !signal.Ignored(syscall.SIGHUP) { // nohup's is
		signals = append(signals, syscall.SIGHUP)
	}
	return signals
}

// collect sets how much the heap may grow until garbage is collected, unless whoever starts the process has set it.
func collect(percent int) {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(percent)
	}
}

// How much the heap may grow, in percent, until garbage is collected. What the head holds is no garbage until it is a
// block, so that of a large head a smaller share is room enough; of a small one it would be used up by every few queries.
const (
	smallHead, largeHead = 50, 25
	large                = 32 << 20 // bytes
)

// adapt collects as the head's size wants it, until ctx ends.
func adapt(ctx context.Context, store *tsdb.Store) {
	ticker := time.NewTicker(time.Second)
	defer ticker.Stop()
	for now := 0; ; {
		percent := smallHead
		if store.InMemory() > large {
			percent = largeHead
		}
		if percent != now { // setting it stops everything for a moment
			collect(percent)
			now = percent
		}
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
	}
}

// run serves until ctx ends or something fails, and leaves everything durable.
func run(ctx context.Context, c *config, log *slog.Logger) error {
	// What is read from the journal stays: looking for garbage in it again and again, as it grows, finds none.
	collect(400)
	s, err := start(c, log)
	if err != nil {
		return err
	}
	log.Info("ready", append([]any{"version", version, "data", c.Data, "http", s.httpNames}, s.described()...)...)
	if c.HTTP.Socket != "" {
		diagnostics.Serve(filepath.Dir(c.HTTP.Socket))
	}
	if err := sdnotify.Ready(); err != nil {
		log.Warn("readiness could not be told", "error", err)
	}
	select {
	case <-ctx.Done():
	case err = <-s.failed:
	}
	_ = sdnotify.Stopping()
	stopped := make(chan error, 1)
	go func() { stopped <- s.stop() }()
	select {
	case stopErr := <-stopped:
		return errors.Join(err, stopErr)
	case <-time.After(stopWithin):
		log.Warn("memory is not in a block yet; the journal has it, and is read at the next start")
		return err
	}
}
