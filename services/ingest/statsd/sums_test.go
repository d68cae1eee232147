package statsd

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"strconv"
	"testing"
	"time"

	"cistern/services/histogram"
	"cistern/services/journal"
	"cistern/services/store/tsdb"
)

// What a number is told to be as a decimal is the number.
func TestDecimals(t *testing.T) {
	r := rand.New(rand.NewPCG(21, 22))
	for range 20_000 {
		text := strconv.FormatFloat(math.Pow(10, 12*r.Float64()-4)*float64(1-2*r.IntN(2)), 'f', r.IntN(6), 64)
		if r.IntN(3) == 0 {
			text = strconv.Itoa(r.IntN(100_000))
		}
		v, whole, unit, ok := parseDecimal([]byte(text))
		want, err := strconv.ParseFloat(text, 64)
		if err != nil || !ok || v != want {
			t.Fatalf("%s: %v %v", text, v, err)
		}
		if back, err := strconv.ParseFloat(fmt.Sprintf("%.0fe%d", whole, unit), 64); err != nil || back != want {
			t.Fatalf("%s: %v × 10^%d", text, whole, unit)
		}
	}
	for text, want := range map[string]string{"1.25e3": "125000 -2", "1e-5": "100000 -10", "123456789.12345678": "123457 3", "-2.5e0": "-250000 -5", "0e5": "0 -5"} {
		v, whole, unit, ok := parseDecimal([]byte(text))
		if got := fmt.Sprintf("%.0f %d", whole, unit); !ok || got != want {
			t.Errorf("%s: %v as %s, want %s", text, v, got, want)
		}
	}
}

// sums is a store that adds up what comes.
type sums struct {
	memory
	all map[string]*histogram.Histogram
}

func (s *sums) Ingest(_ context.Context, _ string, batch []tsdb.Sample, _ journal.Durability) ([]tsdb.Rejection, error) {
	for _, one := range batch {
		name := string(one.Key)
		if one.Kind == tsdb.Histogram {
			if s.all[name] == nil {
				s.all[name] = &histogram.Histogram{}
			}
			s.all[name].Merge(one.Histogram)
		}
	}
	return nil, nil
}

// The sums of timers and distributions are those of what was sent, by whatever readers, sampled, and with times of their own.
func TestSums(t *testing.T) {
	for lines, want := range map[string]float64{
		"t:10|ms":                    0.010,
		"t:10:11:12|ms\nt:109|ms":    0.142,
		"t:0|ms\nt:5|ms":             0.005,
		"t:0.25|ms":                  0.00025,
		"t:1234.56|ms":               1.23456,
		"t:20|ms|@0.1":               0.2,
		"t:1500|d\nt:-2.5|d":         1497.5,
		"t:1e-3|h\nt:1.0625|h":       1.0635,
		"t:77|ms|T1656581400":        0.077,
		"t:103|ms|T1656581400|@0.25": 0.412,
	} {
		store := &sums{all: map[string]*histogram.Histogram{}}
		a := NewAggregator(store, Options{})
		for range 2 { // readers
			s := a.shard()
			s.packets([][]byte{[]byte(lines)}, time.Now().UnixNano())
		}
		if err := a.Flush(t.Context(), time.Now()); err != nil {
			t.Fatal(err)
		}
		if len(store.all) != 1 {
			t.Fatalf("%q: %d series", lines, len(store.all))
		}
		for _, h := range store.all {
			if got := h.Sum(); math.Abs(got/(2*want)-1) > 1e-14 {
				t.Errorf("%q: the sum is %v, want %v", lines, got, 2*want)
			}
		}
	}
}
