package api

import (
	"bufio"
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"cistern/services/histogram"
	"cistern/services/journal"
	"cistern/services/store/query/explain"
	"cistern/services/store/tsdb"
)

// BenchmarkChanged compares 10,000 series, a tenth of them histograms, with the four times as long before.
func BenchmarkChanged(b *testing.B) {
	const series, every, window = 10_000, 10, 300
	s, err := tsdb.Open(b.TempDir(), tsdb.Options{})
	if err != nil {
		b.Fatal(err)
	}
	defer s.Close()
	end := time.Now().Unix()/60*60 - 600
	r := rand.New(rand.NewPCG(1, 2))
	keys := make([][]byte, series)
	for i := range keys {
		if keys[i], err = tsdb.AppendKey(nil, []tsdb.Label{{Name: tsdb.NameLabel, Value: fmt.Sprint("m", i/100)}, {Name: "host", Value: fmt.Sprint("h", i%100)}}); err != nil {
			b.Fatal(err)
		}
	}
	for at := end - 5*window; at < end; at += every {
		batch := make([]tsdb.Sample, series)
		for i := range batch {
			batch[i] = tsdb.Sample{Key: keys[i], Kind: tsdb.Gauge, Time: at * 1000, Value: 100 + r.NormFloat64()}
			if i >= series-series/10 {
				h := &histogram.Histogram{}
				for range 20 {
					_ = h.Insert(0.1+0.02*r.Float64(), 1)
				}
				batch[i].Kind, batch[i].Histogram = tsdb.Histogram, h
			}
		}
		if _, err := s.Ingest(b.Context(), "bench", batch, journal.Buffered); err != nil {
			b.Fatal(err)
		}
	}
	mux := http.NewServeMux()
	New(s, "bench").Register(mux)
	reportP99(b, mux, fmt.Sprintf("/api/v1/changed?query=%s&start=%d&end=%d", "%7B__name__!=%22%22%7D", end-window, end))
}

// BenchmarkFalseAlarms records what the kernel counts on this machine, once a second for CISTERN_BENCH_RECORD seconds (300 unless
// it is set), and compares each 20 s of it with the 80 s before. Nothing was done to the machine meanwhile but what goes on there
// anyway, so the share of what has changed is a false alarm at most.
func BenchmarkFalseAlarms(b *testing.B) {
	if runtime.GOOS != "linux" {
		b.Skip("there is no /proc here")
	}
	seconds, _ := strconv.Atoi(os.Getenv("CISTERN_BENCH_RECORD"))
	if seconds == 0 {
		seconds = 300
	}
	const window = 20
	s, err := tsdb.Open(b.TempDir(), tsdb.Options{})
	if err != nil {
		b.Fatal(err)
	}
	defer s.Close()
	start := time.Now().Truncate(time.Second)
	for i := range seconds {
		time.Sleep(time.Until(start.Add(time.Duration(i) * time.Second)))
		var batch []tsdb.Sample
		kernelCounts(func(name, of string, counter bool, v float64) {
			key, err := tsdb.AppendKey(nil, []tsdb.Label{{Name: tsdb.NameLabel, Value: name}, {Name: "of", Value: of}})
			if err != nil {
				b.Fatal(err)
			}
			kind := tsdb.Gauge
			if counter {
				kind = tsdb.Counter
			}
			batch = append(batch, tsdb.Sample{Key: key, Kind: kind, Time: start.Add(time.Duration(i) * time.Second).UnixMilli(), Value: v})
		})
		if _, err := s.Ingest(b.Context(), "bench", batch, journal.Buffered); err != nil {
			b.Fatal(err)
		}
	}
	compared, changed, windows := 0, 0, 0
	for at := 5 * window; at <= seconds; at += window {
		until := start.Add(time.Duration(at) * time.Second).UnixMilli()
		times := explain.Times{Start: until - window*1000, End: until, BeforeFrom: until - 5*window*1000, BeforeUntil: until - window*1000}
		list, release, err := s.Select(context.Background(), times.From(), until)
		if err != nil {
			b.Fatal(err)
		}
		c := explain.NewComparison(list, times, 0)
		if err := c.Run(context.Background()); err != nil {
			b.Fatal(err)
		}
		release()
		compared, changed, windows = compared+len(list), changed+c.Count(), windows+1
	}
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(float64(compared)/float64(windows), "series")
	b.ReportMetric(float64(windows), "windows")
	b.ReportMetric(100*float64(changed)/float64(compared), "changed-%")
}

// kernelCounts gives what /proc has in lines of a name and numbers.
func kernelCounts(take func(name, of string, counter bool, v float64)) {
	for _, file := range []struct {
		path    string
		counter func(name string) bool
	}{
		{"/proc/vmstat", func(name string) bool { return !strings.HasPrefix(name, "nr_") }},
		{"/proc/meminfo", func(string) bool { return false }},
		{"/proc/stat", func(name string) bool { return !strings.HasPrefix(name, "procs_") }},
		{"/proc/diskstats", func(string) bool { return true }},
		{"/proc/net/dev", func(string) bool { return true }},
		{"/proc/loadavg", func(string) bool { return false }},
	} {
		f, err := os.Open(file.path)
		if err != nil {
			continue
		}
		for lines := bufio.NewScanner(f); lines.Scan(); {
			fields := strings.Fields(lines.Text())
			name := ""
			for i, field := range fields {
				v, err := strconv.ParseFloat(field, 64)
				switch {
				case err != nil:
					name = strings.TrimSuffix(field, ":")
				case i < 20: // the first of the interrupts' hundreds
					take(file.path, fmt.Sprint(name, " ", i), file.counter(name), v)
				}
			}
		}
		f.Close()
	}
}
