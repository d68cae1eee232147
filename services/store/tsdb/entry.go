package tsdb

// What a batch looks like in the journal; u and v are uvarint and varint:
//
//	byte 5 (its version; 4 when no histogram in it has a sum; 16 and 17 are metadata and exemplars: describe.go)
//	u  which head: the journal's end when it began to take samples; not in version 3
//	u  number of definitions, each: u ref, byte kind, u key length, key
//	u  number of samples, each:
//	   v  ref minus the previous sample's
//	   v  time minus the previous sample's
//	   8 bytes, the number, little-endian; or of a histogram, as package histogram encodes it; or of a native one, u length
//	   and a row (nativerow.go); until November 2026 instead of the row a frame of one (native.go), whose first byte is
//	   less than 128
//
// Refs count the series of one head from 0. A definition comes before the first sample of its series after the head
// began, so a replay that starts where a head began meets every definition it needs. What one head has defined says nothing
// of the next one's refs: where damage took a definition, its samples are lost, and never another series'.

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"

	"cistern/services/histogram"
)

const (
	entryVersion    = 5
	entryVersionNo  = 4 // no sums
	entryVersionOld = 3 // written until November 2026
)

// errNewer: not damaged, but of a Cistern that knows more. Who goes on all the same loses what it holds.
var errNewer = errors.New("a newer Cistern wrote it")

var errEntry = errors.New("a journal entry's content is damaged")

// resolved is an accepted sample and its series.
type resolved struct {
	series  *memSeries
	time    int64
	value   float64
	encoded []byte // a histogram, or a native one as a row
}

// appendBatch encodes a batch. It marks the series that the entry defines as defined, and returns them, so that the
// caller can take that back when the journal refuses the entry, and how many bytes the definitions took.
func appendBatch(buffer []byte, head uint64, batch []resolved) (_ []byte, _ []*memSeries, definitions int) {
	var defines []*memSeries
	for i := range batch {
		if s := batch[i].series; !s.defined {
			s.defined = true
			defines = append(defines, s)
		}
	}
	start := len(buffer)
	version := byte(entryVersionNo)
	for i := range batch {
		if batch[i].series.kind == Histogram && histogram.Summed(batch[i].encoded) {
			version = entryVersion
			break
		}
	}
	buffer = append(buffer, version)
	buffer = binary.AppendUvarint(buffer, head)
	buffer = binary.AppendUvarint(buffer, uint64(len(defines)))
	for _, s := range defines {
		buffer = binary.AppendUvarint(buffer, uint64(s.ref))
		buffer = append(buffer, byte(s.kind))
		buffer = binary.AppendUvarint(buffer, uint64(len(s.key)))
		buffer = append(buffer, s.key...)
	}
	definitions = len(buffer) - start
	buffer = binary.AppendUvarint(buffer, uint64(len(batch)))
	ref, time := int64(0), int64(0)
	for i := range batch {
		one := &batch[i]
		buffer = binary.AppendVarint(buffer, int64(one.series.ref)-ref)
		buffer = binary.AppendVarint(buffer, one.time-time)
		ref, time = int64(one.series.ref), one.time
		switch one.series.kind {
		case Histogram:
			buffer = append(buffer, one.encoded...)
		case NativeHistogram:
			buffer = binary.AppendUvarint(buffer, uint64(len(one.encoded)))
			buffer = append(buffer, one.encoded...)
		default:
			buffer = binary.LittleEndian.AppendUint64(buffer, math.Float64bits(one.value))
		}
	}
	return buffer, defines, definitions
}

// entryDecoder reads entries in the journal's order; it remembers the definitions.
type entryDecoder struct {
	// define makes or finds the series of a key.
	define func(key []byte, kind Kind) (*memSeries, error)
	head   uint64 // whose entries are decoded
	byRef  definitions
	batch  []resolved
	// natives is what native histograms are checked with.
	natives nativeMemory
}

// definitions are series by the numbers that entries have for them. Heads number theirs from 0, so nearly all are in the
// list; others are where damage took what was before.
type definitions struct {
	list  []definition
	other map[uint64]definition
}

func (d *definitions) put(ref uint64, one definition) {
	n := uint64(len(d.list))
	switch {
	case ref < n:
		d.list[ref] = one
	case ref-n < 1<<16:
		for ; n < ref; n++ {
			d.list = append(d.list, d.other[n]) // none, unless it came before
		}
		d.list = append(d.list, one)
	default:
		if d.other == nil {
			d.other = map[uint64]definition{}
		}
		d.other[ref] = one
	}
}

