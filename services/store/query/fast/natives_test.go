package fast

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"cistern/services/journal"
	"cistern/services/platform/vfs"
	"cistern/services/store/tsdb"

	promhistogram "github.com/prometheus/prometheus/model/histogram"
	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/promql/parser"
)

// nativeSeries is a running total of native histograms, each of another kind of trouble.
type nativeSeries struct {
	key   []byte
	total *promhistogram.FloatHistogram
}

func (n *nativeSeries) next(r *rand.Rand, kind, k int) *promhistogram.FloatHistogram {
	empty := &promhistogram.FloatHistogram{Schema: 3, ZeroThreshold: 1e-128}
	if kind == 5 {
		empty = &promhistogram.FloatHistogram{Schema: promhistogram.CustomBucketsSchema, CustomValues: []float64{1, 2, 4}}
	}
	if n.total == nil || kind == 1 && r.IntN(200) == 0 {
		n.total = empty.Copy()
	}
	if kind == 4 && k == 3500 { // coarser from here on
		n.total = n.total.CopyToSchema(1)
	}
	one := empty.Copy()
	one.PositiveSpans = []promhistogram.Span{{Offset: int32(r.IntN(2)), Length: 2}}
	one.PositiveBuckets = []float64{float64(r.IntN(9)), 2}
	one.Count, one.Sum = one.PositiveBuckets[0]+2, r.Float64()*10
	if kind == 3 && r.IntN(3) == 0 {
		one.NegativeSpans, one.NegativeBuckets, one.ZeroCount = []promhistogram.Span{{Offset: -1, Length: 1}}, []float64{1}, 1
		one.Count += 2
	}
	grown := n.total.Copy()
	if _, _, _, err := grown.Add(one); err != nil {
		panic(err)
	}
	if kind == 6 {
		grown = one.Copy()
		grown.CounterResetHint = promhistogram.GaugeType
	}
	n.total = grown
	if kind == 7 && k%500 > 420 { // the sender says that each of these began anew, though none is less than the one before
		grown = grown.Copy()
		grown.CounterResetHint = promhistogram.CounterReset
	}
	if kind == 2 && r.IntN(300) == 0 {
		return &promhistogram.FloatHistogram{Sum: absent}
	}
	return grown
}

