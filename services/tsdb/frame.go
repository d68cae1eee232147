package tsdb

// Frames: some hundred samples of one series, encoded together; the unit that is decoded, skipped by time, and held in
// the head and in blocks alike.

import (
	"fmt"

	"cistern/services/histogram"
)

// Encodings of frames. Numbers from 64 on are additions (rollups, cumulative checkpoints): a reader that does not know
// one of those leaves the frame out and still sees every sample.
const (
	encodingXOR      = 1
	encodingRows     = 2
	encodingColumns  = 3
	encodingAddition = 64
)

// How many samples make a frame. A range query decodes whole frames: 512 seconds of numbers are quick to decode and
// hide the 16 raw bytes that begin a frame; histograms are larger.
const (
	frameNumbers    = 512
	frameHistograms = 128
)

type frame struct {
	encoding         uint8
	count            uint32
	minTime, maxTime int64
	bytes            []byte
}

// batch is decoded samples, ascending in time.
type batch[V any] struct {
	times  []int64
	values []V
}

func decodeNumbers(f frame, into *batch[float64]) (err error) {
	if f.encoding != encodingXOR {
		return fmt.Errorf("a frame of numbers has the unknown encoding %d: a newer Cistern wrote it", f.encoding)
	}
	into.times, into.values, err = decodeXOR(f.bytes, int(f.count), into.times[:0], into.values[:0])
	return err
}

func decodeHistograms(f frame, into *batch[histogram.Histogram]) (err error) {
	switch f.encoding {
	case encodingRows:
		into.times, into.values, err = decodeRows(f.bytes, int(f.count), into.times[:0], into.values[:0])
	case encodingColumns:
		into.times, into.values, err = decodeColumns(f.bytes, int(f.count), into.times[:0], into.values[:0])
	default:
		err = fmt.Errorf("a frame of histograms has the unknown encoding %d: a newer Cistern wrote it", f.encoding)
	}
	return err
}
