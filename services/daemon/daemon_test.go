package daemon

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// exampled is a whole daemon. TestMain runs it as a process of its own when it is asked for.
func exampled() Options {
	greeting := "hello"
	return Options{
		Name: "exampled", Version: "1.2.3", About: "exampled answers with a greeting.",
		Flags: func(flags *flag.FlagSet) { flags.StringVar(&greeting, "greeting", greeting, "what it `says`") },
		Setup: func(ctx context.Context, p *Process) error {
			mux := http.NewServeMux()
			mux.HandleFunc("GET /", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, greeting) })
			mux.HandleFunc("GET /broken", func(http.ResponseWriter, *http.Request) { panic("a handler") })
			mux.HandleFunc("GET /fatal", func(http.ResponseWriter, *http.Request) { go panic("a goroutine") })
			mux.HandleFunc("GET /endless", func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() })
			return p.Listen(Listener{Socket: p.Socket, Handler: mux})
		},
		RequestsWithin: 100 * time.Millisecond,
	}
}

const asDaemon = "CISTERN_TEST_DAEMON"

func TestMain(m *testing.M) {
	if os.Getenv(asDaemon) != "" {
		os.Exit(Run(exampled()))
	}
	os.Exit(m.Run())
}

// lines is what a daemon logs; it may be read while it writes.
type lines struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *lines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

func (l *lines) await(t *testing.T, text string) {
	t.Helper()
	for end := time.Now().Add(10 * time.Second); !strings.Contains(l.String(), text); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("%q is not in the log:\n%s", text, l)
		}
	}
}

func client(socket string) *http.Client {
	return &http.Client{Timeout: 10 * time.Second, Transport: &http.Transport{DisableKeepAlives: true,
		DialContext: func(context.Context, string, string) (net.Conn, error) { return net.Dial("unix", socket) }}}
}

func get(t *testing.T, socket, path string) (int, string) {
	t.Helper()
	response, err := client(socket).Get("http://unix" + path)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	content, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return response.StatusCode, string(content)
}

// launch runs a daemon within the test. stop ends it and returns its exit code.
func launch(t *testing.T, o Options, arguments ...string) (log *lines, stop func() int) {
	t.Helper()
	log = &lines{}
	ctx, cancel := context.WithCancel(t.Context())
	code := make(chan int, 1)
	go func() { code <- o.main(ctx, arguments, io.Discard, log) }()
	stop = sync.OnceValue(func() int {
		cancel()
		return <-code
	})
	t.Cleanup(func() { stop() })
	log.await(t, "msg=ready")
	return log, stop
}

func TestServesLogsAndStops(t *testing.T) {
	socket := filepath.Join(t.TempDir(), "run/http.sock")
	log, stop := launch(t, exampled(), "--socket", socket, "--greeting", "good day", "--log-format", "text", "--log-level", "info")
	info, err := os.Stat(socket)
	if err != nil || info.Mode().Perm() != 0o660 {
		t.Errorf("the socket: %v %v", info, err)
	}
	if code, got := get(t, socket, "/"); code != http.StatusOK || got != "good day" {
		t.Errorf("%d %q", code, got)
	}
	if want := "version=1.2.3 listens=" + socket; !strings.Contains(log.String(), want) {
		t.Errorf("%s is not in the log:\n%s", want, log)
	}
	// A handler that panics is answered and logged, and the next request is served.
	if code, got := get(t, socket, "/broken"); code != http.StatusInternalServerError || !strings.Contains(got, "exampled met an error") {
		t.Errorf("%d %q", code, got)
	}
	log.await(t, "level=ERROR msg=\"a request failed unexpectedly\" path=/broken error=\"a handler\" stack=")
	if code, _ := get(t, socket, "/"); code != http.StatusOK {
		t.Error(code)
	}
	// What it is doing can be asked for beside it.
	if _, got := get(t, filepath.Join(filepath.Dir(socket), "debug.sock"), "/goroutines"); !strings.Contains(got, "TestServesLogsAndStops") {
		t.Errorf("goroutines: %.200s", got)
	}
	// A second one on the same socket refuses, and leaves the first alone.
	var second bytes.Buffer
	if code := exampled().main(t.Context(), []string{"--socket", socket}, io.Discard, &second); code != exitFailed || !strings.Contains(second.String(), "another process answers on "+socket) {
		t.Errorf("a second start: %d %s", code, second.String())
	}
	// A request without end is cut off.
	go func() { _, _ = client(socket).Get("http://unix/endless") }()
	time.Sleep(50 * time.Millisecond)
	start := time.Now()
	if code := stop(); code != exitOK || time.Since(start) > 5*time.Second {
		t.Errorf("exit code %d after %v:\n%s", code, time.Since(start), log)
	}
	// The next one takes the socket that was left.
	_, stop = launch(t, exampled(), "--socket", socket)
	if code := stop(); code != exitOK {
		t.Error(code)
	}
}

