package promapi

import (
	"bytes"
	"encoding/json"
	"math"
	"math/rand/v2"
	"strconv"
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
		var b [mostDigits]byte
		if n := putUint(b[:], count); string(b[:n]) != strconv.FormatUint(count, 10) {
			t.Errorf("%d: %q, the %d-th", count, b[:n], i)
		}
	}
}
