package tracer

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"cistern/services/daemon/problem"
	"cistern/services/daemon/unixsocket"
)

func TestTracedDataset(t *testing.T) {
	b := start(t, t.TempDir())
	v := must(b.Watch("io.ops[disk]"))
	if v.State != Starting || !v.Watched || v.Recorded || v.Kind != "series" || *v.Breakdown != "disk" || v.Selector != `cistern_io_ops{dataset="io.ops[disk]"}` {
		t.Errorf("%+v", v)
	}
	must(b.Watch("io.ops"))
	eventually(t, "ten seconds are stored", func() bool { return len(b.store.points("cistern_io_ops", "dataset=io.ops[disk]", "disk=sda")) > 10 })
	if v := b.state(t, "io.ops[disk]"); v.State != Recording || v.Samples < 20 || v.SeriesNow != 2 || v.Reason != nil {
		t.Errorf("%+v", v)
	}
	for labels, want := range map[string]float64{"dataset=io.ops[disk]": 3, "dataset=io.ops": 2} {
		points := b.store.points("cistern_io_ops", labels)
		consecutive(t, points)
		for _, p := range points {
			if p.Value != want {
				t.Errorf("%s: %g, not %g", labels, p.Value, want)
			}
		}
	}
	b.mu.Lock()
	if len(b.runs) != 1 {
		t.Errorf("%d tracers for two datasets that were opened together", len(b.runs))
	}
	// Nobody looks any more.
	b.datasets["io.ops[disk]"].lease, b.datasets["io.ops"].lease = time.Time{}, time.Time{}
	b.mu.Unlock()
	eventually(t, "it stops by itself", func() bool {
		b.mu.Lock()
		defer b.mu.Unlock()
		return len(b.runs) == 0
	})
	if v := b.state(t, "io.ops[disk]"); v.State != Stopped {
		t.Errorf("%+v", v)
	}
	eventually(t, "the series are marked as ended", func() bool {
		points := b.store.points("cistern_io_ops", "dataset=io.ops[disk]", "disk=sda")
		return math.IsNaN(points[len(points)-1].Value)
	})
}

// A third tracer is not started beside two: one for all takes over, without a second that is missing or there twice.
func TestHandOver(t *testing.T) {
	b := start(t, t.TempDir())
	for i, name := range []string{"io.ops[disk]", "io.ops", "io.bytes[disk]"} {
		must(b.Record(name, true))
		eventually(t, name+" is recorded", func() bool { return b.state(t, name).State == Recording })
		b.mu.Lock()
		if i == 1 && len(b.runs) != 2 {
			t.Errorf("%d tracers", len(b.runs))
		}
		b.mu.Unlock()
	}
	eventually(t, "one tracer is left", func() bool {
		b.mu.Lock()
		defer b.mu.Unlock()
		return len(b.runs) == 1 && len(b.runs[0].datasets) == 3
	})
	for _, p := range b.store.points("cistern_io_ops", "dataset=io.ops[disk]") {
		if p.Value < 0 || math.IsNaN(p.Value) {
			t.Errorf("%+v", p)
		}
	}
	if v := b.state(t, "io.ops[disk]"); v.Restarts != 0 {
		t.Errorf("a hand-over is no restart: %+v", v)
	}
}

func TestTracerThatDies(t *testing.T) {
	b := start(t, t.TempDir())
	must(b.Record("io.ops[disk]", true))
	eventually(t, "it records", func() bool { return b.state(t, "io.ops[disk]").Samples > 6 })
	b.does(t, "die")
	eventually(t, "it has failed, and says why", func() bool {
		v := b.state(t, "io.ops[disk]")
		return v.State == Failed && strings.Contains(*v.Reason, "systemic unresponsiveness")
	})
	eventually(t, "the gap begins", func() bool {
		points := b.store.points("cistern_io_ops", "dataset=io.ops[disk]")
		return math.IsNaN(points[len(points)-1].Value)
	})
	b.does(t, "")
	before := b.state(t, "io.ops[disk]").Samples
	eventually(t, "it records again", func() bool {
		v := b.state(t, "io.ops[disk]")
		return v.State == Recording && v.Restarts >= 1 && v.Samples > before+4
	})
	for _, p := range b.store.points("cistern_io_ops", "dataset=io.ops[disk]") {
		if p.Value == 0 {
			t.Error("the gap is a zero")
		}
	}
}