// The stop ends requests, then what runs beside them, then the parts, and is abandoned at its deadline.
func TestOrderOfTheStop(t *testing.T) {
	var mu sync.Mutex
	var order []string
	note := func(what string) {
		mu.Lock()
		defer mu.Unlock()
		order = append(order, what)
	}
	never := make(chan struct{})
	t.Cleanup(func() { close(never) })
	o := Options{Name: "x", StopWithin: 300 * time.Millisecond, Unfinished: "something is left",
		Setup: func(_ context.Context, p *Process) error {
			p.OnStop(func() error { <-never; return nil })
			p.OnStop(func() error { note("second"); return nil })
			p.OnStop(func() error { note("first"); return nil })
			p.Go(func(ctx context.Context) { <-ctx.Done(); note("beside") })
			p.Describe("data", "/d")
			return nil
		}}
	log, stop := launch(t, o)
	start := time.Now()
	if code := stop(); code != exitOK || time.Since(start) > 5*time.Second {
		t.Errorf("exit code %d after %v", code, time.Since(start))
	}
	mu.Lock()
	defer mu.Unlock()
	if got := strings.Join(order, " "); got != "beside first second" {
		t.Error(got)
	}
	for _, want := range []string{"data=/d", "level=WARN msg=\"something is left\" seconds=0.3"} {
		if !strings.Contains(log.String(), want) {
			t.Errorf("%s is not in the log:\n%s", want, log)
		}
	}
}

func TestSetupFails(t *testing.T) {
	ended := false
	o := Options{Name: "x", Advise: func(err error) error { return fmt.Errorf("%w: do something", err) },
		Setup: func(_ context.Context, p *Process) error {
			p.OnStop(func() error { ended = true; return nil })
			return errors.New("no disk")
		}}
	var log bytes.Buffer
	if code := o.main(t.Context(), nil, io.Discard, &log); code != exitFailed || !ended || !strings.Contains(log.String(), `msg="x ends" error="no disk: do something"`) {
		t.Errorf("%d %v %s", code, ended, log.String())
	}
}

