package remotewrite

// The messages. In both versions a series is there with each of its samples, in the order of the journal.

import (
	"math"

	"cistern/services/store/tsdb"
)

func field(buffer []byte, tag byte, n int) []byte {
	return appendUvarint(append(buffer, tag), uint64(n))
}

func appendUvarint(buffer []byte, n uint64) []byte {
	for n >= 0x80 {
		buffer, n = append(buffer, byte(n)|0x80), n>>7
	}
	return append(buffer, byte(n))
}

// appendSample is a sample's message: double value = 1, int64 timestamp = 2.
func appendSample(buffer []byte, one *waiting) []byte {
	bits := math.Float64bits(one.value)
	buffer = append(buffer, 0x09, byte(bits), byte(bits>>8), byte(bits>>16), byte(bits>>24), byte(bits>>32), byte(bits>>40), byte(bits>>48), byte(bits>>56), 0x10)
	return appendUvarint(buffer, uint64(one.time))
}

// encode1 makes a WriteRequest: a series' key is its labels as the message has them.
func (o *Output) encode1(some []waiting) {
	o.message = o.message[:0]
	for i := range some {
		one := &some[i]
		tag, content := byte(0x12), one.native
		if content == nil {
			o.packed = appendSample(o.packed[:0], one)
			content = o.packed
		} else {
			tag = 0x22
		}
		o.message = field(o.message, 0x0a, len(one.series.key)+1+uvarintLen(len(content))+len(content))
		o.message = append(o.message, one.series.key...)
		o.message = append(field(o.message, tag, len(content)), content...)
	}
}

func uvarintLen(n int) int {
	size := 1
	for ; n >= 0x80; n >>= 7 {
		size++
	}
	return size
}

// metadataOf is the type of what a series holds, as 2.0 numbers them.
func metadataOf(kind tsdb.Kind) byte {
	switch kind {
	case tsdb.Counter:
		return 1
	case tsdb.NativeHistogram:
		return 3
	case tsdb.Histogram:
		return 4 // of one second each: what Prometheus calls a gauge histogram
	}
	return 2
}

// encode2 makes a Request of 2.0. The symbols come last, which protobuf allows, because they are known then.
func (o *Output) encode2(some []waiting) {
	o.message = o.message[:0]
	clear(o.symbols)
	list := []string{""}
	o.symbols[""] = 0
	symbol := func(text string) uint64 {
		ref, known := o.symbols[text]
		if !known {
			ref = uint32(len(list))
			o.symbols[text] = ref
			list = append(list, text)
		}
		return uint64(ref)
	}
	for i := range some {
		one := &some[i]
		o.refs = o.refs[:0]
		tsdb.EachLabel(one.series.key, func(name, value string) {
			o.refs = appendUvarint(appendUvarint(o.refs, symbol(name)), symbol(value))
		})
		tag, content := byte(0x12), one.native
		if content == nil {
			o.packed = appendSample(o.packed[:0], one)
			content = o.packed
		} else {
			tag = 0x1a
		}
		o.message = field(o.message, 0x2a, 1+uvarintLen(len(o.refs))+len(o.refs)+1+uvarintLen(len(content))+len(content)+4)
		o.message = append(field(o.message, 0x0a, len(o.refs)), o.refs...)
		o.message = append(field(o.message, tag, len(content)), content...)
		o.message = append(o.message, 0x2a, 2, 0x08, metadataOf(one.series.kind))
	}
	for _, text := range list {
		o.message = append(field(o.message, 0x22, len(text)), text...)
	}
}
