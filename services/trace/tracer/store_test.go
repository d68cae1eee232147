package tracer

import (
	"context"
	"fmt"
	"log/slog"
	"math"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"cistern/services/histogram"
	"cistern/services/ingest/admission"
	"cistern/services/ingest/importer"
	"cistern/services/journal"
	"cistern/services/store/tsdb"
)

// captured is a store that keeps what the real import route decodes.
type captured struct{ list []tsdb.Sample }

func (c *captured) Ingest(_ context.Context, _ string, batch []tsdb.Sample, _ journal.Durability) ([]tsdb.Rejection, error) {
	for _, s := range batch {
		s.Key, s.Encoded = slices.Clone(s.Key), slices.Clone(s.Encoded)
		c.list = append(c.list, s)
	}
	return nil, nil
}
func (*captured) Reject(tsdb.Reason, int)                    {}
func (*captured) Describe([]tsdb.Metadata)                   {}
func (*captured) Exemplify(context.Context, []tsdb.Exemplar) {}

// What is encoded is what storaged decodes, and keys are those it makes itself.
func TestEncode(t *testing.T) {
	h := &histogram.Histogram{}
	_ = h.Insert(0.012, 3)
	labels := []label{{"__name__", "cistern_io_ops"}, {"dataset", "io.ops[disk]"}, {"Z", "a\n\"ä"}, {"disk", strings.Repeat("x", 300)}, {"empty", ""}}
	key := seriesKey(slices.Clone(labels)...)
	body := encode([]sample{{key: key, time: 5000, value: 1.5}, {key: seriesKey(label{"__name__", "h"}), time: 4000, bins: h}, {key: key, time: 6000, value: staleNaN}})
	store := &captured{}
	mux := http.NewServeMux()
	importer.New(store, admission.New(store)).Register(mux)
	r := httptest.NewRequest("POST", "/api/v1/import", strings.NewReader(string(body)))
	r.Header.Set("Content-Type", "application/vnd.cistern.samples")
	w := httptest.NewRecorder()
	mux.ServeHTTP(w, r)
	if w.Code != 200 || len(store.list) != 3 {
		t.Fatal(w.Code, w.Body, store.list)
	}
	var theirs []tsdb.Label
	for _, l := range labels {
		theirs = append(theirs, tsdb.Label{Name: l.name, Value: l.value})
	}
	want, err := tsdb.AppendKey(nil, theirs)
	if err != nil || string(want) != string(store.list[0].Key) {
		t.Errorf("%q\nnot\n%q", store.list[0].Key, want)
	}
	if s := store.list[0]; s.Kind != tsdb.Gauge || s.Time != 5000 || s.Value != 1.5 {
		t.Errorf("%+v", s)
	}
	if s := store.list[1]; s.Kind != tsdb.Histogram || s.Time != 4000 || string(s.Encoded) != string(h.Append(nil)) {
		t.Errorf("%+v", s)
	}
	if s := store.list[2]; s.Time != 6000 || math.Float64bits(s.Value) != 0x7ff0000000000002 {
		t.Errorf("%+v", s)
	}
}

// text writes samples as "labels value@second", without the name and the dataset.
func text(t *testing.T, list []sample) (lines []string) {
	for _, s := range list {
		labels, err := tsdb.ParseKey(string(s.key))
		if err != nil {
			t.Fatal(err)
		}
		line := ""
		for _, l := range labels {
			if l.Name != "__name__" && l.Name != "dataset" {
				line += l.Name + "=" + l.Value + " "
			}
		}
		switch {
		case s.bins != nil:
			line += "histogram"
		case math.IsNaN(s.value):
			line += "stale"
		default:
			line += fmt.Sprintf("%g", s.value)
		}
		lines = append(lines, fmt.Sprintf("%s@%d", line, s.time/1000))
	}
	slices.Sort(lines)
	return lines
}

