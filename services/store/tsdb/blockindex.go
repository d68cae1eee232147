package tsdb

// A block's index: pages that are read when they are needed, found by the directory, which stays in memory while the
// block is used. With millions of series a query touches the pages of those it is about and no others.
//
//	page of series: first, uint64, the offset of the first one's chunks; for each: u bytes its key shares with the one
//	  before, u how many follow, they · byte kind · v least time minus the block's · u greatest minus least · u samples ·
//	  five times u, the lengths of its chunks (of version 2 three times: there are none of ten minutes and half hours)
//	page of labels, ascending by name and value: for each: u bytes of the name shared with the one before, u length,
//	  rest; u shared, u length, rest of the value · u number of series · u length of the postings; when that is at most
//	  inlinePostings they follow, else u their offset in the file
//	postings: u gap, u run: the gap to the next series from the end of the last run, and how many more follow it
//	  without a gap
//	directory: u number of pages of series, each: u offset minus the previous page's end (the first: from 0), u length,
//	  u length before compression, uint32 CRC; u number of pages of labels, each the same and u length, first name,
//	  u length, first value; then the names' extent in the same form

import (
	"encoding/binary"
	"hash/crc32"
	"sort"
	"strings"
	"sync"
)

const (
	pageSeries     = 128
	pageLabels     = 128
	inlinePostings = 64
)

type blockIndex struct {
	block       *block
	seriesPages []extent
	labelPages  []extent
	firsts      []Label // of the label pages
	names       extent

	mu    sync.Mutex
	pages map[int][]blockSeries // decoded pages of series, by number
	order []int                 // of pages, oldest first
	label map[int][]blockLabel
}

// Pages kept decoded for each block in use: a dashboard asks for the same ones again and again.
const (
	keptSeriesPages = 256
	keptLabelPages  = 256
)

// blockSeries is a series' record.
type blockSeries struct {
	key              string
	kind             Kind
	minTime, maxTime int64
	samples          uint64
	offset           int64
	lengths          [tracks]uint32
}

type blockLabel struct {
	Label
	count    uint32
	inline   []byte
	offset   int64
	length   uint32
	external bool
}

func parseDirectory(b *block, bytes []byte) (*blockIndex, error) {
	x := &blockIndex{block: b, pages: map[int][]blockSeries{}, label: map[int][]blockLabel{}}
	r := entryReader{rest: bytes}
	end := int64(0)
	one := func() extent {
		e := extent{offset: end + int64(r.uvarint()), length: uint32(r.uvarint()), raw: uint32(r.uvarint())}
		if sum := r.take(4); sum != nil {
			e.sum = binary.LittleEndian.Uint32(sum)
		}
		end = e.offset + int64(e.length)
		return e
	}
	n := r.uvarint()
	if n > uint64(len(bytes)) {
		return nil, errDamaged
	}
	for range n {
		x.seriesPages = append(x.seriesPages, one())
	}
	n = r.uvarint()
	if n > uint64(len(bytes)) {
		return nil, errDamaged
	}
	for range n {
		x.labelPages = append(x.labelPages, one())
		name := string(r.take(r.uvarint()))
		x.firsts = append(x.firsts, Label{name, string(r.take(r.uvarint()))})
	}
	x.names = one()
	if r.bad || (b.Series+pageSeries-1)/pageSeries != len(x.seriesPages) {
		return nil, errDamaged
	}
	return x, nil
}

