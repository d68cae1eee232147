package main

// How often garbage is collected.

import (
	"context"
	"os"
	"runtime/debug"
	"time"

	"cistern/services/store/tsdb"
)

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
