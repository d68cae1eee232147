package tracer

// A storaged that keeps what it gets, and a dtrace that does what a file beside it says.

import (
	"bufio"
	"context"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"cistern/services/ingest/admission"
	"cistern/services/ingest/importer"
	"cistern/services/store/tsdb"
)

type standInStore struct {
	socket  string
	mu      sync.Mutex
	store   captured
	refuses bool
}

func startStore(t *testing.T) *standInStore {
	s := &standInStore{socket: filepath.Join(t.TempDir(), "storaged.sock")}
	listener, err := net.Listen("unix", s.socket)
	if err != nil {
		t.Fatal(err)
	}
	mux := http.NewServeMux()
	importer.New(&s.store, admission.New(&s.store)).Register(mux)
	server := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.refuses {
			http.Error(w, "not now", http.StatusServiceUnavailable)
			return
		}
		mux.ServeHTTP(w, r)
	})}
	go func() { _ = server.Serve(listener) }()
	t.Cleanup(func() { server.Close() })
	return s
}

func (s *standInStore) refuse(yes bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.refuses = yes
}

func (s *standInStore) all() []tsdb.Sample {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.store.list)
}

// points are those of the series with these labels beside the name, in the order they came.
func (s *standInStore) points(name string, labels ...string) (list []tsdb.Sample) {
	for _, one := range s.all() {
		have, err := tsdb.ParseKey(string(one.Key))
		if err != nil {
			panic(err)
		}
		var texts []string
		for _, l := range have {
			if l.Name == "__name__" && l.Value != name {
				texts = append(texts, "another name")
			} else if l.Name != "__name__" {
				texts = append(texts, l.Name+"="+l.Value)
			}
		}
		if slices.Equal(texts, labels) {
			list = append(list, one)
		}
	}
	return list
}

func eventually(t *testing.T, what string, probe func() bool) {
	t.Helper()
	for end := time.Now().Add(20 * time.Second); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		if probe() {
			return
		}
	}
	t.Fatalf("not within 20 s: %s", what)
}

// TestMain is the stand-in when it is run as such.
func TestMain(m *testing.M) {
	if mode := os.Getenv("STAND_IN_DTRACE"); mode != "" {
		standIn(mode)
		return
	}
	if otherMain != nil && otherMain() {
		return
	}
	os.Exit(m.Run())
}

// standIn prints three operations for sda and one for the process of each dataset every tenth of a second, as if it
// were a second, with times that are one apart.
func standIn(modeFile string) {
	script := os.Args[len(os.Args)-1]
	program, err := os.ReadFile(script)
	if err != nil {
		fmt.Fprintln(os.Stderr, "dtrace: failed to open the script")
		os.Exit(1)
	}
	interrupted := make(chan os.Signal, 1)
	signal.Notify(interrupted, os.Interrupt)
	mode := func() string { text, _ := os.ReadFile(modeFile); return string(text) }
	if strings.Contains(mode(), "refuse") && strings.Contains(string(program), "bad") {
		fmt.Fprintln(os.Stderr, `dtrace: failed to compile script: line 3: probe description does not match any probes`)
		os.Exit(1)
	}
	out := bufio.NewWriter(os.Stdout)
	fmt.Fprintln(out, "B")
	began := time.Now()
	for n := int64(1); ; n++ {
		switch m := mode(); {
		case strings.Contains(m, "die"):
			fmt.Fprintln(os.Stderr, "dtrace: processing aborted: Abort due to systemic unresponsiveness")
			os.Exit(1)
		case strings.Contains(m, "hang"):
			time.Sleep(time.Hour)
		case strings.Contains(m, "garbage"):
			fmt.Fprint(out, "0 s99999999:\x00\xff\n\n")
		case strings.Contains(m, "drops"):
			fmt.Fprintln(os.Stderr, "dtrace: 3 drops on CPU 0\ndtrace: 4 aggregation drops on CPU 1\n5 dynamic variable drops with non-empty dirty list")
		}
		fmt.Fprintf(out, "T %d\n", began.Add(time.Duration(n)*time.Second).UnixNano())
		for line := range strings.Lines(string(program)) {
			if _, text, ok := strings.Cut(line, `printa("`); ok {
				number, kind, _ := strings.Cut(text, " ")
				switch kind[0] {
				case 's':
					fmt.Fprintf(out, "%s s3:sda=%d\n", number, 3*n)
				case 't':
					fmt.Fprintf(out, "%s t=%d\n", number, 2*n)
				}
			}
		}
		fmt.Fprintln(out, "E")
		out.Flush()
		select {
		case <-interrupted:
			return
		case <-time.After(100 * time.Millisecond):
		}
	}
}

// otherMain is what the test's program is besides, where it is started by itself; it says whether it was.
var otherMain func() bool

// launched makes what starts the stand-in; nil: the tracer does it itself.
var launched func(t *testing.T, program string) *Launcher

type bench struct {
	*Tracer
	store *standInStore
	dir   string
	mode  string
	stop  func()
}

// start makes a tracer with the stand-in and lets it run.
func start(t *testing.T, dir string) *bench {
	t.Helper()
	b := &bench{store: startStore(t), dir: dir, mode: filepath.Join(dir, "mode")}
	program := filepath.Join(dir, "dtrace")
	text := fmt.Sprintf("#!/bin/sh\nSTAND_IN_DTRACE=%s exec %s \"$@\"\n", b.mode, os.Args[0])
	if err := os.WriteFile(program, []byte(text), 0o755); err != nil {
		t.Fatal(err)
	}
	var launcher *Launcher
	if launched != nil {
		launcher = launched(t, program)
	}
	made, err := New(Config{
		Launcher: launcher,
		State:    dir, Run: dir, Storaged: b.store.socket, DTrace: program, ZPool: "/bin/false", Budget: 100,
		Log: slog.New(slog.NewTextHandler(t.Output(), nil)), timing: timing{start: 10 * time.Second, hang: time.Second, stop: time.Second},
	})
	if err != nil {
		t.Fatal(err)
	}
	b.Tracer = made
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() { defer close(done); made.Run(ctx) }()
	var once sync.Once
	b.stop = func() { once.Do(func() { cancel(); <-done }) }
	t.Cleanup(b.stop)
	return b
}

func (b *bench) does(t *testing.T, mode string) {
	if err := os.WriteFile(b.mode, []byte(mode), 0o644); err != nil {
		t.Fatal(err)
	}
}

func (b *bench) state(t *testing.T, name string) View {
	t.Helper()
	v, err := b.Get(name)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func must[V any](v V, err error) V {
	if err != nil {
		panic(err)
	}
	return v
}

// consecutive checks that each point is a second behind the one before.
func consecutive(t *testing.T, list []tsdb.Sample) {
	t.Helper()
	for i := 1; i < len(list); i++ {
		if list[i].Time != list[i-1].Time+1000 {
			t.Errorf("point %d is at %d, the one before at %d", i, list[i].Time, list[i-1].Time)
		}
	}
}
