package tracer

// One dtrace process that serves several datasets: its program, its output, its faults. What it costs to start (a
// second on hardware, half a minute under emulation) and to keep (90 MB) is why datasets share it.

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"log/slog"
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
	process  *traced
	parser   *parser
	cancel   sync.Once

	mu       sync.Mutex
	began    bool
	printed  time.Time // when it last printed a second, or was started
	stopping bool
	said     []string // the last lines of its standard error
	drops    uint64
}

// starter knows how to start dtrace here.
type starter struct {
	program  string    // path of dtrace
	dir      string    // where D programs are put
	launcher *Launcher // by whom it is started; nil: by this process
	log      *slog.Logger
	timing   timing
	next     int
}

func (l *starter) begin(text string) (*traced, error) {
	if l.launcher != nil {
		return l.launcher.start(text)
	}
	l.next++
	return startHere(l.program, l.dir, l.next, text)
}

type timing struct{ start, hang, stop time.Duration }

// dropLine is how dtrace tells of what it lost: "dtrace: 12 drops on CPU 0", "3 aggregation drops on CPU 1",
// "5 dynamic variable drops with non-empty dirty list".
var dropLine = regexp.MustCompile(`^(?:dtrace: )?(\d+) (?:[a-z ]+ )?drops?\b`)

// start begins a run. second is called for each second, ended once at the end, both from goroutines of the run. An
// error means that nothing was started.
func (l *starter) start(datasets []*statistics.Dataset, second func(*run, int64, []printed), ended func(*run, error)) (*run, error) {
	text, err := statistics.Render(platform, datasets)
	if err != nil {
		return nil, err
	}
	p, err := l.begin(text)
	if err != nil {
		return nil, err
	}
	r := &run{datasets: datasets, process: p, printed: time.Now()}
	r.parser = newParser(p.out, datasets, func() { l.log.Info("dtrace runs", "pid", r.process.pid) }, func(at int64, added []printed) {
		r.mu.Lock()
		r.began, r.printed = true, time.Now()
		r.mu.Unlock()
		second(r, at, added)
	})
	go r.work(l, ended)
	return r, nil
}

func (r *run) work(l *starter, ended func(*run, error)) {
	out, said := r.process.out, r.process.said
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
	waited := r.process.wait()
	close(done)
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
func (r *run) hear(line string, l *starter) {
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
	l.log.Info("dtrace printed a message", "pid", r.process.pid, "text", fmt.Sprintf("%.300s", line))
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
		r.process.signal(syscall.SIGINT)
		time.AfterFunc(after, r.kill)
	})
}

func (r *run) kill() { r.process.signal(syscall.SIGKILL) }
