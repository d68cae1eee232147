package journal

// Making durable, at once and at intervals.

import (
	"fmt"
	"runtime"
	"time"

	"cistern/services/platform/aligned"
)

// Sync returns when everything before upTo would survive a power cut. Callers at the same time share one fsync: the
// first does it, those that came while it ran share the next.
func (j *Journal) Sync(upTo Position) error {
	if j.pending.Load() > 0 {
		if err := j.Flush(); err != nil {
			return err
		}
	}
	j.mu.Lock()
	for j.syncing && j.failed == nil && j.synced < upTo {
		others := j.round
		j.sharing.Add(1)
		j.mu.Unlock()
		<-others.over
		if others.synced >= upTo { // nearly always, and without the lock, which all want now
			return nil
		}
		j.mu.Lock()
	}
	defer j.mu.Unlock()
	if j.failed != nil || j.synced >= upTo {
		return j.failed
	}
	j.syncing = true
	j.gather()
	file, end := j.file, j.segments[len(j.segments)-1].end()
	j.mu.Unlock()
	began := time.Now()
	err := file.Sync()
	j.mu.Lock()
	j.syncing, j.syncTook = false, time.Since(began)
	j.stats.syncs++
	if err != nil {
		j.failed = fmt.Errorf("making the journal durable: %w", err)
	} else {
		j.synced = max(j.synced, end)
	}
	j.letGo()
	return j.failed
}

// round is what those wait for that came while somebody was syncing.
type round struct {
	over   chan struct{} // closed when syncing ends
	synced Position      // valid when over is closed
}

// letGo wakes those that wait for the end of syncing; who has to wait on counts itself again. The caller holds mu.
func (j *Journal) letGo() {
	j.crowd = j.sharing.Swap(0)
	j.round.synced = j.synced
	close(j.round.over)
	j.round = &round{over: make(chan struct{})}
	j.changed.Broadcast()
}

// gather lets those that the last fsync has let go append their next entries before this one begins: otherwise it would
// be for the first of them alone, and all others would wait for two. It gives the processor away until as many wait as
// before, or none came for a quarter of the time that an fsync takes. Of few it expects nothing: they may be clients that
// come when they like. The caller holds mu, and has set syncing.
func (j *Journal) gather() {
	const crowd = 8
	if j.crowd < crowd {
		return
	}
	patience := j.syncTook / 4
	j.mu.Unlock()
	defer j.mu.Lock()
	last, quiet := int64(0), time.Now()
	for {
		runtime.Gosched()
		now := j.sharing.Load()
		switch {
		case now >= j.crowd:
			return
		case now != last:
			last, quiet = now, time.Now()
		case time.Since(quiet) > patience:
			return
		}
	}
}

func (j *Journal) flushAtIntervals() {
	defer j.done.Done()
	ticker := time.NewTicker(j.options.FlushEvery)
	defer ticker.Stop()
	for {
		select {
		case <-j.stop:
			return
		case <-ticker.C:
			_ = j.Flush() // what could not be written stays in the buffer, and the next append that needs room says so
		}
	}
}

func (j *Journal) syncAtIntervals() {
	defer j.done.Done()
	for {
		select {
		case <-j.stop:
			return
		// What is written at the beginning of a second has often been made durable by another writer until its middle.
		case <-aligned.After(j.options.SyncEvery, j.options.SyncEvery/2):
			_ = j.syncAll() // an error sticks: the next append returns it
		}
	}
}

// syncAll makes everything durable that was appended before.
func (j *Journal) syncAll() error {
	// First: End knows nothing of what is in the pre-commit buffer.
	if err := j.Flush(); err != nil {
		return err
	}
	return j.Sync(j.End())
}
