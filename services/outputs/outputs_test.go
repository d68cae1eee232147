package outputs

import (
	"context"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"log"
	"log/slog"
	"maps"
	"math"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"cistern/services/histogram"
	"cistern/services/ingest/admission"
	"cistern/services/ingest/ingesttest"
	input "cistern/services/ingest/remotewrite"
	"cistern/services/journal"
	"cistern/services/outputs/file"
	"cistern/services/outputs/graphite"
	"cistern/services/outputs/remotewrite"
	"cistern/services/store/tsdb"

	promhistogram "github.com/prometheus/prometheus/model/histogram"
	"github.com/prometheus/prometheus/model/labels"
)

func TestMain(m *testing.M) {
	firstWait, longestWait, lookEvery = 20*time.Millisecond, 100*time.Millisecond, 50*time.Millisecond
	os.Exit(m.Run())
}

// sender is a store with its outputs.
type sender struct {
	*tsdb.Store
	*Manager
	folder string
	end    func()
}

func startSender(t testing.TB, folder string) *sender {
	t.Helper()
	store, err := tsdb.Open(folder, tsdb.Options{SegmentBytes: 1 << 20})
	if err != nil {
		t.Fatal(err)
	}
	s := &sender{Store: store, Manager: New(store, folder, nil, slog.New(slog.DiscardHandler)), folder: folder}
	ctx, stop := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() { s.Run(ctx); close(done) }()
	s.end = sync.OnceFunc(func() {
		stop()
		select {
		case <-done:
		case <-time.After(5 * time.Second):
			t.Error("the outputs did not end within 5 s")
		}
		if err := store.Close(); err != nil {
			t.Error(err)
		}
	})
	t.Cleanup(s.end)
	return s
}

func (s *sender) set(t testing.TB, list ...Definition) {
	t.Helper()
	if err := s.Set(List{Revision: "r", Outputs: list}); err != nil {
		t.Fatal(err)
	}
}

func (s *sender) put(t testing.TB, samples ...tsdb.Sample) {
	t.Helper()
	if rejected, err := s.Ingest(context.Background(), "test", samples, journal.Buffered); err != nil || len(rejected) > 0 {
		t.Fatal(rejected, err)
	}
}

// only is the status of the one output.
func (s *sender) only() Status {
	_, list := s.Status()
	return list[0]
}

// Status hides the store's of the same name.
func (s *sender) Status() (string, []Status) { return s.Manager.Status() }

func key(t testing.TB, name string, more ...string) []byte {
	t.Helper()
	list := []tsdb.Label{{Name: "__name__", Value: name}}
	for i := 0; i < len(more); i += 2 {
		list = append(list, tsdb.Label{Name: more[i], Value: more[i+1]})
	}
	k, err := tsdb.AppendKey(nil, list)
	if err != nil {
		t.Fatal(err)
	}
	return k
}

func waitFor(t testing.TB, what string, ok func() bool) {
	t.Helper()
	for deadline := time.Now().Add(20 * time.Second); !ok(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("still not: " + what)
		}
	}
}

func toRemote(url, version string) Definition {
	return Definition{ID: "out1", Name: "the other", Enabled: true, Kind: "remote-write", Begin: "now", LagMiB: MinLagMiB,
		RemoteWrite: &remotewrite.Settings{URL: url, Version: version}}
}

// receiving is a store of ours behind its input, which can be made to fail.
type receiving struct {
	*tsdb.Store
	*httptest.Server
	handler  http.Handler
	requests atomic.Int64
	answer   atomic.Pointer[func(w http.ResponseWriter, r *http.Request) bool] // true: it has answered
}

func startReceiving(t testing.TB) *receiving {
	one := &receiving{}
	store, handler := ingesttest.Store(t, func(s *tsdb.Store, mux *http.ServeMux) { input.New(s, admission.New(s)).Register(mux) })
	one.Store, one.handler = store, handler
	one.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		one.requests.Add(1)
		if answer := one.answer.Load(); answer != nil && (*answer)(w, r) {
			return
		}
		handler.ServeHTTP(w, r)
	}))
	t.Cleanup(one.Server.Close)
	return one
}

func (r *receiving) url() string { return r.URL + "/api/v1/write" }

func (r *receiving) answers(f func(w http.ResponseWriter, r *http.Request) bool) {
	if f == nil {
		r.answer.Store(nil)
	} else {
		r.answer.Store(&f)
	}
}

