package main

// Prometheus' remote-write message, written by hand: the driver encodes gigabytes of it.

import (
	"encoding/binary"
	"math"
	"math/bits"

	"github.com/golang/snappy"
)

var remoteWriteHeaders = map[string]string{
	"Content-Type": "application/x-protobuf", "Content-Encoding": "snappy", "X-Prometheus-Remote-Write-Version": "0.1.0",
	"User-Agent": "cistern-bench",
}

type label struct{ name, value string }

func varintLen(n uint64) int { return (bits.Len64(n|1) + 6) / 7 }

// appendLabels writes labels, sorted by name, as fields of a TimeSeries.
func appendLabels(to []byte, labels []label) []byte {
	for _, l := range labels {
		size := 2 + varintLen(uint64(len(l.name))) + len(l.name) + varintLen(uint64(len(l.value))) + len(l.value)
		to = append(to, 0x0a)
		to = binary.AppendUvarint(to, uint64(size))
		to = append(to, 0x0a)
		to = binary.AppendUvarint(to, uint64(len(l.name)))
		to = append(to, l.name...)
		to = append(to, 0x12)
		to = binary.AppendUvarint(to, uint64(len(l.value)))
		to = append(to, l.value...)
	}
	return to
}

func sampleLen(time int64) int { return 2 + 9 + 1 + varintLen(uint64(time)) }

// appendSample writes one sample as a field of a TimeSeries.
func appendSample(to []byte, value float64, time int64) []byte {
	to = append(to, 0x12, byte(sampleLen(time)-2), 0x09)
	to = binary.LittleEndian.AppendUint64(to, math.Float64bits(value))
	to = append(to, 0x10)
	return binary.AppendUvarint(to, uint64(time))
}

// appendOne writes a whole TimeSeries with one sample.
func appendOne(to, labels []byte, value float64, time int64) []byte {
	to = append(to, 0x0a)
	to = binary.AppendUvarint(to, uint64(len(labels)+sampleLen(time)))
	to = append(to, labels...)
	return appendSample(to, value, time)
}

// appendSeries writes a TimeSeries whose samples or histograms are already written.
func appendSeries(to, labels, rest []byte) []byte {
	to = append(to, 0x0a)
	to = binary.AppendUvarint(to, uint64(len(labels)+len(rest)))
	to = append(to, labels...)
	return append(to, rest...)
}

func zigzag(n int64) uint64 { return uint64(n<<1) ^ uint64(n>>63) }

// nativeHistogram is a Prometheus histogram of integers with positive buckets only.
type nativeHistogram struct {
	count   uint64
	sum     float64
	schema  int
	buckets []uint64 // counts of the buckets from first on
	first   int      // index of the first bucket
	time    int64
}

// appendNative writes a native histogram as a field of a TimeSeries. Empty buckets inside end a span when there are
// more than two of them, as Prometheus' own client does it.
func appendNative(to []byte, h *nativeHistogram, scratch []byte) (out, scratchOut []byte) {
	message := append(scratch[:0], 0x08)
	message = binary.AppendUvarint(message, h.count)
	message = append(message, 0x19)
	message = binary.LittleEndian.AppendUint64(message, math.Float64bits(h.sum))
	message = append(message, 0x20)
	message = binary.AppendUvarint(message, zigzag(int64(h.schema)))
	message = append(message, 0x29)
	message = binary.LittleEndian.AppendUint64(message, math.Float64bits(1e-128))
	var deltas []byte
	var last int64
	end := h.first // behind the previous span
	base := 0      // offsets are from the previous span's end, the first one's from 0
	for i := 0; i < len(h.buckets); {
		if h.buckets[i] == 0 {
			i++
			continue
		}
		from, gap := i, 0
		var until int
		for until = i; until < len(h.buckets) && gap <= 2; until++ {
			if h.buckets[until] == 0 {
				gap++
			} else {
				gap = 0
			}
		}
		until -= gap
		offset := h.first + from - end
		if base == 0 {
			offset, base = h.first+from, 1
		}
		end = h.first + until
		span := 2 + varintLen(zigzag(int64(offset))) + varintLen(uint64(until-from))
		message = append(message, 0x5a, byte(span), 0x08)
		message = binary.AppendUvarint(message, zigzag(int64(offset)))
		message = append(message, 0x10)
		message = binary.AppendUvarint(message, uint64(until-from))
		for ; i < until; i++ {
			n := int64(h.buckets[i])
			deltas = binary.AppendUvarint(deltas, zigzag(n-last))
			last = n
		}
	}
	message = append(message, 0x62)
	message = binary.AppendUvarint(message, uint64(len(deltas)))
	message = append(message, deltas...)
	message = append(message, 0x78)
	message = binary.AppendUvarint(message, uint64(h.time))
	to = append(to, 0x22)
	to = binary.AppendUvarint(to, uint64(len(message)))
	return append(to, message...), message
}

func compress(message, scratch []byte) []byte { return snappy.Encode(scratch[:cap(scratch)], message) }
