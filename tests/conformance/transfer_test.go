package conformance

// What Prometheus' own store wrote is imported, and what is exported its store and promtool open: nothing has changed on the
// way there and back.

import (
	"bytes"
	"fmt"
	"log/slog"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/prometheus/model/histogram"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/value"
	"github.com/prometheus/prometheus/storage"
	"github.com/prometheus/prometheus/tsdb"
	"github.com/prometheus/prometheus/tsdb/chunkenc"
)

// history fills a Prometheus' store with five hours of every kind of sample, deletes some, and takes a snapshot.
func history(t *testing.T, from int64) (folder string) {
	t.Helper()
	options := tsdb.DefaultOptions()
	options.RetentionDuration = int64(100 * 24 * time.Hour / time.Millisecond)
	db, err := tsdb.Open(t.TempDir(), slog.New(slog.DiscardHandler), nil, options, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	named := func(name string, pairs ...string) labels.Labels {
		return labels.FromStrings(append([]string{"__name__", name, "job", "moved"}, pairs...)...)
	}
	for at := from; at < from+5*3_600_000; at += 15_000 {
		n := (at - from) / 15_000
		a := db.Appender(t.Context())
		add := func(set labels.Labels, v float64) {
			if _, err := a.Append(0, set, at, v); err != nil {
				t.Fatal(err)
			}
		}
		for i := range 5 {
			add(named("requests_total", "i", fmt.Sprint(i)), float64(n*7%1000*int64(i+1)))
		}
		add(named("temperature", "plaça ☃", `"a"\b`), 20*math.Sin(float64(n)/100))
		add(named("odd.values"), []float64{1, math.Inf(1), math.NaN(), math.Inf(-1), 1e-300}[n%5])
		if n%10 < 8 {
			v := float64(n)
			if n%10 == 7 {
				v = math.Float64frombits(value.StaleNaN)
			}
			add(named("comes_and_goes"), v)
		}
		whole := &histogram.Histogram{Schema: 2, Count: uint64(3 + 2*n), Sum: float64(n), ZeroThreshold: 1e-128, ZeroCount: 3,
			PositiveSpans: []histogram.Span{{Offset: int32(n / 400), Length: 2}}, PositiveBuckets: []int64{n, 0}}
		if _, err := a.AppendHistogram(0, named("latency"), at, whole, nil); err != nil {
			t.Fatal(err)
		}
		custom := &histogram.FloatHistogram{Schema: histogram.CustomBucketsSchema, CounterResetHint: histogram.GaugeType, Count: 3.5, Sum: 1, CustomValues: []float64{0.1, 1, 5},
			PositiveSpans: []histogram.Span{{Offset: 0, Length: 2}}, PositiveBuckets: []float64{1, 2.5}}
		if _, err := a.AppendHistogram(0, named("sizes"), at, nil, custom); err != nil {
			t.Fatal(err)
		}
		if err := a.Commit(); err != nil {
			t.Fatal(err)
		}
	}
	if err := db.Compact(t.Context()); err != nil {
		t.Fatal(err)
	}
	if len(db.Blocks()) == 0 {
		t.Fatal("there is no block")
	}
	if err := db.Delete(t.Context(), from+1_000_000, from+2_000_000, labels.MustNewMatcher(labels.MatchEqual, "i", "3")); err != nil {
		t.Fatal(err)
	}
	folder = filepath.Join(t.TempDir(), "snapshot")
	if err := db.Snapshot(folder, true); err != nil {
		t.Fatal(err)
	}
	return folder
}

// samplesIn is everything in a folder of blocks, by Prometheus' own store: of each series its samples as text.
func samplesIn(t *testing.T, folder string) (all map[string][]string, samples int) {
	t.Helper()
	if err := os.MkdirAll(filepath.Join(folder, "wal"), 0o755); err != nil { // it wants one, also an empty one
		t.Fatal(err)
	}
	db, err := tsdb.OpenDBReadOnly(folder, t.TempDir(), slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	q, err := db.Querier(math.MinInt64, math.MaxInt64)
	if err != nil {
		t.Fatal(err)
	}
	defer q.Close()
	all = map[string][]string{}
	set := q.Select(t.Context(), true, &storage.SelectHints{Start: math.MinInt64, End: math.MaxInt64}, labels.MustNewMatcher(labels.MatchEqual, "job", "moved"))
	for set.Next() {
		key := set.At().Labels().String()
		it := set.At().Iterator(nil)
		for kind := it.Next(); kind != chunkenc.ValNone; kind = it.Next() {
			text := ""
			if kind == chunkenc.ValFloat {
				at, v := it.At()
				text = fmt.Sprintf("%d %x", at, math.Float64bits(v))
			} else {
				at, h := it.AtFloatHistogram(nil)
				text = fmt.Sprintf("%d %v %s %v", at, h.Schema, h.Compact(0), h.CustomValues)
			}
			all[key] = append(all[key], text)
			samples++
		}
		if it.Err() != nil {
			t.Fatal(it.Err())
		}
	}
	if set.Err() != nil {
		t.Fatal(set.Err())
	}
	return all, samples
}

func TestMovingThereAndBack(t *testing.T) {
	d := storaged(t)
	program := filepath.Join(t.TempDir(), "cistern")
	if err := run(t.Context(), filepath.Join("..", "..", "services"), "go", "build", "-o", program, "./cmd/cistern"); err != nil {
		t.Fatal(err)
	}
	home := t.TempDir()
	cistern := func(arguments ...string) string {
		t.Helper()
		command := exec.CommandContext(t.Context(), program, append(arguments, "--url", "http://"+d.http)...)
		command.Env = append(os.Environ(), "HOME="+home, "XDG_STATE_HOME=")
		out, err := command.CombinedOutput()
		if err != nil {
			t.Fatalf("%s: %v\n%s", arguments, err, out)
		}
		return string(out)
	}
	folder := history(t, time.Now().Add(-48*time.Hour).Truncate(2*time.Hour).UnixMilli())
	want, samples := samplesIn(t, folder)
	if len(want) != 10 || samples < 10_000 {
		t.Fatalf("%d series with %d samples", len(want), samples)
	}
	if out := cistern("import", "prometheus", folder); !strings.Contains(out, "Checked 10 series") || !strings.Contains(out, "all there") {
		t.Fatal(out)
	}
	for _, span := range []string{"2h", "6h"} {
		exported := filepath.Join(t.TempDir(), "exported")
		cistern("export", "prometheus", exported, "--match", `{job="moved"}`, "--block", span)
		got, _ := samplesIn(t, exported)
		if len(got) != len(want) {
			t.Errorf("%d series, want %d", len(got), len(want))
		}
		for key, list := range want {
			if strings.Join(got[key], "\n") != strings.Join(list, "\n") {
				t.Errorf("%s: %d samples, want %d; %s", key, len(got[key]), len(list), firstDifference(got[key], list))
			}
		}
		tool := promtool(t)
		for _, arguments := range [][]string{{"tsdb", "list", exported}, {"tsdb", "analyze", exported}} {
			if err := run(t.Context(), "", tool, arguments...); err != nil {
				t.Error(err)
			}
		}
		dumped, err := exec.CommandContext(t.Context(), tool, "tsdb", "dump", "--sandbox-dir-root="+t.TempDir(), exported).Output()
		if lines := bytes.Count(dumped, []byte("\n")); err != nil || lines != samples {
			t.Errorf("promtool dumps %d samples, want %d: %v", lines, samples, err)
		}
	}
	// Text is what promtool makes blocks of.
	text, blocks := filepath.Join(t.TempDir(), "all.txt"), t.TempDir()
	cistern("export", "openmetrics", text, "--match", `{job="moved",__name__!~"odd.*"}`)
	if err := run(t.Context(), "", promtool(t), "tsdb", "create-blocks-from", "openmetrics", text, blocks); err != nil {
		t.Fatal(err)
	}
	got, _ := samplesIn(t, blocks)
	for key, list := range want {
		if strings.Contains(key, "requests_total") || strings.Contains(key, "temperature") {
			if strings.Join(got[key], "\n") != strings.Join(list, "\n") {
				t.Errorf("%s as text: %d samples, want %d; %s", key, len(got[key]), len(list), firstDifference(got[key], list))
			}
		}
	}
}

func firstDifference(got, want []string) string {
	for i := range min(len(got), len(want)) {
		if got[i] != want[i] {
			return fmt.Sprintf("the first that differs: %s, want %s", got[i], want[i])
		}
	}
	return "the rest is missing"
}
