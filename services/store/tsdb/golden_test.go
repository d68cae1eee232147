package tsdb

import (
	"math"
	"reflect"
	"testing"
	"time"

	"cistern/services/platform/golden"
	"cistern/services/platform/vfs"
)

// goldenInBlock is how many of formatBatches' batches are in the block of the golden store; the others are in its journal.
const goldenInBlock = 895

var (
	goldenRetention = Retention{Raw: 500 * 24 * time.Hour, Minute: 600 * 24 * time.Hour, Hour: 700 * 24 * time.Hour}
	goldenMetadata  = []Metadata{{Name: "gauge", Type: "gauge", Unit: "bytes", Help: "in the file of descriptions"},
		{Name: "minutes", Type: "histogram", Unit: "seconds", Help: "in the journal"}}
)

// goldenStore is the folder of a store that was killed: a block with rollups, a deletion that no block has seen, a journal
// with definitions, samples of each kind, metadata and exemplars, a file of descriptions, and a retention.
func goldenStore(t *testing.T) golden.Files {
	batches, end := formatBatches(t)
	memory := vfs.NewMemory()
	o, now := clockOptions(memory)
	now.set(end)
	o.OutOfOrder = 48 * time.Hour
	s := openStore(t, o)
	exemplar := func(trace string, at int64) Exemplar {
		return Exemplar{Key: key(t, "gauge"), Labels: []Label{{Name: "trace_id", Value: trace}}, Value: math.Inf(1), Time: at}
	}
	for _, batch := range batches[:goldenInBlock] {
		mustIngest(t, s, batch...)
	}
	s.Describe(goldenMetadata[:1])
	s.Exemplify(t.Context(), []Exemplar{exemplar("a", batches[0][0].Time)})
	mustFlush(t, s)
	if err := s.Delete(t.Context(), 0, math.MaxInt64, equal(NameLabel, "seconds")); err != nil {
		t.Fatal(err)
	}
	if err := s.SetRetention(goldenRetention); err != nil {
		t.Fatal(err)
	}
	for _, batch := range batches[goldenInBlock:] {
		mustIngest(t, s, batch...)
	}
	s.Describe(goldenMetadata[1:])
	s.Exemplify(t.Context(), []Exemplar{exemplar("b", batches[0][0].Time+1)})
	files, err := golden.Dump(memory.Kill(), "/store", "journal", "blocks")
	if err != nil {
		t.Fatal(err)
	}
	for name := range files {
		if name == "LOCK" || name == "journal/LOCK" {
			delete(files, name)
		}
	}
	return files
}

// TestGolden: stores that other versions left are read whole.
func TestGolden(t *testing.T) {
	batches, end := formatBatches(t)
	golden.Check(t, "store", goldenStore, func(t *testing.T, files golden.Files) {
		m := newModel()
		for _, batch := range batches {
			m.add(batch)
		}
		delete(m.histograms, string(key(t, "seconds")))
		memory := vfs.NewMemory()
		if err := golden.Load(memory, "/store", files); err != nil {
			t.Fatal(err)
		}
		o, now := clockOptions(memory)
		now.set(end)
		s := openStore(t, o)
		defer s.Close()
		if status := s.Status(); len(status.Blocks) != 1 || status.HeadSamples == 0 {
			t.Errorf("%d blocks, %d samples in the head: the golden store has both", len(status.Blocks), status.HeadSamples)
		}
		check := func(step string) {
			t.Helper()
			if difference := m.difference(read(t, s, 0, math.MaxInt64)); difference != "" {
				t.Fatalf("%s: %s", step, difference)
			}
			from := floorTo(batches[0][0].Time, 3_600_000)
			for _, width := range []int64{3_600_000, 600_000} {
				checkWindows(t, s, m, "minutes", from, width)
			}
			for _, want := range goldenMetadata {
				if got := s.Metadata()[want.Name]; got != want {
					t.Errorf("%s: metadata %+v, want %+v", step, got, want)
				}
			}
			sets := s.Exemplars(t.Context(), 0, math.MaxInt64)
			if len(sets) != 1 || len(sets[0].Exemplars) != 2 || !reflect.DeepEqual(sets[0].Labels, []Label{{Name: NameLabel, Value: "gauge"}}) ||
				sets[0].Exemplars[1].Labels[0].Value != "b" || !math.IsInf(sets[0].Exemplars[0].Value, 1) {
				t.Errorf("%s: exemplars %+v", step, sets)
			}
			if got := s.Retention(); got != goldenRetention {
				t.Errorf("%s: retention %+v, want %+v", step, got, goldenRetention)
			}
			if _, err := Verify(memory, "/store", func(f Finding) { t.Fatalf("%s: %+v", step, f) }); err != nil {
				t.Fatal(err)
			}
		}
		check("opened")
		mustFlush(t, s)
		check("flushed")
	})
}
