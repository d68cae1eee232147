package crash

// Crashes that systemd reports in its journal.

import (
	"bytes"
	"context"
	"encoding/json"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"cistern/services/support/logs"
)

// The journal's message ids: a core was taken; a unit's process has ended; a unit has started.
const (
	coreTaken   = "fc2e22bc6ee647b6b90729ab34a250b1"
	unitExited  = "98e322203f7a4ed290d09fe03c09fe15"
	unitStarted = "39f53479d3a045ac8e11786248231fbf"
)

const (
	maxLog = 30 // lines of a crashed process that are kept
	// coreWithin is how long the journal may take to report a core after the process has ended: reading the stacks of a
	// large one takes long. Then the record is made without.
	coreWithin = 20 * time.Second
	// exitWithin is how long after its core the journal may report that the process has ended.
	exitWithin = time.Minute
)

// coreTaker is the unit by which systemd takes a core: its start is the first sign of a crash.
const coreTaker = "systemd-coredump@"

type journalEvent struct {
	ID         string          `json:"MESSAGE_ID"`
	Message    json.RawMessage `json:"MESSAGE"`
	Cursor     string          `json:"__CURSOR"`
	Time       string          `json:"__REALTIME_TIMESTAMP"`
	Unit       string          `json:"UNIT"`
	ExitCode   string          `json:"EXIT_CODE"`
	ExitStatus string          `json:"EXIT_STATUS"`
	Invocation string          `json:"INVOCATION_ID"`
	CoreUnit   string          `json:"COREDUMP_UNIT"`
	CorePID    string          `json:"COREDUMP_PID"`
	CoreComm   string          `json:"COREDUMP_COMM"`
	CoreExe    string          `json:"COREDUMP_EXE"`
	CoreSignal string          `json:"COREDUMP_SIGNAL_NAME"`
	CoreNumber string          `json:"COREDUMP_SIGNAL"`
	CoreFile   string          `json:"COREDUMP_FILENAME"`
	CoreTime   string          `json:"COREDUMP_TIMESTAMP"`
}

// watcher follows the journal for one supportd.
type watcher struct {
	c       *Records
	proc    string
	journal logs.Journal
	pending map[string]*time.Timer // units whose process has ended with a core that was not reported yet
	taken   map[string]time.Time   // units whose core was reported, and when: that their process has ended may follow
	mu      sync.Mutex
}

// Watch follows systemd's journal until ctx ends, and begins where it ended the last time.
func (c *Records) Watch(ctx context.Context, journal logs.Journal) {
	w := &watcher{c: c, proc: "/proc", journal: journal, pending: map[string]*time.Timer{}, taken: map[string]time.Time{}}
	for ctx.Err() == nil {
		c.mu.Lock()
		cursor := c.cursor
		c.mu.Unlock()
		from := []string{"-b"}
		if cursor != "" {
			from = []string{"--after-cursor=" + cursor}
		}
		err := journal.FollowEntries(ctx, func(line []byte) error {
			w.take(ctx, line)
			return nil
		}, append(from, "MESSAGE_ID="+coreTaken, "MESSAGE_ID="+unitExited, "MESSAGE_ID="+unitStarted)...)
		if ctx.Err() != nil {
			return
		}
		// A cursor is unknown to the journal when what it points at was rotated away.
		slog.Warn("the journal cannot be followed for crashes, trying again", "error", err)
		if cursor != "" && err != nil && strings.Contains(err.Error(), "cursor") {
			c.mu.Lock()
			c.cursor = ""
			c.mu.Unlock()
		}
		select {
		case <-ctx.Done():
		case <-time.After(5 * time.Second):
		}
	}
}

func (w *watcher) take(ctx context.Context, line []byte) {
	var e journalEvent
	if json.Unmarshal(line, &e) != nil || e.Cursor == "" {
		return
	}
	w.c.mu.Lock()
	w.c.cursor = e.Cursor
	w.c.mu.Unlock()
	switch {
	case e.ID == unitStarted && strings.HasPrefix(e.Unit, coreTaker):
		w.dumping(time.Now().UTC())
	case e.ID == coreTaken && logs.IsOurs(e.CoreUnit):
		if !w.settle(e.CoreUnit) {
			w.taken[e.CoreUnit] = micros(e.Time)
		}
		w.core(ctx, e)
	case e.ID == unitExited && logs.IsOurs(e.Unit) && e.ExitCode == "exited" && e.ExitStatus != "0":
		w.fatal(ctx, e)
	case e.ID == unitExited && logs.IsOurs(e.Unit) && (e.ExitCode == "dumped" || e.ExitCode == "killed" && fatalSignal(e.ExitStatus)):
		reported, ok := w.taken[e.Unit]
		delete(w.taken, e.Unit)
		if since := micros(e.Time).Sub(reported); ok && since > -exitWithin && since < exitWithin {
			return
		}
		w.mu.Lock()
		defer w.mu.Unlock()
		if _, waits := w.pending[e.Unit]; waits {
			return
		}
		w.pending[e.Unit] = time.AfterFunc(coreWithin, func() {
			w.settle(e.Unit)
			w.ended(ctx, e, "SIG"+strings.TrimPrefix(e.ExitStatus, "SIG"))
		})
	}
}

