package tsdb

// From the head to blocks, by the clock and by size.

import (
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"sort"
	"time"

	"cistern/services/platform/aligned"
	"cistern/services/platform/vfs"
)

// Flush makes everything accepted so far part of fsynced blocks, and returns how many blocks there are.
func (s *Store) Flush() (blocks int, err error) {
	s.flushing.Lock()
	defer s.flushing.Unlock()
	return s.flush()
}

// flushIfDue is Flush when the head has become old or large. While another flush goes on it waits, and looks again: the head that
// has begun meanwhile is young.
func (s *Store) flushIfDue(now time.Time) error {
	if !s.due(now) {
		return nil
	}
	s.flushing.Lock()
	defer s.flushing.Unlock()
	if !s.due(now) {
		return nil
	}
	_, err := s.flush()
	return err
}

// flush is Flush; the caller holds flushing.
func (s *Store) flush() (blocks int, err error) {
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
	// Before nobody can append, so that little is left to be made durable then. An error comes back when the head is written.
	_ = s.journal.Sync(s.journal.End())
	s.freeze()
	if s.frozen == nil {
		if err := s.saveHosts(); err != nil {
			return len(s.list), err
		}
		return len(s.list), s.saveDescriptions()
	}
	err = s.writeFrozen()
	return len(s.list), err
}

// keptJournal is how many bytes of the journal may stay behind a flush rather than begin a segment for so few.
const keptJournal = 64 << 10