// forget is for the next head.
func (d *definitions) forget() {
	clear(d.list)
	d.list = d.list[:0]
	clear(d.other)
}

func (d *definitions) get(ref uint64) (definition, bool) {
	if ref < uint64(len(d.list)) {
		one := d.list[ref]
		return one, one.series != nil
	}
	one, ok := d.other[ref]
	return one, ok
}

type definition struct {
	series *memSeries
	kind   Kind // how the samples are encoded, whatever the series has become
}

// decode returns the samples of an entry. Those whose series was never defined (their definition was damaged) are left
// out and counted. They are valid until the next entry is decoded.
func (d *entryDecoder) decode(entry []byte) (batch []resolved, lost int, err error) {
	clear(d.batch) // hold no histogram longer than needed
	batch = d.batch[:0]
	defer func() { d.batch = batch }()
	r := entryReader{rest: entry}
	switch version := r.byte(); {
	case !r.bad && (version == entryVersion || version == entryVersionNo):
		head := r.uvarint()
		if r.bad {
			return nil, 0, errEntry
		}
		if head != d.head {
			d.head = head
			d.byRef.forget()
		}
	case !r.bad && version > entryVersion:
		return nil, 0, fmt.Errorf("an entry of the journal is of version %d, which this Cistern does not know: %w", version, errNewer)
	case r.bad || version != entryVersionOld:
		return nil, 0, errEntry
	}
	for range r.uvarint() {
		ref, kind := r.uvarint(), Kind(r.byte())
		key := r.take(r.uvarint())
		if r.bad || kind < Gauge || kind > NativeHistogram {
			return nil, 0, errEntry
		}
		s, err := d.define(key, kind)
		if err != nil {
			return nil, 0, errEntry
		}
		d.byRef.put(ref, definition{s, kind})
	}
	ref, time := int64(0), int64(0)
	for range r.uvarint() {
		ref += r.varint()
		time += r.varint()
		if r.bad {
			return batch, lost, errEntry
		}
		known, ok := d.byRef.get(uint64(ref))
		if !ok { // of which kind, and so how long, it is not known either
			return batch, lost + 1, errEntry
		}
		one := resolved{series: known.series, time: time}
		switch known.kind {
		case Histogram:
			one.encoded = r.rest
			if r.rest, err = histogram.Skip(r.rest); err != nil {
				return batch, lost, errEntry
			}
			one.encoded = one.encoded[:len(one.encoded)-len(r.rest)]
		case NativeHistogram:
			one.encoded = d.readNative(&r)
		default:
			one.value = math.Float64frombits(binary.LittleEndian.Uint64(r.take8()))
		}
		if r.bad {
			return batch, lost, errEntry
		}
		if !known.kind.together(known.series.kind) {
			lost++
			continue
		}
		batch = append(batch, one)
	}
	return batch, lost, nil
}

// readNative takes a native histogram as a row, which must be one that can be read.
func (d *entryDecoder) readNative(r *entryReader) []byte {
	row := r.take(r.uvarint())
	if len(row) == 0 {
		r.bad = true
		return nil
	}
	if row[0]&nativeRow == 0 {
		old, err := nativeRowOf(row)
		r.bad = r.bad || err != nil
		return old
	}
	d.natives.again()
	one := entryReader{rest: row}
	r.bad = r.bad || d.natives.read(&one) == nil || len(one.rest) > 0
	return row
}

type entryReader struct {
	rest []byte
	bad  bool
}

func (r *entryReader) take(n uint64) []byte {
	if r.bad || n > uint64(len(r.rest)) {
		r.bad = true
		return nil
	}
	front := r.rest[:n]
	r.rest = r.rest[n:]
	return front
}

func (r *entryReader) take8() []byte {
	if front := r.take(8); front != nil {
		return front
	}
	return make([]byte, 8)
}

func (r *entryReader) take4() []byte {
	if front := r.take(4); front != nil {
		return front
	}
	return make([]byte, 4)
}

func (r *entryReader) byte() byte {
	if front := r.take(1); len(front) == 1 {
		return front[0]
	}
	return 0
}

func (r *entryReader) uvarint() uint64 {
	v, size := binary.Uvarint(r.rest)
	if size <= 0 || r.bad {
		r.bad = true
		return 0
	}
	r.rest = r.rest[size:]
	return v
}

func (r *entryReader) varint() int64 {
	v, size := binary.Varint(r.rest)
	if size <= 0 || r.bad {
		r.bad = true
		return 0
	}
	r.rest = r.rest[size:]
	return v
}
