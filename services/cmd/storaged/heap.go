package main

// How often garbage is collected.

import (
	"context"
	"os"
	"runtime/debug"
	"time"

	"cistern/services/platform/aligned"
	"cistern/services/store/tsdb"
)

// collect sets how much the heap may grow until garbage is collected, unless whoever starts the process has set it.
func collect(percent int) {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(percent)
	}
}

// bound has garbage collected more often while the process is near what it aims to stay below, unless whoever starts it has set
// that. The rest is room for what is allocated meanwhile.
func bound(bytes int64) {
	if os.Getenv("GOMEMLIMIT") == "" {
		debug.SetMemoryLimit(bytes / 20 * 19)
	}
}

// How much the heap may grow, in percent, until garbage is collected. What the head holds is no garbage until it is a
// block, so that of a large head a smaller share is room enough; of a small one it would be used up by every few queries,
// and of a tiny one by a few seconds of an idle machine.
const (
	tinyHead, smallHead, largeHead = 200, 50, 25
	tiny, large                    = 4 << 20, 32 << 20 // bytes
)

func growth(head int64) (percent int) {
	switch {
	case head > large:
		return largeHead
	case head > tiny:
		return smallHead
	}
	return tinyHead
}

// adapt collects as the head's size wants it, until ctx ends.
func adapt(ctx context.Context, store *tsdb.Store) {
	for now := 0; ; {
		if percent := growth(store.InMemory()); percent != now { // setting it stops everything for a moment
			collect(percent)
			now = percent
		}
		select {
		case <-ctx.Done():
			return
		case <-aligned.After(time.Second, 0):
		}
	}
}