// page is a decoded page of series; it is shared and must not be changed.
func (x *blockIndex) page(number int) ([]blockSeries, error) {
	x.mu.Lock()
	known := x.pages[number]
	x.mu.Unlock()
	if known != nil {
		return known, nil
	}
	if number < 0 || number >= len(x.seriesPages) {
		return nil, errDamaged
	}
	list, err := x.readPage(number)
	if err != nil {
		return nil, err
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.pages[number] == nil {
		if len(x.order) >= keptSeriesPages {
			delete(x.pages, x.order[0])
			x.order = x.order[1:]
		}
		x.pages[number] = list
		x.order = append(x.order, number)
	}
	return list, nil
}

func (x *blockIndex) readPage(number int) ([]blockSeries, error) {
	bytes, err := x.block.read(x.seriesPages[number])
	if err != nil {
		return nil, err
	}
	list, err := parseSeriesPage(bytes, x.block.MinTime, tracksOf[x.block.version])
	if err != nil || len(list) != min(pageSeries, x.block.Series-number*pageSeries) {
		return nil, errDamaged
	}
	return list, nil
}

// parseSeriesPage reads a page of a block whose least time is base and whose series have these tracks.
func parseSeriesPage(bytes []byte, base int64, has []int) ([]blockSeries, error) {
	r := entryReader{rest: bytes}
	offset := int64(binary.LittleEndian.Uint64(r.take8()))
	list := make([]blockSeries, 0, pageSeries)
	var key []byte
	for len(r.rest) > 0 && !r.bad {
		shared := r.uvarint()
		if shared > uint64(len(key)) || len(list) == pageSeries {
			return nil, errDamaged
		}
		key = append(key[:shared], r.take(r.uvarint())...)
		s := blockSeries{key: string(key), kind: Kind(r.byte()), offset: offset}
		s.minTime = base + r.varint()
		s.maxTime = s.minTime + int64(r.uvarint())
		s.samples = r.uvarint()
		for _, track := range has {
			s.lengths[track] = uint32(r.uvarint())
			offset += int64(s.lengths[track])
		}
		list = append(list, s)
	}
	if r.bad {
		return nil, errDamaged
	}
	return list, nil
}

func appendSeries(page []byte, previous string, s *blockSeries, base int64) []byte {
	shared := commonPrefix(previous, s.key)
	page = binary.AppendUvarint(page, uint64(shared))
	page = binary.AppendUvarint(page, uint64(len(s.key)-shared))
	page = append(page, s.key[shared:]...)
	page = append(page, byte(s.kind))
	page = binary.AppendVarint(page, s.minTime-base)
	page = binary.AppendUvarint(page, uint64(s.maxTime-s.minTime))
	page = binary.AppendUvarint(page, s.samples)
	for _, length := range s.lengths {
		page = binary.AppendUvarint(page, uint64(length))
	}
	return page
}

func commonPrefix(a, b string) int {
	n := min(len(a), len(b))
	for i := range n {
		if a[i] != b[i] {
			return i
		}
	}
	return n
}

func (x *blockIndex) seriesAt(i int) (*blockSeries, error) {
	if i < 0 || i >= x.block.Series {
		return nil, errDamaged
	}
	page, err := x.page(i / pageSeries)
	if err != nil {
		return nil, err
	}
	return &page[i%pageSeries], nil
}

func (x *blockIndex) keyOf(i uint32) (string, error) {
	s, err := x.seriesAt(int(i))
	if err != nil {
		return "", err
	}
	return s.key, nil
}

func (x *blockIndex) labels(number int) ([]blockLabel, error) {
	x.mu.Lock()
	known := x.label[number]
	x.mu.Unlock()
	if known != nil {
		return known, nil
	}
	bytes, err := x.block.read(x.labelPages[number])
	if err != nil {
		return nil, err
	}
	list, err := parseLabelPage(bytes)
	if err != nil {
		return nil, err
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	if len(x.label) >= keptLabelPages {
		clear(x.label)
	}
	x.label[number] = list
	return list, nil
}

func parseLabelPage(bytes []byte) ([]blockLabel, error) {
	r := entryReader{rest: bytes}
	list := make([]blockLabel, 0, pageLabels)
	var name, value []byte
	lastName := ""
	for len(r.rest) > 0 && !r.bad {
		for _, part := range []*[]byte{&name, &value} {
			shared := r.uvarint()
			if shared > uint64(len(*part)) || len(list) == pageLabels {
				return nil, errDamaged
			}
			*part = append((*part)[:shared], r.take(r.uvarint())...)
		}
		if string(name) != lastName {
			lastName = string(name)
		}
		l := blockLabel{Label: Label{lastName, string(value)}, count: uint32(r.uvarint()), length: uint32(r.uvarint())}
		if l.length <= inlinePostings {
			l.inline = r.take(uint64(l.length))
		} else {
			l.external, l.offset = true, int64(r.uvarint())
		}
		list = append(list, l)
	}
	if r.bad || len(list) == 0 {
		return nil, errDamaged
	}
	return list, nil
}

func appendLabel(page []byte, previous Label, l *blockLabel) []byte {
	for _, part := range [][2]string{{previous.Name, l.Name}, {previous.Value, l.Value}} {
		shared := commonPrefix(part[0], part[1])
		page = binary.AppendUvarint(page, uint64(shared))
		page = binary.AppendUvarint(page, uint64(len(part[1])-shared))
		page = append(page, part[1][shared:]...)
	}
	page = binary.AppendUvarint(page, uint64(l.count))
	page = binary.AppendUvarint(page, uint64(l.length))
	if l.external {
		return binary.AppendUvarint(page, uint64(l.offset))
	}
	return append(page, l.inline...)
}

// postingsWriter encodes ascending numbers.
type postingsWriter struct {
	bytes []byte
	next  uint32 // behind the last run that was written
	start uint32
	run   uint32 // of the open run; 0 when there is none
	count uint32
}

func (w *postingsWriter) add(ref uint32) {
	w.count++
	if w.run > 0 && ref == w.start+w.run {
		w.run++
		return
	}
	w.finish()
	w.start, w.run = ref, 1
}

func (w *postingsWriter) finish() []byte {
	if w.run > 0 {
		w.bytes = binary.AppendUvarint(w.bytes, uint64(w.start-w.next))
		w.bytes = binary.AppendUvarint(w.bytes, uint64(w.run-1))
		w.next, w.run = w.start+w.run, 0
	}
	return w.bytes
}

func parsePostings(bytes []byte, count uint32, series int) ([]uint32, error) {
	if int64(count) > int64(series) {
		return nil, errDamaged
	}
	list := make([]uint32, 0, count)
	r := entryReader{rest: bytes}
	next := uint64(0)
	for len(r.rest) > 0 {
		next += r.uvarint()
		run := r.uvarint() + 1
		if r.bad || next+run > uint64(series) || run > uint64(int(count)-len(list)) {
			return nil, errDamaged
		}
		for range run {
			list = append(list, uint32(next))
			next++
		}
	}
	if len(list) != int(count) {
		return nil, errDamaged
	}
	return list, nil
}

func (x *blockIndex) refs(l *blockLabel) ([]uint32, error) {
	bytes := l.inline
	if l.external {
		with, err := x.readSummed(l.offset, l.length)
		if err != nil {
			return nil, err
		}
		bytes = with
	}
	return parsePostings(bytes, l.count, x.block.Series)
}

// readSummed reads bytes that their CRC follows.
func (x *blockIndex) readSummed(offset int64, length uint32) ([]byte, error) {
	b := x.block
	if offset < blockHeader || offset+int64(length)+4 > b.end {
		return nil, errDamaged
	}
	bytes := make([]byte, length+4)
	if _, err := b.file.ReadAt(bytes, offset); err != nil {
		return nil, err
	}
	if crc32.Checksum(bytes[:length], castagnoli) != binary.LittleEndian.Uint32(bytes[length:]) {
		return nil, errDamaged
	}
	return bytes[:length], nil
}

// from is the number of the first page that can hold a label not before l.
func (x *blockIndex) from(l Label) int {
	after := sort.Search(len(x.firsts), func(i int) bool { return compareLabels(x.firsts[i], l) > 0 })
	return max(0, after-1)
}

func compareLabels(a, b Label) int {
	if c := strings.Compare(a.Name, b.Name); c != 0 {
		return c
	}
	return strings.Compare(a.Value, b.Value)
}

func (x *blockIndex) all() ([]uint32, error) {
	list := make([]uint32, x.block.Series)
	for i := range list {
		list[i] = uint32(i)
	}
	return list, nil
}

// lookUp is a label's record, or nil.
func (x *blockIndex) lookUp(name, value string) (*blockLabel, error) {
	if len(x.labelPages) == 0 {
		return nil, nil
	}
	wanted := Label{name, value}
	page, err := x.labels(x.from(wanted))
	if err != nil {
		return nil, err
	}
	i := sort.Search(len(page), func(i int) bool { return compareLabels(page[i].Label, wanted) >= 0 })
	if i == len(page) || page[i].Label != wanted {
		return nil, nil
	}
	return &page[i], nil
}

func (x *blockIndex) postings(name, value string) ([]uint32, error) {
	l, err := x.lookUp(name, value)
	if err != nil || l == nil {
		return nil, err
	}
	return x.refs(l)
}

func (x *blockIndex) count(name, value string) (int, error) {
	l, err := x.lookUp(name, value)
	if err != nil || l == nil {
		return 0, err
	}
	return int(l.count), nil
}

func (x *blockIndex) eachValue(name, prefix string, f func(string, func() ([]uint32, error)) error) error {
	first := Label{name, prefix}
	for number := x.from(first); number < len(x.labelPages); number++ {
		if x.firsts[number].Name > name {
			return nil
		}
		page, err := x.labels(number)
		if err != nil {
			return err
		}
		for i := range page {
			l := &page[i]
			switch c := compareLabels(l.Label, first); {
			case c < 0:
				continue
			case l.Name != name || !strings.HasPrefix(l.Value, prefix):
				return nil
			}
			if err := f(l.Value, func() ([]uint32, error) { return x.refs(l) }); err != nil {
				return err
			}
		}
	}
	return nil
}

// labelNames is every label's name, ascending.
func (x *blockIndex) labelNames() ([]string, error) {
	var names []string
	next := Label{}
	for number := x.from(next); number < len(x.labelPages); {
		page, err := x.labels(number)
		if err != nil {
			return nil, err
		}
		i := sort.Search(len(page), func(i int) bool { return compareLabels(page[i].Label, next) >= 0 })
		if i == len(page) {
			number++
			continue
		}
		names = append(names, page[i].Name)
		// The label behind every value of this name; values hold no such byte sequence, because it is not UTF-8.
		next = Label{page[i].Name, "\xff\xff\xff\xff"}
		number = max(number, x.from(next))
	}
	return names, nil
}

// metrics is what the block knows of its metrics, by name.
func (x *blockIndex) metrics() (map[string]summary, error) {
	bytes, err := x.block.read(x.names)
	if err != nil {
		return nil, err
	}
	r := entryReader{rest: bytes}
	parts := map[string]summary{}
	for len(r.rest) > 0 && !r.bad {
		name := string(r.take(r.uvarint()))
		parts[name] = summary{kind: Kind(r.byte()), series: int(r.uvarint()), lastTime: x.block.MinTime + r.varint()}
	}
	if r.bad {
		return nil, errDamaged
	}
	return parts, nil
}
