package tsdb

// A model of the store, against which it is compared.

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"cistern/services/histogram"
	"cistern/services/journal"
	"cistern/services/platform/vfs"
)

var start = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

// testOptions have a clock that stands still, so that nothing happens by time.
func testOptions(fsys vfs.FS) Options {
	return Options{FS: fsys, Now: func() time.Time { return start }, SegmentBytes: 4 << 10}
}

func openStore(t testing.TB, o Options) *Store {
	t.Helper()
	s, err := Open("/store", o)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func key(t testing.TB, name string, pairs ...string) []byte {
	t.Helper()
	set := []Label{{NameLabel, name}}
	for i := 0; i < len(pairs); i += 2 {
		set = append(set, Label{pairs[i], pairs[i+1]})
	}
	k, err := AppendKey(nil, set)
	if err != nil {
		t.Fatal(err)
	}
	return k
}

// model is what the store should answer: by series and time.
type model struct {
	numbers    map[string]map[int64]float64
	histograms map[string]map[int64]*histogram.Histogram
	natives    map[string]map[int64]*nativeHistogram
}

func newModel() *model {
	return &model{map[string]map[int64]float64{}, map[string]map[int64]*histogram.Histogram{}, map[string]map[int64]*nativeHistogram{}}
}

func (m *model) add(batch []Sample) {
	for _, one := range batch {
		k := string(one.Key)
		if one.Kind == NativeHistogram {
			if m.natives[k] == nil {
				m.natives[k] = map[int64]*nativeHistogram{}
			}
			m.natives[k][one.Time] = one.Native
			continue
		}
		if one.Kind == Histogram {
			if m.histograms[k] == nil {
				m.histograms[k] = map[int64]*histogram.Histogram{}
			}
			t := one.Time / 1000 * 1000
			if m.histograms[k][t] == nil {
				m.histograms[k][t] = &histogram.Histogram{}
			}
			m.histograms[k][t].Merge(one.Histogram)
			continue
		}
		if m.numbers[k] == nil {
			m.numbers[k] = map[int64]float64{}
		}
		m.numbers[k][one.Time] = one.Value
	}
}

// sameKeys fails unless who wants the keys alone gets those of the series that Select finds, each once.
func sameKeys(t testing.TB, s *Store, minTime, maxTime int64, matchers ...*Matcher) {
	t.Helper()
	found, release, err := s.Select(t.Context(), minTime, maxTime, matchers...)
	release()
	keys, err2 := s.Keys(t.Context(), minTime, maxTime, matchers...)
	selected := make([]string, len(found))
	for i, one := range found {
		selected[i] = one.Key
	}
	slices.Sort(keys)
	slices.Sort(selected)
	if err != nil || err2 != nil || !slices.Equal(keys, selected) {
		t.Fatalf("%d keys of %d series, %v, %v", len(keys), len(found), err, err2)
	}
}

// areAmong says whether all of some keys are among others, each as often at least.
func areAmong(some, others []string) bool {
	left := make(map[string]int, len(others))
	for _, key := range others {
		left[key]++
	}
	for _, key := range some {
		if left[key]--; left[key] < 0 {
			return false
		}
	}
	return true
}

// read is everything a store holds.
func read(t testing.TB, s *Store, minTime, maxTime int64, matchers ...*Matcher) *model {
	t.Helper()
	// Whoever wants the keys alone gets those of the same series, each once; what is written meanwhile may be among the later ones.
	earlier, err := s.Keys(t.Context(), minTime, maxTime, matchers...)
	if err != nil {
		t.Fatal(err)
	}
	found, release, err := s.Select(t.Context(), minTime, maxTime, matchers...)
	if err != nil {
		t.Fatal(err)
	}
	defer release()
	later, err := s.Keys(t.Context(), minTime, maxTime, matchers...)
	selected := make([]string, len(found))
	for i, one := range found {
		selected[i] = one.Key
	}
	if err != nil || !areAmong(earlier, selected) || !areAmong(selected, later) {
		t.Fatalf("%d keys, %d series, %d keys, %v", len(earlier), len(found), len(later), err)
	}
	m := newModel()
	for _, one := range found {
		last := int64(math.MinInt64)
		numbers := one.Numbers(minTime, maxTime)
		for numbers.Next() {
			at, v := numbers.At()
			if at <= last || at < minTime || at > maxTime {
				t.Fatalf("%v: time %d after %d, asked for [%d, %d]", one.Labels(), at, last, minTime, maxTime)
			}
			last = at
			m.add([]Sample{{Key: []byte(one.Key), Time: at, Value: v}})
		}
		last = math.MinInt64
		histograms := one.Histograms(minTime, maxTime)
		for histograms.Next() {
			at, h := histograms.At()
			if at <= last || at < minTime || at > maxTime {
				t.Fatalf("%v: time %d after %d", one.Labels(), at, last)
			}
			last = at
			m.add([]Sample{{Key: []byte(one.Key), Kind: Histogram, Time: at, Histogram: &h}})
		}
		last = math.MinInt64
		natives := one.Natives(minTime, maxTime)
		for natives.Next() {
			at, h := natives.At()
			if at <= last || at < minTime || at > maxTime {
				t.Fatalf("%v: time %d after %d", one.Labels(), at, last)
			}
			last = at
			m.add([]Sample{{Key: []byte(one.Key), Kind: NativeHistogram, Time: at, Native: h}})
		}
		if err := errors.Join(numbers.Err(), histograms.Err(), natives.Err()); err != nil {
			t.Fatal(err)
		}
	}
	return m
}

// within is the part of a model in a range of time.
func (m *model) within(minTime, maxTime int64) *model {
	part := newModel()
	for k, points := range m.numbers {
		for at, v := range points {
			if at >= minTime && at <= maxTime {
				part.add([]Sample{{Key: []byte(k), Time: at, Value: v}})
			}
		}
	}
	for k, points := range m.histograms {
		for at, h := range points {
			if at >= minTime && at <= maxTime {
				part.add([]Sample{{Key: []byte(k), Kind: Histogram, Time: at, Histogram: h}})
			}
		}
	}
	for k, points := range m.natives {
		for at, h := range points {
			if at >= minTime && at <= maxTime {
				part.add([]Sample{{Key: []byte(k), Kind: NativeHistogram, Time: at, Native: h}})
			}
		}
	}
	return part
}

// sameMeasurements says whether both hold the same counts and add up to the same.
func sameMeasurements(a, b *histogram.Histogram) bool { return a.Equal(b) && a.Sum() == b.Sum() }

func (m *model) difference(other *model) string {
	same := func(a, b float64) bool { return math.Float64bits(a) == math.Float64bits(b) }
	for _, k := range slices.Concat(slices.Collect(maps.Keys(m.numbers)), slices.Collect(maps.Keys(other.numbers))) {
		if !maps.EqualFunc(m.numbers[k], other.numbers[k], same) {
			return fmt.Sprintf("%q: %v\nagainst %v", k, m.numbers[k], other.numbers[k])
		}
	}
	for _, k := range slices.Concat(slices.Collect(maps.Keys(m.histograms)), slices.Collect(maps.Keys(other.histograms))) {
		if !maps.EqualFunc(m.histograms[k], other.histograms[k], sameMeasurements) {
			return fmt.Sprintf("%q: %v\nagainst %v", k, m.histograms[k], other.histograms[k])
		}
	}
	alike := func(a, b *nativeHistogram) bool { return a.Copy().Compact(0).Equals(b.Copy().Compact(0)) }
	for _, k := range slices.Concat(slices.Collect(maps.Keys(m.natives)), slices.Collect(maps.Keys(other.natives))) {
		if !maps.EqualFunc(m.natives[k], other.natives[k], alike) {
			return fmt.Sprintf("%q: %v\nagainst %v", k, m.natives[k], other.natives[k])
		}
	}
	return ""
}

// record counts a value n times, with what it adds to the sum if summed.
func record(h *histogram.Histogram, v float64, n uint64, summed bool) {
	bin, _ := histogram.BinOf(v)
	if !summed {
		h.Add(bin, n)
		return
	}
	number, unit := bin.Decimal(v)
	h.RecordDecimal(bin, n, number, unit)
}

func randomBatch(t testing.TB, r *rand.Rand, now int64) []Sample {
	var batch []Sample
	for range 1 + r.IntN(40) {
		at := now - int64(r.IntN(3))*1000
		switch r.IntN(6) {
		case 0: // late
			at = now - int64(r.IntN(1800_000))
		case 1: // not on the second
			at = now - int64(r.IntN(2000))
		}
		one := Sample{Kind: Gauge, Time: at, Value: math.Round(r.NormFloat64()*100) / 10}
		switch r.IntN(12) {
		case 0:
			one.Value = math.Float64frombits(0x7ff0000000000002) // Prometheus' marker of a series' end
		case 1:
			one.Value = math.Inf(-1)
		case 2:
			one.Value = r.NormFloat64() * 1e300
		}
		if one.Key = key(t, fmt.Sprintf("m%d", r.IntN(3)), "host", fmt.Sprint(r.IntN(4))); r.IntN(3) == 0 {
			one.Key, one.Kind, one.Histogram = key(t, "latency", "host", fmt.Sprint(r.IntN(3))), Histogram, &histogram.Histogram{}
			summed := r.IntN(3) > 0
			for range 1 + r.IntN(20) {
				record(one.Histogram, math.Exp(r.NormFloat64())-0.3, uint64(1+r.IntN(3)), summed)
			}
		} else if r.IntN(8) == 0 {
			_, natives := someNatives(r, 1)
			one.Key, one.Kind, one.Native = key(t, "native", "host", fmt.Sprint(r.IntN(2))), NativeHistogram, natives[0]
		}
		batch = append(batch, one)
	}
	return batch
}

// Random batches, flushes, kills and clean restarts, against a model in plain maps.
func TestAgainstModel(t *testing.T) {
	for seed := range uint64(4) {
		r := rand.New(rand.NewPCG(seed, 1))
		memory := vfs.NewMemory()
		now := newClock(start)
		options := func() Options {
			o := testOptions(memory)
			o.Now = now.now
			return o
		}
		s, m := openStore(t, options()), newModel()
		for step := range 400 {
			switch action := r.IntN(40); {
			case action == 0:
				if _, err := s.Flush(); err != nil {
					t.Fatal(err)
				}
			case action == 1:
				if err := s.Close(); err != nil {
					t.Fatal(err)
				}
				s = openStore(t, options())
			case action == 2:
				memory = memory.Kill()
				old := s
				s = openStore(t, options())
				_ = old.Close()
			case action == 3:
				if err := s.tidy(); err != nil {
					t.Fatal(err)
				}
			case action == 4:
				now.advance(time.Duration(r.IntN(9)) * time.Hour)
			case action < 7:
				from := now.UnixMilli() - int64(r.IntN(2000_000))
				to := from + int64(r.IntN(1000_000))
				sameKeys(t, s, from, to)
				if d := read(t, s, from, to).difference(m.within(from, to)); d != "" {
					t.Fatalf("seed %d, step %d, [%d, %d]: %s", seed, step, from, to, d)
				}
			default:
				now.advance(time.Duration(r.IntN(2500)) * time.Millisecond)
				batch := randomBatch(t, r, now.UnixMilli())
				rejected, err := s.Ingest(t.Context(), "test", batch, journal.Buffered)
				if err != nil || len(rejected) > 0 {
					t.Fatalf("%v %v", rejected, err)
				}
				m.add(batch)
			}
		}
		if d := read(t, s, 0, math.MaxInt64).difference(m); d != "" {
			t.Fatalf("seed %d: %s", seed, d)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
}
