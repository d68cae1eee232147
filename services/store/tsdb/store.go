package tsdb

// The store: one folder with a journal and blocks, and the head between them.

import (
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"cistern/services/journal"
	"cistern/services/platform/vfs"

	"github.com/cespare/xxhash/v2"
)

// Options choose how a store behaves; zero values mean the defaults named here.
type Options struct {
	FS              vfs.FS           // vfs.OS
	Now             func() time.Time // time.Now
	Log             *slog.Logger     // nothing is logged
	Retention       time.Duration    // 400 days; how long samples are kept
	RetentionMinute time.Duration    // Retention; how long rollups of a minute are kept, if that is longer
	RetentionHour   time.Duration    // ten years; and of an hour
	OutOfOrder      time.Duration    // an hour; how far behind its series' latest sample one may be
	BlockEvery      time.Duration    // two hours; how old the head gets before it becomes a block
	HeadBytes       int64            // 512 MiB; what series and samples in memory may take: see memory.go
	Held            func() int64     // what others hold of HeadBytes: inputs that remember names. It waits for nobody
	JournalBytes    int64            // 256 MiB; the head becomes a block when this much would have to be replayed
	MaxSeries       int              // 10 million at a time
	SeriesPerSecond int              // 50,000 new ones on average
	SeriesBurst     int              // 10 million new ones at once
	SegmentBytes    int64            // the journal's
	// Untidied is for who opens a store that is another one's, as to export it, and does not know for how long that one keeps
	// what: nothing is merged or deleted by age, and nothing is too old to be taken unless SetRetention said so.
	Untidied bool
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
	if o.Untidied {
		set(&o.Retention, longestRetention)
	}
	set(&o.Retention, 400*24*time.Hour)
	set(&o.RetentionMinute, o.Retention)
	set(&o.RetentionHour, max(o.Retention, 10*365*24*time.Hour))
	set(&o.OutOfOrder, time.Hour)
	set(&o.BlockEvery, 2*time.Hour)
	size(&o.HeadBytes, 512<<20)
	size(&o.JournalBytes, 256<<20)
	number(&o.MaxSeries, 10_000_000)
	number(&o.SeriesPerSecond, 50_000)
	number(&o.SeriesBurst, o.MaxSeries)
	size(&o.SegmentBytes, 32<<20)
}

// subscriber is the head's name in the journal: what it has passed is in blocks.
const subscriber = "head"

// maxFuture is how far a client's clock may be ahead.
const maxFuture = 10 * time.Minute

// Store is an open store; safe for many goroutines.
type Store struct {
	options  Options
	journal  *journal.Journal
	blocks   string   // folder
	replayed Replayed // at the start

	retention atomic.Pointer[Retention]
	meaning   sync.Mutex // serialises changes of meanings
	meanings  atomic.Pointer[map[string]Meaning]

	// ingesting serialises what changes the head: resolving, journalling, applying. It is taken before mu, and the
	// heads' mu after it.
	ingesting sync.Mutex
	buffer    []byte
	batch     []resolved
	found     []*memSeries
	hashes    []uint64
	canonical []byte
	parsed    []Label
	encoding  []byte
	bucket    bucket
	lookups   lookups
	watchings []*Watching
	limits    *limitTable // theirs, for the live head
	reserved  reservedNames

	// flushing serialises flushes and retention. It is taken before ingesting.
	flushing sync.Mutex
	sequence uint64       // the greatest that a block has, or is to have
	writing  atomic.Int64 // bytes of memory that the writers of blocks have

	mu          sync.RWMutex // guards which heads and blocks there are
	live        *head
	frozen      *head               // being written to a block, else nil
	list        []*block            // ascending by sequence
	remains     []uint64            // blocks that are in it no more, but could not be removed
	recent      map[uint64]struct{} // ids of the last generation's series: their return is no creation
	began       time.Time           // when live was begun
	frozenBegan time.Time           // when the frozen head did
	closed      bool
	deletions   []deletion

	described descriptions
	inventory inventory
	sightings sightings // of the batch that is written
	names     atomic.Uint64
	counts    counts
	stop      chan struct{}
	kick      chan struct{} // the head may have become too large
	done      sync.WaitGroup
}

// Open opens the store in folder, making it when there is none. What the journal holds beyond the blocks is in the
// head when it returns. A damaged block is set aside, named in the log, and the rest is served.
func Open(folder string, options Options) (*Store, error) {
	options.defaults()
	s := &Store{
		options: options, blocks: filepath.Join(folder, "blocks"), recent: map[uint64]struct{}{},
		stop: make(chan struct{}), kick: make(chan struct{}, 1),
	}
	s.counts.init(options.Now)
	s.inventory.init(options.Now())
	s.lookups.bucket = bucket{perSecond: lookupsPerSecond, burst: lookupsAtOnce, tokens: lookupsAtOnce}
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
	s.live.replaced = s.counts.replaced
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
	if err := s.openBlocks(through); err != nil {
		return err
	}
	for _, b := range s.list {
		through = max(through, b.through)
	}
	// Blocks that hold more than the journal ever did are left of another one: what a new one takes must not be passed
	// over as what they hold already.
	if end := s.journal.End(); through > end {
		s.options.Log.Warn("the journal ends before what the blocks hold: it was removed or is an older one", "end", end, "blocks", through)
		if err := s.journal.SkipTo(through); err != nil {
			return err
		}
	}
	s.loadRetention()
	s.loadMeanings()
	if err := s.loadDeletions(); err != nil {
		return err
	}
	if err := s.loadDescriptions(); err != nil {
		return err
	}
	if err := s.loadHosts(); err != nil {
		return err
	}
	return s.replay(through)
}

