package tsdb

// The store: one folder with a journal and blocks, and the head between them.

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"sync"
	"time"

	"cistern/services/journal"
	"cistern/services/vfs"
)

// Options choose how a store behaves; zero values mean the defaults named here.
type Options struct {
	FS              vfs.FS           // vfs.OS
	Now             func() time.Time // time.Now
	Log             *slog.Logger     // nothing is logged
	Retention       time.Duration    // 400 days; how long samples are kept
	OutOfOrder      time.Duration    // an hour; how far behind its series' latest sample one may be
	BlockEvery      time.Duration    // two hours; how old the head gets before it becomes a block
	HeadBytes       int64            // 256 MiB; the head becomes a block earlier when it is that large
	JournalBytes    int64            // 256 MiB; or when this much would have to be replayed
	MaxSeries       int              // 2 million at a time
	SeriesPerSecond int              // 20,000 new ones on average
	SeriesBurst     int              // 200,000 new ones at once
	SegmentBytes    int64            // the journal's
}

func (o *Options) defaults() {
	set := func(d *time.Duration, v time.Duration) {
		if *d == 0 {
			*d = v
		}
	}
	size := func(n *int64, v int64) {
		if *n == 0 {
			*n = v
		}
	}
	number := func(n *int, v int) {
		if *n == 0 {
			*n = v
		}
	}
	if o.FS == nil {
		o.FS = vfs.OS
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	set(&o.Retention, 400*24*time.Hour)
	set(&o.OutOfOrder, time.Hour)
	set(&o.BlockEvery, 2*time.Hour)
	size(&o.HeadBytes, 256<<20)
	size(&o.JournalBytes, 256<<20)
	number(&o.MaxSeries, 2_000_000)
	number(&o.SeriesPerSecond, 20_000)
	number(&o.SeriesBurst, 200_000)
	size(&o.SegmentBytes, 32<<20)
}

// subscriber is the head's name in the journal: what it has passed is in blocks.
const subscriber = "head"

// maxFuture is how far a client's clock may be ahead.
const maxFuture = 10 * time.Minute

// Store is an open store; safe for many goroutines.
type Store struct {
	options Options
	journal *journal.Journal
	blocks  string // folder

	// ingesting serialises what changes the head: resolving, journalling, applying. It is taken before mu, and the
	// heads' mu after it.
	ingesting sync.Mutex
	buffer    []byte
	batch     []resolved
	bucket    bucket

	// flushing serialises flushes and retention. It is taken before ingesting.
	flushing sync.Mutex
	sequence uint64 // of the newest block

	mu     sync.RWMutex // guards which heads and blocks there are
	live   *head
	frozen *head               // being written to a block, else nil
	list   []*block            // ascending by sequence
	recent map[uint64]struct{} // ids of the last generation's series: their return is no creation
	began  time.Time           // when live was begun
	closed bool

	counts counts
	stop   chan struct{}
	kick   chan struct{} // the head may have become too large
	done   sync.WaitGroup
}

// Open opens the store in folder, making it when there is none. What the journal holds beyond the blocks is in the
// head when it returns. A damaged block is set aside, named in the log, and the rest is served.
func Open(folder string, options Options) (*Store, error) {
	options.defaults()
	s := &Store{
		options: options, blocks: filepath.Join(folder, "blocks"), recent: map[uint64]struct{}{},
		stop: make(chan struct{}), kick: make(chan struct{}, 1),
	}
	s.counts.init(options.Now())
	s.bucket = bucket{perSecond: float64(options.SeriesPerSecond), burst: float64(options.SeriesBurst), tokens: float64(options.SeriesBurst)}
	if err := options.FS.MkdirAll(s.blocks); err != nil {
		return nil, fmt.Errorf("making the folder of the blocks: %w", err)
	}
	// The journal's lock is the store's: nothing is touched before it is held.
	j, err := journal.Open(filepath.Join(folder, "journal"), journal.Options{
		FS: options.FS, SegmentBytes: options.SegmentBytes, SyncEvery: time.Second,
	})
	if err != nil {
		return nil, err
	}
	s.journal = j
	if err := s.recover(); err != nil {
		for _, b := range s.list {
			b.release()
		}
		j.Close()
		return nil, fmt.Errorf("opening the store %s: %w", folder, err)
	}
	s.began = options.Now()
	s.done.Add(1)
	go s.maintain()
	return s, nil
}

func (s *Store) recover() error {
	through, err := s.journal.Subscribe(subscriber, false)
	if err != nil {
		return err
	}
	entries, err := s.options.FS.List(s.blocks)
	if err != nil {
		return err
	}
	for _, entry := range entries {
		if filepath.Ext(entry.Name) == ".tmp" {
			if err := s.options.FS.Remove(filepath.Join(s.blocks, entry.Name)); err != nil {
				return err
			}
			continue
		}
		sequence, ok := parseBlockName(entry.Name)
		if !ok {
			continue
		}
		s.sequence = max(s.sequence, sequence)
		b, err := openBlock(s.options.FS, s.blocks, sequence)
		if errors.Is(err, errDamaged) {
			s.counts.damaged.Add(1)
			s.options.Log.Error("a block is damaged and was set aside; restore it from a snapshot", "error", err)
			path := filepath.Join(s.blocks, entry.Name)
			if err := s.options.FS.Rename(path, path+damagedSuffix); err != nil {
				return err
			}
			continue
		}
		if err != nil {
			return err
		}
		s.list = append(s.list, b)
		through = max(through, b.through)
	}
	return s.replay(through)
}

// replay fills the head from what the journal holds behind the blocks.
func (s *Store) replay(through journal.Position) error {
	start := time.Now()
	s.live = newHead(through)
	reader := s.journal.Read(through)
	defer reader.Close()
	decoder := entryDecoder{byRef: map[uint64]definition{}, define: func(key string, kind Kind) (*memSeries, error) {
		if known := s.live.byKey[key]; known != nil {
			return known, nil
		}
		return s.live.create(key, kind)
	}}
	samples, entries, lost := 0, 0, 0
	for {
		entry, err := reader.Next()
		if err != nil {
			if entries > 0 || reader.Skipped > 0 || lost > 0 {
				s.options.Log.Info("replayed the journal", "entries", entries, "samples", samples,
					"damagedBytes", reader.Skipped, "damagedEntries", lost, "seconds", time.Since(start).Seconds())
			}
			if isEOF(err) {
				s.live.fresh = len(s.live.series)
				return nil
			}
			return err
		}
		batch, _, err := decoder.decode(entry.Data)
		if err != nil { // checked bytes that make no sense: keep what could be read, and say so
			lost++
		}
		s.live.put(batch)
		entries++
		samples += len(batch)
	}
}

// ErrClosed is returned after Close.
var ErrClosed = errors.New("the store is closed")

// Ingest implements Ingester.
func (s *Store) Ingest(_ context.Context, input string, samples []Sample, durability journal.Durability) ([]Rejection, error) {
	position, accepted, rejected, err := s.write(samples)
	if err != nil {
		return nil, err
	}
	if durability == journal.Fsync && accepted > 0 {
		if err := s.journal.Sync(position); err != nil {
			return nil, err
		}
	}
	s.counts.accept(input, accepted)
	for _, r := range rejected {
		s.counts.reject(r.Reason, 1)
	}
	return rejected, nil
}

// Reject implements Ingester.
func (s *Store) Reject(reason Reason, n int) { s.counts.reject(reason, n) }

func (s *Store) write(samples []Sample) (position journal.Position, accepted int, rejected []Rejection, err error) {
	s.ingesting.Lock()
	defer s.ingesting.Unlock()
	s.mu.RLock()
	live, closed := s.live, s.closed
	s.mu.RUnlock()
	if closed {
		return 0, 0, nil, ErrClosed
	}
	now := s.options.Now()
	s.bucket.refill(now)
	oldest, newest := now.Add(-s.options.Retention).UnixMilli(), now.Add(maxFuture).UnixMilli()
	window := s.options.OutOfOrder.Milliseconds()
	full := live.bytes > 2*s.options.HeadBytes
	batch := s.batch[:0]
	for i := range samples {
		one := &samples[i]
		t := one.Time
		var reason Reason
		var detail string
		series := live.byKey[string(one.Key)]
		switch {
		case t < oldest:
			reason, detail = TooOld, fmt.Sprintf("the time %d is further back than the retention of %s", t, s.options.Retention)
		case t > newest:
			reason, detail = TooNew, fmt.Sprintf("the time %d is more than %s in the future", t, maxFuture)
		case full:
			reason, detail = MemoryLimit, "the memory for new samples is full: they come faster than they can be written to disk"
		case one.Kind == Histogram && (one.Histogram == nil || len(one.Histogram.Bins) == 0):
			reason, detail = EmptySample, "the histogram holds nothing"
		case series == nil:
			series, reason, detail = s.create(live, one)
		case (series.kind == Histogram) != (one.Kind == Histogram):
			reason, detail = TypeConflict, fmt.Sprintf("the series is a %s; it cannot hold a %s too", series.kind, one.Kind)
		case series.has && t < series.maxTime-window:
			reason, detail = OutOfOrder, fmt.Sprintf("the time %d is more than %s behind the series' latest sample", t, s.options.OutOfOrder)
		}
		if reason != "" {
			rejected = append(rejected, Rejection{i, reason, detail})
			continue
		}
		if one.Kind == Histogram {
			t -= ((t % 1000) + 1000) % 1000
		}
		batch = append(batch, resolved{series, t, one.Value, one.Histogram})
	}
	s.batch = batch
	defer func() { clear(batch) }() // hold no histogram longer than needed
	if len(batch) == 0 {
		return 0, 0, rejected, nil
	}
	var defines []*memSeries
	s.buffer, defines = appendBatch(s.buffer[:0], batch)
	position, err = s.journal.Append(s.buffer)
	if cap(s.buffer) > 4<<20 || cap(s.batch) > 1<<17 {
		s.buffer, s.batch = nil, nil
	}
	if err != nil {
		for _, d := range defines {
			d.defined = false
		}
		return 0, 0, nil, err
	}
	live.put(batch)
	if live.bytes > s.options.HeadBytes || int64(position-live.since) > s.options.JournalBytes {
		select {
		case s.kick <- struct{}{}:
		default:
		}
	}
	return position, len(batch), rejected, nil
}

// create makes a new series, if the limits allow it.
func (s *Store) create(live *head, one *Sample) (*memSeries, Reason, string) {
	key := string(one.Key)
	if _, known := s.recent[SeriesID(key)]; !known {
		if len(live.series) >= s.options.MaxSeries {
			return nil, SeriesLimit, fmt.Sprintf("there are %d series already, which is the limit", s.options.MaxSeries)
		}
		if !s.bucket.take() {
			return nil, SeriesRate, fmt.Sprintf("new series come faster than %d per second", s.options.SeriesPerSecond)
		}
		live.mu.Lock() // Status reads it
		live.fresh++
		live.mu.Unlock()
	}
	series, err := live.create(key, one.Kind)
	if err != nil {
		return nil, BadLabel, err.Error()
	}
	return series, "", ""
}

// Close writes the head to a block and closes everything. Samples that come later are refused.
func (s *Store) Close() error {
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		return nil
	}
	s.mu.Unlock()
	close(s.stop)
	s.done.Wait()
	s.ingesting.Lock()
	s.mu.Lock()
	s.closed = true
	s.mu.Unlock()
	s.ingesting.Unlock()
	_, err := s.Flush()
	s.flushing.Lock()
	defer s.flushing.Unlock()
	if closeErr := s.journal.Close(); err == nil {
		err = closeErr
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, b := range s.list {
		b.release()
	}
	s.list = nil
	return err
}
