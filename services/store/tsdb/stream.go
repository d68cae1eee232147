package tsdb

// What the store accepts, as a stream for those who send it on: a subscriber of the journal with a position of its own.
//
// Entries have numbers for their series, and these are defined once in each head (entry.go). A stream that begins in the
// middle of one therefore reads the definitions from where that head began. A mark of the stream's name pins the journal
// there, beside the subscriber that says how far it has come.

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"sync/atomic"

	"cistern/services/histogram"
	"cistern/services/journal"

	"github.com/cespare/xxhash/v2"
)

// Streamed is one sample of a stream. It is valid until the stream's next Next.
type Streamed struct {
	// Series is what the stream's want returned for the sample's series.
	Series any
	Kind   Kind // how the sample is written: a number (Gauge or Counter), Histogram or NativeHistogram
	Time   int64
	Value  float64
	// Encoded is a log-linear histogram as histogram.Append wrote it.
	Encoded []byte
	Native  *nativeHistogram
}

// streamChunk is how many samples Next returns at most, so that a huge entry takes no huge memory.
const streamChunk = 4096

// Stream reads accepted samples in the order of the journal. For one goroutine, but for Lag.
type Stream struct {
	store *Store
	name  string
	want  func(key string, kind Kind) any

	reader *journal.Reader
	from   journal.Position // where delivery begins: what lies before is read for its definitions
	head   uint64           // whose entries are read
	byRef  []streamDefinition
	others map[uint64]streamDefinition // refs far behind those, where damage took what was between

	// The entry that is being read: what is left of it, and how many samples.
	entry     entryReader
	left      uint64
	ref, time int64
	behind    journal.Position // it
	at        journal.Position // behind the last entry that was read as a whole

	natives nativeMemory
	batch   []Streamed

	acknowledged atomic.Uint64
	saved        journal.Position
	marked       journal.Position
	// Lost counts entries of which something could not be read.
	lost int64
}

type streamDefinition struct {
	series any
	kind   Kind // 0: not defined
}

// Streams are the names that have a place in the journal, besides the store's own. A crash may have left a mark alone.
func (s *Store) Streams() []string {
	stat := s.journal.Stat()
	maps.Copy(stat.Subscribers, stat.Marks)
	delete(stat.Subscribers, subscriber)
	return slices.Sorted(maps.Keys(stat.Subscribers))
}

// Pinned is how much of the journal has to stay for a name; 0 when it is not known.
func (s *Store) Pinned(name string) int64 {
	at, ok := s.journal.Subscriber(name)
	if !ok {
		return 0
	}
	return int64(s.journal.End() - at)
}

// JournalEnd is the position behind the last accepted sample.
func (s *Store) JournalEnd() journal.Position { return s.journal.End() }

// Stream opens the stream of a name, which goes on where it was. A new one begins with what is accepted from now on, or with
// past at what the journal still has: the samples that are in no block yet. want is asked once for each series of a head;
// what it returns comes with the series' samples, and nil leaves them out. The key that it is given stays valid.
func (s *Store) Stream(name string, past bool, want func(key string, kind Kind) any) (*Stream, error) {
	if name == subscriber {
		return nil, fmt.Errorf("%q is the store's own name in its journal", name)
	}
	from, known := s.journal.Subscriber(name)
	if !known {
		var err error
		if from, err = s.beginStream(name, past); err != nil {
			return nil, fmt.Errorf("subscribing to the journal: %w", err)
		}
	}
	marked, ok := s.journal.Marked(name)
	if !ok {
		// A crash between the two; what is left of the definitions is where the store's own are.
		if marked, ok = s.journal.Subscriber(subscriber); !ok || marked > from {
			marked = from
		}
	}
	st := &Stream{store: s, name: name, want: want, from: from, at: from, saved: from, marked: marked, reader: s.journal.Read(min(marked, from))}
	st.acknowledged.Store(uint64(from))
	return st, nil
}

// beginStream registers a name. The mark comes first: once it is there, nothing behind it is removed.
func (s *Store) beginStream(name string, past bool) (journal.Position, error) {
	var err error
	for range 5 {
		var at journal.Position
		if past {
			at, _ = s.journal.Subscriber(subscriber)
		} else {
			at = journal.Position(s.liveNumber())
		}
		// A flush in between may have removed what is there.
		if err = s.journal.Mark(name, at); err != nil {
			continue
		}
		if past {
			return s.journal.SubscribeAt(name, at)
		}
		return s.journal.Subscribe(name, true)
	}
	return 0, err
}

// EndStream forgets a name, and lets what only it pinned of the journal go. An unknown name is no error.
func (s *Store) EndStream(name string) error {
	if name == subscriber {
		return fmt.Errorf("%q is the store's own name in its journal", name)
	}
	return errors.Join(s.journal.Unsubscribe(name), s.journal.Unmark(name))
}

// Next returns the next samples, of those that are wanted, and how many others were passed over; io.EOF at the journal's
// present end, after which it may be called again.
func (st *Stream) Next() (batch []Streamed, others int, err error) {
	clear(st.batch)
	st.batch = st.batch[:0]
	st.natives.again()
	for st.left == 0 {
		entry, err := st.reader.Next()
		if isEOF(err) {
			end, head := st.store.journal.End(), st.store.liveNumber()
			if entry, err = st.reader.Next(); isEOF(err) {
				st.atEnd(end, head)
				return nil, 0, io.EOF
			}
		}
		if err != nil {
			return nil, 0, err
		}
		st.begin(entry)
	}
	for st.left > 0 && len(st.batch) < streamChunk {
		wanted, ok := st.sample()
		if !ok {
			st.lost++
			st.left = 0
			break
		}
		if !wanted {
			others++
		}
		st.left--
	}
	if st.left == 0 {
		st.at = st.behind
	}
	return st.batch, others, nil
}