// dumping notes whose core is being taken now: /proc/PID/status says so (CoreDumping, proc_pid_status(5)), and the kernel
// keeps the process until the core has been read.
func (w *watcher) dumping(now time.Time) {
	paths, _ := filepath.Glob(filepath.Join(w.proc, "[0-9]*", "status"))
	for _, path := range paths {
		status, err := os.ReadFile(path)
		if err != nil || !bytes.Contains(status, []byte("\nCoreDumping:\t1\n")) {
			continue
		}
		dir := filepath.Dir(path)
		cgroup, _ := os.ReadFile(filepath.Join(dir, "cgroup"))
		unit := filepath.Base(strings.TrimSpace(string(cgroup)))
		if !logs.IsOurs(unit) {
			continue
		}
		process := programOf(dir)
		if process == "" {
			process = logs.ServiceOf(unit)
		}
		pid, _ := strconv.Atoi(filepath.Base(dir))
		w.c.noteRecording(logs.ServiceOf(unit), process, pid, now)
	}
}

// programOf is the name of the program that a process runs, as everybody may read it; that of its file (exe) is for root. nginx
// writes its state over its arguments: "nginx: worker process".
func programOf(dir string) string {
	arguments, _ := os.ReadFile(filepath.Join(dir, "cmdline"))
	program, _, _ := strings.Cut(string(arguments), "\x00")
	program, _, _ = strings.Cut(program, ": ")
	if program == "" {
		return ""
	}
	return filepath.Base(program)
}

// fatalSignal: systemd says its number or name. Those by which services are stopped are none.
func fatalSignal(status string) bool {
	return slices.Contains([]string{"3", "4", "6", "7", "8", "11", "31", "QUIT", "ILL", "ABRT", "BUS", "FPE", "SEGV", "SYS"}, status)
}

// settle returns whether the end of a unit's process was waiting for its core, and ends that wait.
func (w *watcher) settle(unit string) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	t := w.pending[unit]
	if t == nil {
		return false
	}
	t.Stop()
	delete(w.pending, unit)
	return true
}

func micros(text string) time.Time {
	n, _ := strconv.ParseInt(text, 10, 64)
	return time.UnixMicro(n).UTC()
}

func (w *watcher) core(ctx context.Context, e journalEvent) {
	var message string
	_ = json.Unmarshal(e.Message, &message)
	_, stacks, _ := strings.Cut(message, "\n")
	if at := strings.Index(stacks, "Stack trace of thread"); at >= 0 {
		stacks = stacks[at:]
	}
	pid, _ := strconv.Atoi(e.CorePID)
	one := Record{Kind: KindSignal, Service: logs.ServiceOf(e.CoreUnit), Process: filepath.Base(e.CoreExe), Version: w.c.Version, Signal: e.CoreSignal, PID: pid,
		Core: e.CoreFile, LastAt: micros(e.CoreTime), Stacks: strings.TrimSpace(stacks)}
	if one.Signal == "" {
		one.Signal = e.CoreNumber
	}
	if one.Process == "." {
		one.Process = e.CoreComm
	}
	lines := w.journal.Messages(ctx, "_PID="+e.CorePID)
	reason, trace, before := ownTrace(lines)
	one.Reason, one.Log = reason, lastOf(before)
	if trace != "" { // Go's own stacks name functions, which the core's need not
		one.Stacks = trace
	}
	w.c.Note(one)
}

func (w *watcher) fatal(ctx context.Context, e journalEvent) {
	reason, trace, before := ownTrace(w.journal.Messages(ctx, "_SYSTEMD_INVOCATION_ID="+e.Invocation))
	if trace == "" {
		return // it ended with an error that it reported: Services shows it, and that is no crash
	}
	w.c.Note(Record{Kind: KindFatal, Service: logs.ServiceOf(e.Unit), Process: logs.ServiceOf(e.Unit), Version: w.c.Version, Reason: reason, Stacks: trace, Log: lastOf(before), LastAt: micros(e.Time)})
}

func (w *watcher) ended(ctx context.Context, e journalEvent, signal string) {
	reason, trace, before := ownTrace(w.journal.Messages(ctx, "_SYSTEMD_INVOCATION_ID="+e.Invocation))
	w.c.Note(Record{Kind: KindSignal, Service: logs.ServiceOf(e.Unit), Process: logs.ServiceOf(e.Unit), Version: w.c.Version, Signal: signal, Reason: reason, Stacks: trace, Log: lastOf(before), LastAt: micros(e.Time)})
}

func lastOf(lines []string) []string { return slices.Clone(lines[max(0, len(lines)-maxLog):]) }
