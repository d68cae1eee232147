package journal

// The writing side: opening, appending, making durable, rolling segments.

import (
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"cistern/services/platform/vfs"
)

// Options choose how a journal behaves; the zero value is good.
type Options struct {
	// FS is vfs.OS when nil.
	FS vfs.FS
	// SegmentBytes is when a new segment is begun; 32 MiB when 0.
	SegmentBytes int64
	// SyncEvery makes what was appended durable that often, without being asked; 0 leaves it to Sync.
	SyncEvery time.Duration
	// PreCommit is the size of the pre-commit buffer in bytes; 0 is none, and each Append is a write of its own.
	PreCommit int
	// FlushEvery is how long an entry may stay in the pre-commit buffer; 0 leaves it to Flush, Sync and its size.
	FlushEvery time.Duration
	// Compress makes a journal whose entries are compressed with LZ4, those of one Append or of one pre-commit buffer
	// together. It is fixed when the journal is made; one that exists keeps what it has.
	Compress bool
	// Shared lets several processes write, each in its turn. Within a process use one Journal: the locks are the process's.
	Shared bool
}

// Durability says what holds for an entry when its append was acknowledged.
type Durability string

const (
	// Fsync: it survives a power cut.
	Fsync Durability = "fsync"
	// Interval: it survives the process's death at once, and a power cut after at most SyncEvery.
	Interval Durability = "interval"
	// Buffered: it survives the process's death; a power cut may take what the kernel had not written.
	Buffered Durability = "buffered"
)

type segment struct {
	base Position
	size int64
}

func (s segment) end() Position { return s.base + Position(s.size) }

// Journal is open for writing and reading; safe for many goroutines, and the only writer of its folder.
type Journal struct {
	fs      vfs.FS
	folder  string
	options Options
	lock    io.Closer

	// appending serialises writers. It is taken before mu.
	appending sync.Mutex
	buffer    []byte // these three under appending
	group     group
	pre       *precommit
	flags     uint32       // of segments
	pending   atomic.Int64 // bytes in the pre-commit buffer
	preBase   Position     // of its first entry
	appended  atomic.Uint64
	closing   bool
	renew     bool // the last segment's header was damaged when the journal was opened

	mu          sync.Mutex
	changed     *sync.Cond // syncing has ended
	segments    []segment  // ascending; the last one is written to
	file        vfs.File   // of the last segment
	synced      Position
	syncing     bool  // somebody is in file.Sync, or rolls: file must not be closed
	failed      error // an fsync failed: what the kernel dropped is not known, so nothing is accepted any more
	torn        bool  // behind the last segment's end lies what a failed write left: see mend. Guarded by appending
	subscribers map[string]Position
	marks       map[string]Position
	stats       counters
	syncTook    time.Duration
	round       *round       // that goes on, or is next
	sharing     atomic.Int64 // how many wait for syncing to end; changed under mu
	crowd       int64        // how many did when it last ended

	commits commits

	// checkpointing serialises changes of subscriber files. It is taken before mu.
	checkpointing sync.Mutex

	stop chan struct{}
	done sync.WaitGroup
}

type counters struct {
	entries, syncs, cut, damaged, flushes uint64
}

// ErrClosed is returned after Close.
var ErrClosed = errors.New("the journal is closed")

func (j *Journal) path(name string) string { return filepath.Join(j.folder, name) }

