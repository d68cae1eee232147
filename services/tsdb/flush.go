package tsdb

// From the head to blocks, and from blocks to nothing when they are old.

import (
	"fmt"
	"time"
)

// Flush makes everything accepted so far part of fsynced blocks, and returns how many blocks there are.
func (s *Store) Flush() (blocks int, err error) {
	s.flushing.Lock()
	defer s.flushing.Unlock()
	defer func() {
		if err != nil {
			s.counts.flushFailures.Add(1)
		}
	}()
	// What an earlier flush could not write comes first: blocks must cover the journal in its order.
	if s.frozen != nil { // only changed under flushing
		if err := s.writeFrozen(); err != nil {
			return len(s.list), err
		}
	}
	s.freeze()
	if s.frozen == nil {
		return len(s.list), nil
	}
	err = s.writeFrozen()
	return len(s.list), err
}

// freeze begins a new head, unless the present one is empty.
func (s *Store) freeze() {
	s.ingesting.Lock()
	defer s.ingesting.Unlock()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.live.samples == 0 {
		s.began = s.options.Now()
		return
	}
	s.frozen, s.live = s.live, newHead(s.journal.End())
	s.began = s.options.Now()
	s.recent = make(map[uint64]struct{}, len(s.frozen.series))
	for _, one := range s.frozen.series {
		s.recent[SeriesID(one.key)] = struct{}{}
	}
}

// writeFrozen writes the frozen head as a block, and only then lets it and its part of the journal go.
func (s *Store) writeFrozen() error {
	h := s.frozen
	s.mu.RLock()
	through := s.live.since
	s.mu.RUnlock()
	// A block must not claim to hold what a power cut could take from the journal's end: new entries would then be
	// appended before the position that replays start from.
	if err := s.journal.Sync(through); err != nil {
		return err
	}
	sequence := s.sequence + 1
	w, err := newBlockWriter(s.options.FS, s.blocks, sequence, h.minTime, h.maxTime, s.options.Now().UnixMilli(), through)
	if err != nil {
		return err
	}
	for _, one := range h.byKeyOrder() {
		frames, err := one.blockFrames()
		if err == nil {
			err = w.add(one.key, one.kind, frames)
		}
		if err != nil {
			w.abandon()
			return fmt.Errorf("writing block %s: %w", w.name, err)
		}
	}
	if err := w.publish(); err != nil {
		return err // the sequence stays: the next try replaces whatever this one left
	}
	b, err := openBlock(s.options.FS, s.blocks, sequence)
	if err != nil {
		return err
	}
	s.sequence = sequence
	s.mu.Lock()
	s.list = append(s.list[:len(s.list):len(s.list)], b) // a new slice: queries hold the old one
	s.frozen = nil
	s.mu.Unlock()
	return s.journal.Checkpoint(subscriber, through)
}

// expire drops the blocks that hold nothing younger than the retention.
func (s *Store) expire() {
	s.flushing.Lock()
	defer s.flushing.Unlock()
	before := s.options.Now().Add(-s.options.Retention).UnixMilli()
	s.mu.Lock()
	defer s.mu.Unlock()
	var kept, dropped []*block
	for _, b := range s.list {
		if b.MaxTime < before {
			dropped = append(dropped, b)
		} else {
			kept = append(kept, b)
		}
	}
	s.list = kept
	for _, b := range dropped {
		s.options.Log.Info("dropped a block by its age", "block", b.ID, "bytes", b.Bytes)
		b.dropped.Store(true)
		b.release()
	}
}

// indexIdle is how long an unused block's index stays in memory.
const indexIdle = 5 * time.Minute

// maintain flushes, drops and measures by the clock, until Close.
func (s *Store) maintain() {
	defer s.done.Done()
	ticker := time.NewTicker(time.Second)
	defer ticker.Stop()
	lastExpiry, retry := time.Time{}, time.Time{}
	for {
		select {
		case <-s.stop:
			return
		case <-s.kick:
		case <-ticker.C:
		}
		now := s.options.Now()
		s.counts.measure(now)
		if s.due(now) && now.After(retry) {
			if _, err := s.Flush(); err != nil {
				// A full disk, most likely: what was accepted is in the journal, and it is tried again soon.
				s.options.Log.Error("the head could not be written to a block", "error", err)
				retry = now.Add(10 * time.Second)
			}
		}
		if now.Sub(lastExpiry) > time.Minute {
			lastExpiry = now
			s.expire()
			s.mu.RLock()
			for _, b := range s.list {
				b.forget(time.Now().Add(-indexIdle))
			}
			s.mu.RUnlock()
		}
	}
}

// due says whether the head has become old or large.
func (s *Store) due(now time.Time) bool {
	s.mu.RLock()
	defer s.mu.RUnlock()
	s.live.mu.RLock()
	defer s.live.mu.RUnlock()
	return s.frozen != nil || now.Sub(s.began) > s.options.BlockEvery || s.live.bytes > s.options.HeadBytes ||
		int64(s.journal.End()-s.live.since) > s.options.JournalBytes
}
