package journal

// Several processes writing one journal: each takes the file lock for one operation, looks what the others did, and
// gives it back. A writer that died in its turn left a torn tail: whoever comes next cuts it.

import (
	"errors"
	"fmt"
	"path/filepath"
	"sort"
	"time"

	"cistern/services/platform/vfs"
)

// maxTurn is how long a writer waits for the others; none holds the lock longer than a write and an fsync take.
const maxTurn = 30 * time.Second

// takeLock takes the file lock, for ever or, in a shared journal, for a turn.
func (j *Journal) takeLock() error {
	deadline, pause := time.Now().Add(maxTurn), 50*time.Microsecond
	for {
		lock, err := j.fs.Lock(filepath.Join(j.folder, "LOCK"))
		if err == nil {
			j.lock = lock
			return nil
		}
		if !j.options.Shared || !errors.Is(err, vfs.ErrLocked) || time.Now().After(deadline) {
			return err
		}
		time.Sleep(pause)
		pause = min(2*pause, 5*time.Millisecond)
	}
}

func (j *Journal) giveLock() {
	if j.lock != nil {
		j.lock.Close()
		j.lock = nil
	}
}

// turn takes the lock and brings j up to date, ready to write. The caller holds appending.
func (j *Journal) turn() error {
	j.mu.Lock()
	failed := j.failed
	j.mu.Unlock()
	if failed != nil {
		return failed
	}
	if err := j.takeLock(); err != nil {
		return fmt.Errorf("waiting for the journal's other writers: %w", err)
	}
	if err := j.catchUp(); err != nil {
		j.giveLock()
		return err
	}
	return nil
}

// catchUp makes j's view that of the disk, and cuts what a writer that died left at the end. The lock is held.
func (j *Journal) catchUp() error {
	j.mu.Lock()
	before := j.segments[len(j.segments)-1]
	j.mu.Unlock()
	if err := j.refresh(); err != nil {
		return err
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	last := &j.segments[len(j.segments)-1]
	if last.base == before.base && last.size == before.size {
		return nil
	}
	for j.syncing { // somebody uses file
		j.changed.Wait()
	}
	file := j.file
	if last.base != before.base {
		opened, err := j.fs.Append(j.path(segmentName(last.base)))
		if err != nil {
			return err
		}
		file.Close()
		file, j.file = opened, opened
		// What others made durable is not known: from here on it counts when this process syncs.
		j.synced = max(j.synced, last.base)
		before = segment{last.base, headerBytes}
	}
	if last.size < headerBytes {
		return fmt.Errorf("segment %s was cut short", last.base)
	}
	reader := segmentReader{file: file, size: last.size, offset: max(headerBytes, before.size)}
	for {
		if _, _, err := reader.next(); errors.Is(err, errNoEntry) {
			break
		} else if err != nil {
			return err
		}
	}
	if reader.offset < last.size {
		j.stats.cut += uint64(last.size - reader.offset)
		last.size = reader.offset // also when it cannot be cut now: the next turn is to see it again
		if err := file.Truncate(reader.offset); err != nil {
			return fmt.Errorf("cutting the torn tail of segment %s: %w", last.base, err)
		}
	}
	return nil
}

// refresh reads which segments there are and how long, and the checkpoints. The lock is held: what is not whole yet was
// left by a writer that died, and who is to write must have seen to it.
func (j *Journal) refresh() error {
	entries, err := j.fs.List(j.folder)
	if err != nil {
		return err
	}
	segments := segmentsOf(entries)
	if len(segments) == 0 {
		return fmt.Errorf("the journal %s is gone", j.folder)
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	j.segments = segments
	return j.loadSubscribers(entries)
}

// segmentsOf is the segments in a folder whose headers are there, ascending.
func segmentsOf(entries []vfs.Entry) []segment {
	var segments []segment
	for _, entry := range entries {
		if base, ok := parseSegmentName(entry.Name); ok && entry.Bytes >= headerBytes {
			segments = append(segments, segment{base, entry.Bytes})
		}
	}
	sort.Slice(segments, func(a, b int) bool { return segments[a].base < segments[b].base })
	return segments
}
