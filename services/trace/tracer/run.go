package tracer

// One dtrace process that serves several datasets: its program, its output, its faults. What it costs to start (a
// second on hardware, half a minute under emulation) and to keep (90 MB) is why datasets share it.

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"cistern/services/trace/statistics"
)

// How long a tracer may be silent.
const (
	startTimeout = 3 * time.Minute // to its first second; emulated machines under load need more than one
	hangTimeout  = time.Minute     // symbols of a large program that it sees first can take it half of that, emulated
	stopTimeout  = 15 * time.Second
)

// run is a process from its start until it has ended.
type run struct {
	datasets []*statistics.Dataset
	command  *exec.Cmd
	script   string
	parser   *parser
	cancel   sync.Once

	mu       sync.Mutex
	began    bool
	printed  time.Time // when it last printed a second, or was started
	stopping bool
	said     []string // the last lines of its standard error
	drops    uint64
}

// launcher knows how to start dtrace here.
type launcher struct {
	program string // path of dtrace
	dir     string // where D programs are put
	uid     int    // as whom it runs; -1: as tracerd
	log     *slog.Logger
	timing  timing
	next    int
}

type timing struct{ start, hang, stop time.Duration }

// dropLine is how dtrace tells of what it lost: "dtrace: 12 drops on CPU 0", "3 aggregation drops on CPU 1",
// "5 dynamic variable drops with non-empty dirty list".
var dropLine = regexp.MustCompile(`^(?:dtrace: )?(\d+) (?:[a-z ]+ )?drops?\b`)

// start begins a run. second is called for each second, ended once at the end, both from goroutines of the run. An
// error means that nothing was started.
func (l *launcher) start(datasets []*statistics.Dataset, second func(*run, int64, []printed), ended func(*run, error)) (*run, error) {
	text, err := statistics.Render(platform, datasets)
	if err != nil {
		return nil, err
	}
	l.next++
	r := &run{datasets: datasets, script: filepath.Join(l.dir, "program-"+strconv.Itoa(l.next)+".d"), printed: time.Now()}
	if err := os.WriteFile(r.script, []byte(text), 0o644); err != nil {
		return nil, fmt.Errorf("writing the D program: %w", err)
	}
	// Aggregations are read four times a second: printa prints what was read last.
	r.command = exec.Command(l.program, "-q", "-x", "aggrate=250ms", "-x", "switchrate=250ms", "-x", "aggsize=4m", "-x", "dynvarsize=4m",
		"-x", "strsize=256", "-s", r.script)
	r.command.Env = []string{"PATH=/usr/sbin:/usr/bin:/sbin:/bin", "LC_ALL=C"}
	r.command.Dir = "/"
	r.command.SysProcAttr = attributes(l.uid)
	out, err := r.command.StdoutPipe()
	if err != nil {
		return nil, err
	}
	said, err := r.command.StderrPipe()
	if err != nil {
		return nil, err
	}
	if err := r.command.Start(); err != nil {
		os.Remove(r.script)
		return nil, fmt.Errorf("dtrace cannot be started: %w", err)
	}
	r.parser = newParser(out, datasets, func() { l.log.Info("dtrace runs", "pid", r.command.Process.Pid) }, func(at int64, added []printed) {
		r.mu.Lock()
		r.began, r.printed = true, time.Now()
		r.mu.Unlock()
		second(r, at, added)
	})
	go r.work(out, said, l, ended)
	return r, nil
}

func (r *run) work(out, said io.ReadCloser, l *launcher, ended func(*run, error)) {
	watch := time.NewTicker(time.Second)
	defer watch.Stop()
	done := make(chan struct{})
	go func() {
		for {
			select {
			case <-done:
				return
			case <-watch.C:
				r.mu.Lock()
				silent, limit := time.Since(r.printed), l.timing.start
				if r.began {
					limit = l.timing.hang
				}
				r.mu.Unlock()
				if silent > limit {
					r.note(fmt.Sprintf("dtrace has been silent for %.0f seconds", silent.Seconds()))
					r.kill()
				}
			}
		}
	}()
	reading := make(chan struct{})
	go func() {
		defer close(reading)
		lines := bufio.NewReader(io.LimitReader(said, 16<<20))
		for {
			line, err := lines.ReadString('\n')
			r.hear(strings.TrimSpace(line), l)
			if err != nil {
				_, _ = io.Copy(io.Discard, said)
				return
			}
		}
	}()
	err := r.parser.run()
	if !errors.Is(err, io.EOF) { // garbage: nothing of it can be trusted any more
		r.note(err.Error())
		r.kill()
		_, _ = io.Copy(io.Discard, out)
	}
	<-reading
	waited := r.command.Wait()
	close(done)
	os.Remove(r.script)
	r.mu.Lock()
	reason := strings.Join(r.said, "; ")
	stopping := r.stopping
	r.mu.Unlock()
	switch {
	case stopping:
		ended(r, nil)
	case reason != "":
		ended(r, errors.New(reason))
	case waited != nil:
		ended(r, fmt.Errorf("dtrace ended: %w", waited))
	default:
		ended(r, errors.New("dtrace ended by itself"))
	}
}

// hear takes a line of standard error.
func (r *run) hear(line string, l *launcher) {
	if line == "" {
		return
	}
	if match := dropLine.FindStringSubmatch(line); match != nil {
		n, _ := strconv.ParseUint(match[1], 10, 32)
		r.mu.Lock()
		r.drops += n
		r.mu.Unlock()
		return
	}
	l.log.Info("dtrace printed a message", "pid", r.command.Process.Pid, "text", fmt.Sprintf("%.300s", line))
	r.note(line)
}

// note keeps a reason for the end.
func (r *run) note(text string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.said) < 3 {
		r.said = append(r.said, fmt.Sprintf("%.300s", strings.TrimPrefix(text, "dtrace: ")))
	}
}

// takeDrops is how much was lost since it was last asked.
func (r *run) takeDrops() uint64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	n := r.drops
	r.drops = 0
	return n
}

// stop ends it in order, so that its probes are taken out, and with force when that takes too long.
func (r *run) stop(after time.Duration) {
	r.mu.Lock()
	r.stopping = true
	r.mu.Unlock()
	r.cancel.Do(func() {
		_ = r.command.Process.Signal(syscall.SIGINT)
		time.AfterFunc(after, r.kill)
	})
}

func (r *run) kill() { _ = r.command.Process.Kill() }
