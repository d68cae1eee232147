package main

// Imports into a real storaged, over HTTP, as a user makes them.

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"cistern/services/transfer/prometheus"

	"github.com/prometheus/prometheus/model/histogram"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/tsdb/chunkenc"
	"github.com/prometheus/prometheus/tsdb/chunks"
)

// buildStoraged makes the binary once for all tests.
var buildStoraged = sync.OnceValues(func() (string, error) {
	folder, err := os.MkdirTemp("", "cistern-storaged")
	if err != nil {
		return "", err
	}
	path := filepath.Join(folder, "storaged")
	out, err := exec.Command("go", "build", "-o", path, "../storaged").CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("%w: %s", err, out)
	}
	return path, nil
})

func TestMain(m *testing.M) {
	code := m.Run()
	if path, err := buildStoraged(); err == nil {
		os.RemoveAll(filepath.Dir(path))
	}
	os.Exit(code)
}

// appliance is a storaged with settings, and its address.
func appliance(t *testing.T, settings string) string {
	t.Helper()
	program, err := buildStoraged()
	if err != nil {
		t.Fatal(err)
	}
	folder := t.TempDir()
	file := filepath.Join(folder, "storaged.toml")
	if err := os.WriteFile(file, []byte(settings+"\n[statistics]\nhost = false\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	notify := filepath.Join(folder, "notify")
	listener, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: notify, Net: "unixgram"})
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	socket := filepath.Join(folder, "http.sock")
	command := exec.Command(program, "--config", file, "--data", filepath.Join(folder, "data"), "--socket", socket, "--statsd-addr", "")
	var log bytes.Buffer
	command.Stderr = &log
	command.Env = append(os.Environ(), "NOTIFY_SOCKET="+notify)
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = command.Process.Signal(syscall.SIGTERM)
		if err := command.Wait(); err != nil {
			t.Errorf("storaged: %v\n%s", err, log.String())
		}
	})
	_ = listener.SetReadDeadline(time.Now().Add(20 * time.Second))
	if _, err := listener.Read(make([]byte, 100)); err != nil {
		t.Fatalf("storaged is not ready: %v\n%s", err, log.String())
	}
	to, _ := url.Parse("http://storaged")
	proxy := &httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(to); r.SetXForwarded() }, Transport: &http.Transport{
		Dial: func(string, string) (net.Conn, error) { return net.Dial("unix", socket) }}}
	server := httptest.NewServer(proxy)
	t.Cleanup(server.Close)
	return server.URL
}

// move runs a command against an appliance, with a home of its own.
func move(t *testing.T, home, at string, arguments ...string) (said string, err error) {
	t.Helper()
	t.Setenv("HOME", home)
	t.Setenv("XDG_STATE_HOME", "")
	t.Setenv("CISTERN_URL", at)
	var out, errs bytes.Buffer
	err = dispatch(streams{strings.NewReader(""), &out, &errs}, arguments)
	said = out.String() + errs.String()
	if err != nil {
		said += err.Error()
	}
	return said, err
}

// ask is the value of an instant query.
func ask(t *testing.T, at, query string) float64 {
	t.Helper()
	answer, err := http.PostForm(at+"/api/v1/query", url.Values{"query": {query}})
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	var result struct {
		Data   struct{ Result []struct{ Value [2]any } }
		Detail string
	}
	if err := json.NewDecoder(answer.Body).Decode(&result); err != nil {
		t.Fatal(err)
	}
	if len(result.Data.Result) == 0 {
		return math.NaN()
	}
	v, err := strconv.ParseFloat(fmt.Sprint(result.Data.Result[0].Value[1]), 64)
	if err != nil {
		t.Fatal(err, result.Detail)
	}
	return v
}

// made is what makeBlocks wrote.
type made struct {
	dir     string
	samples int
	sum     float64
}

