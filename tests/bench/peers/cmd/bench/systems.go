package main

// The systems that take samples over HTTP: how each is started, brought to rest, and weighed.

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
)

const (
	cistern    = "Cistern"
	victoria   = "VictoriaMetrics"
	prometheus = "Prometheus"
)

// server is one running system.
type server struct {
	*child
	system string
	url    string
	folder string // its own; removed with it
	client *http.Client
	b      *bench
	port   int
	// inputs are listening addresses beside HTTP: "statsd".
	inputs map[string]string
}

// serverOptions vary what is started.
type serverOptions struct {
	statsd      bool
	graphite    bool // plain text, of those that take no statsd
	environment []string
	wrap        []string // a program to start it by
	memory      int      // MiB, for those that are told
	settings    string   // storaged's configuration file
}

// storagedFlags are the flags that this storaged knows: the harness goes on working while they are renamed.
func (b *bench) storagedFlags() map[string]bool {
	b.flagsOnce.Do(func() {
		b.flags = map[string]bool{}
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		help, _ := exec.CommandContext(ctx, b.storaged, "--help").CombinedOutput()
		for _, match := range regexp.MustCompile(`(?m)^\s+--?([a-z0-9-]+)`).FindAllSubmatch(help, -1) {
			b.flags[string(match[1])] = true
		}
	})
	return b.flags
}

// flag is --NAME VALUE for the first of the names that storaged knows, nothing when it knows none.
func (b *bench) flag(value string, names ...string) []string {
	for _, name := range names {
		if b.storagedFlags()[name] {
			return []string{"--" + name + "=" + value}
		}
	}
	return nil
}

// run starts a system in a fresh folder and waits until it answers.
func (b *bench) run(ctx context.Context, system string, options serverOptions) (*server, error) {
	folder, err := os.MkdirTemp(b.temp, strings.ToLower(system)+"-")
	if err != nil {
		return nil, err
	}
	warmMemory()
	s := &server{system: system, folder: folder, b: b, inputs: map[string]string{}, client: &http.Client{
		Timeout:   5 * time.Minute,
		Transport: &http.Transport{MaxIdleConnsPerHost: 8, DisableCompression: true},
	}}
	if err := s.start(ctx, options); err != nil {
		s.remove()
		return nil, err
	}
	return s, nil
}

