package tsdb

// A block's index, used as the bytes it is stored in: nothing is unpacked that is not asked for.

import (
	"encoding/binary"
	"sort"
	"strings"
)

type blockIndex struct {
	bytes          []byte
	series, labels []byte // tables of uint32 offsets into bytes, one more than there are records
}

// blockSeries is a series' record.
type blockSeries struct {
	key              string
	kind             Kind
	minTime, maxTime int64
	samples          uint64
	offset, length   int64
}

func parseIndex(bytes []byte) (*blockIndex, error) {
	x := &blockIndex{bytes: bytes}
	rest := bytes
	for _, table := range []*[]byte{&x.series, &x.labels} {
		if len(rest) < 4 {
			return nil, errDamaged
		}
		size := 4 * (int(binary.LittleEndian.Uint32(rest)) + 1)
		if len(rest)-4 < size {
			return nil, errDamaged
		}
		*table, rest = rest[4:4+size], rest[4+size:]
	}
	return x, nil
}

func (x *blockIndex) seriesCount() int { return len(x.series)/4 - 1 }

func (x *blockIndex) record(table []byte, i int) entryReader {
	if i < 0 || 4*i+8 > len(table) {
		return entryReader{bad: true}
	}
	from, to := binary.LittleEndian.Uint32(table[4*i:]), binary.LittleEndian.Uint32(table[4*i+4:])
	if from > to || int(to) > len(x.bytes) {
		return entryReader{bad: true}
	}
	return entryReader{rest: x.bytes[from:to]}
}

func (x *blockIndex) seriesAt(i int) (blockSeries, error) {
	r := x.record(x.series, i)
	s := blockSeries{key: string(r.take(r.uvarint())), kind: Kind(r.byte())}
	s.minTime = r.varint()
	s.maxTime = s.minTime + int64(r.uvarint())
	s.samples = r.uvarint()
	s.offset, s.length = int64(r.uvarint()), int64(r.uvarint())
	if r.bad {
		return s, errDamaged
	}
	return s, nil
}

// label is a label's record; the reader stands before the series.
func (x *blockIndex) label(i int) (name, value []byte, series entryReader) {
	r := x.record(x.labels, i)
	name = r.take(r.uvarint())
	value = r.take(r.uvarint())
	return name, value, r
}

// find is the first label record that is not before (name, value).
func (x *blockIndex) find(name, value string) int {
	return sort.Search(len(x.labels)/4-1, func(i int) bool {
		n, v, _ := x.label(i)
		if c := strings.Compare(string(n), name); c != 0 {
			return c > 0
		}
		return string(v) >= value
	})
}

func readPostings(r entryReader) ([]uint32, error) {
	n := r.uvarint()
	if n > uint64(len(r.rest)) {
		return nil, errDamaged
	}
	list := make([]uint32, n)
	last := uint64(0)
	for i := range list {
		last += r.uvarint()
		list[i] = uint32(last)
	}
	if r.bad {
		return nil, errDamaged
	}
	return list, nil
}

func (x *blockIndex) all() ([]uint32, error) {
	list := make([]uint32, x.seriesCount())
	for i := range list {
		list[i] = uint32(i)
	}
	return list, nil
}

func (x *blockIndex) postings(name, value string) ([]uint32, error) {
	n, v, r := x.label(x.find(name, value))
	if string(n) != name || string(v) != value {
		return nil, nil
	}
	return readPostings(r)
}

func (x *blockIndex) eachValue(name string, f func(string, func() ([]uint32, error)) error) error {
	for i := x.find(name, ""); i < len(x.labels)/4-1; i++ {
		n, v, r := x.label(i)
		if string(n) != name {
			return nil
		}
		if err := f(string(v), func() ([]uint32, error) { return readPostings(r) }); err != nil {
			return err
		}
	}
	return nil
}

// labelNames is every label's name, ascending.
func (x *blockIndex) labelNames() []string {
	var names []string
	for i := 0; i < len(x.labels)/4-1; {
		n, _, r := x.label(i)
		if r.bad {
			break
		}
		names = append(names, string(n))
		// Names hold no zero byte: this is behind the last value. In a damaged index it may not be further on.
		i = max(i+1, x.find(string(n)+"\x00", ""))
	}
	return names
}