// makeBlocks writes blocks of two hours, which end before a time, with numbers and native histograms.
func makeBlocks(t testing.TB, end time.Time, blocks, series int) made {
	t.Helper()
	m := made{dir: t.TempDir()}
	random := rand.New(rand.NewPCG(1, 2))
	for n := range blocks {
		to := end.Add(-time.Duration(blocks-1-n) * 2 * time.Hour).UnixMilli()
		b, err := prometheus.NewBlock(m.dir)
		if err != nil {
			t.Fatal(err)
		}
		chunk := chunkenc.NewFloatHistogramChunk()
		var appender chunkenc.Appender
		appender, err = chunk.Appender()
		if err != nil {
			t.Fatal(err)
		}
		for k := range 100 {
			h := &histogram.FloatHistogram{Schema: 3, Count: float64(k + 1), Sum: 2.5, PositiveSpans: []histogram.Span{{Offset: 2, Length: 1}}, PositiveBuckets: []float64{float64(k + 1)}}
			if _, _, appender, err = appender.AppendFloatHistogram(nil, 0, to-7_200_000+int64(k)*15_000, h, false); err != nil {
				t.Fatal(err)
			}
		}
		if err := b.Add(labels.FromStrings("__name__", "latency", "job", "a"), []chunks.Meta{{Chunk: chunk, MinTime: to - 7_200_000, MaxTime: to - 7_200_000 + 99*15_000}}); err != nil {
			t.Fatal(err)
		}
		for i := range series {
			var list []chunks.Meta
			for from := to - 7_200_000; from < to; from += 1_800_000 {
				chunk := chunkenc.NewXORChunk()
				appender, err := chunk.Appender()
				if err != nil {
					t.Fatal(err)
				}
				for at := from; at < from+1_800_000; at += 15_000 {
					v := float64(random.IntN(1000))
					appender.Append(0, at, v)
					m.samples++
					m.sum += v
				}
				list = append(list, chunks.Meta{Chunk: chunk, MinTime: from, MaxTime: from + 1_785_000})
			}
			if err := b.Add(labels.FromStrings("__name__", "requests_total", "i", fmt.Sprintf("%04d", i), "job", "a"), list); err != nil {
				t.Fatal(err)
			}
		}
		m.samples += 100
		if _, err := b.Finish(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	return m
}

// What a Prometheus has of the past is on the appliance afterwards, of series that are live there too; what is older than
// the retention is said before anything is sent.
func TestImportPrometheus(t *testing.T) {
	at := appliance(t, "[retention]\nraw = '30d'")
	end := time.Now().Add(-24 * time.Hour).Truncate(2 * time.Hour)
	m := makeBlocks(t, end, 3, 40)
	// One of the series is live.
	live := makeBlocks(t, time.Now().Truncate(time.Second), 1, 1)
	if said, err := move(t, t.TempDir(), at, "import", "prometheus", live.dir); err != nil {
		t.Fatal(said)
	}
	home := t.TempDir()
	said, err := move(t, home, at, "import", "prometheus", m.dir)
	if err != nil || !strings.Contains(said, "Checked 41 series, "+strings.TrimSpace(thousands(m.samples))+" samples: all there") {
		t.Fatal(said)
	}
	if got := ask(t, at, fmt.Sprintf("sum(sum_over_time(requests_total[6h] @ %d))", end.Unix()-1)); got != m.sum {
		t.Errorf("the sum is %v, want %v", got, m.sum)
	}
	if said, err = move(t, home, at, "import", "prometheus", m.dir); err != nil || !strings.Contains(said, "All of it was sent") {
		t.Error(said)
	}
	old := makeBlocks(t, time.Now().AddDate(0, 0, -30).Add(time.Hour), 2, 2)
	said, err = move(t, home, at, "import", "prometheus", old.dir)
	if err == nil || !strings.Contains(said, "cistern retention set --raw-seconds") || !strings.Contains(said, "Nothing was sent") {
		t.Error(said)
	}
	said, err = move(t, home, at, "import", "prometheus", "--skip-older", old.dir, "--label", "origin=old")
	if err != nil || !strings.Contains(said, "Left out") || !strings.Contains(said, "all there") {
		t.Error(said)
	}
}

func thousands(n int) string {
	text := strconv.Itoa(n)
	for at := len(text) - 3; at > 0; at -= 3 {
		text = text[:at] + "," + text[at:]
	}
	return text
}

// An import that is interrupted in the middle, by an appliance that goes away, by the user, goes on where it was: nothing is lost, and nothing is
// counted twice.
func TestImportIsInterrupted(t *testing.T) {
	at := appliance(t, "[retention]\nraw = '30d'\n[remote_write]\nsender_series_per_second = 20\nsender_series_burst = 50")
	m := makeBlocks(t, time.Now().Add(-24*time.Hour).Truncate(2*time.Hour), 4, 60)
	home := t.TempDir()
	var requests atomic.Int64
	to, _ := url.Parse(at)
	proxy := httputil.NewSingleHostReverseProxy(to)
	var stopAt atomic.Int64
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/admin/write" {
			switch n := requests.Add(1); {
			case n == stopAt.Load():
				interruptMyself()
				time.Sleep(300 * time.Millisecond)
			case n == 2: // the answer to what was stored is lost
				proxy.ServeHTTP(httptest.NewRecorder(), r)
				panic(http.ErrAbortHandler)
			}
		}
		proxy.ServeHTTP(w, r)
	}))
	defer server.Close()
	stopAt.Store(4)
	said, err := move(t, home, server.URL, "import", "prometheus", m.dir)
	if err == nil || !strings.Contains(said, "it was interrupted after") {
		t.Fatal(said)
	}
	stopAt.Store(-1)
	said, err = move(t, home, server.URL, "import", "prometheus", m.dir)
	if err != nil || !strings.Contains(said, "goes on") || !strings.Contains(said, "Sent and stored: "+thousands(m.samples)+" samples") || !strings.Contains(said, "all there") {
		t.Fatal(said)
	}
	t.Log(said)
	if got := ask(t, at, fmt.Sprintf("sum(sum_over_time(requests_total[2d] @ %d))", time.Now().Unix())); got != m.sum {
		t.Errorf("the sum is %v, want %v", got, m.sum)
	}
}