func status(code int, headers ...string) func(http.ResponseWriter, *http.Request) bool {
	return func(w http.ResponseWriter, _ *http.Request) bool {
		for i := 0; i < len(headers); i += 2 {
			w.Header().Set(headers[i], headers[i+1])
		}
		http.Error(w, "so says the receiver", code)
		return true
	}
}

// Another Cistern gets what matches, with the labels that are added, by both versions of remote write.
func TestToCistern(t *testing.T) {
	for _, version := range []string{"1.0", "2.0", "auto"} {
		t.Run(version, func(t *testing.T) {
			to, from := startReceiving(t), startSender(t, t.TempDir())
			d := toRemote(to.url(), version)
			d.Keep, d.Labels = []string{`{__name__=~"kept.*"}`, `other{job="x"}`}, map[string]string{"site": "here", "job": "never"}
			from.set(t, d)
			waitFor(t, "running", func() bool { return len(from.Streams()) == 1 })
			now := time.Now().Truncate(time.Second).UnixMilli()
			h := &histogram.Histogram{}
			_ = h.Insert(0.25, 7)
			_ = h.Insert(10, 1)
			native := &promhistogram.FloatHistogram{Schema: 3, Count: 2, Sum: 4, PositiveSpans: []promhistogram.Span{{Offset: 1, Length: 1}}, PositiveBuckets: []float64{2}}
			// A second of a histogram that comes in parts is one there.
			first := &histogram.Histogram{}
			_ = first.Insert(0.25, 5)
			from.put(t, tsdb.Sample{Key: key(t, "kept_h"), Kind: tsdb.Histogram, Time: now, Histogram: first})
			waitFor(t, "the first part", func() bool { return from.only().Sent == 1 })
			from.put(t, tsdb.Sample{Key: key(t, "kept_total", "job", "own"), Kind: tsdb.Counter, Time: now, Value: 1.5}, tsdb.Sample{Key: key(t, "kept_total", "job", "own"), Time: now + 500, Value: 2.5},
				tsdb.Sample{Key: key(t, "other", "job", "x"), Time: now, Value: math.Inf(1)}, tsdb.Sample{Key: key(t, "other", "job", "y"), Time: now, Value: 9},
				tsdb.Sample{Key: key(t, "kept_h"), Kind: tsdb.Histogram, Time: now, Histogram: h}, tsdb.Sample{Key: key(t, "kept_h"), Kind: tsdb.Histogram, Time: now, Histogram: first},
				tsdb.Sample{Key: key(t, "kept_n"), Kind: tsdb.NativeHistogram, Time: now, Native: native})
			waitFor(t, "delivered", func() bool { return from.only().Sent == 7 })
			got := ingesttest.Numbers(t, to.Store)
			want := map[string]string{"[{__name__ kept_total} {job own} {site here}]": "counter 1.5 2.5", "[{__name__ other} {job x} {site here}]": "gauge +Inf"}
			for labels, numbers := range want {
				if got[labels] != numbers {
					t.Errorf("%s: %q, want %q", labels, got[labels], numbers)
				}
			}
			found, release, err := to.Select(t.Context(), 0, math.MaxInt64, labels.MustNewMatcher(labels.MatchRegexp, "__name__", "kept_[hn]"))
			if err != nil {
				t.Fatal(err)
			}
			defer release()
			if len(got) != 4 || len(found) != 2 {
				t.Errorf("%d series: %v", len(got), maps.Keys(got))
			}
			for _, one := range found {
				it := one.Natives(0, math.MaxInt64)
				if !it.Next() {
					t.Fatalf("%v is empty", one.Labels())
				}
				_, sent := it.At()
				if name := one.Labels()[0].Value; name == "kept_n" && (sent.Count != 2 || sent.Sum != 4 || sent.Schema != 3) ||
					name == "kept_h" && (sent.Count != 18 || sent.CounterResetHint != promhistogram.GaugeType || math.Abs(sent.Sum-h.Sum()-2*first.Sum()) > 1e-9) {
					t.Errorf("%s: %v", name, sent)
				}
			}
			if s := from.only(); s.State != Delivering || s.Refused+s.Skipped+s.LeftOut > 0 || s.LagBytes != 0 {
				t.Errorf("%+v", s)
			}
		})
	}
}

