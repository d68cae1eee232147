package tsdb

// Merging blocks, letting samples go when they are old, and taking out what was deleted: all three are a new block that
// replaces others.
//
// A window is a stretch of time that begins at a multiple of its length. When a window has passed and several blocks lie
// in it, they become one: of six hours, of a day, of eight days. What is written that way is read by fewer seeks, has
// one index, and longer frames. Late samples make small blocks in old windows; they are merged in when there are some.

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"
)

// windows, ascending; each is a multiple of the one before.
var windows = []int64{6 * 3_600_000, dayMillis, 8 * dayMillis}

// job is blocks that become one, or none.
type job struct {
	parents []*block
	drop    [tracks]bool // what is let go: the samples, the minutes and what is between them and the hours, the hours
	reason  string
}

// tidy does what is due, one merge after the other, until nothing is or the store stops.
func (s *Store) tidy() error {
	for {
		select {
		case <-s.stop:
			return nil
		default:
		}
		s.flushing.Lock()
		s.sweep()
		next := s.plan()
		var err error
		if next != nil {
			err = s.run(next)
		}
		s.flushing.Unlock()
		if next == nil || err != nil {
			return err
		}
	}
}

// plan is the most urgent job, or nil.
func (s *Store) plan() *job {
	now := s.options.Now().UnixMilli()
	s.mu.RLock()
	list := slices.Clone(s.list)
	deletions := slices.Clone(s.deletions)
	s.mu.RUnlock()
	var age [tracks]int64 // what ends before is let go
	for track, d := range s.keep() {
		age[track] = now - d.Milliseconds()
	}
	var gone []*block
	for _, b := range list {
		if b.MaxTime < age[trackHour] {
			gone = append(gone, b)
		}
	}
	if len(gone) > 0 {
		return &job{parents: gone, drop: [tracks]bool{trackRaw: true, trackMinute: true, trackHour: true}, reason: "age"}
	}
	for _, b := range list {
		if b.damaged.Load() {
			continue
		}
		var drop [tracks]bool
		drop[trackRaw] = b.MaxTime < age[trackRaw]
		drop[trackMinute] = b.MaxTime < age[trackMinute]
		if drop[trackRaw] && b.Samples > 0 || drop[trackMinute] && b.tracks[trackMinute] > 0 {
			return &job{parents: []*block{b}, drop: drop, reason: "age of the samples"}
		}
		for i := range deletions {
			if deletions[i].touches(b) {
				return &job{parents: []*block{b}, reason: "deletion"}
			}
		}
	}
	retention := s.Retention()
	// From the smallest window on. Blocks whose samples were let go are merged among themselves, and so are those whose
	// minutes were: of a series in one block only the finest that is there is looked at.
	for _, width := range windows {
		groups := map[[2]int64][]*block{}
		for _, b := range list {
			from := floorTo(b.MinTime, width)
			if floorTo(b.MaxTime, width) != from || b.damaged.Load() || from+width+s.options.OutOfOrder.Milliseconds() > now {
				continue
			}
			finest, kept := int64(trackHour), retention.Hour
			switch {
			case b.Samples > 0:
				finest, kept = trackRaw, retention.Raw
			case b.tracks[trackMinute] > 0:
				finest = trackMinute
			}
			// A block goes as a whole: a wide one would be kept for long after its first samples were due.
			if width > windows[0] && width > kept.Milliseconds()/10 {
				continue
			}
			groups[[2]int64{from, finest}] = append(groups[[2]int64{from, finest}], b)
		}
		var best []*block
		for _, group := range groups {
			if len(group) > 1 && (best == nil || group[0].MinTime < best[0].MinTime) && worthMerging(group) {
				best = group
			}
		}
		if best != nil {
			return &job{parents: best, reason: "window"}
		}
	}
	return nil
}

// worthMerging says whether merging is worth writing the largest block again: a few late samples can wait.
func worthMerging(group []*block) bool {
	total, largest := int64(0), int64(0)
	for _, b := range group {
		total += b.Bytes
		largest = max(largest, b.Bytes)
	}
	return len(group) > 4 || (total-largest)*10 > largest
}

