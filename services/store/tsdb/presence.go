package tsdb

// When a series has histograms, without what is in them: whoever counts series needs no bins.

import (
	"fmt"
	"slices"

	"cistern/services/histogram"
	"cistern/services/store/tsdb/encoding"
)

// HistogramTimes walks through the times of the histograms in [minTime, maxTime]; the histograms that come with them mean nothing.
func (s *Series) HistogramTimes(minTime, maxTime int64) *HistogramIterator {
	return newIterator(s.histograms, minTime, maxTime, decodeHistogramTimes, func(newest, _ histogram.Histogram) histogram.Histogram { return newest })
}

func decodeHistogramTimes(f frame, into *batch[histogram.Histogram]) (err error) {
	into.times = into.times[:0]
	switch f.encoding {
	case encodingRows:
		rest, t, step := f.bytes, int64(0), int64(0)
		for i := range int(f.count) {
			if rest, t, step, err = nextRow(rest, i == 0, t, step); err != nil {
				return err
			}
			if rest, err = histogram.Skip(rest); err != nil {
				return errFrame
			}
			into.times = append(into.times, t)
		}
	case encodingHistograms:
		var run encoding.HistogramRun
		if err := run.Open(f.bytes); err != nil {
			return fmt.Errorf("%w: %v", errFrame, err)
		}
		into.times = append(into.times, run.Times()...)
	default:
		return unknownEncoding(f, "histograms")
	}
	into.values = slices.Grow(into.values[:0], len(into.times))[:len(into.times)]
	if f.encoding == encodingRows {
		return nil
	}
	return settle(f, into, nil)
}
