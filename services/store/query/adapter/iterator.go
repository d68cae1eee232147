package adapter

// A series' samples as the engine walks through them, and what it keeps of them.

import (
	"context"
	"errors"
	"math"
	"runtime"
	"sort"

	"cistern/services/histogram"
	"cistern/services/store/query/budget"
	"cistern/services/store/tsdb"

	promhistogram "github.com/prometheus/prometheus/model/histogram"
	"github.com/prometheus/prometheus/model/value"
	"github.com/prometheus/prometheus/tsdb/chunkenc"
)

// NewIterator walks through a series' samples in [minTime, maxTime] as they are, or what stands in for them.
func NewIterator(ctx context.Context, s *tsdb.Series, minTime, maxTime int64, aggregate tsdb.Aggregate) *Iterator {
	it := &Iterator{}
	it.reset(ctx, s, minTime, maxTime, false, aggregate)
	return it
}

// stream is one kind's samples, a batch at a time.
type stream[V any] struct {
	next   func() ([]int64, []V, bool)
	times  []int64
	values []V
	at     int // of the sample that comes next
	last   V   // of the batch before
}

// ready says whether there is a sample to come, fetching a batch when the last one is used up.
func (s *stream[V]) ready() bool {
	for s.at >= len(s.times) {
		if s.next == nil {
			return false
		}
		var ok bool
		if n := len(s.values); n > 0 {
			s.last = s.values[n-1]
		}
		if s.times, s.values, ok = s.next(); !ok {
			s.times, s.values, s.next = nil, nil, nil
			return false
		}
		s.at = 0
	}
	return true
}

// skip steps over what lies before t.
func (s *stream[V]) skip(t int64) {
	for s.ready() {
		if n := len(s.times); s.times[n-1] < t {
			s.at = n
			continue
		}
		if rest := s.times[s.at:]; rest[0] < t {
			s.at += sort.Search(len(rest), func(i int) bool { return rest[i] >= t })
		}
		return
	}
}

// Iterator merges a series' numbers, histograms and native histograms by time; nearly always there is one kind.
type Iterator struct {
	ctx        context.Context
	numbers    stream[float64]
	histograms stream[histogram.Histogram]
	natives    stream[*promhistogram.FloatHistogram]
	only       bool // there are numbers only
	cumulative bool
	total      histogram.Histogram
	fails      [3]func() error
	err        error
	batches    int
	held       *window // nil: nobody keeps what it gives
	inWindow   int64   // samples that it gave of the first window
	windowEnd  int64

	kind      chunkenc.ValueType
	time      int64
	number    float64
	histogram *histogram.Histogram
	native    *promhistogram.FloatHistogram
	before    *promhistogram.FloatHistogram // the native histogram before it, when that is known
}

func noError() error { return nil }

const nativesBefore = 5 * 60_000 // ms

func (it *Iterator) reset(ctx context.Context, s *tsdb.Series, minTime, maxTime int64, cumulative bool, aggregate tsdb.Aggregate) {
	*it = Iterator{ctx: ctx, cumulative: cumulative, time: math.MinInt64, fails: [3]func() error{noError, noError, noError}}
	it.only = !s.HasHistograms() && !s.HasNatives()
	if s.HasNumbers() {
		inner := s.NumbersAs(minTime, maxTime, aggregate)
		it.numbers.next, it.fails[0] = inner.NextBatch, inner.Err
	}
	if s.HasHistograms() {
		inner := s.Histograms(minTime, maxTime)
		it.histograms.next, it.fails[1] = inner.NextBatch, inner.Err
	}
	if s.HasNatives() {
		// Whether the first one is a reset is decided by the one before it.
		inner := s.Natives(minTime-nativesBefore, maxTime)
		it.natives.next, it.fails[2] = inner.NextBatch, inner.Err
		it.natives.skip(minTime)
	}
}

// Next goes to the next sample.
func (it *Iterator) Next() chunkenc.ValueType {
	if n := &it.numbers; it.only && n.at < len(n.times) {
		it.time, it.number, it.kind = n.times[n.at], n.values[n.at], chunkenc.ValFloat
		n.at++
		return chunkenc.ValFloat
	}
	return it.slow()
}