// run does a job. The caller holds flushing.
func (s *Store) run(j *job) error {
	began := time.Now()
	if j.drop[trackHour] {
		s.mu.Lock()
		s.replace(j.parents, nil)
		s.mu.Unlock()
		for _, b := range j.parents {
			s.options.Log.Info("dropped a block by its age", "block", b.ID, "bytes", b.Bytes)
		}
		return s.forgetDeletions()
	}
	merged, err := s.merge(j)
	if errors.Is(err, errDamaged) || errors.Is(err, errFrame) {
		s.options.Log.Error("blocks cannot be merged because one is damaged", "error", err)
		// It is left as it is, and served as far as it can be. Were none marked, the same job would come again at once.
		if slices.ContainsFunc(j.parents, func(b *block) bool { return b.damaged.Load() }) {
			return nil
		}
	}
	if err != nil {
		return fmt.Errorf("merging blocks: %w", err)
	}
	var added []*block
	before, after := int64(0), int64(0)
	for _, b := range j.parents {
		before += b.Bytes
	}
	if merged != nil {
		added, after = []*block{merged}, merged.Bytes
	}
	s.mu.Lock()
	s.replace(j.parents, added)
	s.mu.Unlock()
	s.counts.merges.Add(1)
	s.options.Log.Info("merged blocks", "reason", j.reason, "blocks", len(j.parents), "bytes", before, "after", after,
		"seconds", time.Since(began).Seconds())
	return s.forgetDeletions()
}

