package outputs

// Outputs to our own inputs of Graphite and statsd, and into files.

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"cistern/services/histogram"
	"cistern/services/ingest/admission"
	graphiteinput "cistern/services/ingest/graphite"
	"cistern/services/ingest/importer"
	"cistern/services/ingest/ingesttest"
	statsdinput "cistern/services/ingest/statsd"
	"cistern/services/outputs/file"
	"cistern/services/outputs/graphite"
	"cistern/services/outputs/statsd"
	"cistern/services/store/tsdb"

	promhistogram "github.com/prometheus/prometheus/model/histogram"
)

// mixture is a sample of every kind, at a time.
func mixture(t testing.TB, now int64) []tsdb.Sample {
	h := &histogram.Histogram{}
	_ = h.Insert(0.25, 7)
	_ = h.Insert(0.5, 1)
	native := &promhistogram.FloatHistogram{Schema: 3, Count: 2, Sum: 4, PositiveSpans: []promhistogram.Span{{Offset: 1, Length: 1}}, PositiveBuckets: []float64{2}}
	return []tsdb.Sample{
		{Key: key(t, "a.b", "job", "x y", "k", "~z"), Kind: tsdb.Gauge, Time: now, Value: -1.5},
		{Key: key(t, "hits_total"), Kind: tsdb.Counter, Time: now, Value: 42},
		{Key: key(t, "latency", "job", "w"), Kind: tsdb.Histogram, Time: now, Histogram: h},
		{Key: key(t, "native"), Kind: tsdb.NativeHistogram, Time: now, Native: native},
		{Key: key(t, "nan"), Kind: tsdb.Gauge, Time: now, Value: math.NaN()},
	}
}

// graphiteServer is our input of Graphite in front of a store.
func graphiteServer(t *testing.T, address string) (*tsdb.Store, string, func()) {
	t.Helper()
	store, _ := ingesttest.Store(t, func(*tsdb.Store, *http.ServeMux) {})
	s, err := graphiteinput.Listen(address, "", store, nil)
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() { s.Serve(ctx, func(error) {}); close(done) }()
	end := func() { stop(); <-done }
	t.Cleanup(end)
	return store, s.Addr(), end
}

func TestToGraphite(t *testing.T) {
	store, address, end := graphiteServer(t, "127.0.0.1:0")
	from := startSender(t, t.TempDir())
	d := Definition{ID: "g", Name: "g", Enabled: true, Kind: "graphite", Begin: "now", LagMiB: MinLagMiB,
		Graphite: &graphite.Settings{Address: address, Prefix: "site.", Quantiles: []float64{0.5, 0.999}}}
	if said, err := from.Check(t.Context(), d); err != nil || !strings.Contains(said, "accepted a connection") {
		t.Error(said, err)
	}
	from.set(t, d)
	waitFor(t, "running", func() bool { return len(from.Streams()) == 1 })
	now := time.Now().Truncate(time.Second).UnixMilli()
	from.put(t, mixture(t, now)...)
	waitFor(t, "delivered", func() bool { s := from.only(); return s.Sent == 4 && s.LeftOut == 1 })
	want := map[string]string{
		"[{__name__ site.a.b} {job x_y} {k _z}]":  "gauge -1.5",
		"[{__name__ site.hits_total}]":            "counter 42",
		"[{__name__ site.latency.count} {job w}]": "gauge 8",
		"[{__name__ site.native.count}]":          "gauge 2",
		"[{__name__ site.native.sum}]":            "gauge 4",
	}
	got := ingesttest.Numbers(t, store)
	for labels, value := range want {
		if got[labels] != value {
			t.Errorf("%s: %q, want %q", labels, got[labels], value)
		}
	}
	for _, name := range []string{"sum", "p50", "p99_9"} {
		if got["[{__name__ site.latency."+name+"} {job w}]"] == "" {
			t.Errorf("%s is missing of %v", name, got)
		}
	}
	if len(got) != 8 {
		t.Errorf("%d series: %v", len(got), got)
	}
	// The receiver is gone for a while: what comes meanwhile arrives later.
	end()
	from.put(t, tsdb.Sample{Key: key(t, "later"), Time: now + 250, Value: 7})
	waitFor(t, "failing", func() bool { s := from.only(); return s.State == Failing && strings.Contains(s.Error, "refused") })
	store, _, _ = graphiteServer(t, address)
	waitFor(t, "it is there", func() bool { return ingesttest.Numbers(t, store)["[{__name__ site.later}]"] == "gauge 7" })
	// One that takes the connection and never closes it has not said that it read anything.
	deaf, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer deaf.Close()
	d.Graphite = &graphite.Settings{Address: deaf.Addr().String()}
	short, stop := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer stop()
	if said, err := from.Check(short, d); err == nil {
		t.Error(said)
	}
}