// Append writes entries, in order and next to each other, and returns the position behind the last. They are in the
// kernel when it returns: a kill of this process does not lose them; a power cut may, until Sync. On an error none of
// them counts as written.
func (j *Journal) Append(entries ...[]byte) (Position, error) {
	j.appending.Lock()
	defer j.appending.Unlock()
	size := 0
	for _, data := range entries {
		if len(data) > MaxEntry {
			return 0, tooLarge(data)
		}
		size += entryHeaderBytes + len(data)
	}
	if j.pre != nil {
		if position, done, err := j.precommitted(entries, size); done || err != nil {
			return position, err
		}
	}
	if j.options.Shared {
		if err := j.turn(); err != nil {
			return 0, err
		}
		defer j.giveLock()
	}
	j.buffer = j.buffer[:0]
	for _, data := range entries {
		if j.flags&flagGroups != 0 {
			j.group.add(data)
			if len(j.group.raw) > MaxEntry/2 {
				j.buffer = j.group.append(j.buffer)
			}
			continue
		}
		j.buffer = appendEntry(j.buffer, data)
	}
	j.buffer = j.group.append(j.buffer)
	defer func() {
		// One huge batch must not be paid for, for ever, nor a large one when small ones follow.
		if n := cap(j.buffer); n > 4<<20 || n > 1<<20 && len(j.buffer) < n/8 {
			j.buffer, j.group = nil, group{}
		}
	}()
	if err := j.rollIfFull(int64(len(j.buffer))); err != nil {
		return 0, err
	}
	if err := j.writeOut(j.buffer); err != nil {
		return 0, err
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	j.stats.entries += uint64(len(entries))
	return j.segments[len(j.segments)-1].end(), nil
}

// precommitted puts entries into the pre-commit buffer; false when they are too large for it, which is then empty.
func (j *Journal) precommitted(entries [][]byte, size int) (position Position, done bool, err error) {
	p := j.pre
	if size > len(p.bytes) || j.closing {
		return 0, false, j.flush()
	}
	if p.used+size > len(p.bytes) {
		if err := j.flush(); err != nil {
			return 0, false, err
		}
	}
	if p.used == 0 {
		// A new segment begins only here: the positions of what is in the buffer are known by its first one's.
		if err := j.rollIfFull(int64(size)); err != nil {
			return 0, false, err
		}
		j.mu.Lock()
		base, failed := j.segments[len(j.segments)-1].end(), j.failed
		j.mu.Unlock()
		if failed != nil {
			return 0, false, failed
		}
		p.reset(base)
		j.preBase = base
	}
	p.put(entries, size)
	j.pending.Store(int64(p.used))
	j.appended.Add(uint64(len(entries)))
	if j.flags&flagGroups != 0 {
		return j.preBase + Position(p.entries), true, nil
	}
	return j.preBase + Position(p.used), true, nil
}

// rollIfFull begins a new segment when there is no room for more bytes. The caller holds appending.
func (j *Journal) rollIfFull(more int64) error {
	j.mu.Lock()
	last, failed := j.segments[len(j.segments)-1], j.failed
	j.mu.Unlock()
	if failed != nil {
		return failed
	}
	if last.size > headerBytes && last.size+more > j.options.SegmentBytes {
		return j.roll(last.end())
	}
	return nil
}

// writeOut adds bytes to the last segment. The caller holds appending: only it changes file and the last segment's size.
func (j *Journal) writeOut(bytes []byte) error {
	if err := j.mend(); err != nil {
		return err
	}
	if _, err := j.file.Write(bytes); err != nil {
		j.mu.Lock()
		defer j.mu.Unlock()
		size := j.segments[len(j.segments)-1].size
		// A full disk leaves a part: take it back, so that writing can go on when there is room.
		j.torn = j.file.Truncate(size) != nil
		return fmt.Errorf("writing to the journal: %w", err)
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	j.segments[len(j.segments)-1].size += int64(len(bytes))
	return nil
}

// mend cuts off what a failed write left behind the last segment's end, where that was not possible at once: ZFS refuses even
// to make a file shorter when its dataset is over its quota. The caller holds appending.
func (j *Journal) mend() error {
	if !j.torn {
		return nil
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	last := j.segments[len(j.segments)-1]
	if err := j.file.Truncate(last.size); err != nil {
		return fmt.Errorf("the journal cannot take back a partial write: %w", err)
	}
	j.torn = false
	return nil
}

// AppendDurable is Append, and waits until d holds. What is behind an error of the waiting was written, but counts as
// refused: it may come back after a restart. Entries of writers that wait for Fsync at the same time are written together;
// those of one AppendDurable stay next to each other.
func (j *Journal) AppendDurable(d Durability, entries ...[]byte) (Position, error) {
	if d == Fsync && j.options.PreCommit == 0 && !j.options.Shared && j.flags&flagGroups == 0 {
		return j.appendTogether(entries)
	}
	position, err := j.Append(entries...)
	if err == nil && d == Fsync {
		err = j.Sync(position)
	}
	return position, err
}

// roll makes the last segment durable and begins the next. appending is held.
func (j *Journal) roll(end Position) error {
	if err := j.mend(); err != nil {
		return err
	}
	j.mu.Lock()
	for j.syncing {
		j.changed.Wait()
	}
	j.syncing = true
	old := j.file
	j.mu.Unlock()

	err := old.Sync()
	failed := err
	if err == nil {
		err = j.begin(end)
	}

	j.mu.Lock()
	defer j.mu.Unlock()
	j.syncing = false
	j.letGo()
	if failed != nil {
		j.failed = fmt.Errorf("making the journal durable: %w", failed)
		return j.failed
	}
	if err == nil {
		old.Close()
	}
	return err
}

// Roll begins a new segment when the last one holds more than least bytes: what was appended before can then be removed as
// soon as every subscriber has passed it, and does not wait for the segment to be full. What was appended is durable when
// a segment was begun.
func (j *Journal) Roll(least int64) error {
	j.appending.Lock()
	defer j.appending.Unlock()
	if j.options.Shared {
		if err := j.turn(); err != nil {
			return err
		}
		defer j.giveLock()
	}
	if err := j.flush(); err != nil {
		return err
	}
	j.mu.Lock()
	last, failed := j.segments[len(j.segments)-1], j.failed
	j.mu.Unlock()
	if failed != nil || last.size-headerBytes <= least {
		return failed
	}
	return j.roll(last.end())
}

// SkipTo makes what is appended from now on lie behind at, when the journal ends before: somebody knows from elsewhere that
// it reached as far once, and takes nothing before that for new. Durable when it returns.
func (j *Journal) SkipTo(at Position) error {
	j.appending.Lock()
	defer j.appending.Unlock()
	if j.options.Shared {
		if err := j.turn(); err != nil {
			return err
		}
		defer j.giveLock()
	}
	if err := j.flush(); err != nil {
		return err
	}
	if at <= j.End() {
		return nil
	}
	return j.roll(at)
}

// End is the position behind the last entry that is in a segment.
func (j *Journal) End() Position {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.segments[len(j.segments)-1].end()
}

// Begin is the position before the first entry that is still there.
func (j *Journal) Begin() Position {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.segments[0].base
}

// Close makes everything durable and gives the folder free.
func (j *Journal) Close() error {
	j.mu.Lock()
	if errors.Is(j.failed, ErrClosed) {
		j.mu.Unlock()
		return nil
	}
	j.mu.Unlock()
	close(j.stop)
	j.done.Wait()
	err := j.syncAll()
	j.appending.Lock()
	defer j.appending.Unlock()
	j.closing = true
	j.mu.Lock()
	defer j.mu.Unlock()
	for j.syncing {
		j.changed.Wait()
	}
	j.failed = ErrClosed
	if closeErr := j.file.Close(); err == nil {
		err = closeErr
	}
	if j.pre != nil {
		// What could not be written stays in the file, and the next to open the journal writes it.
		if closeErr := j.pre.mapping.Close(); err == nil {
			err = closeErr
		}
		j.pre = nil
	}
	if j.lock != nil {
		if closeErr := j.lock.Close(); err == nil {
			err = closeErr
		}
	}
	return err
}
