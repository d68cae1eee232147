package journal

// The reading side: entries from a position on, and the journal's figures. View reads a journal that another process
// has open.

import (
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"sort"

	"cistern/services/platform/vfs"
)

// Entry is one entry; Position is the place behind it.
type Entry struct {
	Position Position
	Data     []byte
}

// Reader walks through the entries of a journal. For one goroutine.
type Reader struct {
	segments func() []segment // the present ones, ascending
	open     func(segment) (vfs.File, error)
	at       Position
	current  segmentReader
	file     vfs.File
	base     Position
	groups   bool
	// Skipped counts damaged bytes that were passed over.
	Skipped int64
}

// Read starts reading at from: a checkpoint or an entry's position.
//
// What is in the pre-commit buffer is read after it was flushed.
func (j *Journal) Read(from Position) *Reader {
	return &Reader{
		at: from,
		segments: func() []segment {
			// What the others wrote is on the disk. The journal's own list is left alone: by it the writer knows in its
			// turn what the others did since its last one.
			if j.options.Shared {
				if entries, err := j.fs.List(j.folder); err == nil {
					return segmentsOf(entries)
				}
			}
			j.mu.Lock()
			defer j.mu.Unlock()
			return append([]segment(nil), j.segments...)
		},
		open: func(s segment) (vfs.File, error) { return j.fs.Open(j.path(segmentName(s.base))) },
	}
}

// Next returns the next entry, whose data is valid until the next call, or io.EOF at the journal's present end; after
// that it may be called again when more was appended.
func (r *Reader) Next() (Entry, error) {
	// Within a group, or with more of the segment known to be there, nobody has to be asked.
	if r.file != nil && r.at == r.base+Position(r.current.offset) && (r.current.left > 0 || r.current.offset+entryHeaderBytes < r.current.size) {
		if data, skipped, err := r.current.next(); err == nil && skipped == 0 {
			r.at = r.base + Position(r.current.offset)
			return Entry{r.at, data}, nil
		}
	}
	for {
		segments := r.segments()
		i := sort.Search(len(segments), func(i int) bool { return segments[i].end() > r.at })
		if i == len(segments) {
			return Entry{}, io.EOF
		}
		s := segments[i]
		if err := r.enter(s); err != nil {
			return Entry{}, err
		}
		data, skipped, err := r.current.next()
		if err == nil {
			r.Skipped += skipped
			r.at = s.base + Position(r.current.offset)
			return Entry{r.at, data}, nil
		}
		if !errors.Is(err, errNoEntry) {
			return Entry{}, fmt.Errorf("reading segment %s of the journal: %w", s.base, err)
		}
		// Nothing more in this one. Of the last nobody knows yet whether it is damage: it may grow, or it is what another
		// process left when it died, and what takes its place is to be read afresh.
		if i == len(segments)-1 {
			r.current.window = r.current.window[:0]
			return Entry{}, io.EOF
		}
		r.Skipped += s.size - r.current.offset
		r.at = s.end()
	}
}

// enter makes the segment that holds r.at the current one.
func (r *Reader) enter(s segment) error {
	if r.file == nil || r.base != s.base {
		r.Close()
		file, err := r.open(s)
		if err != nil {
			return fmt.Errorf("opening segment %s of the journal: %w", s.base, err)
		}
		flags, err := checkHeader(file, s.base)
		if errors.Is(err, errHeader) {
			r.Skipped += headerBytes
			flags, err = flagGroups, nil // perhaps
		}
		if err != nil {
			file.Close()
			return err
		}
		r.file, r.base, r.groups = file, s.base, flags&flagGroups != 0
		r.current.file = file
	}
	if r.at < s.base { // entries that were removed, or a hole
		r.at = s.base
	}
	r.current.size = s.size
	return r.current.seek(max(headerBytes, int64(r.at-s.base)), r.groups)
}

// Close gives the reader's file back. The reader stays usable.
func (r *Reader) Close() {
	if r.file != nil {
		r.file.Close()
		r.file, r.current = nil, segmentReader{group: r.current.group, window: r.current.window[:0]}
	}
}

// Stat is a journal's figures.
type Stat struct {
	Begin       Position            `json:"begin"`
	End         Position            `json:"end"`
	Synced      Position            `json:"synced"`
	Bytes       int64               `json:"bytes"`
	Segments    int                 `json:"segments"`
	Subscribers map[string]Position `json:"subscribers"`
	// Entries and Syncs count since the journal was opened; Cut is how many bytes of a torn tail opening removed,
	// Damaged how many bytes it found that no entry could be read from.
	Entries uint64 `json:"entries"`
	Syncs   uint64 `json:"syncs"`
	Cut     uint64 `json:"cut"`
	Damaged uint64 `json:"damaged"`
	// Marks are the named positions that pin the journal; Pending is what the pre-commit buffer holds, in bytes,
	// Flushes how often it was written out, Compressed whether groups are, Failed what keeps it from taking entries.
	Marks      map[string]Position `json:"marks"`
	Pending    int                 `json:"pending"`
	Flushes    uint64              `json:"flushes"`
	Compressed bool                `json:"compressed"`
	Failed     string              `json:"failed,omitempty"`
}

// MarshalText writes a position as its text in JSON too.
func (p Position) MarshalText() ([]byte, error) { return []byte(p.String()), nil }

// UnmarshalText is the inverse of MarshalText.
func (p *Position) UnmarshalText(text []byte) (err error) {
	*p, err = ParsePosition(string(text))
	return err
}

// Stat returns the journal's figures.
func (j *Journal) Stat() Stat {
	j.mu.Lock()
	defer j.mu.Unlock()
	stat := Stat{
		Begin: j.segments[0].base, End: j.segments[len(j.segments)-1].end(), Synced: j.synced,
		Segments: len(j.segments), Subscribers: map[string]Position{},
		Entries: j.stats.entries + j.appended.Load(), Syncs: j.stats.syncs, Cut: j.stats.cut, Damaged: j.stats.damaged,
	}
	stat.Marks, stat.Flushes, stat.Compressed = map[string]Position{}, j.stats.flushes, j.flags&flagGroups != 0
	stat.Pending = int(j.pending.Load())
	if j.failed != nil {
		stat.Failed = j.failed.Error()
	}
	for _, s := range j.segments {
		stat.Bytes += s.size
	}
	for name, at := range j.subscribers {
		stat.Subscribers[name] = at
	}
	for name, at := range j.marks {
		stat.Marks[name] = at
	}
	return stat
}

// View opens a journal for reading only, while another process may write it: no lock, no repair, and what is appended
// later is not seen. Only Read, Stat and Subscriber may be used, and Close need not be called.
func View(fsys vfs.FS, folder string) (*Journal, error) {
	j := &Journal{fs: fsys, folder: folder, subscribers: map[string]Position{}, marks: map[string]Position{}}
	entries, err := fsys.List(folder)
	if err != nil {
		return nil, fmt.Errorf("reading the journal %s: %w", folder, err)
	}
	if j.segments = segmentsOf(entries); len(j.segments) == 0 {
		return nil, fmt.Errorf("there is no journal in %s", filepath.Clean(folder))
	}
	if err := j.loadSubscribers(entries); err != nil {
		return nil, err
	}
	return j, nil
}
