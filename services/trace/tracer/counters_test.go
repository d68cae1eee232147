package tracer

import (
	"context"
	"fmt"
	"math"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestCounters(t *testing.T) {
	b := start(t, t.TempDir())
	eventually(t, "the processors' use is stored", func() bool { return len(b.store.points("cistern_cpu_utilization", "dataset=cpu.utilization")) >= 3 })
	points := b.store.points("cistern_cpu_utilization", "dataset=cpu.utilization")
	consecutive(t, points)
	for _, p := range points {
		if !(p.Value >= 0 && p.Value <= 100.001) {
			t.Errorf("%g percent", p.Value)
		}
	}
	memory := b.store.points("cistern_memory_bytes", "component=free", "dataset=memory.bytes[component]")
	if len(memory) == 0 || memory[0].Value < 1<<20 {
		t.Errorf("%v", memory)
	}
	v := must(b.Watch("cpu.utilization[process]"))
	if v.State != Starting {
		t.Errorf("%+v", v)
	}
	eventually(t, "processes are distinguished", func() bool {
		return b.state(t, "cpu.utilization[process]").State == Recording
	})
	if err := b.Destroy("cpu.utilization"); err == nil {
		t.Error("what is always on was destroyed")
	}
}

func TestWebLog(t *testing.T) {
	b := start(t, t.TempDir())
	path := filepath.Join(b.dir, "access.sock")
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	if err := b.Listen(ctx, path); err != nil {
		t.Fatal(err)
	}
	must(b.Watch("http.requests[uri]"))
	must(b.Watch(`http.requests[method=GET][status=404][client]`))
	must(b.Watch("http.requests[latency]"))
	must(b.Watch("http.bytes"))
	c, err := net.Dial("unixgram", path)
	if err != nil {
		t.Fatal(err)
	}
	lines := []string{
		`<190>Nov 21 12:00:00 nginx: {"c":"10.0.0.1","u":"/a\"b\\c\n?q=1","m":"GET","s":"404","t":"0.012","b":"100"}`,
		"<190>Nov 21 12:00:00 nginx: {\"c\":\"::ffff:10.0.0.2\",\"u\":\"/\xff\xfe\",\"m\":\"POST\",\"s\":\"200\",\"t\":\"1.500\",\"b\":\"50\"}",
		`<190>Nov 21 12:00:00 nginx: {"c":"unix:","u":"","m":"","s":"400","t":"0.000","b":"0"}`,
		`garbage`, `<190>x: {"c":"1.2.3.4"`, `<190>x: {"c":"1.2.3.4","s":"999999"}`, "",
	}
	for _, line := range lines {
		if _, err := c.Write([]byte(line)); err != nil {
			t.Fatal(err)
		}
	}
	sum := func(name string, labels ...string) (sum float64) {
		for _, p := range b.store.points(name, labels...) {
			if !math.IsNaN(p.Value) {
				sum += p.Value
			}
		}
		return sum
	}
	eventually(t, "the requests are stored", func() bool { return sum("cistern_http_requests", "dataset=http.requests[uri]") == 3 })
	if n := sum("cistern_http_requests", "dataset=http.requests[uri]", `uri=/a"b\\c`+"\n"); n != 1 {
		t.Errorf("%g", n)
	}
	if n := sum("cistern_http_requests", "dataset=http.requests[uri]", `uri=/\xff\xfe`); n != 1 {
		t.Errorf("%g", n)
	}
	if n := sum("cistern_http_requests", "client=10.0.0.1", "dataset=http.requests[method=GET][status=404][client]", "method=GET", "status=404"); n != 1 {
		t.Errorf("%g", n)
	}
	if n := sum("cistern_http_bytes", "dataset=http.bytes"); n != 150 {
		t.Errorf("%g", n)
	}
	if n := sum("cistern_http_requests_events", "dataset=http.requests[latency]"); n != 3 {
		t.Errorf("%g", n)
	}
	if v := b.state(t, "http.requests[uri]"); v.Drops != 4 {
		t.Errorf("what cannot be read is not counted: %+v", v)
	}
}

func FuzzRequest(f *testing.F) {
	f.Add([]byte(`<190>Nov 21 12:00:00 nginx: {"c":"10.0.0.1","u":"/a\"b\\c\n?q=1","m":"GET","s":"404","t":"0.012","b":"100"}`))
	f.Fuzz(func(t *testing.T, line []byte) {
		if r, err := parseRequest(line); err == nil && (len(r.at) != 6 || len(r.number) != 6 || strings.Contains(r.at[1], "?")) {
			t.Errorf("%+v", r)
		}
	})
}

// A counter that was reset, or that is new, adds nothing that was not there.
func TestDeltas(t *testing.T) {
	d := deltas{}
	one := func(value float64) []row { return []row{{at: []string{"a"}, value: value}} }
	for _, step := range []struct{ now, want float64 }{{5, 0}, {8, 3}, {2, 0}, {4, 2}, {4, 0}} {
		sum := 0.0
		for _, r := range d.of(one(step.now)) {
			sum += r.value
		}
		if sum != step.want {
			t.Errorf("%g: %g, not %g", step.now, sum, step.want)
		}
	}
	if added := d.of(append(one(5), row{at: []string{"b"}, value: 7})); len(added) != 2 {
		t.Errorf("%v", added)
	}
}

// Percent of several processors or disks is averaged, parts of one are summed.
func TestAverages(t *testing.T) {
	rows := []row{
		{at: []string{"user", "0", "", ""}, value: 40}, {at: []string{"system", "0", "", ""}, value: 20},
		{at: []string{"user", "1", "", ""}, value: 10},
	}
	for text, want := range map[string]string{
		"cpu.utilization":              "35 map[]",
		"cpu.utilization[mode]":        "35 map[system:10 user:25]",
		"cpu.utilization[cpu]":         "35 map[0:60 1:10]",
		"cpu.utilization[cpu=0][mode]": "60 map[system:20 user:40]",
		"cpu.utilization[cpu=1]":       "10 map[]",
	} {
		s := aggregate(datasets(t, text)[0], rows)
		if got := fmt.Sprintf("%g %v", s.total, s.values); got != want {
			t.Errorf("%s: %s, not %s", text, got, want)
		}
	}
}

// cpuTime reads the time of a process whose name is meant to confuse.
func TestCPUTime(t *testing.T) {
	if _, ok := cpuTime(os.Getpid()); !ok {
		t.Error("the time of this process is not there")
	}
	if _, ok := cpuTime(1 << 30); ok {
		t.Error("a process that is not there has a time")
	}
}