// start starts the process on the folder, which may hold data already.
func (s *server) start(ctx context.Context, options serverOptions) error {
	port, err := freePort()
	if err != nil {
		return err
	}
	b := s.b
	address := "127.0.0.1:" + strconv.Itoa(port)
	s.port, s.url = port, "http://"+address
	data := filepath.Join(s.folder, "data")
	var path, ready string
	var arguments []string
	switch s.system {
	case cistern:
		path, ready = b.storaged, "/healthz"
		arguments = []string{"--data", data}
		arguments = append(arguments, b.flag(address, "http-addr", "http")...)
		statsd := ""
		if options.statsd {
			input, err := freePort()
			if err != nil {
				return err
			}
			statsd = "127.0.0.1:" + strconv.Itoa(input)
			s.inputs["statsd"] = statsd
		}
		arguments = append(arguments, b.flag(statsd, "statsd-addr", "statsd")...)
		// The other inputs listen on fixed ports unless told otherwise, and two benches must not meet there.
		for _, names := range [][]string{{"graphite-addr", "graphite"}, {"statsd-admin", "statsd-admin-addr"}, {"collectd", "collectd-addr"}, {"otlp", "otlp-addr"}} {
			arguments = append(arguments, b.flag("", names...)...)
		}
		arguments = append(arguments, b.flag("false", "host-statistics")...)
		// Fast-forwarded churn makes more series a second than the real one, and the limit is not what is measured.
		arguments = append(arguments, b.flag("10000000", "series-per-second", "series-rate")...)
		arguments = append(arguments, b.flag("100000000", "series-burst")...)
		arguments = append(arguments, b.flag("100000000", "max-series", "series-limit")...)
		if options.memory > 0 {
			arguments = append(arguments, b.flag(strconv.Itoa(options.memory), "memory")...)
		}
		if options.settings != "" {
			file := filepath.Join(s.folder, "storaged.toml")
			if err := os.WriteFile(file, []byte(options.settings), 0o644); err != nil {
				return err
			}
			arguments = append(arguments, b.flag(file, "config")...)
		}
		arguments = append(arguments, b.storagedMore...)
	case victoria:
		path, ready = filepath.Join(b.peers, "victoria-metrics"), "/health"
		arguments = []string{"-storageDataPath=" + data, "-httpListenAddr=" + address, "-retentionPeriod=100y",
			"-search.latencyOffset=0s", "-search.maxUniqueTimeseries=10000000", "-search.maxSeries=10000000", "-search.maxSamplesPerQuery=4000000000",
			"-search.maxQueryDuration=5m", "-loggerLevel=WARN"}
		if options.graphite {
			input, err := freePort()
			if err != nil {
				return err
			}
			s.inputs["graphite"] = "127.0.0.1:" + strconv.Itoa(input)
			arguments = append(arguments, "-graphiteListenAddr="+s.inputs["graphite"])
		}
		if options.memory > 0 {
			arguments = append(arguments, fmt.Sprintf("-memory.allowedBytes=%dMiB", options.memory))
		}
	case prometheus:
		path, ready = filepath.Join(b.peers, "prometheus"), "/-/ready"
		config := filepath.Join(s.folder, "prometheus.yml")
		if err := os.WriteFile(config, []byte("{}\n"), 0o644); err != nil {
			return err
		}
		arguments = []string{"--config.file=" + config, "--storage.tsdb.path=" + data, "--web.listen-address=" + address,
			"--storage.tsdb.retention.time=100y", "--web.enable-remote-write-receiver", "--web.enable-admin-api",
			"--query.max-samples=4000000000", "--query.timeout=5m", "--log.level=warn",
			"--enable-feature=promql-experimental-functions"}
	default:
		return fmt.Errorf("no system is called %q", s.system)
	}
	if len(options.wrap) > 0 {
		arguments = append(append(slices.Clone(options.wrap[1:]), path), arguments...)
		path = options.wrap[0]
	}
	if s.child, err = launch(s.folder, path, arguments, options.environment); err != nil {
		return err
	}
	b.track(s.child)
	for began := time.Now(); ; {
		probe, cancel := context.WithTimeout(ctx, 5*time.Second)
		_, err := s.get(probe, ready)
		cancel()
		if err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-s.exited:
			return fmt.Errorf("%s ended at once: %w\n%s", s.system, s.err, s.tail())
		case <-time.After(20 * time.Millisecond):
		}
		if time.Since(began) > 3*time.Minute {
			return fmt.Errorf("%s did not answer %s: %w\n%s", s.system, ready, err, s.tail())
		}
	}
}

// remove ends the process and removes its folder.
func (s *server) remove() {
	if s.child != nil {
		_ = s.end(syscall.SIGKILL, 10*time.Second)
	}
	s.client.CloseIdleConnections()
	_ = os.RemoveAll(s.folder)
}

// httpError is an answer that is no success.
type httpError struct {
	status int
	text   string
}

func (e *httpError) Error() string { return fmt.Sprintf("HTTP %d: %.300s", e.status, e.text) }

