package main

// The real binary, killed at random while it takes samples: whatever it acknowledged is there afterwards.

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"cistern/services/store/tsdb"

	"github.com/golang/snappy"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/prompb"
)

// build makes the binary once for all tests.
var build = sync.OnceValues(func() (string, error) {
	folder, err := os.MkdirTemp("", "storaged")
	if err != nil {
		return "", err
	}
	path := filepath.Join(folder, "storaged")
	out, err := exec.Command("go", "build", "-o", path, ".").CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("%w: %s", err, out)
	}
	return path, nil
})

func TestMain(m *testing.M) {
	code := m.Run()
	if path, err := build(); err == nil {
		os.RemoveAll(filepath.Dir(path))
	}
	os.Exit(code)
}

// daemon is a running storaged.
type process struct {
	command *exec.Cmd
	client  *http.Client
	logPath string
	exited  chan error
}

func launch(t *testing.T, folder string, more ...string) *process {
	t.Helper()
	path, err := build()
	if err != nil {
		t.Fatal(err)
	}
	socket := filepath.Join(folder, "http.sock")
	// The daemon says when it is ready, as it does to a service manager.
	notify := filepath.Join(folder, "notify")
	os.Remove(notify)
	listener, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: notify, Net: "unixgram"})
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	d := &process{logPath: filepath.Join(folder, "log"), exited: make(chan error, 1)}
	log, err := os.Create(d.logPath)
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	arguments := append([]string{"--data", filepath.Join(folder, "data"), "--socket", socket, "--statsd-addr", "127.0.0.1:0"}, more...)
	d.command = exec.Command(path, arguments...)
	d.command.Stderr = log
	d.command.Env = append(os.Environ(), "NOTIFY_SOCKET="+notify)
	if err := d.command.Start(); err != nil {
		t.Fatal(err)
	}
	go func() { d.exited <- d.command.Wait() }()
	t.Cleanup(func() { _ = d.command.Process.Kill() })
	_ = listener.SetReadDeadline(time.Now().Add(20 * time.Second))
	if _, err := listener.Read(make([]byte, 100)); err != nil {
		_ = d.command.Process.Kill()
		<-d.exited
		t.Fatalf("not ready: %v\n%s", err, d.log())
	}
	d.client = &http.Client{Timeout: 20 * time.Second, Transport: &http.Transport{
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			var dialer net.Dialer
			return dialer.DialContext(ctx, "unix", socket)
		}}}
	return d
}

func (d *process) log() string {
	content, _ := os.ReadFile(d.logPath)
	return string(content)
}

// end sends a signal and waits for the end.
func (d *process) end(t *testing.T, signal os.Signal) error {
	t.Helper()
	if err := d.command.Process.Signal(signal); err != nil {
		t.Fatal(err)
	}
	select {
	case err := <-d.exited:
		return err
	case <-time.After(10 * time.Second):
		t.Fatal("does not end within ten seconds")
		return nil
	}
}

func (d *process) get(t *testing.T, path string, into any) {
	t.Helper()
	answer, err := d.client.Get("http://storaged" + path)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	if err := json.NewDecoder(answer.Body).Decode(into); err != nil || answer.StatusCode != http.StatusOK {
		t.Fatalf("%s: %d %v", path, answer.StatusCode, err)
	}
}

