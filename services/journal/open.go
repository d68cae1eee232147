package journal

// Opening a journal: what is there is checked, and its end repaired.

import (
	"errors"
	"fmt"
	"sort"
	"sync"

	"cistern/services/platform/vfs"
)

// Open opens the journal in folder, making it when there is none, and repairs what a crash left. While it is open no
// other process can open it.
func Open(folder string, options Options) (*Journal, error) {
	if options.FS == nil {
		options.FS = vfs.OS
	}
	if options.SegmentBytes == 0 {
		options.SegmentBytes = 32 << 20
	}
	j := &Journal{fs: options.FS, folder: folder, options: options, subscribers: map[string]Position{}, marks: map[string]Position{},
		stop: make(chan struct{})}
	if options.Compress {
		j.flags = flagGroups
	}
	j.changed = sync.NewCond(&j.mu)
	j.round = &round{over: make(chan struct{})}
	j.commits.over = make(chan struct{})
	if err := j.fs.MkdirAll(folder); err != nil {
		return nil, fmt.Errorf("making the journal's folder: %w", err)
	}
	err := j.takeLock()
	if err != nil {
		return nil, fmt.Errorf("opening the journal %s: %w", folder, err)
	}
	err = j.recover()
	if err == nil {
		err = j.openPrecommit()
	}
	if err == nil && j.renew {
		err = j.roll(j.End())
	}
	if err != nil {
		if j.file != nil {
			j.file.Close()
		}
		j.lock.Close()
		return nil, fmt.Errorf("opening the journal %s: %w", folder, err)
	}
	if options.Shared {
		j.giveLock()
	}
	if j.pre != nil && options.FlushEvery > 0 {
		j.done.Add(1)
		go j.flushAtIntervals()
	}
	if options.SyncEvery > 0 {
		j.done.Add(1)
		go j.syncAtIntervals()
	}
	return j, nil
}

// recover finds the segments and the checkpoints, cuts the torn tail, and opens the last segment for writing.
func (j *Journal) recover() error {
	entries, err := j.fs.List(j.folder)
	if err != nil {
		return err
	}
	for _, entry := range entries {
		if base, ok := parseSegmentName(entry.Name); ok {
			j.segments = append(j.segments, segment{base, entry.Bytes})
		}
	}
	sort.Slice(j.segments, func(a, b int) bool { return j.segments[a].base < j.segments[b].base })
	if err := j.loadSubscribers(entries); err != nil {
		return err
	}
	if err := j.repairTail(); err != nil {
		return err
	}
	end := Position(0)
	if n := len(j.segments); n > 0 {
		end = j.segments[n-1].end()
	}
	// A checkpoint beyond the end can only come from outside (a folder restored in parts): what is appended from now
	// on must not fall before it.
	for _, at := range j.subscribers {
		end = max(end, at)
	}
	if n := len(j.segments); n == 0 || end > j.segments[n-1].end() {
		if j.file != nil {
			j.file.Close()
		}
		return j.begin(end)
	}
	j.synced = end
	return nil
}

// repairTail looks through the last segment and cuts what is no entry off its end; a segment whose header never became
// whole held nothing and is removed. On return the last segment, if there is one, is open for writing and durable.
func (j *Journal) repairTail() error {
	for len(j.segments) > 0 {
		last := &j.segments[len(j.segments)-1]
		path := j.path(segmentName(last.base))
		file, err := j.fs.Append(path)
		if err != nil {
			return err
		}
		flags, err := checkHeader(file, last.base)
		switch {
		case err == nil:
			j.flags = flags
		case errors.Is(err, errHeader) && last.size > headerBytes:
			// Not a crash's work: the header is durable before the first entry. Nothing more is written to it.
			j.stats.damaged += headerBytes
			j.renew = true
		default:
			file.Close()
			if last.size > headerBytes {
				return err
			}
			if err := j.fs.Remove(path); err != nil {
				return err
			}
			j.stats.cut += uint64(last.size)
			j.segments = j.segments[:len(j.segments)-1]
			continue
		}
		reader := segmentReader{file: file, size: last.size, offset: headerBytes}
		for {
			_, skipped, err := reader.next()
			if errors.Is(err, errNoEntry) {
				break
			}
			if err != nil {
				file.Close()
				return err
			}
			j.stats.damaged += uint64(skipped)
		}
		if reader.offset < last.size {
			j.stats.cut += uint64(last.size - reader.offset)
			// Where that is not possible now, what is there can be read, and it is tried again before anything is written.
			j.torn = file.Truncate(reader.offset) != nil
			last.size = reader.offset
		}
		// What is there now may only be in the kernel yet, after a kill: it counts as durable from here on.
		if err := file.Sync(); err != nil {
			file.Close()
			return err
		}
		j.file = file
		return nil
	}
	return nil
}

// begin makes the segment that follows. The caller must be the only one using file.
func (j *Journal) begin(base Position) error {
	path := j.path(segmentName(base))
	file, err := j.fs.Create(path)
	if err != nil {
		return fmt.Errorf("making segment %s: %w", base, err)
	}
	_, err = file.Write(makeHeader(base, j.flags))
	if err == nil {
		err = file.Sync()
	}
	if err == nil {
		err = j.fs.SyncDir(j.folder)
	}
	if err != nil {
		file.Close()
		_ = j.fs.Remove(path)
		return fmt.Errorf("making segment %s: %w", base, err)
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	j.file = file
	j.segments = append(j.segments, segment{base, headerBytes})
	j.synced = base + headerBytes
	return nil
}