// The other formats: each into an appliance that keeps long enough, compared by the command itself, and by what is known of the files.
func TestImportFormats(t *testing.T) {
	free, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	carbon := free.Addr().String()
	free.Close()
	at := appliance(t, "[retention]\nraw = '4000d'\n[graphite]\nenabled = true\naddress = '"+carbon+"'")
	home := t.TempDir()
	run := func(want string, arguments ...string) {
		t.Helper()
		said, err := move(t, home, at, append([]string{"import"}, arguments...)...)
		if err != nil || !strings.Contains(said, "all there") || !strings.Contains(said, want) {
			t.Errorf("%s: %s", arguments, said)
		}
	}
	// What came live before is the same series as the file of its path.
	live, err := net.Dial("tcp", carbon)
	if err != nil {
		t.Fatal(err)
	}
	fmt.Fprintf(live, "servers.web1.load 5 %d\n", time.Now().Unix())
	live.Close()
	for end := time.Now().Add(10 * time.Second); ask(t, at, `{"servers.web1.load"}`) != 5; time.Sleep(20 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("what came live is not there")
		}
	}
	run("2 series in 3 files", "graphite", "../../transfer/whisper/testdata/tree")
	if n := ask(t, at, `count(last_over_time({"servers.web1.load"}[4000d]))`); n != 1 {
		t.Errorf("%v series of one path", n)
	}
	run("2 series", "rrd", "../../transfer/rrd/testdata/router.xml", "--name", "router_rate", "--label", "host=r1")
	if n := ask(t, at, `count(last_over_time(router_rate{host="r1"}[4000d]))`); n != 2 {
		t.Errorf("%v series of the router", n)
	}
	now := time.Now().UnixMilli()
	lines := fmt.Sprintf(`{"metric":{"__name__":"cistern_up","job":"a"},"values":[1,null,"Infinity"],"timestamps":[%d,%d,%d]}
nonsense
{"metric":{"__name__":"visits_total","job":"a"},"values":[1,2],"timestamps":[%d,%d]}
`, now-3000, now-2000, now-1000, now-400_000_000, now)
	file := filepath.Join(t.TempDir(), "export.jsonl")
	if err := os.WriteFile(file, []byte(lines), 0o600); err != nil {
		t.Fatal(err)
	}
	// What is damaged, and what is refused, is said by its reason, and the command fails.
	said, err := move(t, home, at, "import", "victoriametrics", file)
	if err == nil || !strings.Contains(said, "3 samples, reserved_name") || !strings.Contains(said, "line 2") {
		t.Error(said)
	}
	said, err = move(t, home, at, "import", "victoriametrics", file, "--rename", "cistern_*=former_*")
	if err == nil || strings.Contains(said, "reserved_name") || !strings.Contains(said, "all there") {
		t.Error(said)
	}
	if got := ask(t, at, `count_over_time(former_up[1h])`); got != 2 {
		t.Errorf("%v", got)
	}
	t.Setenv("CISTERN_TOKEN", "secret")
	for _, verb := range []string{"import", "export"} {
		if said, err := move(t, home, at, verb, "--help"); err != nil || !strings.Contains(said, "cistern "+verb+" prometheus DIR") || strings.Contains(said, "secret") {
			t.Error(said)
		}
	}
	for _, wrong := range [][]string{{}, {"prometheus"}, {"csv", "x"}, {"rrd", "x", "--function", "SUM"}, {"graphite", "x", "--from", "yesterday"}, {"graphite", "x", "--label", "x"}, {"graphite", "x", "--rename", "a*=b"}, {"graphite", "a", "b"}, {"graphite", "a", "--fast"}} {
		if said, err := move(t, home, at, append([]string{"import"}, wrong...)...); err == nil {
			t.Errorf("%s: %s", wrong, said)
		}
	}
}