// remoteWrite is the n-th request of Prometheus' remote write: ten series with a sample each.
func remoteWrite(n int, began int64) []byte {
	var request prompb.WriteRequest
	for j := range 10 {
		request.Timeseries = append(request.Timeseries, prompb.TimeSeries{
			Labels:  []prompb.Label{{Name: "__name__", Value: "remote.write"}, {Name: "i", Value: strconv.Itoa(n % 50)}, {Name: "j", Value: strconv.Itoa(j)}},
			Samples: []prompb.Sample{{Timestamp: (began + int64(n/50)) * 1000, Value: float64(n + j)}},
		})
	}
	message, err := request.Marshal()
	if err != nil {
		panic(err)
	}
	return snappy.Encode(nil, message)
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func TestKillLosesNothingAcknowledged(t *testing.T) {
	folder := t.TempDir()
	random := rand.New(rand.NewPCG(uint64(time.Now().UnixNano()), 1)) // logged below: a failure says how it came about
	began := time.Now().Add(-10 * time.Minute).Truncate(time.Second).Unix()
	var mu sync.Mutex
	acknowledged, written := map[int]bool{}, map[int]bool{}
	next := 0
	rounds := 10
	if text := os.Getenv("CISTERN_CRASH_ROUNDS"); text != "" {
		var err error
		if rounds, err = strconv.Atoi(text); err != nil {
			t.Fatal(err)
		}
	}
	for round := range rounds {
		d := launch(t, folder)
		kill := time.Duration(50+random.IntN(300)) * time.Millisecond
		t.Logf("round %d: killed after %s, %d batches acknowledged so far", round, kill, len(acknowledged))
		ctx, cancel := context.WithTimeout(t.Context(), kill)
		var writers sync.WaitGroup
		for range 4 {
			writers.Go(func() {
				for ctx.Err() == nil {
					mu.Lock()
					n := next
					next++
					mu.Unlock()
					// One series per batch's place, one second per turn: each batch has its own place to be found at. The
					// histogram's count shows whether a batch was stored twice.
					body := fmt.Sprintf(`{"samples":[{"name":"n","labels":{"i":"%d"},"time":%d,"value":%d},{"name":"h","labels":{"i":"%d"},"time":%d,"histogram":{"bins":{"%d":1}}}]}`,
						n%50, began+int64(n/50), n, n%50, began+int64(n/50), 10+n%90)
					answer, err := d.client.Post("http://storaged/api/v1/import", "application/json", strings.NewReader(body))
					if err != nil {
						return // killed
					}
					var reply struct{ Accepted int }
					err = json.NewDecoder(answer.Body).Decode(&reply)
					answer.Body.Close()
					if err == nil && answer.StatusCode == http.StatusOK && reply.Accepted == 2 {
						mu.Lock()
						acknowledged[n] = true
						mu.Unlock()
					}
					// Ten floats by remote write, each with a series of its own.
					answer, err = d.client.Post("http://storaged/api/v1/write", "application/x-protobuf", bytes.NewReader(remoteWrite(n, began)))
					if err != nil {
						return
					}
					answer.Body.Close()
					if answer.StatusCode == http.StatusNoContent {
						mu.Lock()
						written[n] = true
						mu.Unlock()
					}
				}
			})
		}
		if random.IntN(2) == 0 { // also while a block is being written
			writers.Go(func() {
				if answer, err := d.client.Post("http://storaged/admin/flush", "", nil); err == nil {
					answer.Body.Close()
				}
			})
		}
		<-ctx.Done()
		cancel()
		_ = d.end(t, syscall.SIGKILL)
		writers.Wait()
	}
	if len(acknowledged) < 50 || len(written) < 50 {
		t.Fatalf("only %d batches were acknowledged", len(acknowledged))
	}

	d := launch(t, folder)
	var matrix struct {
		Data struct {
			Result []struct {
				Metric map[string]string
				Values [][2]any
			}
		}
	}
	seconds := int64(next/50) + 1
	query := func(expression string) string {
		return fmt.Sprintf("/api/v1/query_range?query=%s&start=%d&end=%d&step=1&lookback_delta=1", url.QueryEscape(expression), began, began+seconds)
	}
	collect := func(expression string) map[int]float64 {
		matrix.Data.Result = nil
		d.get(t, query(expression), &matrix)
		all := map[int]float64{}
		for _, one := range matrix.Data.Result {
			var i int
			if _, err := fmt.Sscan(one.Metric["i"], &i); err != nil {
				t.Fatal(err)
			}
			for _, p := range one.Values {
				var v float64
				if _, err := fmt.Sscan(p[1].(string), &v); err != nil {
					t.Fatal(err)
				}
				all[int(int64(p[0].(float64))-began)*50+i] = v
			}
		}
		return all
	}
	points := collect("n")
	counts := collect("histogram_count(h)")
	lost, twice := 0, 0
	for n := range acknowledged {
		if v, ok := points[n]; !ok || v != float64(n) {
			lost++
		}
		if counts[n] != 1 {
			lost++
		}
	}
	for _, count := range counts {
		if count > 1 {
			twice++
		}
	}
	// A number that is there twice would be there once more by count.
	floats := collect(`sum by (i) ({"remote.write"})`)
	each := collect(`count by (i) (count_over_time({"remote.write"}[1s]))`)
	again := collect(`max by (i) (count_over_time({"remote.write"}[1s]))`)
	for n := range written {
		if floats[n] != float64(10*n+45) || each[n] != 10 {
			lost++
		}
		if again[n] != 1 {
			twice++
		}
	}
	t.Logf("%d remote writes acknowledged, %d found", len(written), len(floats))
	t.Logf("%d batches sent, %d acknowledged, %d found", next, len(acknowledged), len(points))
	if lost > 0 || twice > 0 {
		t.Fatalf("%d lost, %d stored twice", lost, twice)
	}
	if err := d.end(t, syscall.SIGTERM); err != nil {
		t.Fatalf("SIGTERM: %v\n%s", err, d.log())
	}
}

func TestCleanStopKeepsEverythingInBlocks(t *testing.T) {
	folder := t.TempDir()
	d := launch(t, folder)
	answer, err := d.client.Post("http://storaged/api/v1/import", "application/json", strings.NewReader(`{"samples":[{"name":"a","value":42}]}`))
	if err != nil {
		t.Fatal(err)
	}
	answer.Body.Close()
	info, err := os.Stat(filepath.Join(folder, "http.sock"))
	if err != nil || info.Mode().Perm() != 0o660 {
		t.Fatalf("%v %v", info, err)
	}
	// The second daemon on the same folder refuses, and says why.
	path, _ := build()
	out, err := exec.Command(path, "--data", filepath.Join(folder, "data"), "--http-addr", "127.0.0.1:0", "--statsd-addr", "").CombinedOutput()
	if err == nil || !strings.Contains(string(out), "a storaged, or one of its commands, works on this folder") || !strings.Contains(string(out), fmt.Sprintf("process %d", d.command.Process.Pid)) || !strings.Contains(string(out), filepath.Join(folder, "data")) {
		t.Fatalf("%v %s", err, out)
	}
	if err := d.end(t, syscall.SIGTERM); err != nil {
		t.Fatalf("%v\n%s", err, d.log())
	}
	blocks, _ := filepath.Glob(filepath.Join(folder, "data", "blocks", "*.block"))
	if len(blocks) != 1 {
		t.Fatalf("blocks: %v", blocks)
	}
	d = launch(t, folder)
	var status struct {
		Head    struct{ Samples int64 }
		Blocks  []struct{ Samples int64 }
		Journal struct{ LagSeconds float64 }
	}
	d.get(t, "/api/v1/status/storage", &status)
	if len(status.Blocks) < 1 {
		t.Fatalf("%+v", status)
	}
	var vector struct {
		Data struct{ Result []struct{ Value [2]any } }
	}
	d.get(t, "/api/v1/query?query=a", &vector)
	if len(vector.Data.Result) != 1 || vector.Data.Result[0].Value[1] != "42" {
		t.Fatalf("%+v", vector)
	}
}

// Timers by UDP are one histogram a second to PromQL.
func TestStatsdToQuantile(t *testing.T) {
	d := launch(t, t.TempDir())
	var status struct{ Statsd struct{ Lines int } }
	// The port is in the log's "ready" line.
	address := ""
	for lines := bufio.NewScanner(strings.NewReader(d.log())); lines.Scan(); {
		if _, rest, ok := strings.Cut(lines.Text(), " statsd="); ok {
			address, _, _ = strings.Cut(rest, " ")
		}
	}
	udp, err := net.Dial("udp", address)
	if err != nil {
		t.Fatal(err)
	}
	defer udp.Close()
	for i := range 100 {
		fmt.Fprintf(udp, "login.time:%d|ms|#env:test", i+1)
	}
	deadline := time.Now().Add(10 * time.Second)
	var vector struct {
		Data struct{ Result []struct{ Value [2]any } }
	}
	for time.Now().Before(deadline) {
		d.get(t, "/api/v1/status/storage", &status)
		d.get(t, "/api/v1/query?query="+url.QueryEscape(`histogram_count(sum_over_time({"login.time",env="test"}[1m]))`), &vector)
		if len(vector.Data.Result) == 1 && vector.Data.Result[0].Value[1] == "100" {
			break
		}
		time.Sleep(50 * time.Millisecond)
	}
	if len(vector.Data.Result) != 1 || vector.Data.Result[0].Value[1] != "100" || status.Statsd.Lines != 100 {
		t.Fatalf("%+v %+v", vector, status)
	}
	if err := d.end(t, syscall.SIGTERM); err != nil {
		t.Fatal(errors.Join(err, errors.New(d.log())))
	}
}

// command runs a command of storaged.
func command(t *testing.T, arguments ...string) (out string, code int) {
	t.Helper()
	path, err := build()
	if err != nil {
		t.Fatal(err)
	}
	text, err := exec.Command(path, arguments...).CombinedOutput()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	if exit != nil {
		code = exit.ExitCode()
	}
	return string(text), code
}

func TestVerifyAndRepair(t *testing.T) {
	folder := t.TempDir()
	d := launch(t, folder)
	for i := range 3 {
		answer, err := d.client.Post("http://storaged/api/v1/import", "application/json",
			strings.NewReader(fmt.Sprintf(`{"samples":[{"name":"a","labels":{"i":"%d"},"value":42}]}`, i)))
		if err != nil {
			t.Fatal(err)
		}
		answer.Body.Close()
	}
	data := filepath.Join(folder, "data")
	if out, code := command(t, "repair", "--data", data); code != 2 || !strings.Contains(out, "must be stopped") {
		t.Errorf("%d %s", code, out)
	}
	if out, code := command(t, "verify", "--data", data); code != 0 || !strings.Contains(out, "Everything is sound.") {
		t.Errorf("%d %s", code, out)
	}
	if err := d.end(t, syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if out, code := command(t, "repair", "--data", data); code != 0 || out != "Nothing is damaged.\n" {
		t.Errorf("%d %s", code, out)
	}
	blocks, _ := filepath.Glob(filepath.Join(data, "blocks", "*.block"))
	content, err := os.ReadFile(blocks[0])
	if err != nil {
		t.Fatal(err)
	}
	content[len(content)/3] ^= 0x55
	write(t, blocks[0], string(content))
	out, code := command(t, "verify", "--data", data, "--json")
	var answer struct {
		Sound         bool
		DamagedBlocks int
		Findings      []struct{ Where, Detail string }
	}
	if err := json.Unmarshal([]byte(out), &answer); err != nil || code != 1 || answer.Sound || answer.DamagedBlocks != 1 || len(answer.Findings) == 0 {
		t.Errorf("%d %v %s", code, err, out)
	}
	if out, code := command(t, "verify", "--data", data); code != 1 || !strings.Contains(out, "1 blocks are damaged") {
		t.Errorf("%d %s", code, out)
	}
	if out, code := command(t, "repair", "--data", data); code != 1 || !strings.Contains(out, filepath.Base(blocks[0])) {
		t.Errorf("%d %s", code, out)
	}
	if out, code := command(t, "verify", "--data", filepath.Join(folder, "nothing")); code != 2 || !strings.Contains(out, "nothing") {
		t.Errorf("%d %s", code, out)
	}
}

// /metrics parses, names everything once, and holds what /api/v1/status/storage says.
func TestMetrics(t *testing.T) {
	d := launch(t, t.TempDir())
	answer, err := d.client.Get("http://storaged/metrics")
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	if got := answer.Header.Get("Content-Type"); !strings.HasPrefix(got, "text/plain; version=0.0.4") {
		t.Error(got)
	}
	parser := expfmt.NewTextParser(model.UTF8Validation)
	families, err := parser.TextToMetricFamilies(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range figures {
		family := families[figurePrefix+f.name]
		if family == nil {
			if f.name != "samples_total" && f.name != "rejected_total" && f.name != "refused_total" && !strings.HasSuffix(f.name, "_kernel_drops_total") && !strings.HasPrefix(f.name, "graphite_") && !strings.HasPrefix(f.name, "collectd_") && !strings.HasPrefix(f.name, "influx_") { // of inputs that are off
				t.Errorf("%s is missing", f.name)
			}
			continue
		}
		if family.GetHelp() != f.help || !strings.EqualFold(family.GetType().String(), f.kind.String()) || strings.HasSuffix(f.name, "_total") != (f.kind == tsdb.Counter) {
			t.Errorf("%s: %s", f.name, family)
		}
	}
	var status struct {
		Clock  struct{ Counter *bool }
		Statsd struct{ BufferBytes, Sockets int }
	}
	d.get(t, "/api/v1/status/storage", &status)
	if status.Clock.Counter == nil || status.Statsd.BufferBytes == 0 || status.Statsd.Sockets == 0 {
		t.Errorf("%+v", status)
	}
}

// An end under load takes its time, but not more than ten seconds, and what was acknowledged is there afterwards.
func TestEndUnderLoad(t *testing.T) {
	folder := t.TempDir()
	d := launch(t, folder)
	stop, accepted := make(chan struct{}), 0
	var writer sync.WaitGroup
	writer.Go(func() {
		for n := 0; ; n++ {
			select {
			case <-stop:
				return
			default:
			}
			answer, err := d.client.Post("http://storaged/api/v1/import", "application/json",
				strings.NewReader(fmt.Sprintf(`{"samples":[{"name":"n","labels":{"i":"%d"},"value":1}]}`, n)))
			if err != nil {
				return
			}
			answer.Body.Close()
			if answer.StatusCode == http.StatusOK {
				accepted++
			}
		}
	})
	time.Sleep(300 * time.Millisecond)
	began := time.Now()
	if err := d.end(t, syscall.SIGTERM); err != nil {
		t.Fatalf("%v\n%s", err, d.log())
	}
	close(stop)
	writer.Wait()
	t.Logf("ended after %s, %d samples were acknowledged", time.Since(began), accepted)
	d = launch(t, folder)
	var vector struct {
		Data struct{ Result []struct{ Value [2]any } }
	}
	d.get(t, "/api/v1/query?query=count(n)", &vector)
	if len(vector.Data.Result) != 1 || vector.Data.Result[0].Value[1] != strconv.Itoa(accepted) {
		t.Errorf("%+v", vector)
	}
}

// A terminal that is closed, or somebody who thinks that HUP reads the settings again, loses nothing.
func TestHangUpEndsInOrder(t *testing.T) {
	// nohup has SIGHUP ignored, which a child inherits; a signal that is caught is the default again in a child.
	caught := make(chan os.Signal, 1)
	signal.Notify(caught, syscall.SIGHUP)
	t.Cleanup(func() { signal.Stop(caught) })
	d := launch(t, t.TempDir())
	if err := d.end(t, syscall.SIGHUP); err != nil {
		t.Fatalf("%v\n%s", err, d.log())
	}
}

// How long queries take is stored as anybody's timers are: a histogram for each kind, in the second in which they ended.
func TestQueriesAreTimed(t *testing.T) {
	d := launch(t, t.TempDir())
	deadline := time.Now().Add(20 * time.Second)
	for asked := 0; ; asked++ {
		path := "/api/v1/histogram/distribution?query=" + url.QueryEscape(`cistern_storaged_query_seconds{kind="histogram"}`) +
			fmt.Sprintf("&start=%d&end=%d", time.Now().Unix()-60, time.Now().Unix()+1)
		var found struct {
			Count    uint64
			Min, Max float64
		}
		d.get(t, path, &found)
		if found.Count >= 2 && found.Count <= uint64(asked) && found.Min >= 0 && found.Max < 10 {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("asked %d times: %+v", asked, found)
		}
		time.Sleep(100 * time.Millisecond)
	}
}