// merge writes the block that replaces a job's parents; nil when nothing is left.
func (s *Store) merge(j *job) (*block, error) {
	head := blockHead{sequence: s.nextSequence(), minTime: 1<<63 - 1, maxTime: -1 << 63, now: s.options.Now().UnixMilli()}
	head.parents = s.notRemoved()
	var cursors []*blockCursor
	for _, b := range j.parents {
		head.minTime, head.maxTime = min(head.minTime, b.MinTime), max(head.maxTime, b.MaxTime)
		head.rank, head.through = max(head.rank, b.rank), max(head.through, b.through)
		head.last = head.last || b.last
		head.parents = append(head.parents, b.sequence)
		x, err := b.index()
		if err != nil {
			s.noteDamage(b, err)
			return nil, err
		}
		cursors = append(cursors, &blockCursor{index: x})
	}
	// Taken now, because flushes go on meanwhile.
	s.sequence = head.sequence
	w, err := newBlockWriter(s.options.FS, s.blocks, head)
	if err != nil {
		return nil, err
	}
	w.writing = &s.writing
	build := builder{noRaw: j.drop[trackRaw], noMinute: j.drop[trackMinute]}
	build.always[trackMinute] = j.drop[trackRaw] && !j.drop[trackMinute]
	build.always[trackHour] = j.drop[trackRaw]
	err = s.eachKey(cursors, func(key string, parts []blockPart) error {
		// A name can have changed what it holds: nothing of either is lost, the block then has its key twice.
		for len(parts) > 0 {
			kind := parts[0].record.kind
			var same, others []blockPart
			for _, p := range parts {
				if p.record.kind.together(kind) {
					same, kind = append(same, p), p.record.kind
				} else {
					others = append(others, p)
				}
			}
			parts = others
			data, err := s.mergeSeries(&build, j, key, kind, same)
			if err == nil && data != nil {
				err = w.add(key, kind, data)
			}
			if err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		w.abandon()
		return nil, err
	}
	if w.series == 0 {
		// The list of what is there must not be shorter than what the parents vouched for: an empty block does.
		w.minTime = head.minTime
	}
	if err := w.finish(); err != nil {
		return nil, err
	}
	err = publish(w)
	var b *block
	if err == nil {
		b, err = openBlock(s.options.FS, s.blocks, head.sequence)
	}
	if err != nil {
		// It may have its name already. The next try has another number: both would be there after a restart.
		s.mu.Lock()
		s.remove(w.sequence)
		s.mu.Unlock()
		return nil, err
	}
	return b, nil
}

// blockPart is a series in one of several blocks.
type blockPart struct {
	block  *block
	record *blockSeries
}

// blockCursor walks through a block's series in the order of their keys.
type blockCursor struct {
	index *blockIndex
	page  []blockSeries
	next  int
}

// present is the series the cursor stands on, or nil at the end.
func (c *blockCursor) present() (*blockSeries, error) {
	if c.next >= c.index.block.Series {
		return nil, nil
	}
	if c.next%pageSeries == 0 || c.page == nil {
		page, err := c.index.readPage(c.next / pageSeries)
		if err != nil {
			return nil, err
		}
		c.page = page
	}
	return &c.page[c.next%pageSeries], nil
}

// eachKey calls f with each key and the blocks that have it.
func (s *Store) eachKey(cursors []*blockCursor, f func(key string, parts []blockPart) error) error {
	for n := 0; ; n++ {
		if n%4096 == 0 {
			select {
			case <-s.stop:
				return errors.New("the store stops")
			default:
			}
			// A large merge takes minutes: the head must not fill up behind it.
			if s.due(s.options.Now()) {
				if _, err := s.flush(); err != nil {
					return err
				}
			}
		}
		var least *blockSeries
		for _, c := range cursors {
			one, err := c.present()
			if err != nil {
				s.noteDamage(c.index.block, err)
				return err
			}
			if one != nil && (least == nil || one.key < least.key) {
				least = one
			}
		}
		if least == nil {
			return nil
		}
		key := least.key
		var parts []blockPart
		for _, c := range cursors {
			one, err := c.present()
			if err != nil {
				return err
			}
			for one != nil && one.key == key {
				record := *one
				parts = append(parts, blockPart{c.index.block, &record})
				c.next++
				if one, err = c.present(); err != nil {
					return err
				}
			}
		}
		if err := f(key, parts); err != nil {
			return err
		}
	}
}

// mergeSeries is what the merged block stores of a series; nil when nothing is left of it.
func (s *Store) mergeSeries(build *builder, j *job, key string, kind Kind, parts []blockPart) (*seriesData, error) {
	one := &Series{Key: key, Kind: kind}
	minTime, maxTime := int64(1<<63-1), int64(-1<<63)
	hasRaw := true
	var damage error // leaving out what is damaged is for queries: a merge would make it final
	for _, p := range parts {
		minTime, maxTime = min(minTime, p.record.minTime), max(maxTime, p.record.maxTime)
		hasRaw = hasRaw && p.record.lengths[trackRaw] > 0
		note := func(err error) {
			s.noteDamage(p.block, err)
			damage = err
		}
		if err := one.addBlock(s.deletionsNow(), p.block, p.record, note); err != nil {
			return nil, err
		}
	}
	if kind < Histogram && !hasRaw {
		data, err := one.mergeRollups(build, minTime, maxTime)
		return data, errors.Join(err, damage)
	}
	b := *build
	if !hasRaw { // records of a rollup are all there is: they go on as they are
		// The first one stands before the first sample that it is of.
		minTime = floorTo(minTime, trackWidth[trackHour])
		b.noRaw = true
		b.always = [tracks]bool{trackMinute: !j.drop[trackMinute], trackHour: true}
	}
	var data *seriesData
	var err error
	switch kind {
	case Histogram:
		data, err = b.histograms(one.Histograms(minTime, maxTime))
	case NativeHistogram:
		data, err = b.natives(one.Natives(minTime, maxTime))
	default:
		data, err = b.numbers(one.Numbers(minTime, maxTime))
	}
	build.times, build.values, build.hists = b.times, b.values, b.hists
	if err = errors.Join(err, damage); err != nil {
		return nil, err
	}
	if data != nil && data.empty() {
		return nil, err
	}
	return data, err
}

// Compact does all merging that is due now.
func (s *Store) Compact(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	return s.tidy()
}