// The receiver dies, hangs and fails in the middle; nothing is lost, and what comes twice is the same sample.
func TestFailures(t *testing.T) {
	to, from := startReceiving(t), startSender(t, t.TempDir())
	from.set(t, toRemote(to.url(), "auto"))
	waitFor(t, "running", func() bool { return len(from.Streams()) == 1 })
	now := time.Now().Truncate(time.Second).UnixMilli()
	sent := 0
	put := func() {
		t.Helper()
		for range 50 {
			batch := make([]tsdb.Sample, 20)
			for k := range batch {
				batch[k] = tsdb.Sample{Key: key(t, "x", "k", fmt.Sprint(k), "churn", fmt.Sprint(sent/5000)), Time: now + int64(sent), Value: float64(sent)}
			}
			from.put(t, batch...)
			sent += 20
		}
	}
	arrived := func() int {
		n := 0
		for _, values := range ingesttest.Numbers(t, to.Store) {
			n += len(strings.Fields(values)) - 1
		}
		return n
	}
	var tries atomic.Int64
	for _, c := range []struct {
		name   string
		answer func(w http.ResponseWriter, r *http.Request) bool
		words  string
	}{
		{"well", nil, ""},
		{"500", status(500), "500 Internal Server Error: so says the receiver"},
		{"429", status(429, "Retry-After", "0"), "429"},
		{"401", status(401), "401"},
		{"redirect", status(307, "Location", "http://elsewhere.example/"), "enter http://elsewhere.example/"},
		{"broken off", func(w http.ResponseWriter, _ *http.Request) bool { panic(http.ErrAbortHandler) }, "EOF"},
		{"413", func(w http.ResponseWriter, r *http.Request) bool {
			if r.ContentLength > 3000 {
				http.Error(w, "too large", http.StatusRequestEntityTooLarge)
				return true
			}
			return false
		}, ""},
		{"stored, and the answer lost", func(w http.ResponseWriter, r *http.Request) bool {
			if tries.Add(1)%3 == 0 {
				return false
			}
			to.handler.ServeHTTP(httptest.NewRecorder(), r)
			panic(http.ErrAbortHandler)
		}, ""},
	} {
		to.answers(c.answer)
		put()
		if c.words != "" {
			waitFor(t, c.name+" is seen", func() bool { s := from.only(); return s.State == Failing && strings.Contains(s.Error, c.words) })
			if s := from.only(); s.LagBytes == 0 || s.Since == 0 {
				t.Errorf("%s: %+v", c.name, s)
			}
			to.answers(nil)
		}
		waitFor(t, c.name+": all is there", func() bool { return arrived() == sent })
		waitFor(t, c.name+": well again", func() bool { s := from.only(); return s.State == Delivering && s.LagBytes == 0 && s.Error == "" })
	}
	if s := from.only(); s.Refused+s.Skipped+s.Damaged > 0 || s.Retries == 0 {
		t.Errorf("%+v", s)
	}
	// What is refused for good is passed over, with the receiver's words, and the rest goes on.
	to.answers(status(400))
	put()
	waitFor(t, "refused", func() bool { return from.only().Refused == 1000 })
	to.answers(nil)
	put()
	waitFor(t, "the rest", func() bool { return arrived() == sent-1000 })
	if s := from.only(); s.State != Delivering || !strings.Contains(s.RefusedWords, "so says the receiver") || s.RefusedAt == 0 {
		t.Errorf("%+v", s)
	}
}

// A receiver that hangs does not keep the outputs from ending, and what it was sent comes again.
func TestHangingReceiver(t *testing.T) {
	to, folder := startReceiving(t), t.TempDir()
	from := startSender(t, folder)
	from.set(t, toRemote(to.url(), "auto"))
	waitFor(t, "running", func() bool { return len(from.Streams()) == 1 })
	release := make(chan struct{})
	to.answers(func(w http.ResponseWriter, r *http.Request) bool {
		select {
		case <-release:
		case <-r.Context().Done():
		}
		return true
	})
	from.put(t, tsdb.Sample{Key: key(t, "x"), Time: time.Now().UnixMilli(), Value: 1})
	waitFor(t, "asked", func() bool { return to.requests.Load() > 0 })
	from.end()
	close(release)
	to.answers(nil)
	from = startSender(t, folder) // by the list that was kept
	waitFor(t, "delivered after the restart", func() bool { return len(ingesttest.Numbers(t, to.Store)) == 1 })
	if info, err := os.Stat(filepath.Join(folder, listFile)); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v %v", info, err)
	}
	// Switched off, it gives up its place.
	d := toRemote(to.url(), "auto")
	d.Enabled = false
	from.set(t, d)
	if names := from.Streams(); len(names) != 0 || from.only().State != Off {
		t.Errorf("%q %+v", names, from.only())
	}
}