func TestFlagsAndFile(t *testing.T) {
	file := func(text string) string {
		path := filepath.Join(t.TempDir(), "x.toml")
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	for _, c := range []struct{ text, flags, want string }{
		{"", "--nonsense", "not defined: -nonsense; see x --help"},
		{"", "extra", `"extra" is no flag; see x --help`},
		{"", "--budget much", `invalid value "much" for flag -budget`},
		{"", "--log-level loud", "-log-level"},
		{"", "--log-format xml", `"xml" is no format`},
		{"", "--config /no/such", "the configuration file /no/such does not exist"},
		{"budget = 1\nbugdet = 2", "", "x.toml, line 2: there is no setting bugdet; see x --help"},
		{"\nbudget = 'much'", "", "x.toml, line 2: budget: "},
		{"[budget]\na = 1", "", "x.toml, line "},
		{"config = '/x'", "", "line 1: there is no setting config"},
		{"budget =", "", "x.toml, line 1: "},
		{"budget = 0.5\nlog_level = 'warn'\nsocket = '/file'", "", "0.5 WARN /file"},
		{"budget = 0.5\nsocket = '/file'", "--socket /flag --budget 0.75", "0.75 INFO /flag"},
		{"", "", "0.25 INFO /default"},
	} {
		budget := 0.0
		o := Options{Name: "x", Socket: "/default", Flags: func(flags *flag.FlagSet) { flags.Float64Var(&budget, "budget", 0.25, "") }}
		arguments := strings.Fields(c.flags)
		if c.text != "" {
			arguments = append(arguments, "--config", file(c.text))
		}
		common, err := o.Parse(arguments, io.Discard)
		got := fmt.Sprint(err)
		if err == nil {
			got = fmt.Sprint(budget, " ", common.LogLevel, " ", common.Socket)
		}
		if !strings.Contains(got, c.want) {
			t.Errorf("%q with %q: %s, want %s", c.flags, c.text, got, c.want)
		}
	}
	var log bytes.Buffer
	if code := exampled().main(t.Context(), []string{"--nonsense"}, io.Discard, &log); code != exitUsage || !strings.Contains(log.String(), "exampled cannot start") {
		t.Errorf("%d %s", code, log.String())
	}
}

type full struct{}

func (full) Write([]byte) (int, error) { return 0, syscall.ENOSPC }

func TestHelp(t *testing.T) {
	var out bytes.Buffer
	if _, err := exampled().Parse([]string{"--help"}, &out); err != ErrAnswered {
		t.Fatal(err)
	}
	for _, want := range []string{"exampled answers with a greeting", "--greeting says", "what it says; hello", "--socket PATH", "--log-level LEVEL", "--log-format FORMAT", "--config FILE", "--version"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("%s is missing in\n%s", want, out.String())
		}
	}
	out.Reset()
	if _, err := exampled().Parse([]string{"--version"}, &out); err != ErrAnswered || out.String() != "1.2.3\n" {
		t.Errorf("%v %s", err, out.String())
	}
	if _, err := exampled().Parse([]string{"--version"}, full{}); !errors.Is(err, syscall.ENOSPC) {
		t.Errorf("an answer that could not be written: %v", err)
	}
}

// As a process: signals end it in order, readiness and watchdog reach the service manager, a fatal panic leaves a trace.
func TestProcess(t *testing.T) {
	for _, end := range []string{"TERM", "INT", "HUP", "panic"} {
		folder := t.TempDir()
		socket := filepath.Join(folder, "http.sock")
		manager, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: filepath.Join(folder, "notify"), Net: "unixgram"})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { manager.Close() })
		_ = manager.SetReadDeadline(time.Now().Add(20 * time.Second))
		told := func() string {
			message := make([]byte, 100)
			n, err := manager.Read(message)
			if err != nil {
				t.Fatal(err)
			}
			return string(message[:n])
		}
		var log lines
		command := exec.Command(os.Args[0], "--socket", socket)
		command.Dir = folder // of a core
		command.Env = append(os.Environ(), asDaemon+"=1", "NOTIFY_SOCKET="+filepath.Join(folder, "notify"), "WATCHDOG_USEC=10000000")
		command.Stderr = &log
		if err := command.Start(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = command.Process.Kill() })
		if first, second := told(), told(); first != "READY=1" || second != "WATCHDOG=1" {
			t.Errorf("the service manager was notified of %q and %q", first, second)
		}
		switch end {
		case "panic":
			_, _ = client(socket).Get("http://unix/fatal")
			err := command.Wait()
			var exit *exec.ExitError
			if !errors.As(err, &exit) || exit.Sys().(syscall.WaitStatus).Signal() != syscall.SIGABRT ||
				!strings.Contains(log.String(), "panic: a goroutine\n") || !strings.Contains(log.String(), "\ngoroutine ") {
				t.Errorf("%v\n%s", err, log.String())
			}
		default:
			signal := map[string]syscall.Signal{"TERM": syscall.SIGTERM, "INT": syscall.SIGINT, "HUP": syscall.SIGHUP}[end]
			if err := command.Process.Signal(signal); err != nil {
				t.Fatal(err)
			}
			if err := command.Wait(); err != nil {
				t.Errorf("%s: %v\n%s", end, err, log.String())
			}
			if got := told(); got != "STOPPING=1" {
				t.Errorf("%s: the service manager was notified of %q", end, got)
			}
		}
	}
}
