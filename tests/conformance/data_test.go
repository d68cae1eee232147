// Package conformance holds Cistern's queries against Prometheus itself: the same samples in both, the same questions.
package conformance

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"net/http"
	"slices"
	"sort"
	"testing"
	"time"

	"cistern/services/journal"
	"cistern/services/platform/vfs"
	"cistern/services/store/api"
	"cistern/services/store/tsdb"

	promhistogram "github.com/prometheus/prometheus/model/histogram"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/value"
	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/promql/parser"
	"github.com/prometheus/prometheus/storage"
	"github.com/prometheus/prometheus/util/teststorage"
)

// When the samples are: three hours up to end.
var (
	end   = time.Unix(1_789_948_800, 0).UTC()
	begin = end.Add(-3 * time.Hour)
)

type point struct {
	t int64
	v float64
	h *promhistogram.FloatHistogram
}

type line struct {
	labels labels.Labels
	points []point
}

// pair is both stores with the same samples.
type pair struct {
	cistern *tsdb.Store
	mux     *http.ServeMux
	prom    *teststorage.TestStorage
	engine  *promql.Engine
	parser  parser.Parser
}

func newPair(t testing.TB, lines []line, random *rand.Rand) *pair {
	t.Helper()
	sort.Slice(lines, func(a, b int) bool { return labels.Compare(lines[a].labels, lines[b].labels) < 0 })
	s, err := tsdb.Open("/s", tsdb.Options{FS: vfs.NewMemory(), Now: func() time.Time { return end.Add(time.Minute) }, OutOfOrder: 6 * time.Hour})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	p := &pair{cistern: s, mux: http.NewServeMux(), prom: teststorage.New(t), parser: parser.NewParser(parser.Options{})}
	t.Cleanup(func() { _ = p.prom.Close() })
	api.New(s, "test").Register(p.mux)
	p.engine = promql.NewEngine(promql.EngineOpts{MaxSamples: 10_000_000, Timeout: time.Minute, LookbackDelta: 5 * time.Minute, Parser: p.parser,
		EnableAtModifier: true, EnableNegativeOffset: true, NoStepSubqueryIntervalFn: func(int64) int64 { return 60_000 }})

	// Prometheus: series by series, so that their order is that of their labels, which is Cistern's.
	app := p.prom.Appender(context.Background())
	for _, l := range lines {
		var ref storage.SeriesRef
		for _, one := range l.points {
			if one.h != nil {
				ref, err = app.AppendHistogram(ref, l.labels, one.t, nil, one.h.Copy())
			} else {
				ref, err = app.Append(ref, l.labels, one.t, one.v)
			}
			if err != nil {
				t.Fatal(l.labels, one.t, err)
			}
		}
	}
	if err := app.Commit(); err != nil {
		t.Fatal(err)
	}

	// Cistern: by time, in batches, with blocks in between; some samples come late.
	type arriving struct {
		at     int64
		sample tsdb.Sample
	}
	var all []arriving
	for _, l := range lines {
		key := keyOf(t, l.labels)
		kind := tsdb.Guess
		late := random.IntN(4) == 0 // all of a series' kind must come in order when it changes
		for _, one := range l.points {
			if one.h != nil {
				late = false
			}
		}
		for _, one := range l.points {
			sample := tsdb.Sample{Key: key, Kind: kind, Time: one.t, Value: one.v}
			if one.h != nil {
				sample.Kind, sample.Native = tsdb.NativeHistogram, one.h
			}
			at := one.t
			if late && random.IntN(10) == 0 {
				at += random.Int64N(40 * 60_000)
			}
			all = append(all, arriving{at, sample})
		}
	}
	slices.SortStableFunc(all, func(a, b arriving) int { return int(a.at - b.at) })
	for len(all) > 0 {
		n := min(len(all), 500+random.IntN(3000))
		batch := make([]tsdb.Sample, n)
		for i := range batch {
			batch[i] = all[i].sample
		}
		p.ingest(t, batch)
		all = all[n:]
		if random.IntN(4) == 0 {
			if _, err := s.Flush(); err != nil {
				t.Fatal(err)
			}
		}
	}
	return p
}

// ingest stores a batch. A series changes its kind only with a new head: what is refused for that comes again.
func (p *pair) ingest(t testing.TB, batch []tsdb.Sample) {
	t.Helper()
	for range 100 {
		rejected, err := p.cistern.Ingest(context.Background(), "test", batch, journal.Buffered)
		if err != nil {
			t.Fatal(err)
		}
		if len(rejected) == 0 {
			return
		}
		var again []tsdb.Sample
		for _, r := range rejected {
			if r.Reason != tsdb.TypeConflict {
				t.Fatal(r)
			}
			again = append(again, batch[r.Index])
		}
		if _, err := p.cistern.Flush(); err != nil {
			t.Fatal(err)
		}
		batch = again
	}
	t.Fatal("samples are refused again and again")
}