func TestToStatsd(t *testing.T) {
	for _, protocol := range []string{"udp", "tcp"} {
		t.Run(protocol, func(t *testing.T) {
			store, _ := ingesttest.Store(t, func(*tsdb.Store, *http.ServeMux) {})
			s, err := statsdinput.Listen(store, statsdinput.Options{Address: "127.0.0.1:0"})
			if err != nil {
				t.Fatal(err)
			}
			ctx, stop := context.WithCancel(context.Background())
			done := make(chan struct{})
			go func() { s.Serve(ctx, func(error) {}); close(done) }()
			defer func() { stop(); <-done }()
			from := startSender(t, t.TempDir())
			d := Definition{ID: "s", Name: "s", Enabled: true, Kind: "statsd", Begin: "now", LagMiB: MinLagMiB,
				Statsd: &statsd.Settings{Address: s.Addr(), Protocol: protocol, Histograms: "ms"}}
			if said, err := from.Check(t.Context(), d); err != nil {
				t.Error(said, err)
			}
			from.set(t, d)
			waitFor(t, "running", func() bool { return len(from.Streams()) == 1 })
			now := time.Now().Truncate(time.Second).UnixMilli()
			from.put(t, mixture(t, now)...)
			from.put(t, tsdb.Sample{Key: key(t, "hits_total"), Time: now + 1, Value: 50}, tsdb.Sample{Key: key(t, "hits_total"), Time: now + 2, Value: 3})
			// Its mean is no bin's middle, and is what comes.
			var whole histogram.Accumulator
			_ = errors.Join(whole.Record(0.010, 30), whole.Record(0.012, 10))
			from.put(t, tsdb.Sample{Key: key(t, "whole"), Kind: tsdb.Histogram, Time: now, Histogram: whole.Take()})
			waitFor(t, "delivered", func() bool { s := from.only(); return s.Sent == 5 && s.LeftOut == 3 })
			waitFor(t, "aggregated", func() bool {
				got := ingesttest.Numbers(t, store)
				return strings.HasPrefix(got["[{__name__ a.b} {job x_y} {k ~z}]"], "gauge -1.5") && strings.HasPrefix(got["[{__name__ hits_total}]"], "counter 11")
			})
			found, release, err := store.Select(t.Context(), 0, math.MaxInt64)
			if err != nil {
				t.Fatal(err)
			}
			defer release()
			counts, sums := map[string]uint64{}, map[string]float64{}
			for _, one := range found {
				if one.Kind != tsdb.Histogram {
					continue
				}
				for it := one.Histograms(0, math.MaxInt64); it.Next(); {
					_, h := it.At()
					name := one.Labels()[0].Value
					counts[name], sums[name] = counts[name]+h.Count(), sums[name]+h.Sum()
				}
			}
			if counts["latency"] != 8 || math.Abs(sums["latency"]-7*0.25-0.5) > 0.1 {
				t.Errorf("%d values, sum %g", counts["latency"], sums["latency"])
			}
			if counts["whole"] != 40 || math.Abs(sums["whole"]-0.42) > 1e-12 {
				t.Errorf("%d values, sum %g", counts["whole"], sums["whole"])
			}
		})
	}
}

