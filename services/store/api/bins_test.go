package api

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"strconv"
	"sync"
	"testing"

	"cistern/services/histogram"
)

// Every bin, the ones that no table has too, and every count are read back from what is sent as they were.
func TestBinsAreSentAsTheyAre(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	h := &histogram.Histogram{}
	counts := []uint64{1, 9, 10, 99, 100, 101, 999, math.MaxUint32, math.MaxUint64, math.MaxUint64 - 1}
	for power := uint64(1); power < math.MaxUint64/10; power *= 10 {
		counts = append(counts, power, power-1, 9*power, 10*power-1)
	}
	for bin := -histogram.MaxBin; bin <= histogram.MaxBin; bin += histogram.Bin(1 + r.IntN(3)) {
		count := r.Uint64() >> r.IntN(64)
		if r.IntN(3) == 0 {
			count = counts[r.IntN(len(counts))]
		}
		h.Add(bin, max(1, count))
	}
	check := func(h *histogram.Histogram) {
		t.Helper()
		text := append(appendBins([]byte(`{`), h), '}')
		var answer struct{ Bins [][3]json.Number }
		decoder := json.NewDecoder(bytes.NewReader(text))
		if err := decoder.Decode(&answer); err != nil || len(answer.Bins) != len(h.Bins) {
			t.Fatalf("%v: %d bins of %d: %.100s", err, len(answer.Bins), len(h.Bins), text)
		}
		for i, sent := range answer.Bins {
			from, to := h.Bins[i].Bounds()
			lower, _ := sent[0].Float64()
			upper, _ := sent[1].Float64()
			if lower != from || upper != to || sent[2].String() != strconv.FormatUint(h.Counts[i], 10) {
				t.Fatalf("bin %d, %d times: %v", h.Bins[i], h.Counts[i], sent)
			}
		}
	}
	check(h)
	check(&histogram.Histogram{})
	check(&histogram.Histogram{Bins: []histogram.Bin{0}, Counts: []uint64{7}})
	for i, count := range counts {
		var b [maxDigits]byte
		if n := putUint(b[:], count); string(b[:n]) != strconv.FormatUint(count, 10) {
			t.Errorf("%d: %q, the %d-th", count, b[:n], i)
		}
	}
}

// Windows are made in memory of those before, by several requests at once: of whatever bins and signs these were, an
// answer has its own, and one that is longer than a piece has all of them.
func TestWindowsMemoryIsUsedAgain(t *testing.T) {
	f := newFixture(t)
	r := rand.New(rand.NewPCG(5, 6))
	const windows = 160
	want := map[string]map[int64]*histogram.Histogram{}
	for name, value := range map[string]func() float64{
		"short": func() float64 { return 0.1 },
		"signs": func() float64 { return r.NormFloat64() },
		"zero":  func() float64 { return float64(r.IntN(3)) },
		"wide":  func() float64 { return math.Exp(8 * r.NormFloat64()) },
	} {
		want[name] = map[int64]*histogram.Histogram{}
		for i := range windows {
			n := 5
			if name == "wide" {
				n = 700
			}
			values := make([]float64, n)
			h := &histogram.Histogram{}
			for k := range values {
				values[k] = value()
				_ = h.Insert(values[k], 1)
			}
			want[name][began.Unix()+int64(i)] = h
			f.put(t, sample(t, i, name, values))
		}
	}
	ask := func(name string) error {
		w := f.get("/api/v1/histogram/heatmap", "query", name, "start", strconv.FormatInt(began.Unix(), 10), "end", strconv.FormatInt(began.Unix()+windows, 10), "step", "1")
		var answer struct {
			Columns []struct {
				Time int64
				Bins [][3]float64
			}
		}
		if err := json.Unmarshal(w.Body.Bytes(), &answer); err != nil || len(answer.Columns) != windows {
			return fmt.Errorf("%s: %w, %d columns: %.200s", name, err, len(answer.Columns), w.Body)
		}
		if name == "wide" && w.Body.Len() <= onePiece {
			return fmt.Errorf("%d bytes are one piece", w.Body.Len())
		}
		for _, column := range answer.Columns {
			h := want[name][column.Time]
			if h == nil || len(column.Bins) != len(h.Bins) {
				return fmt.Errorf("%s at %d: %d bins of %v", name, column.Time, len(column.Bins), h)
			}
			for i, sent := range column.Bins {
				from, to := h.Bins[i].Bounds()
				if sent != [3]float64{from, to, float64(h.Counts[i])} {
					return fmt.Errorf("%s at %d: %v, want %g to %g: %d", name, column.Time, sent, from, to, h.Counts[i])
				}
			}
		}
		return nil
	}
	var askers sync.WaitGroup
	for k := range 3 {
		names := []string{"wide", "short", "signs", "zero"}
		askers.Go(func() {
			for i := range 12 {
				if err := ask(names[(i*(k+1)+k)%4]); err != nil {
					t.Error(err)
				}
			}
		})
	}
	askers.Wait()
}
