package tsdb

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"cistern/services/journal"
	"cistern/services/platform/vfs"
)

// The index that is made while the journal is read is the one that was there before: of each label the same series.
func TestReplayedIndex(t *testing.T) {
	r := rand.New(rand.NewPCG(41, 42))
	memory := vfs.NewMemory()
	now := time.Now()
	s, err := Open("/s", Options{FS: memory, Now: func() time.Time { return now }})
	if err != nil {
		t.Fatal(err)
	}
	for part := range 20 {
		var batch []Sample
		for range 300 {
			labels := []Label{{NameLabel, fmt.Sprint("m", r.IntN(5))}}
			for i := range 6 {
				if r.IntN(3) > 0 { // the next series may have this label at another place
					labels = append(labels, Label{fmt.Sprint("label", i), fmt.Sprint(r.IntN(4 << (2 * i)))})
				}
			}
			key, err := AppendKey(nil, labels)
			if err != nil {
				t.Fatal(err)
			}
			batch = append(batch, Sample{Key: key, Kind: Gauge, Time: now.UnixMilli() + int64(part), Value: 1})
		}
		if rejected, err := s.Ingest(t.Context(), "test", batch, journal.Buffered); err != nil || len(rejected) > 0 {
			t.Fatal(rejected, err)
		}
	}
	before := s.live
	defer s.Close()
	again, err := Open("/s", Options{FS: memory.Kill(), Now: func() time.Time { return now }})
	if err != nil {
		t.Fatal(err)
	}
	defer again.Close()
	after := again.live
	if len(after.series) != len(before.series) || len(after.labels) != len(before.labels) || after.seriesBytes != before.seriesBytes {
		t.Fatalf("%d series, %d names, %d bytes; want %d, %d, %d", len(after.series), len(after.labels), after.seriesBytes,
			len(before.series), len(before.labels), before.seriesBytes)
	}
	for name, values := range before.labels {
		for value, p := range values {
			if got := after.labels[name][value].refs(); !slices.Equal(got, p.refs()) {
				t.Errorf("%s=%q: %v, want %v", name, value, got, p.refs())
			}
			for _, ref := range p.refs() {
				labels, err := ParseKey(before.series[ref].key)
				if err != nil || !slices.Contains(labels, Label{name, value}) || after.series[ref].key != before.series[ref].key {
					t.Fatalf("series %d is said to have %s=%q: %v %v", ref, name, value, labels, err)
				}
			}
		}
	}
}

// Definitions are found by any numbers, in whatever order they come.
func TestDefinitions(t *testing.T) {
	r := rand.New(rand.NewPCG(43, 44))
	for range 200 {
		var d definitions
		want := map[uint64]*memSeries{}
		next := uint64(0)
		for range r.IntN(300) {
			ref := next
			switch r.IntN(6) {
			case 0:
				ref = r.Uint64N(400)
			case 1:
				ref = r.Uint64N(1 << 20)
			case 2:
				ref = r.Uint64()
			default:
				next++
			}
			want[ref] = &memSeries{}
			d.put(ref, definition{series: want[ref]})
			for _, ask := range []uint64{ref, r.Uint64N(500), r.Uint64N(1 << 20)} {
				if got, ok := d.get(ask); ok != (want[ask] != nil) || got.series != want[ask] {
					t.Fatalf("%d: %v", ask, ok)
				}
			}
		}
		for ref, s := range want {
			if got, ok := d.get(ref); !ok || got.series != s {
				t.Fatalf("%d: %v", ref, ok)
			}
		}
	}
}