// What files hold can be imported, and comes back the same; they are bounded in size and number, and torn lines cut off.
func TestToFiles(t *testing.T) {
	folder := t.TempDir()
	from := startSender(t, folder)
	d := Definition{ID: "f", Name: "f", Enabled: true, Kind: "file", Begin: "now", LagMiB: MinLagMiB, File: &file.Settings{Folder: "archive", FileMiB: 1, Files: 2}}
	if said, err := from.Check(t.Context(), d); err != nil {
		t.Error(said, err)
	}
	from.set(t, d)
	waitFor(t, "running", func() bool { return len(from.Streams()) == 1 })
	now := time.Now().Truncate(time.Second).UnixMilli()
	from.put(t, mixture(t, now)...)
	waitFor(t, "written", func() bool { s := from.only(); return s.Sent == 4 && s.LeftOut == 1 })
	open := filepath.Join(folder, "outputs", "archive", "open.jsonl")
	text, err := os.ReadFile(open)
	if err != nil {
		t.Fatal(err)
	}
	var samples []json.RawMessage
	for lines := bufio.NewScanner(bytes.NewReader(text)); lines.Scan(); {
		if !json.Valid(lines.Bytes()) {
			t.Errorf("%s", lines.Text())
		}
		if !strings.Contains(lines.Text(), `"native"`) {
			samples = append(samples, json.RawMessage(lines.Text()))
		}
	}
	body, _ := json.Marshal(map[string]any{"samples": samples})
	store, handler := ingesttest.Store(t, func(s *tsdb.Store, mux *http.ServeMux) { importer.New(s, admission.New(s)).Register(mux) })
	if w := ingesttest.Post(handler, "/api/v1/import", body); w.Code != http.StatusOK || !strings.Contains(w.Body.String(), `"rejectedCount":0`) {
		t.Fatalf("%d %s\n%s", w.Code, w.Body, text)
	}
	if got := ingesttest.Numbers(t, store); got["[{__name__ a.b} {job x y} {k ~z}]"] != "gauge -1.5" || got["[{__name__ hits_total}]"] != "counter 42" || len(got) != 3 {
		t.Errorf("%v", got)
	}
	// A torn line, as a power cut leaves it, is cut off at the next start.
	from.end()
	if err := os.WriteFile(open, append(text, `{"name":"to`...), 0o600); err != nil {
		t.Fatal(err)
	}
	from = startSender(t, folder)
	waitFor(t, "running", func() bool { return len(from.Streams()) == 1 && from.only().State == Delivering })
	before := from.only().Sent
	long := strings.Repeat("v", 1000)
	for i := range 6 {
		batch := make([]tsdb.Sample, 900)
		for k := range batch {
			batch[k] = tsdb.Sample{Key: key(t, "x", "long", long, "k", fmt.Sprint(k)), Time: now + int64(i), Value: 1}
		}
		from.put(t, batch...)
		waitFor(t, "written", func() bool { return from.only().Sent-before == int64(900*(i+1)) })
	}
	entries, err := os.ReadDir(filepath.Dir(open))
	if err != nil {
		t.Fatal(err)
	}
	if len(entries) != 3 {
		t.Errorf("%v", entries)
	}
	for _, one := range entries {
		text, err := os.ReadFile(filepath.Join(filepath.Dir(open), one.Name()))
		if err != nil || len(text) > 1<<20 || len(text) == 0 || text[len(text)-1] != '\n' || bytes.Contains(text, []byte(`{"name":"to{`)) {
			t.Errorf("%s: %d bytes, %v", one.Name(), len(text), err)
		}
	}
	// So is a full disk; what waited is written when there is room.
	full := d
	full.File = &file.Settings{Folder: "full", FileMiB: 1, Files: 2}
	if err := os.MkdirAll(filepath.Join(folder, "outputs", "full"), 0o700); err != nil {
		t.Fatal(err)
	}
	device := filepath.Join(folder, "outputs", "full", "open.jsonl")
	if err := os.Symlink("/dev/full", device); err != nil {
		t.Fatal(err)
	}
	from.set(t, full)
	from.put(t, tsdb.Sample{Key: key(t, "z"), Time: now, Value: 1})
	waitFor(t, "the disk is full", func() bool { s := from.only(); return s.State == Failing && strings.Contains(s.Error, "no space left") })
	if err := os.Remove(device); err != nil {
		t.Fatal(err)
	}
	waitFor(t, "there is room again", func() bool { text, _ := os.ReadFile(device); return strings.Contains(string(text), `"name":"z"`) })
	// A folder that cannot be written is a failure like any other.
	bad := d
	bad.File = &file.Settings{Folder: "taken", FileMiB: 1, Files: 2}
	if err := os.WriteFile(filepath.Join(folder, "outputs", "taken"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	from.set(t, bad)
	from.put(t, tsdb.Sample{Key: key(t, "y"), Time: now, Value: 1})
	waitFor(t, "failing", func() bool { return from.only().State == Failing })
	if err := os.Remove(filepath.Join(folder, "outputs", "taken")); err != nil {
		t.Fatal(err)
	}
	waitFor(t, "well again", func() bool { s := from.only(); return s.State == Delivering && s.LagBytes == 0 })
}