func TestTracerThatHangs(t *testing.T) {
	b := start(t, t.TempDir())
	must(b.Record("io.ops", true))
	eventually(t, "it records", func() bool { return b.state(t, "io.ops").Samples > 3 })
	b.does(t, "hang")
	eventually(t, "it was killed for its silence", func() bool {
		v := b.state(t, "io.ops")
		return v.State == Failed && strings.Contains(*v.Reason, "silent")
	})
	b.does(t, "")
	eventually(t, "it records again", func() bool { return b.state(t, "io.ops").State == Recording })
}

func TestTracerThatPrintsGarbage(t *testing.T) {
	b := start(t, t.TempDir())
	must(b.Record("io.ops", true))
	eventually(t, "it records", func() bool { return b.state(t, "io.ops").Samples > 3 })
	b.does(t, "garbage")
	eventually(t, "it has failed", func() bool {
		v := b.state(t, "io.ops")
		return v.State == Failed && strings.Contains(*v.Reason, "not asked for")
	})
}

func TestTracerThatDrops(t *testing.T) {
	b := start(t, t.TempDir())
	must(b.Record("io.ops", true))
	b.does(t, "drops")
	eventually(t, "drops are counted and told", func() bool {
		v := b.state(t, "io.ops")
		return v.Drops >= 24 && v.Drops%12 == 0 && v.State == Recording && v.Reason != nil && strings.Contains(*v.Reason, "lost 12")
	})
}

// One dataset that does not compile does not hold up those that were opened with it.
func TestProgramThatIsRefused(t *testing.T) {
	b := start(t, t.TempDir())
	b.does(t, "refuse")
	must(b.Record("io.ops[process=bad][disk]", true))
	must(b.Record("io.bytes[disk]", true))
	must(b.Record("io.ops[disk]", true))
	eventually(t, "the others record", func() bool {
		return b.state(t, "io.ops[disk]").State == Recording && b.state(t, "io.bytes[disk]").State == Recording
	})
	eventually(t, "the bad one says why it does not", func() bool {
		v := b.state(t, "io.ops[process=bad][disk]")
		return v.State == Failed && strings.Contains(*v.Reason, "line 3")
	})
	time.Sleep(2 * time.Second)
	if b.state(t, "io.ops[disk]").Restarts != 0 {
		t.Error("it disturbs the others")
	}
}

// What is recorded and suspended is so after a restart; what was only watched is not.
func TestRestart(t *testing.T) {
	dir := t.TempDir()
	b := start(t, dir)
	must(b.Record("io.ops[disk]", true))
	must(b.Record("io.bytes", true))
	must(b.Suspend("io.bytes"))
	must(b.Watch("io.ops"))
	must(b.Suspend("disk.ops[disk]"))
	eventually(t, "it records", func() bool { return b.state(t, "io.ops[disk]").State == Recording })
	b.stop()
	b = start(t, dir)
	eventually(t, "it records again", func() bool { return b.state(t, "io.ops[disk]").State == Recording })
	if v := b.state(t, "io.bytes"); v.State != Suspended || !v.Recorded {
		t.Errorf("%+v", v)
	}
	if v := b.state(t, "disk.ops[disk]"); v.State != Suspended {
		t.Errorf("%+v", v)
	}
	if _, err := b.Get("io.ops"); err == nil {
		t.Error("what was only watched is there again")
	}
	if must(b.Resume("io.bytes")).State != Starting {
		t.Error("it is still suspended")
	}
	eventually(t, "what was suspended records", func() bool { return b.state(t, "io.bytes").State == Recording })
	if err := b.Destroy("io.bytes"); err != nil {
		t.Error(err)
	}
	if _, err := b.Get("io.bytes"); err == nil {
		t.Error("it is still there")
	}
	b.stop()
	if err := os.WriteFile(filepath.Join(dir, "datasets.json"), []byte(`{"datasets":[{"name":"no.such","recorded":true},{"name":"io.ops","recorded":true}]}`), 0o644); err != nil {
		t.Fatal(err)
	}
	b = start(t, dir)
	if v := b.state(t, "io.ops"); !v.Recorded {
		t.Error("an unknown name took the others along")
	}
	b.stop()
	if err := os.WriteFile(filepath.Join(dir, "datasets.json"), []byte(`{"data`), 0o644); err != nil {
		t.Fatal(err)
	}
	b = start(t, dir)
	if v := b.state(t, "disk.ops[disk]"); v.State == Suspended {
		t.Error("a damaged file was read")
	}
	b.stop()
}