func keyOf(t testing.TB, set labels.Labels) []byte {
	t.Helper()
	var list []tsdb.Label
	set.Range(func(l labels.Label) { list = append(list, tsdb.Label{Name: l.Name, Value: l.Value}) })
	key, err := tsdb.AppendKey(nil, list)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

// walk calls f with the times of a series: every step with some jitter, gaps, and a stale marker before most of them.
func walk(random *rand.Rand, step int64, f func(t int64) point) []point {
	var points []point
	jitter := step / 20
	for t := begin.UnixMilli() + random.Int64N(step); t < end.UnixMilli(); t += step {
		if random.IntN(150) == 0 {
			if random.IntN(3) > 0 {
				points = append(points, point{t: t, v: math.Float64frombits(value.StaleNaN)})
			}
			t += random.Int64N(20 * 60_000)
			continue
		}
		points = append(points, f(t+random.Int64N(jitter+1)))
	}
	return points
}

func exponential(random *rand.Rand, schema int32) *promhistogram.FloatHistogram {
	h := &promhistogram.FloatHistogram{Schema: schema, ZeroThreshold: 0.001}
	h.PositiveSpans = []promhistogram.Span{{Offset: int32(random.IntN(3)) - 4, Length: 4}, {Offset: 2, Length: 5}}
	h.PositiveBuckets = make([]float64, 9)
	h.NegativeSpans = []promhistogram.Span{{Offset: 0, Length: 2}}
	h.NegativeBuckets = make([]float64, 2)
	return h
}

// grow adds some measurements.
func grow(random *rand.Rand, h *promhistogram.FloatHistogram) {
	add := func(buckets []float64) {
		for i := range buckets {
			n := float64(random.IntN(20))
			buckets[i] += n
			h.Count += n
			h.Sum += n * 0.5
		}
	}
	add(h.PositiveBuckets)
	add(h.NegativeBuckets)
	if !promhistogram.IsCustomBucketsSchema(h.Schema) {
		h.ZeroCount++
		h.Count++
	}
}

// samples is the data of the comparisons.
func samples(random *rand.Rand) []line {
	var lines []line
	add := func(points []point, pairs ...string) {
		lines = append(lines, line{labels.FromStrings(pairs...), points})
	}
	for job := range 3 {
		for instance := range 4 {
			set := func(name string, more ...string) []string {
				return append([]string{"__name__", name, "job", fmt.Sprintf("j%d", job), "instance", fmt.Sprintf("i%d", instance)}, more...)
			}
			total := 0.0
			add(walk(random, 15_000, func(t int64) point {
				if total += float64(random.IntN(50)); random.IntN(100) == 0 {
					total = float64(random.IntN(5))
				}
				return point{t: t, v: total}
			}), set("c_total")...)
			add(walk(random, 15_000, func(t int64) point {
				v := math.Round(random.NormFloat64()*400) / 4
				switch random.IntN(400) {
				case 0:
					v = math.NaN()
				case 1:
					v = math.Inf(1)
				}
				return point{t: t, v: v}
			}), set("g")...)
			add(walk(random, 30_000, func(t int64) point { return point{t: t, v: random.NormFloat64() * 1e3} }), set("noise")...)
			if instance < 2 {
				for _, le := range []string{"0.1", "1", "10", "+Inf"} {
					n := 0.0
					add(walk(random, 15_000, func(t int64) point { n += float64(random.IntN(10) * len(le)); return point{t: t, v: n} }), set("lat_bucket", "le", le)...)
				}
				h := exponential(random, int32(random.IntN(3)))
				add(walk(random, 15_000, func(t int64) point {
					if random.IntN(80) == 0 {
						h = exponential(random, h.Schema)
					}
					grow(random, h)
					return point{t: t, h: h.Copy()}
				}), set("nh")...)
				custom := &promhistogram.FloatHistogram{Schema: promhistogram.CustomBucketsSchema, CustomValues: []float64{0.1, 0.5, 1, 5},
					PositiveSpans: []promhistogram.Span{{Offset: 0, Length: 5}}, PositiveBuckets: make([]float64, 5)}
				add(walk(random, 15_000, func(t int64) point { grow(random, custom); return point{t: t, h: custom.Copy()} }), set("nc")...)
			}
		}
	}
	// A series that was a number and becomes a histogram.
	h := exponential(random, 1)
	half := begin.Add(90 * time.Minute).UnixMilli()
	add(walk(random, 15_000, func(t int64) point {
		if t < half {
			return point{t: t, v: float64(t % 1000)}
		}
		grow(random, h)
		return point{t: t, h: h.Copy()}
	}), "__name__", "mixed", "job", "j0")
	add(walk(random, 15_000, func(t int64) point { return point{t: t, v: 1} }), "__name__", "a.b/c", "job", "j1", "label with.dots", "ü")
	return lines
}