// What is exported comes back: blocks to another appliance by this command, text by storaged's own.
func TestExport(t *testing.T) {
	at, home := appliance(t, "[retention]\nraw = '30d'"), t.TempDir()
	m := makeBlocks(t, time.Now().Add(-24*time.Hour).Truncate(2*time.Hour), 2, 10)
	if said, err := move(t, home, at, "import", "prometheus", m.dir); err != nil {
		t.Fatal(said)
	}
	trap, err := http.Post(at+"/api/v1/trap/shop", "application/json", strings.NewReader(`{"wait":{"_type":"h","_value":["H[1.2e-02]=3","H[4.0e+00]=5"]},"depth":4}`))
	if err != nil || trap.StatusCode >= 300 {
		t.Fatal(err, trap.Status)
	}
	trap.Body.Close()
	const others = `{__name__!~"cistern_.*"}` // than the appliance's own
	dir, file := filepath.Join(t.TempDir(), "blocks"), filepath.Join(t.TempDir(), "all.txt")
	said, err := move(t, home, at, "export", "prometheus", dir, "--match", others)
	if err != nil || !strings.Contains(said, "Wrote "+thousands(m.samples+2)+" samples, 201 of them histograms") {
		t.Fatal(said)
	}
	if said, err := move(t, home, at, "export", "prometheus", dir, "--match", others); err == nil || !strings.Contains(said, "there already") {
		t.Error(said)
	}
	other := appliance(t, "[retention]\nraw = '30d'")
	said, err = move(t, home, other, "import", "prometheus", dir)
	if err != nil || !strings.Contains(said, "all there") {
		t.Fatal(said)
	}
	for _, query := range []string{"sum(sum_over_time(requests_total[3d]))", "count(last_over_time({__name__=~\".+\",__name__!~\"cistern_.*\"}[3d]))", "sum(histogram_count(sum_over_time(latency[3d])))"} {
		if a, b := ask(t, at, query), ask(t, other, query); a != b {
			t.Errorf("%s: %v and %v", query, a, b)
		}
	}
	said, err = move(t, home, at, "export", "openmetrics", file, "--match", `{job="a"}`)
	if err != nil || !strings.Contains(said, thousands(m.samples-200)+" samples of 11 series") || !strings.Contains(said, "200 native histograms") {
		t.Fatal(said)
	}
	program, err := buildStoraged()
	if err != nil {
		t.Fatal(err)
	}
	back := t.TempDir()
	said, err = move(t, home, at, "export", "openmetrics", file, "--match", others)
	if err != nil || !strings.Contains(said, thousands(m.samples-200+2)+" samples") {
		t.Fatal(said)
	}
	out, err := exec.Command(program, "import", "--data", back, "--file", file).CombinedOutput()
	if err != nil || !strings.Contains(string(out), fmt.Sprintf("Took %d samples", m.samples-200+2)) {
		t.Errorf("%v %s", err, out)
	}
	if out, err = exec.Command(program, "export", "--data", back, "--file", "-", "--match", `{__name__=~".*wait"}`).CombinedOutput(); err != nil || !strings.Contains(string(out), "gaugehistogram") || !strings.Contains(string(out), "_gcount") {
		t.Errorf("%v %s", err, out)
	}
	if left, _ := filepath.Glob(filepath.Join(filepath.Dir(file), "*.part")); len(left) > 0 {
		t.Error(left)
	}
}

