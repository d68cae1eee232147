package tsdb

// Frames: some hundred samples of one series, encoded together; the unit that is decoded, skipped by time, and held in
// the head and in blocks alike.

import (
	"encoding/binary"
	"errors"
	"fmt"

	"cistern/services/histogram"
	"cistern/services/store/tsdb/encoding"

	promhistogram "github.com/prometheus/prometheus/model/histogram"
)

// Encodings of frames. The times inside a frame count from the frame's least time, so that a frame can be moved from
// one place to another as it is.
const (
	encodingRows       = 2 // histograms as they grow in the head: rows.go
	encodingNumbers    = 4 // encoding.AppendNumbers
	encodingHistograms = 5 // encoding.AppendHistograms
	encodingNatives    = 6 // native.go
	encodingRollup     = 7 // encoding.AppendRollups
	encodingTotals     = 8 // rollups of native histograms: native.go
)

// How many samples make a frame of a block. A range query decodes whole frames, and a small one pays for its headers.
const (
	frameNumbers    = 1024
	frameHistograms = 360 // five minutes, and what comes before the first five minutes begin
	frameNatives    = 120
	frameRollups    = 256
)

var errFrame = errors.New("a frame's bytes are damaged")

type frame struct {
	encoding         uint8
	count            uint32
	minTime, maxTime int64
	bytes            []byte
	// Where the bytes are when they were not read yet.
	at     int64
	length uint32
	sum    uint32
}

// append writes the frame with its header behind dst; last is the greatest time of the frame before.
func (f *frame) append(dst []byte, last int64) []byte {
	dst = f.appendHeader(dst, last)
	return append(dst, f.bytes...)
}

func (f *frame) appendHeader(dst []byte, last int64) []byte {
	dst = append(dst, f.encoding)
	dst = binary.AppendUvarint(dst, uint64(f.count))
	dst = binary.AppendVarint(dst, f.minTime-last)
	dst = binary.AppendUvarint(dst, uint64(f.maxTime-f.minTime))
	return binary.AppendUvarint(dst, uint64(len(f.bytes)))
}

func (f *frame) readHeader(r *entryReader, last int64) {
	f.encoding, f.count = r.byte(), uint32(r.uvarint())
	f.minTime = last + r.varint()
	f.maxTime = f.minTime + int64(r.uvarint())
	f.length = uint32(r.uvarint())
}

// batch is decoded samples, ascending in time.
type batch[V any] struct {
	times  []int64
	values []V
}

func unknownEncoding(f frame, of string) error {
	return fmt.Errorf("a frame of %s has the unknown encoding %d: a newer Cistern wrote it", of, f.encoding)
}

func decodeNumbers(f frame, into *batch[float64]) (err error) {
	if f.encoding != encodingNumbers {
		return unknownEncoding(f, "numbers")
	}
	into.times, into.values, err = encoding.DecodeNumbers(f.bytes, into.times[:0], into.values[:0])
	return settle(f, into, err)
}

// settle turns the times from the frame's into the clock's.
func settle[V any](f frame, into *batch[V], err error) error {
	if err != nil || len(into.times) == 0 || len(into.times) != len(into.values) {
		return fmt.Errorf("%w: %v", errFrame, err)
	}
	if into.times[0] != 0 || into.times[len(into.times)-1] != f.maxTime-f.minTime {
		return errFrame
	}
	for i := range into.times {
		into.times[i] += f.minTime
	}
	return nil
}

func decodeHistograms(f frame, into *batch[histogram.Histogram]) (err error) {
	switch f.encoding {
	case encodingRows:
		into.times, into.values, err = decodeRows(f.bytes, int(f.count), into.times[:0], into.values[:0])
		return err
	case encodingHistograms:
		var run encoding.HistogramRun
		if err := run.Open(f.bytes); err != nil {
			return fmt.Errorf("%w: %v", errFrame, err)
		}
		into.times = append(into.times[:0], run.Times()...)
		into.values, err = run.Decode(into.values[:0])
		return settle(f, into, err)
	}
	return unknownEncoding(f, "histograms")
}

func decodeNatives(f frame, into *batch[*promhistogram.FloatHistogram]) error {
	// Who has the histograms keeps them: the memory is their own.
	_, err := decodeNativesInto(f, &nativeMemory{}, into)
	return err
}

// decodeNativesInto is decodeNatives into memory that the caller has; rising is as of readNatives.
func decodeNativesInto(f frame, m *nativeMemory, into *batch[*promhistogram.FloatHistogram]) (rising bool, err error) {
	bytes := f.bytes
	switch {
	case f.encoding == encodingTotals && len(bytes) > 0:
		bytes = bytes[1:]
	case f.encoding != encodingNatives:
		return false, unknownEncoding(f, "native histograms")
	}
	into.times, into.values, rising, err = readNatives(bytes, m, into.times[:0], into.values[:0])
	return rising, settle(f, into, err)
}

// relative is times counted from the first.
func relative(times []int64) []int64 {
	from := make([]int64, len(times))
	for i, t := range times {
		from[i] = t - times[0]
	}
	return from
}

func numberFrame(times []int64, values []float64) frame {
	return makeFrame(encodingNumbers, times, encoding.AppendNumbers(nil, relative(times), values))
}

func histogramFrame(times []int64, hists []histogram.Histogram) frame {
	return makeFrame(encodingHistograms, times, encoding.AppendHistograms(nil, relative(times), hists))
}

func makeFrame(encoding uint8, times []int64, bytes []byte) frame {
	return frame{encoding: encoding, count: uint32(len(times)), minTime: times[0], maxTime: times[len(times)-1], bytes: bytes}
}