func TestBudget(t *testing.T) {
	b := start(t, t.TempDir())
	must(b.Record("io.ops[disk]", true))
	eventually(t, "it records", func() bool { return b.state(t, "io.ops[disk]").State == Recording })
	b.mu.Lock()
	b.config.Budget = 1e-9
	// As if a minute had passed.
	b.runs[0].meter.points = []cpuPoint{{time.Now().Add(-time.Minute), -time.Minute}}
	b.mu.Unlock()
	eventually(t, "it is suspended for its cost", func() bool {
		v := b.state(t, "io.ops[disk]")
		return v.State == Suspended && v.OverBudget && strings.Contains(*v.Reason, "is the budget")
	})
	if v := must(b.Resume("io.ops[disk]")); v.OverBudget {
		t.Error("it is resumed, and still over the budget")
	}
}

func TestLimits(t *testing.T) {
	b := start(t, t.TempDir())
	for i := range 16 {
		must(b.Watch(fmt.Sprintf("io.ops[disk=sd%d]", i)))
	}
	_, err := b.Watch("io.ops[disk=more]")
	var document problem.Document
	if !errors.As(err, &document) || document.Code != "too_many_datasets" {
		t.Error(err)
	}
	if _, err := b.Watch("io.ops[disk=sd3]"); err != nil {
		t.Error("one that runs already is refused:", err)
	}
}

// The wall clock leaps; the monotonic one, and what was counted, do not.
func TestClockSteps(t *testing.T) {
	b := start(t, t.TempDir())
	b.stop() // ticks are given by hand
	b.mu.Lock()
	b.closing = false
	b.mu.Unlock()
	count := 0.0
	b.counters = &counters{open: map[partition]*openReader{}, together: func(read func()) { read() }, factory: func(partition) reader {
		return reader{totals, func(time.Duration) ([]row, error) {
			count += 10
			return []row{{at: []string{"sda", "read"}, value: count}}, nil
		}}
	}}
	d := b.datasets["disk.ops"]
	for _, other := range b.datasets {
		other.always = other == d
	}
	base := time.Now().Truncate(time.Second).Add(time.Hour)
	var got []sample
	tick := func(at, elapsed time.Duration) {
		b.sender.waiting = nil
		b.tick(base.Add(at), elapsed)
		for _, s := range b.sender.waiting {
			if string(s.key) == string(d.writer.total) {
				got = append(got, s)
			}
		}
	}
	second := time.Second
	tick(0, second)              // the first reading
	tick(1*second+3e6, second)   // a little late
	tick(2*second-3e6, second)   // a little early
	tick(3600*second, second)    // an hour forward
	tick(3601*second, second)    //
	tick(3599*second, second)    // back by two seconds
	tick(3600*second, second)    //
	tick(3601*second, second)    //
	tick(3602*second, second)    // behind the last again
	tick(3605*second, 3*second)  // a reading that came late: spread over three seconds
	tick(3605*second+10e6, 10e6) // and one that came at once
	var times []int64
	for i, s := range got {
		times = append(times, (s.time-base.UnixMilli())/1000)
		if s.value < 0 || i < 5 && s.value != 10 {
			t.Errorf("%+v", s)
		}
	}
	if want := []int64{0, 1, 3599, 3600, 3601, 3602, 3603, 3604}; !slices.Equal(times, want) {
		t.Errorf("%v, not %v", times, want)
	}
	if last := got[len(got)-3:]; math.Abs(last[0].value+last[1].value+last[2].value-10) > 1e-9 {
		t.Errorf("%v", last)
	}
	if d.drops == 0 {
		t.Error("what the clock took is not counted")
	}
}

func TestSecondOf(t *testing.T) {
	at := func(seconds float64) int64 { return int64(seconds * 1e9) }
	last := secondOf(at(100.9), 0)
	if last != 100_000 {
		t.Fatal(last)
	}
	for _, step := range []struct {
		at   float64
		want int64
	}{{101.4, 101_000}, {102.6, 102_000}, {103.49, 103_000}, {104.51, 104_000}, {110, 109_000}, {111, 110_000}, {50, 49_000}} {
		if last = secondOf(at(step.at), last); last != step.want {
			t.Errorf("at %g: %d, not %d", step.at, last, step.want)
		}
	}
}