// rate and increase of native histograms are what Prometheus' engine makes of them: totals that grow, begin again, end, change
// their resolution, are said to begin again, have buckets below zero and bounds of their own, and gauges; out of memory, blocks and merged blocks.
func TestNativesAsTheEngine(t *testing.T) {
	r := rand.New(rand.NewPCG(61, 62))
	s, err := tsdb.Open("/s", tsdb.Options{FS: vfs.NewMemory(), Now: func() time.Time { return now }})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	const samples, interval = 6000, 1000 // ms: of a minute that many samples that blocks have rollups
	list := make([]nativeSeries, 8)
	for i := range list {
		if list[i].key, err = tsdb.AppendKey(nil, []tsdb.Label{{Name: tsdb.NameLabel, Value: "n"}, {Name: "i", Value: fmt.Sprint(i)}}); err != nil {
			t.Fatal(err)
		}
	}
	first := now.UnixMilli() - samples*interval
	for k := range samples {
		var batch []tsdb.Sample
		for i := range list {
			at := first + int64(k)*interval + int64(i*117)
			if i == 3 {
				at += r.Int64N(200)
			}
			batch = append(batch, tsdb.Sample{Key: list[i].key, Kind: tsdb.NativeHistogram, Time: at, Native: list[i].next(r, i, k)})
		}
		if rejected, err := s.Ingest(context.Background(), "test", batch, journal.Buffered); err != nil || len(rejected) > 0 {
			t.Fatal(rejected, err)
		}
		if k == 3000 || k == 5500 {
			if _, err := s.Flush(); err != nil {
				t.Fatal(err)
			}
		}
	}
	p := parser.NewParser(parser.Options{})
	rest := promql.NewEngine(promql.EngineOpts{MaxSamples: 10_000_000, Timeout: time.Minute, LookbackDelta: 5 * time.Minute, EnableAtModifier: true, EnableNegativeOffset: true, Parser: p,
		NoStepSubqueryIntervalFn: func(int64) int64 { return 60_000 }})
	quick, slow := &Engine{Store: s, Parser: p, Rest: only(rest)}, &Engine{Store: s, Parser: p, Rest: only(rest), Off: true}
	check := func(state string) {
		t.Helper()
		here := 0
		for round := range 60 {
			selector := []string{`n{i="0"}`, `n{i="0"}`, `n{i=~"0|3|5"}`, `n{i="1"}`, `n{i="2"}`, `n{i="4"}`, `n{i="6"}`, `n{i="7"}`, `n{i="7"}`, `n`}[r.IntN(10)]
			text := fmt.Sprintf("%s(%s[%s]%s)", []string{"rate", "increase"}[r.IntN(2)], selector, []string{"5m", "1m", "47s", "10s", "1h", "7m13s", "90m"}[r.IntN(7)],
				[]string{"", "", " offset 3m", " offset -2m"}[r.IntN(4)])
			switch r.IntN(6) {
			case 0:
				text = "histogram_quantile(0.9, " + text + ")"
			case 1:
				text = "sum(" + text + ")"
			case 2:
				text = "max_over_time(histogram_count(" + text + ")[10m:1m])"
			case 3:
				text = "2 * " + text
			}
			q := Query{Text: text, Lookback: 5 * time.Minute, Step: []time.Duration{time.Minute, 10 * time.Second, 17 * time.Second, time.Hour}[r.IntN(4)]}
			q.Start = now.Add(-time.Duration(r.Int64N(samples*interval+600_000)) * time.Millisecond)
			q.End = q.Start.Add(time.Duration(r.IntN(100)) * q.Step)
			if round == 0 { // ranges that begin among those that are said to begin again
				q = Query{Text: `rate(n{i="7"}[10s])`, Lookback: 5 * time.Minute, Step: time.Second, Start: time.UnixMilli(first + 2450*interval), End: time.UnixMilli(first + 2520*interval)}
				text = q.Text
			}
			got, err := quick.Exec(context.Background(), q)
			if err != nil {
				t.Fatalf("%s: %v", text, err)
			}
			if got.By != "engine" {
				here++
			}
			want, err := slow.Exec(context.Background(), q)
			if err != nil {
				t.Fatalf("%s: %v", text, err)
			}
			if a, b := fmt.Sprint(got.Notes.AsErrors()), fmt.Sprint(want.Notes.AsErrors()); len(got.Notes) != len(want.Notes) {
				t.Fatalf("%s, round %d, %s: the notes %s, want %s", state, round, text, a, b)
			}
			a, b := got.Value.(promql.Matrix), want.Value.(promql.Matrix)
			if len(a) != len(b) {
				t.Fatalf("%s, round %d, %s from %v by %s: %d series, want %d", state, round, text, q.Start, got.By, len(a), len(b))
			}
			for i := range a {
				if a[i].Metric.Hash() != b[i].Metric.Hash() || len(a[i].Floats) != len(b[i].Floats) || len(a[i].Histograms) != len(b[i].Histograms) {
					t.Fatalf("%s, round %d, %s by %s: %v, want %v", state, round, text, got.By, a[i], b[i])
				}
				for k, x := range a[i].Floats {
					if y := b[i].Floats[k]; x.T != y.T || x.F != y.F && !(x.F != x.F && y.F != y.F) && !(math.Abs(x.F-y.F) <= 1e-12*math.Abs(y.F)) {
						t.Fatalf("%s, round %d, %s, %v: %v at %d, want %v at %d", state, round, text, a[i].Metric, x.F, x.T, y.F, y.T)
					}
				}
				for k, x := range a[i].Histograms {
					if y := b[i].Histograms[k]; x.T != y.T || !x.H.Equals(y.H) {
						t.Fatalf("%s, round %d, %s from %v, %v by %s: %v at %d, want %v at %d", state, round, text, q.Start, a[i].Metric, got.By, x.H, x.T, y.H, y.T)
					}
				}
			}
			got.Close()
			want.Close()
		}
		if here < 20 {
			t.Errorf("%s: only %d of the queries were evaluated here", state, here)
		}
	}
	check("in memory and blocks")
	if _, err := s.Flush(); err != nil {
		t.Fatal(err)
	}
	if err := s.Compact(t.Context()); err != nil {
		t.Fatal(err)
	}
	check("merged")
	// Where the rollups know that a total grew, what lies between is not read.
	answer, err := quick.Exec(t.Context(), Query{Text: `histogram_quantile(0.9, increase(n{i="0"}[90m]))`, Start: now.Add(-time.Minute), End: now.Add(-time.Minute), Lookback: 5 * time.Minute})
	if err != nil || answer.Read == 0 || answer.Read > 1000 {
		t.Errorf("%d histograms were read of 5,400, %v", answer.Read, err)
	}
	answer.Close()
}
