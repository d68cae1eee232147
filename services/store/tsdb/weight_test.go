package tsdb

import (
	"fmt"
	"io/fs"
	"math"
	"math/rand/v2"
	"path/filepath"
	"testing"
	"time"

	"cistern/services/histogram"
	"cistern/services/journal"
)

// drawn is the measurements of `bench storaged` in its section histogram-ingest (tests/bench/peers/cmd/bench/histograms.go): log-normal, 2,000
// in a second, the middle of which moves over the day. They are drawn out of a table of equally probable ones for each quarter of an hour.
type drawn struct {
	tables [quarters][]histogram.Bin
	// How many bytes a histogram holds at least: what chance makes of each bin's count, which depends on no other's. In Cistern's bins, and
	// in VictoriaMetrics' vmrange buckets, 18 to a decade in place of 90.
	ours, vmranges float64
}

const (
	quarters    = 96
	draws       = 1 << 16
	drawnSecond = 2000
)

func newDrawn(t testing.TB) *drawn {
	t.Helper()
	d := &drawn{}
	for quarter := range quarters {
		middle := 0.02 * (1 + 0.3*math.Sin(2*math.Pi*float64(quarter)/quarters))
		bins, ranges := map[histogram.Bin]float64{}, map[int]float64{}
		for i := range draws {
			v := middle * math.Exp(1.3*math.Sqrt2*math.Erfinv(2*(float64(i)+0.5)/draws-1))
			bin, ok := histogram.BinOf(v)
			if !ok {
				t.Fatal(v)
			}
			d.tables[quarter] = append(d.tables[quarter], bin)
			bins[bin]++
			ranges[int((math.Log10(v)+9)*18)]++
		}
		for _, n := range bins {
			d.ours += countEntropy(n*drawnSecond/draws) / 8 / quarters
		}
		for _, n := range ranges {
			d.vmranges += countEntropy(n*drawnSecond/draws) / 8 / quarters
		}
	}
	return d
}

// countEntropy is how many bits a count of events holds that chance makes with this mean.
func countEntropy(mean float64) (bits float64) {
	p := math.Exp(-mean)
	for k := 1.0; k < mean+12*math.Sqrt(mean)+30; k++ {
		if p > 0 {
			bits -= p * math.Log2(p)
		}
		p *= mean / k
	}
	return bits
}

// at is the histogram of a second.
func (d *drawn) at(second int64, r *rand.PCG) *histogram.Histogram {
	table := d.tables[second/900%quarters]
	var dense histogram.Dense
	for range drawnSecond / 4 {
		bits := r.Uint64()
		for shift := 0; shift < 64; shift += 16 {
			dense.Add(table[uint16(bits>>shift)], 1)
		}
	}
	h := &histogram.Histogram{}
	dense.Into(h)
	return h
}

// weighed is a data folder after a flush, in bytes a histogram.
type weighed struct{ whole, samples, minutes, coarser, hours, index, journal float64 }

func (d *drawn) weigh(t testing.TB, series, seconds int) (w weighed) {
	t.Helper()
	folder := t.TempDir()
	now := time.Unix(1_700_000_000/5400*5400, 0)
	s, err := Open(folder, Options{Now: func() time.Time { return now }})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	keys, random := make([][]byte, series), make([]*rand.PCG, series)
	for i := range keys {
		keys[i] = key(t, "bench_latency_seconds", "instance", fmt.Sprintf("10.0.%d.%d:9100", i/250, i%250), "job", "production/api-gateway", "service", fmt.Sprintf("service-%d", i%40))
		random[i] = rand.NewPCG(uint64(i)+1, 7)
	}
	var batch []Sample
	for second := range seconds {
		at := now.Unix() + int64(second-seconds)
		for i := range keys {
			batch = append(batch, Sample{Key: keys[i], Kind: Histogram, Time: 1000 * at, Histogram: d.at(at+int64(i)*1800, random[i])})
		}
		if len(batch) >= 60 || second == seconds-1 {
			if rejected, err := s.Ingest(t.Context(), "bench", batch, journal.Buffered); err != nil || len(rejected) > 0 {
				t.Fatal(len(rejected), err)
			}
			batch = batch[:0]
		}
	}
	if _, err := s.Flush(); err != nil {
		t.Fatal(err)
	}
	n := float64(series * seconds)
	for _, b := range s.list {
		w.index += float64(b.Index) / n
		w.minutes += float64(b.tracks[trackMinute]) / n
		w.hours += float64(b.tracks[trackHour]) / n
		w.coarser += float64(b.Rollups-b.tracks[trackMinute]-b.tracks[trackHour]) / n
		w.samples += float64(b.Bytes-b.Index-b.Rollups) / n
	}
	err = filepath.WalkDir(folder, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		info, err := entry.Info()
		if err != nil {
			return err
		}
		w.whole += float64(info.Size()) / n
		if filepath.Base(filepath.Dir(path)) == "journal" {
			w.journal += float64(info.Size()) / n
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return w
}

// BenchmarkHistogramFolder says what the bench's histograms weigh, by part, and what they hold.
func BenchmarkHistogramFolder(b *testing.B) {
	d := newDrawn(b)
	for _, c := range []struct{ series, seconds int }{{1, 86_400}, {1000, 12}, {100, 120}} {
		b.Run(fmt.Sprintf("%d series for %d s", c.series, c.seconds), func(b *testing.B) {
			for b.Loop() {
				w := d.weigh(b, c.series, c.seconds)
				for unit, value := range map[string]float64{"whole": w.whole, "samples": w.samples, "minutes": w.minutes, "tens+halves": w.coarser, "hours": w.hours,
					"index": w.index, "journal": w.journal, "information": d.ours, "vmrange-information": d.vmranges} {
					b.ReportMetric(value, unit+"-B")
				}
			}
		})
	}
}

// The data folder of histograms that chance has made weighs little more than what they hold, of which nothing can be left out: rollups, index
// and what is left of the journal included.
func TestHistogramsWeighLittleMoreThanTheyHold(t *testing.T) {
	d := newDrawn(t)
	w := d.weigh(t, 1, 3600)
	if w.samples < d.ours || w.samples > 1.09*d.ours {
		t.Errorf("the samples weigh %.1f bytes each, and hold %.1f: %+v", w.samples, d.ours, w)
	}
	if w.whole > 1.15*d.ours {
		t.Errorf("the folder weighs %.1f bytes a histogram, which holds %.1f: %+v", w.whole, d.ours, w)
	}
}