func TestWriter(t *testing.T) {
	w := newWriter(datasets(t, "io.ops[type=read][disk]")[0], nil)
	step := func(at int64, values map[string]float64, want ...string) {
		t.Helper()
		s := second{time: at * 1000, values: values}
		for _, v := range values {
			s.total += v
		}
		list, _ := w.write(s)
		slices.Sort(want)
		if got := text(t, list); !slices.Equal(got, want) {
			t.Errorf("at %d: %q, not %q", at, got, want)
		}
	}
	step(100, map[string]float64{"sda": 5, "": 1}, `disk=\ type=read 1@100`, "disk=sda type=read 5@100", "type=read 6@100")
	step(101, nil, `disk=\ type=read 0@101`, "disk=sda type=read 0@101", "type=read 0@101")
	// No point twice, and none before the last: the clock was set back.
	step(101, map[string]float64{"sda": 1})
	step(50, map[string]float64{"sda": 1})
	step(102, map[string]float64{"sda": 1}, `disk=\ type=read 0@102`, "disk=sda type=read 1@102", "type=read 1@102")
	// A minute later what was not seen has ended, once.
	step(162, map[string]float64{}, `disk=\ type=read stale@162`, "disk=sda type=read 0@162", "type=read 0@162")
	step(163, map[string]float64{}, "disk=sda type=read stale@163", "type=read 0@163")
	step(164, map[string]float64{}, "type=read 0@164")
	step(165, map[string]float64{"a\xff": 1}, `disk=a\xff type=read 1@165`, "type=read 1@165")
	if got := text(t, w.end()); !slices.Equal(got, []string{`disk=a\xff type=read stale@166`, "type=read stale@166"}) {
		t.Errorf("%q", got)
	}
}

// Too many values: the greatest have series, the others are the rest; a value that has a series keeps it.
func TestRest(t *testing.T) {
	w := newWriter(datasets(t, "proc.starts[process]")[0], nil)
	values, total := map[string]float64{}, 0.0
	for i := range 150 {
		values[fmt.Sprintf("p%03d", i)] = float64(i + 1)
		total += float64(i + 1)
	}
	list, _ := w.write(second{time: 1000, total: total, values: values})
	lines := text(t, list)
	sum := 0.0
	for i := range list {
		if string(list[i].key) != string(w.total) {
			sum += list[i].value
		}
	}
	if len(list) != 102 || sum != total || !slices.Contains(lines, "rest=true 1275@1") || slices.Contains(lines, "process=p049 50@1") || !slices.Contains(lines, "process=p050 51@1") {
		t.Errorf("%d %g %g %q", len(list), sum, total, lines)
	}
	list, _ = w.write(second{time: 2000, total: 1, values: map[string]float64{"p050": 1}})
	if lines = text(t, list); !slices.Contains(lines, "process=p050 1@2") || !slices.Contains(lines, "rest=true 0@2") {
		t.Errorf("%q", lines)
	}
}

func TestHistogramSeries(t *testing.T) {
	w := newWriter(datasets(t, "io.ops[latency]")[0], nil)
	list, _ := w.write(second{time: 1000, total: 2, bins: map[histogram.Bin]int64{100: 2}})
	names := []string{}
	for _, s := range list {
		labels, _ := tsdb.ParseKey(string(s.key))
		names = append(names, labels[0].Value)
	}
	slices.Sort(names)
	if !slices.Equal(names, []string{"cistern_io_ops", "cistern_io_ops_events"}) {
		t.Error(names)
	}
	if list, _ = w.write(second{time: 2000}); len(list) != 1 || list[0].bins != nil || list[0].value != 0 {
		t.Errorf("a second without events: %+v", list)
	}
}

func TestLongLabels(t *testing.T) {
	a, b := cutLabel(strings.Repeat("ä", 2000)), cutLabel(strings.Repeat("ä", 2001))
	if len(a) > tsdb.MaxLabelValue || a == b || !strings.Contains(a, "ä…") {
		t.Errorf("%d %q", len(a), a[len(a)-30:])
	}
}

// While storaged does not answer samples wait; when it answers they are all there, once.
func TestSenderWaits(t *testing.T) {
	store := startStore(t)
	store.refuse(true)
	s := newSender(store.socket, slog.New(slog.NewTextHandler(t.Output(), nil)))
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	go s.run(ctx)
	for i := range 5 {
		s.put([]sample{{key: seriesKey(label{"__name__", "x"}), time: int64(i) * 1000, value: 1}})
	}
	eventually(t, "the reason is shown", func() bool { return strings.Contains(s.Reason(), "503") })
	store.refuse(false)
	eventually(t, "all is stored", func() bool { return len(store.all()) == 5 && s.Reason() == "" })
	time.Sleep(50 * time.Millisecond)
	if n := len(store.all()); n != 5 {
		t.Errorf("%d samples were stored of 5", n)
	}
}