func TestHTTP(t *testing.T) {
	b := start(t, t.TempDir())
	serve := func(uids ...int) *http.Client {
		path := filepath.Join(t.TempDir(), "http.sock")
		listener := must(unixsocket.Listen(path))
		server := &http.Server{Handler: b.Handler(uids), ConnContext: unixsocket.ConnContext}
		go func() { _ = server.Serve(listener) }()
		t.Cleanup(func() { server.Close() })
		return &http.Client{Transport: &http.Transport{DialContext: func(context.Context, string, string) (net.Conn, error) { return net.Dial("unix", path) }}}
	}
	client := serve(os.Getuid())
	ask := func(method, path, body string) (int, map[string]any) {
		t.Helper()
		request := must(http.NewRequest(method, "http://tracerd"+path, strings.NewReader(body)))
		response := must(client.Do(request))
		defer response.Body.Close()
		text := must(io.ReadAll(response.Body))
		var v map[string]any
		if len(text) > 0 {
			if err := json.Unmarshal(text, &v); err != nil {
				t.Fatalf("%s: %v", text, err)
			}
		}
		return response.StatusCode, v
	}
	for _, step := range []struct {
		method, path, body string
		status             int
		code               string
	}{
		{"GET", "/v1/statistics", "", 200, ""},
		{"GET", "/v1/datasets", "", 200, ""},
		{"POST", "/v1/dataset/watch", `{"name":"io.ops[type=read][disk]"}`, 200, ""},
		{"GET", "/v1/dataset?name=io.ops%5Btype%3Dread%5D%5Bdisk%5D", "", 200, ""},
		{"POST", "/v1/dataset/watch", `{"name":"io.ops[client]"}`, 404, "unknown_breakdown"},
		{"POST", "/v1/dataset/watch", `{"name":"io.ops[disk"}`, 400, "bad_statistic"},
		{"POST", "/v1/dataset/watch", `{"nam":"io.ops"}`, 400, "unknown_field"},
		{"POST", "/v1/dataset/record", `{"name":"io.ops"}`, 400, "invalid_request"},
		{"POST", "/v1/dataset/record", `{"name":"io.ops","recording":true}`, 200, ""},
		{"POST", "/v1/dataset/suspend", `{"name":"io.ops"}`, 200, ""},
		{"POST", "/v1/dataset/resume", `{"name":"io.ops"}`, 200, ""},
		{"POST", "/v1/dataset/suspend", `{"name":"io.bytes"}`, 404, "not_found"},
		{"GET", "/v1/stacks?name=io.ops", "", 400, "invalid_request"},
		{"GET", "/v1/stacks?name=io.ops&seconds=601", "", 400, "invalid_request"},
		{"DELETE", "/v1/dataset?name=io.ops", "", 204, ""},
		{"DELETE", "/v1/dataset?name=io.ops", "", 404, "not_found"},
		{"GET", "/v1/nothing", "", 404, "not_found"},
	} {
		status, v := ask(step.method, step.path, step.body)
		code, _ := v["code"].(string)
		if status != step.status || code != step.code {
			t.Errorf("%s %s %s: %d %v", step.method, step.path, step.body, status, v)
		}
	}
	client = serve(os.Getuid() + 1)
	if status, v := ask("GET", "/v1/statistics", ""); status != 403 || v["code"] != "forbidden" {
		t.Errorf("another user: %d %v", status, v)
	}
}

func TestNoDTrace(t *testing.T) {
	tracer := must(New(Config{State: t.TempDir(), Run: t.TempDir(), Storaged: "/nowhere", DTrace: "/nowhere/dtrace", ZPool: "/bin/false"}))
	_, err := tracer.Watch("io.ops")
	var document problem.Document
	if !errors.As(err, &document) || document.Code != "not_available" {
		t.Error(err)
	}
	for _, s := range tracer.Statistics() {
		if s.Available != (s.Source != "dtrace") && s.Name != "" {
			t.Errorf("%s: %v %v", s.Name, s.Available, s.Reason)
		}
	}
}