// do sends a request and reads the whole answer; what is no 2xx is an *httpError.
func (s *server) do(ctx context.Context, method, path string, body io.Reader, headers map[string]string) ([]byte, error) {
	request, err := http.NewRequestWithContext(ctx, method, s.url+path, body)
	if err != nil {
		return nil, err
	}
	for name, value := range headers {
		request.Header.Set(name, value)
	}
	answer, err := s.client.Do(request)
	if err != nil {
		return nil, err
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(io.LimitReader(answer.Body, 1<<30))
	if err == nil && answer.StatusCode/100 != 2 {
		err = &httpError{answer.StatusCode, strings.TrimSpace(string(text))}
	}
	return text, err
}

func (s *server) get(ctx context.Context, path string) ([]byte, error) {
	return s.do(ctx, http.MethodGet, path, nil, nil)
}

// settle brings what was accepted into files, and the process to rest. Cistern is asked to flush; VictoriaMetrics too,
// and its merges are waited for; Prometheus has no such call and keeps what is recent in its head, so only its rest is
// waited for.
func (s *server) settle(ctx context.Context) error {
	switch s.system {
	case cistern:
		if _, err := s.do(ctx, http.MethodPost, "/admin/flush", nil, nil); err != nil {
			return fmt.Errorf("flushing: %w", err)
		}
	case victoria:
		if _, err := s.get(ctx, "/internal/force_flush"); err != nil {
			return fmt.Errorf("flushing: %w", err)
		}
		if err := s.merged(ctx); err != nil {
			return err
		}
	}
	s.idle(ctx, time.Minute)
	return ctx.Err()
}

var activeMerges = regexp.MustCompile(`(?m)^vm_active_merges\{[^}]*\} (\d+)`)

// merged waits until VictoriaMetrics merges nothing.
func (s *server) merged(ctx context.Context) error {
	quiet := 0
	for range 1200 {
		text, err := s.get(ctx, "/metrics")
		if err != nil {
			return err
		}
		active := 0
		for _, match := range activeMerges.FindAllSubmatch(text, -1) {
			n, _ := strconv.Atoi(string(match[1]))
			active += n
		}
		if active > 0 {
			quiet = 0
		} else if quiet++; quiet == 6 {
			return nil
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(250 * time.Millisecond):
		}
	}
	return errors.New("its merges do not come to an end")
}

// compact makes the data as small as the system can by itself: VictoriaMetrics merges everything into one part. It costs
// CPU that is not counted, which is to the peer's good.
func (s *server) compact(ctx context.Context) error {
	if s.system != victoria {
		return nil
	}
	if _, err := s.get(ctx, "/internal/force_merge"); err != nil {
		return err
	}
	if err := s.merged(ctx); err != nil {
		return err
	}
	// What is only in memory goes to its files every five seconds.
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(7 * time.Second):
	}
	return s.merged(ctx)
}

// weigh is the size of the whole data folder, log included, in bytes.
func (s *server) weigh() (float64, error) {
	parts, err := diskParts(filepath.Join(s.folder, "data"), func(string) string { return "all" })
	return float64(parts["all"]), err
}

// disk weighs the data by part; "samples" and "index" are what the ratios are about, everything else is said beside
// them. Prometheus' head is written to blocks by a snapshot first, which is what its data weigh in the long run.
func (s *server) disk(ctx context.Context) (map[string]int64, error) {
	data := filepath.Join(s.folder, "data")
	switch s.system {
	case cistern:
		parts, err := diskParts(data, func(path string) string {
			first, rest, nested := strings.Cut(path, string(filepath.Separator))
			switch {
			case strings.HasPrefix(first, "journal"), strings.Contains(first, "wal"):
				return "log"
			case strings.Contains(first, "index"), nested && strings.Contains(rest, "index"):
				return "index"
			case strings.Contains(first, "LOCK"):
				return ""
			}
			return "samples"
		})
		if err != nil {
			return nil, err
		}
		// A block is one file: how much of it is index it says itself.
		text, err := s.get(ctx, "/api/v1/status/storage")
		if err != nil {
			return nil, err
		}
		var status struct{ Blocks []struct{ IndexBytes int64 } }
		if err := json.Unmarshal(text, &status); err != nil {
			return nil, err
		}
		for _, block := range status.Blocks {
			parts["index"] += block.IndexBytes
			parts["samples"] -= block.IndexBytes
		}
		return parts, nil
	case victoria:
		return diskParts(data, func(path string) string {
			first, _, _ := strings.Cut(path, string(filepath.Separator))
			switch {
			case first == "indexdb", first == "data" && strings.Contains(path, "indexdb"):
				return "index"
			case first == "data":
				return "samples"
			}
			return "other" // caches and metadata
		})
	}
	parts, err := diskParts(data, func(path string) string {
		if strings.HasPrefix(path, "wal") {
			return "log"
		}
		return ""
	})
	if err != nil {
		return nil, err
	}
	if _, err := s.do(ctx, http.MethodPost, "/api/v1/admin/tsdb/snapshot", nil, nil); err != nil {
		return nil, fmt.Errorf("making a snapshot: %w", err)
	}
	snapshot, err := diskParts(filepath.Join(data, "snapshots"), func(path string) string {
		if strings.HasSuffix(path, string(filepath.Separator)+"index") {
			return "index"
		}
		return "samples"
	})
	for name, size := range snapshot {
		parts[name] = size
	}
	return parts, err
}

// tracker knows every child, so that none outlives the bench.
type tracker struct {
	mu  sync.Mutex
	all []*child
}

func (t *tracker) track(c *child) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.all = append(t.all, c)
}

func (t *tracker) killAll() {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, c := range t.all {
		if c.running() {
			_ = c.command.Process.Kill()
		}
	}
}