// A receiver that stays away costs what the bound says; what is skipped is counted.
func TestLagBound(t *testing.T) {
	to, from := startReceiving(t), startSender(t, t.TempDir())
	to.answers(status(503))
	from.set(t, toRemote(to.url(), "1.0"))
	waitFor(t, "running", func() bool { return len(from.Streams()) == 1 })
	now := time.Now().Truncate(time.Second).UnixMilli()
	value := strings.Repeat("v", 1500)
	sent := 0
	for sent < 20_000 { // series with long names: 30 MiB of journal
		batch := make([]tsdb.Sample, 1000)
		for k := range batch {
			batch[k] = tsdb.Sample{Key: key(t, "x", "k", fmt.Sprint(sent), "long", value), Time: now + int64(sent), Value: 1}
			sent++
		}
		from.put(t, batch...)
	}
	if _, err := from.Flush(); err != nil {
		t.Fatal(err)
	}
	waitFor(t, "skipped", func() bool { s := from.only(); return s.Skipped > 0 && s.LagBytes <= MinLagMiB<<20 })
	to.answers(nil)
	waitFor(t, "caught up", func() bool { return from.only().LagBytes == 0 })
	s := from.only()
	if got := len(ingesttest.Numbers(t, to.Store)); int64(got) != s.Sent || s.Sent+s.Skipped != int64(sent) || s.SkippedAt == 0 || s.SkippedFrom != float64(now)/1000 {
		t.Errorf("%d arrived of %d: %+v", got, sent, s)
	}
}

// A certificate is verified, by the authority that was given or those that the system knows.
func TestCertificate(t *testing.T) {
	to := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) }))
	defer to.Close()
	to.Config.ErrorLog = log.New(io.Discard, "", 0)
	from := startSender(t, t.TempDir())
	d := toRemote(to.URL, "1.0")
	if said, err := from.Check(t.Context(), d); err == nil || !strings.Contains(err.Error(), "certificate") {
		t.Error(said, err)
	}
	d.RemoteWrite.CA = string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: to.Certificate().Raw}))
	if said, err := from.Check(t.Context(), d); err != nil || !strings.Contains(said, "204") {
		t.Error(said, err)
	}
}

// What cannot run says so, and does not pin the journal.
func TestInvalid(t *testing.T) {
	from := startSender(t, t.TempDir())
	good := toRemote("http://127.0.0.1:1/", "1.0")
	for path, change := range map[string]func(d *Definition){
		"/keep/0":      func(d *Definition) { d.Keep = []string{"rate(x[5m])"} },
		"/labels":      func(d *Definition) { d.Labels = map[string]string{"__name__": "x"} },
		"/lagMiB":      func(d *Definition) { d.LagMiB = 1 },
		"/remoteWrite": func(d *Definition) { d.RemoteWrite.URL = "ftp://x" },
		"/kind":        func(d *Definition) { d.Kind = "pigeon" },
		"/graphite":    func(d *Definition) { d.Kind, d.Graphite = "graphite", &graphite.Settings{Address: "nowhere"} },
		"/file":        func(d *Definition) { d.Kind, d.File = "file", &file.Settings{Folder: "../up", FileMiB: 1, Files: 1} },
		"/statsd":      func(d *Definition) { d.Kind = "statsd" },
		"/begin":       func(d *Definition) { d.Begin = "" },
	} {
		bad := good
		settings := *good.RemoteWrite
		bad.RemoteWrite = &settings
		change(&bad)
		var wrong *Wrong
		if err := from.Validate(bad); !asWrong(err, &wrong) || wrong.Path != path {
			t.Errorf("%s: %v", path, err)
		}
		from.set(t, bad)
		waitFor(t, path+" is invalid", func() bool { s := from.only(); return s.State == Invalid && s.Error != "" })
		if names := from.Streams(); len(names) != 0 {
			t.Errorf("%s: %q", path, names)
		}
	}
	if err := from.Set(List{Outputs: []Definition{good, good}}); err == nil {
		t.Error("two of the same id are taken")
	}
	// Secrets stay inside.
	good.RemoteWrite.Password, good.RemoteWrite.Token = "secret-1", "secret-2"
	from.set(t, good)
	if text, _ := json.Marshal(from.Definitions()); strings.Contains(string(text), "secret") {
		t.Errorf("%s", text)
	}
	if _, err := from.Check(t.Context(), toRemote("http://127.0.0.1:1/", "1.0")); err == nil || !strings.Contains(err.Error(), "refused") {
		t.Error(err)
	}
}

func asWrong(err error, wrong **Wrong) bool {
	w, ok := err.(*Wrong)
	*wrong = w
	return ok
}