// atEnd notes that everything up to a position was read: a segment may have begun there, and a head of which there is no entry
// yet.
func (st *Stream) atEnd(end journal.Position, head uint64) {
	st.at = max(st.at, end)
	if head > st.head && journal.Position(head) <= end {
		st.anew(head)
	}
}

// anew is for a head's first entry: it defines all of its series.
func (st *Stream) anew(head uint64) {
	st.head = head
	clear(st.byRef)
	st.byRef = st.byRef[:0]
	clear(st.others)
}

// liveNumber is that of the head that takes samples.
func (s *Store) liveNumber() uint64 {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.live.number
}

// begin reads an entry's definitions, and stands before its first sample. An entry that is passed leaves no samples.
func (st *Stream) begin(entry journal.Entry) {
	st.entry, st.left = entryReader{rest: entry.Data}, 0
	r := &st.entry
	passed := entry.Position <= st.from
	st.behind = entry.Position
	defer func() {
		if st.left == 0 {
			st.at = max(st.at, st.behind)
		}
	}()
	switch version := r.byte(); version {
	case entryVersion, entryVersionNo:
		if head := r.uvarint(); head != st.head {
			st.anew(head)
		}
	case entryVersionOld:
	default: // descriptions and exemplars
		return
	}
	for range r.uvarint() {
		ref, kind := r.uvarint(), Kind(r.byte())
		key := r.take(r.uvarint())
		if r.bad || kind < Gauge || kind > NativeHistogram {
			st.lost++
			return
		}
		st.define(ref, streamDefinition{st.want(st.store.intern(key), kind), kind})
	}
	left := r.uvarint()
	switch {
	case r.bad:
		st.lost++
	case !passed:
		st.left, st.ref, st.time = left, 0, 0
	}
}

func (st *Stream) define(ref uint64, one streamDefinition) {
	n := uint64(len(st.byRef))
	switch {
	case ref < n:
		st.byRef[ref] = one
	case ref-n < 1<<16:
		for ; n < ref; n++ {
			st.byRef = append(st.byRef, st.others[n])
		}
		st.byRef = append(st.byRef, one)
	default:
		if st.others == nil {
			st.others = map[uint64]streamDefinition{}
		}
		st.others[ref] = one
	}
}

// sample reads one sample; false when it cannot be read, and with it the rest of its entry.
func (st *Stream) sample() (wanted, ok bool) {
	r := &st.entry
	st.ref += r.varint()
	st.time += r.varint()
	if r.bad {
		return false, false
	}
	var known streamDefinition
	if ref := uint64(st.ref); ref < uint64(len(st.byRef)) {
		known = st.byRef[ref]
	} else {
		known = st.others[ref]
	}
	one := Streamed{Series: known.series, Kind: known.kind, Time: st.time}
	wanted = known.series != nil
	switch known.kind {
	case 0:
		return false, false
	case Histogram:
		one.Encoded = r.rest
		rest, err := histogram.Skip(r.rest)
		if err != nil {
			return false, false
		}
		r.rest = rest
		one.Encoded = one.Encoded[:len(one.Encoded)-len(rest)]
	case NativeHistogram:
		row := r.take(r.uvarint())
		if wanted && !r.bad {
			if len(row) == 0 {
				return false, false
			}
			if row[0]&nativeRow == 0 {
				old, err := nativeRowOf(row)
				if err != nil {
					return false, false
				}
				row = old
			}
			if one.Native = st.natives.read(&entryReader{rest: row}); one.Native == nil {
				return false, false
			}
		}
	default:
		one.Value = math.Float64frombits(binary.LittleEndian.Uint64(r.take8()))
	}
	if r.bad {
		return false, false
	}
	if wanted {
		st.batch = append(st.batch, one)
	}
	return wanted, true
}

// Acknowledge says that everything that Next has returned is delivered, as far as whole entries go. It is durable after Save.
func (st *Stream) Acknowledge() { st.acknowledged.Store(uint64(st.at)) }

// Save makes durable how far the stream has come, and lets the journal go that it has passed.
func (st *Stream) Save() error {
	at := journal.Position(st.acknowledged.Load())
	if at <= st.saved {
		return nil
	}
	if err := st.store.journal.Checkpoint(st.name, at); err != nil {
		return err
	}
	st.saved = at
	// Where the head began whose entries are read now, and no later than what is acknowledged. After the checkpoint: what
	// lies before the mark is never needed for what lies behind the checkpoint.
	if begun := min(journal.Position(st.head), at); begun > st.marked {
		if err := st.store.journal.Mark(st.name, begun); err != nil {
			return err
		}
		st.marked = begun
	}
	return nil
}

// Acknowledged is how far the stream has come. For any goroutine.
func (st *Stream) Acknowledged() journal.Position {
	return journal.Position(st.acknowledged.Load())
}

// Lag is how many bytes of the journal are not acknowledged yet. For any goroutine.
func (st *Stream) Lag() int64 {
	return max(0, int64(st.store.journal.End())-int64(st.acknowledged.Load()))
}

// Lost is how many entries could not be read as a whole, because the journal is damaged.
func (st *Stream) Lost() int64 { return st.lost }

// Close gives the stream's file back; its name stays.
func (st *Stream) Close() { st.reader.Close() }

// intern is a key as the head has it, so that a series' name is in memory once; a copy when the head does not.
func (s *Store) intern(key []byte) string {
	s.mu.RLock()
	live := s.live
	s.mu.RUnlock()
	live.mu.RLock()
	defer live.mu.RUnlock()
	if known := live.find(key, xxhash.Sum64(key)); known != nil {
		return known.key
	}
	return string(key)
}