func (it *Iterator) slow() chunkenc.ValueType {
	it.kind = chunkenc.ValNone
	if it.batches++; it.only || it.batches%1024 == 1 {
		if it.ctx.Err() != nil {
			it.err = context.Cause(it.ctx)
		}
		if it.held != nil {
			it.held.budget.Engine().Pass()
		}
		runtime.Gosched() // whoever sends samples goes first
	}
	if it.err != nil {
		return chunkenc.ValNone
	}
	earliest := int64(math.MaxInt64)
	number, hist, native := it.numbers.ready(), it.histograms.ready(), it.natives.ready()
	if number {
		earliest = it.numbers.times[it.numbers.at]
	}
	if hist {
		earliest = min(earliest, it.histograms.times[it.histograms.at])
	}
	if native {
		earliest = min(earliest, it.natives.times[it.natives.at])
	}
	// Times must ascend: of several kinds at one time one is handed out.
	it.time = earliest
	if it.held != nil && it.held.width > 0 && it.err == nil {
		if it.err = it.keep(earliest, number && it.only); it.err != nil {
			return chunkenc.ValNone
		}
	}
	if native && it.natives.times[it.natives.at] == earliest {
		it.native, it.histogram, it.kind = it.natives.values[it.natives.at], nil, chunkenc.ValFloatHistogram
		if it.before = it.natives.last; it.natives.at > 0 {
			it.before = it.natives.values[it.natives.at-1]
		}
		it.natives.at++
	}
	if hist && it.histograms.times[it.histograms.at] == earliest {
		it.native, it.histogram, it.kind = nil, &it.histograms.values[it.histograms.at], chunkenc.ValFloatHistogram
		it.histograms.at++
		if it.cumulative {
			it.total.Merge(it.histogram)
			it.histogram = &it.total
		}
	}
	if number && it.numbers.times[it.numbers.at] == earliest {
		it.number, it.kind = it.numbers.values[it.numbers.at], chunkenc.ValFloat
		it.numbers.at++
	}
	return it.kind
}

// window is what the engine keeps of a series while a function goes over its ranges: of one at a time, all of them alike.
type window struct {
	ctx     context.Context
	budget  *budget.Budget
	width   int64 // ms
	charged int64 // samples, of the series that had most
}

// keptBytes is what the engine keeps of a sample in a range beside the samples that it counts itself: its buffer, which grows by
// doubling, and the slice that it copies from there.
const keptBytes = 64

// keep charges samples of the first window: those that follow take the place of those that leave it.
func (it *Iterator) keep(t int64, batch bool) error {
	w := it.held
	if it.windowEnd == math.MinInt64 {
		it.windowEnd = t + w.width
	}
	if t > it.windowEnd {
		return nil
	}
	n, bytes := int64(1), int64(keptBytes)
	if batch {
		n = int64(len(it.numbers.times) - it.numbers.at)
	} else {
		bytes += 512
	}
	if it.inWindow += n; it.inWindow <= w.charged {
		return nil
	}
	more := max(it.inWindow-w.charged, 1024)
	w.charged += more
	return w.budget.Charge(w.ctx, more*bytes, "samples in a range")
}

// milliseconds keeps go vet from taking Seek for that of io.Seeker, which an interface of Prometheus forces on us.
type milliseconds = int64

// Seek goes to the first sample at t or later; it does not go back.
func (it *Iterator) Seek(t milliseconds) chunkenc.ValueType {
	if it.kind != chunkenc.ValNone && it.time >= t {
		return it.kind
	}
	if it.err != nil {
		return chunkenc.ValNone
	}
	it.numbers.skip(t)
	it.natives.skip(t)
	if !it.cumulative {
		it.histograms.skip(t)
	}
	kind := it.Next()
	for kind != chunkenc.ValNone && it.time < t {
		kind = it.Next()
	}
	return kind
}

// At is the present number.
func (it *Iterator) At() (int64, float64) { return it.time, it.number }

// AtHistogram is never asked for: all histograms are float histograms to the engine.
func (it *Iterator) AtHistogram(*promhistogram.Histogram) (int64, *promhistogram.Histogram) {
	panic("Cistern's histograms are float histograms to the engine")
}

// AtFloatHistogram is the present histogram; its memory is to's when that is given.
func (it *Iterator) AtFloatHistogram(to *promhistogram.FloatHistogram) (int64, *promhistogram.FloatHistogram) {
	if to == nil {
		to = &promhistogram.FloatHistogram{}
	}
	if it.native != nil {
		it.native.CopyTo(to)
		if to.CounterResetHint == promhistogram.UnknownCounterReset && it.before != nil && !value.IsStaleNaN(it.before.Sum) && !value.IsStaleNaN(to.Sum) {
			// As Prometheus' own store tells what it found when the sample came: that there was no reset, or nothing.
			if !it.native.DetectReset(it.before) {
				to.CounterResetHint = promhistogram.NotCounterReset
			}
		}
		return it.time, to
	}
	hint := promhistogram.GaugeType
	if it.cumulative {
		hint = promhistogram.NotCounterReset
	}
	Fill(to, it.histogram, hint)
	return it.time, to
}

// AtT is the present sample's time.
func (it *Iterator) AtT() int64 { return it.time }

// AtST is 0: when a counter started is not stored.
func (it *Iterator) AtST() int64 { return 0 }

// Err is what ended the iteration early.
func (it *Iterator) Err() error {
	return errors.Join(it.err, it.fails[0](), it.fails[1](), it.fails[2]())
}