// openBlocks opens what is there: whole flushes, and of a merge either the parents or their successor. A flush is whole
// when its last block is there, and in any case up to the journal's checkpoint, which was set when it was: the last block
// may have been damaged or let go since, and the journal does not hold the others' samples any more.
func (s *Store) openBlocks(vouched journal.Position) error {
	entries, err := s.options.FS.List(s.blocks)
	if err != nil {
		return err
	}
	replaced := map[uint64]bool{}
	for _, entry := range entries {
		if name, set := strings.CutSuffix(entry.Name, damagedSuffix); set {
			// Its name is not given again: putting the sound block back from a snapshot is a copy.
			if sequence, ok := parseBlockName(name); ok {
				s.sequence = max(s.sequence, sequence)
				s.counts.damaged.note(Damage{Block: strings.TrimSuffix(name, blockSuffix), SetAside: true, Detail: "it was set aside at an earlier start"})
			}
			continue
		}
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
			s.counts.damaged.note(Damage{Block: strings.TrimSuffix(entry.Name, blockSuffix), SetAside: true, Detail: err.Error()})
			s.options.Log.Error("a block is damaged and was set aside; restore it from a snapshot, or run storaged repair", "error", err)
			path := filepath.Join(s.blocks, entry.Name)
			if err := s.options.FS.Rename(path, path+damagedSuffix); err != nil {
				return err
			}
			continue
		}
		if err != nil {
			return err
		}
		if b.last {
			vouched = max(vouched, b.through)
		}
		for _, p := range b.parents {
			replaced[p] = true
		}
		s.list = append(s.list, b)
	}
	var gone []*block
	for _, b := range s.list {
		if replaced[b.sequence] || b.through > vouched {
			gone = append(gone, b)
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.replace(gone, nil)
	return nil
}

// replay fills the head from what the journal holds behind the blocks.
func (s *Store) replay(through journal.Position) error {
	start := time.Now()
	s.live = newHead(through)
	s.inventory.begin(s.live, s.options.Now().UnixMilli(), s.oldestHost())
	reader := s.journal.Read(through)
	defer reader.Close()
	index := newIndexer(s.live)
	defer index.finish()
	decoder := entryDecoder{define: func(key []byte, kind Kind) (*memSeries, error) {
		hash := xxhash.Sum64(key)
		if known := s.live.find(key, hash); known != nil {
			if !known.kind.together(kind) { // rare, as is another of its name
				known = s.live.findKind(known.key, hash, kind)
			}
			if known != nil {
				return known, nil
			}
			s.live.twins = true
		}
		added, err := s.live.add(key, hash, kind)
		if err == nil {
			index.add(added)
		}
		return added, err
	}}
	samples, entries, lost := 0, 0, 0
	for {
		entry, err := reader.Next()
		if err != nil {
			s.replayed = Replayed{Entries: entries, Samples: samples, DamagedBytes: reader.Skipped, DamagedEntries: lost, Took: time.Since(start)}
			if entries > 0 || reader.Skipped > 0 || lost > 0 {
				s.options.Log.Info("replayed the journal", "entries", entries, "samples", samples,
					"damagedBytes", reader.Skipped, "damagedEntries", lost, "seconds", time.Since(start).Seconds())
			}
			if reader.Skipped > 0 || lost > 0 { // a crash's torn end is none of it: that was cut off before
				s.counts.damaged.note(Damage{Block: InJournal, Detail: fmt.Sprintf(
					"bytes that could not be read: %d; entries of which something is missing: %d", reader.Skipped, lost)})
				s.options.Log.Error("the journal is damaged: what cannot be read of it is lost, unless a snapshot has it",
					"damagedBytes", reader.Skipped, "damagedEntries", lost)
			}
			if isEOF(err) {
				s.live.fresh = len(s.live.series)
				s.live.number = uint64(s.journal.End()) // what others wrote before numbers series in its own way
				return nil
			}
			return err
		}
		if s.replayDescription(entry.Data) {
			continue
		}
		batch, _, err := decoder.decode(entry.Data)
		if errors.Is(err, errNewer) {
			return err
		}
		if err != nil { // checked bytes that make no sense: keep what could be read, and say so
			lost++
		}
		s.live.put(batch)
		s.replaySightings(batch)
		entries++
		samples += len(batch)
	}
}

// ErrClosed is returned after Close.
var ErrClosed = errors.New("the store is closed")

// Close writes the head to a block and closes everything. Samples that come later are refused. A head that cannot be
// written, as on a full disk, is no error but logged: the journal has its samples, and the next Open reads them from there.
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
	if _, err := s.Flush(); err != nil {
		s.options.Log.Error("the head could not be written to a block: it stays in the journal", "error", err)
	}
	s.flushing.Lock()
	defer s.flushing.Unlock()
	err := s.journal.Close()
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, b := range s.list {
		b.release()
	}
	s.list = nil
	return err
}