// The comparison sees what is missing and what is another value, also of days of which the appliance has samples of its own.
func TestComparison(t *testing.T) {
	at := appliance(t, "[retention]\nraw = '30d'")
	m := makeBlocks(t, time.Now().Add(-24*time.Hour).Truncate(2*time.Hour), 2, 5)
	to, _ := url.Parse(at)
	proxy := httputil.NewSingleHostReverseProxy(to)
	var pretends atomic.Bool
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/admin/write" && pretends.Load() {
			fmt.Fprintf(w, `{"stored":%d,"refused":[]}`, m.samples)
			return
		}
		proxy.ServeHTTP(w, r)
	}))
	defer server.Close()
	pretends.Store(true)
	said, err := move(t, t.TempDir(), server.URL, "import", "prometheus", m.dir)
	if err == nil || !strings.Contains(said, "6 series differ") || !strings.Contains(said, "of 960 samples 960 are missing") {
		t.Fatal(said)
	}
	pretends.Store(false)
	// Another sample of one of the days, and another value of one.
	file := filepath.Join(t.TempDir(), "own.jsonl")
	blockFrom := time.Now().Add(-24 * time.Hour).Truncate(2 * time.Hour).Add(-2 * time.Hour).UnixMilli()
	own := fmt.Sprintf(`{"metric":{"__name__":"requests_total","i":"0000","job":"a"},"values":[7],"timestamps":[%d]}`, blockFrom+1)
	if err := os.WriteFile(file, []byte(own), 0o600); err != nil {
		t.Fatal(err)
	}
	home := t.TempDir()
	if said, err := move(t, home, server.URL, "import", "victoriametrics", file); err != nil {
		t.Fatal(said)
	}
	if said, err := move(t, home, server.URL, "import", "prometheus", m.dir); err != nil || !strings.Contains(said, "all there") {
		t.Fatal(said)
	}
	if err := os.WriteFile(file, []byte(strings.ReplaceAll(own, fmt.Sprint(blockFrom+1), fmt.Sprint(blockFrom))), 0o600); err != nil {
		t.Fatal(err)
	}
	if said, err := move(t, home, server.URL, "import", "victoriametrics", file, "--label", "i=0001"); err != nil {
		t.Fatal(said)
	}
	said, err = move(t, home, server.URL, "import", "prometheus", m.dir) // sent already, and compared again
	if err == nil || !strings.Contains(said, `i="0001"`) || !strings.Contains(said, "0 are missing and 1 have another value") || !strings.Contains(said, "1 series differs") {
		t.Error(said)
	}
}