// freeze begins a new head, unless the present one is empty.
func (s *Store) freeze() {
	s.ingesting.Lock()
	defer s.ingesting.Unlock()
	if s.live.samples > 0 {
		// So that the journal before it can go when the head is in blocks. Where it fails, as on a full disk, more of the
		// journal stays, and nothing is lost.
		if err := s.journal.Roll(keptJournal); err != nil {
			s.options.Log.Warn("the journal could not begin a new segment; it stays longer than it has to", "error", err)
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.live.samples == 0 {
		s.began = s.options.Now()
		return
	}
	end := s.journal.End()
	s.frozen, s.live = s.live, newHead(end)
	s.frozenBegan = s.began
	s.live.replaced = s.counts.replaced
	s.live.number = uint64(end)
	s.inventory.begin(s.live, s.options.Now().UnixMilli(), s.oldestHost())
	s.watch()
	s.began = s.options.Now()
	s.recent = make(map[uint64]struct{}, len(s.frozen.series))
	for _, one := range s.frozen.series {
		s.recent[SeriesID(one.key)] = struct{}{}
	}
}

// The windows of blocks: a flush is cut at the days it spans, and merges do not go beyond the windows' bounds.
const (
	dayMillis = 86_400_000
	// A head that spans more is cut at the largest window instead.
	maxDays = 40
)

// parts is the stretches of time into which a head is cut.
func parts(minTime, maxTime int64) []interval {
	width := int64(dayMillis)
	if maxTime-minTime > maxDays*dayMillis {
		width = windows[len(windows)-1]
	}
	var list []interval
	for from := floorTo(minTime, width); from <= maxTime; from += width {
		list = append(list, interval{from, from + width - 1})
	}
	return list
}

// writeFrozen writes the frozen head as blocks, and only then lets it and its part of the journal go.
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
	series := h.byKeyOrder()
	var writers []*blockWriter
	abandon := func(err error) error {
		for _, w := range writers {
			w.abandon()
		}
		return err
	}
	cut := parts(h.minTime, h.maxTime)
	// The next try has the same numbers, so that it replaces whatever this one left, and a merge in between has others.
	if h.sequence == 0 {
		h.sequence = s.nextSequence()
		s.sequence += uint64(len(cut))
	}
	sequence := h.sequence
	var build builder
	for _, part := range cut {
		var w *blockWriter
		minTime, maxTime := max(part.from, h.minTime), min(part.to, h.maxTime)
		for _, one := range series {
			if one.maxTime < minTime || one.minTime > maxTime {
				continue
			}
			data, err := one.build(&h.pieces, &build, minTime, maxTime)
			if err != nil {
				return abandon(fmt.Errorf("writing the head to a block: %w", err))
			}
			if data == nil {
				continue
			}
			if w == nil {
				w, err = newBlockWriter(s.options.FS, s.blocks, blockHead{
					sequence: sequence, minTime: minTime, maxTime: maxTime, through: through, rank: sequence,
					last: part == cut[len(cut)-1], parents: s.notRemoved(), now: s.options.Now().UnixMilli(),
				})
				if err != nil {
					return abandon(err)
				}
				w.writing = &s.writing
				writers = append(writers, w)
				sequence++
			}
			if err := w.add(one.key, one.kind, data); err != nil {
				return abandon(fmt.Errorf("writing block %s: %w", w.name(), err))
			}
		}
		if w == nil {
			continue
		}
		if err := w.finish(); err != nil {
			return abandon(err)
		}
	}
	if err := publish(writers...); err != nil {
		return err
	}
	var opened []*block
	for _, w := range writers {
		b, err := openBlock(s.options.FS, s.blocks, w.sequence)
		if err != nil {
			for _, o := range opened {
				o.release()
			}
			return err
		}
		opened = append(opened, b)
	}
	if err := s.saveDescriptions(); err != nil {
		return err
	}
	if err := s.saveHosts(); err != nil {
		return err
	}
	s.mu.Lock()
	s.replace(nil, opened)
	s.frozen = nil
	s.mu.Unlock()
	return s.journal.Checkpoint(subscriber, through)
}

// nextSequence is the number of the next block. The caller holds flushing.
func (s *Store) nextSequence() uint64 { return s.sequence + 1 }

// replace takes blocks out of the list and puts others in; the caller holds mu. Queries hold the old list.
func (s *Store) replace(gone, added []*block) {
	out := map[*block]bool{}
	for _, b := range gone {
		out[b] = true
	}
	var list []*block
	for _, b := range s.list {
		if !out[b] {
			list = append(list, b)
		}
	}
	list = append(list, added...)
	sort.Slice(list, func(a, b int) bool {
		if list[a].rank != list[b].rank {
			return list[a].rank < list[b].rank
		}
		return list[a].sequence < list[b].sequence
	})
	s.list = list
	for _, b := range gone {
		// At once, though queries may still read it: what is open stays readable. Were it there until they end, a crash could
		// find it without the block that says that it was replaced, which may be merged and gone by then.
		s.remove(b.sequence)
		b.release()
	}
}

// remove removes a block's file, or remembers that it could not be: a full ZFS dataset refuses that too. The caller holds mu.
func (s *Store) remove(sequence uint64) {
	err := s.options.FS.Remove(filepath.Join(s.blocks, blockName(sequence)))
	if err != nil && !vfs.NotExist(err) {
		s.remains = append(s.remains, sequence)
		s.options.Log.Warn("a block that was replaced could not be removed; it is tried again", "block", blockName(sequence), "error", err)
	}
}

// sweep tries again to remove what could not be.
func (s *Store) sweep() {
	s.mu.Lock()
	defer s.mu.Unlock()
	again := s.remains
	s.remains = nil
	for _, sequence := range again {
		s.remove(sequence)
	}
}

// notRemoved is the blocks that are still there though they were replaced. Each new block says that it replaces them: that
// which did may be replaced in its turn.
func (s *Store) notRemoved() []uint64 {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return slices.Clone(s.remains)
}

// build is what a block stores of the series' samples in a stretch of time; nil when there are none.
func (s *memSeries) build(p *pieces, b *builder, minTime, maxTime int64) (*seriesData, error) {
	switch s.kind {
	case Histogram:
		if m := s.more; len(m.lateRows.times) == 0 {
			frames, minutes, last, err := s.histogramFrames(&b.coder)
			if err != nil {
				return nil, err
			}
			if frames, whole := within(frames, minTime, maxTime); whole {
				return b.framed(frames, minutes, last)
			}
		}
		return b.histograms(newIterator(s.histogramSources(), minTime, maxTime, decodeHistograms, sumOfHistograms))
	case NativeHistogram:
		if m := s.more; len(m.lateNatives.times) == 0 {
			frames := append(slices.Clone(m.sealedRows), m.nativeFrames(&b.coder)...)
			if frames, whole := within(frames, minTime, maxTime); whole {
				return b.framedNatives(frames)
			}
		}
		return b.natives(newIterator(s.nativeSources(), minTime, maxTime, decodeNatives, newestNative))
	}
	b.copies.again()
	return b.numbers(newIterator(s.numberSources(p, math.MinInt64, math.MaxInt64, &b.copies), minTime, maxTime, decodeNumbers, newestNumber))
}

// within is the frames that lie in a stretch of time; whole says that none lies across its ends.
func within(frames []frame, minTime, maxTime int64) (list []frame, whole bool) {
	for _, f := range frames {
		switch {
		case f.maxTime < minTime || f.minTime > maxTime:
		case f.minTime >= minTime && f.maxTime <= maxTime:
			list = append(list, f)
		default:
			return nil, false
		}
	}
	return list, true
}

// indexIdle is how long an unused block's index stays in memory.
const indexIdle = 5 * time.Minute

// maintain flushes, merges, drops and measures by the clock, until Close.
func (s *Store) maintain() {
	defer s.done.Done()
	lastTidy, retry := time.Time{}, time.Time{}
	for {
		select {
		case <-s.stop:
			return
		case <-s.kick:
		case <-aligned.After(time.Second, 0):
		}
		now := s.options.Now()
		s.counts.measure(now)
		if now.After(retry) {
			if err := s.flushIfDue(now); err != nil {
				// A full disk, most likely; it is tried again soon.
				s.options.Log.Error("the head could not be written to a block: it stays in the journal", "error", err)
				retry = now.Add(10 * time.Second)
			}
		}
		s.saveNewHosts(now)
		if now.Sub(lastTidy) > time.Minute && !s.options.Untidied {
			lastTidy = now
			if err := s.tidy(); err != nil {
				s.options.Log.Error("the blocks could not be tidied", "error", err)
			}
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
	return s.frozen != nil || now.Sub(s.began) > s.options.BlockEvery || s.large(s.live, s.journal.End())
}
