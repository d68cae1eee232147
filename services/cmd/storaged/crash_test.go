package main

// The real binary, killed at random while it takes samples: whatever it acknowledged is there afterwards.

import (
	"bufio"
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
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
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
type daemon struct {
	command *exec.Cmd
	client  *http.Client
	logPath string
	exited  chan error
}

func launch(t *testing.T, folder string, more ...string) *daemon {
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
	d := &daemon{logPath: filepath.Join(folder, "log"), exited: make(chan error, 1)}
	log, err := os.Create(d.logPath)
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	arguments := append([]string{"--data", filepath.Join(folder, "data"), "--http-socket", socket, "--statsd", "127.0.0.1:0",
		"--statsd-admin", "127.0.0.1:0", "--graphite", "127.0.0.1:0", "--graphite-pickle", "127.0.0.1:0"}, more...)
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

func (d *daemon) log() string {
	content, _ := os.ReadFile(d.logPath)
	return string(content)
}

// end sends a signal and waits for the end.
func (d *daemon) end(t *testing.T, signal os.Signal) error {
	t.Helper()
	if err := d.command.Process.Signal(signal); err != nil {
		t.Fatal(err)
	}
	select {
	case err := <-d.exited:
		return err
	case <-time.After(15 * time.Second):
		t.Fatal("does not end")
		return nil
	}
}

func (d *daemon) get(t *testing.T, path string, into any) {
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

func TestKillLosesNothingAcknowledged(t *testing.T) {
	folder := t.TempDir()
	random := rand.New(rand.NewPCG(uint64(time.Now().UnixNano()), 1)) // logged below: a failure says how it came about
	began := time.Now().Add(-10 * time.Minute).Truncate(time.Second).Unix()
	var mu sync.Mutex
	acknowledged := map[int]bool{}
	next := 0
	const rounds = 6
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
	if len(acknowledged) < 50 {
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
	out, err := exec.Command(path, "--data", filepath.Join(folder, "data"), "--http-addr", "127.0.0.1:0", "--statsd", "", "--graphite", "", "--graphite-pickle", "").CombinedOutput()
	if err == nil || !strings.Contains(string(out), "another process holds the lock") {
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
