// Package export writes what a store holds as files that others read, and reads such files back: OpenMetrics text and
// Parquet. No sample is lost on the way there and back, except that OpenMetrics has no form for native histograms and for
// the marks that a series ended (stale): those are left out of it, and counted.
package export

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"

	"cistern/services/histogram"
	"cistern/services/journal"
	"cistern/services/store/tsdb"

	promhistogram "github.com/prometheus/prometheus/model/histogram"
)

// Formats.
const (
	OpenMetrics = "openmetrics"
	Parquet     = "parquet"
)

// Summary is what was written or read.
type Summary struct {
	Series  int   `json:"series"` // 0 after an import: it does not know
	Samples int64 `json:"samples"`
	// LeftOut is native histograms and marks that a series ended, which OpenMetrics has no form for.
	LeftOut int64 `json:"leftOut"`
	// Rejected is what the store refused, and First why it refused the first.
	Rejected int64  `json:"rejected"`
	First    string `json:"first,omitempty"`
	// Reasons is how many were refused for each reason, and the first of each.
	Reasons map[tsdb.Reason]Refused `json:"reasons,omitempty"`
}

// Refused is what was refused for one reason.
type Refused struct {
	Samples int64  `json:"samples"`
	First   string `json:"first"`
}

// Unreadable is the reason for which the import itself refuses what it cannot make a sample of.
const Unreadable tsdb.Reason = "unreadable"

// sample is one sample of any kind.
type sample struct {
	time      int64
	kind      tsdb.Kind
	value     float64
	histogram *histogram.Histogram
	native    *promhistogram.FloatHistogram
}

// writer is a format.
type writer interface {
	series(labels []tsdb.Label, kind tsdb.Kind) error
	sample(s *sample) error
	close() error
}

// Export writes the samples in [minTime, maxTime] (ms) of the series that match to out. A store in which something is
// damaged is exported as far as it can be read; the caller gives a context with tsdb.Warnings to be told.
func Export(ctx context.Context, from tsdb.Querier, out io.Writer, format string, minTime, maxTime int64, matchers ...*tsdb.Matcher) (Summary, error) {
	var sum Summary
	var w writer
	switch format {
	case OpenMetrics:
		w = newTextWriter(out, &sum)
	case Parquet:
		w = newParquetWriter(out)
	default:
		return sum, unknownFormat(format)
	}
	found, release, err := from.Select(ctx, minTime, maxTime, matchers...)
	if err != nil {
		return sum, err
	}
	defer release()
	slices.SortFunc(found, func(a, b *tsdb.Series) int { return strings.Compare(a.Key, b.Key) }) // by name first
	for _, one := range found {
		if err := ctx.Err(); err != nil {
			return sum, err
		}
		sum.Series++
		if err := exportSeries(one, w, minTime, maxTime, &sum); err != nil {
			return sum, fmt.Errorf("writing %s: %w", tsdb.FormatLabels(one.Labels()), err)
		}
	}
	return sum, w.close()
}

func exportSeries(one *tsdb.Series, w writer, minTime, maxTime int64, sum *Summary) error {
	put := func(s *sample) error { sum.Samples++; return w.sample(s) }
	if one.HasNumbers() {
		kind := one.Kind
		if kind != tsdb.Counter {
			kind = tsdb.Gauge
		}
		if err := w.series(one.Labels(), kind); err != nil {
			return err
		}
		it := one.Numbers(minTime, maxTime)
		for it.Next() {
			t, v := it.At()
			if err := put(&sample{time: t, kind: kind, value: v}); err != nil {
				return err
			}
		}
		if err := it.Err(); err != nil {
			return err
		}
	}
	if one.HasHistograms() {
		if err := w.series(one.Labels(), tsdb.Histogram); err != nil {
			return err
		}
		it := one.Histograms(minTime, maxTime)
		for it.Next() {
			t, h := it.At()
			if err := put(&sample{time: t, kind: tsdb.Histogram, histogram: &h}); err != nil {
				return err
			}
		}
		if err := it.Err(); err != nil {
			return err
		}
	}
	if one.HasNatives() {
		if err := w.series(one.Labels(), tsdb.NativeHistogram); err != nil {
			return err
		}
		it := one.Natives(minTime, maxTime)
		for it.Next() {
			t, h := it.At()
			if err := put(&sample{time: t, kind: tsdb.NativeHistogram, native: h}); err != nil {
				return err
			}
		}
		return it.Err()
	}
	return nil
}

func unknownFormat(format string) error {
	return fmt.Errorf("there is no format %q: %s and %s are there", format, OpenMetrics, Parquet)
}

// loader collects samples into batches for a store.
type loader struct {
	ctx   context.Context
	store tsdb.Ingester
	batch []tsdb.Sample
	sum   Summary
}

const batchSize = 5000

func (l *loader) add(key []byte, s *sample) error {
	l.batch = append(l.batch, tsdb.Sample{Key: key, Kind: s.kind, Time: s.time, Value: s.value, Histogram: s.histogram, Native: s.native})
	if len(l.batch) >= batchSize {
		return l.flush()
	}
	return nil
}

func (l *loader) flush() error {
	if len(l.batch) == 0 {
		return nil
	}
	if err := l.ctx.Err(); err != nil {
		return err
	}
	rejected, err := l.store.Ingest(l.ctx, "import", l.batch, journal.Interval)
	if err != nil {
		return err
	}
	l.sum.Samples += int64(len(l.batch) - len(rejected))
	for _, r := range rejected {
		l.refuseFor(r.Reason, r.Detail)
	}
	clear(l.batch)
	l.batch = l.batch[:0]
	return nil
}

func (l *loader) refuse(why string) { l.refuseFor(Unreadable, why) }

func (l *loader) refuseFor(reason tsdb.Reason, why string) {
	if l.sum.Rejected++; l.sum.Rejected == 1 {
		l.sum.First = why
	}
	if l.sum.Reasons == nil {
		l.sum.Reasons = map[tsdb.Reason]Refused{}
	}
	one := l.sum.Reasons[reason]
	if one.Samples++; one.Samples == 1 {
		one.First = why
	}
	l.sum.Reasons[reason] = one
}

// Import reads a file into a store. What the store refuses is counted and the rest stored; an error means that the file
// could not be read to its end, and the summary says how much is in the store by then. Importing the same file again
// changes numbers and native histograms in nothing; log-linear histograms would add up, so it must not be done for them.
func Import(ctx context.Context, store tsdb.Ingester, in io.ReaderAt, size int64, format string) (Summary, error) {
	l := &loader{ctx: ctx, store: store}
	var err error
	switch format {
	case OpenMetrics:
		err = readText(l, io.NewSectionReader(in, 0, size))
	case Parquet:
		err = readParquet(l, in, size)
	default:
		return l.sum, unknownFormat(format)
	}
	if err == nil {
		err = l.flush()
	}
	return l.sum, err
}
