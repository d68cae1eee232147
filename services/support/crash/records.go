// Package crash keeps crash records: what is known of each process of the appliance that ended by a signal or a fatal
// error. The same crash (the same program, the same way, at the same place) is one record with a count. The oldest go first.
//
// On Linux the kernel hands cores to systemd-coredump, which keeps them under a cap, reads the stacks of all threads and
// writes both into the journal; supportd follows the journal. A handler of our own would have to do the same with the
// same libraries, as root, in the moment of a crash. What Go and Node say themselves when they end is in the journal too.
package crash

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"cistern/services/support/logs"
	"cistern/services/support/redact"
)

// Record is a record.
type Record struct {
	ID        string    `json:"id"` // the fingerprint
	Kind      string    `json:"kind"`
	Service   string    `json:"service"`
	Process   string    `json:"process"`
	Version   string    `json:"version"`
	Signal    string    `json:"signal,omitempty"`
	Reason    string    `json:"reason,omitempty"` // what the program itself said
	FirstAt   time.Time `json:"firstAt"`
	LastAt    time.Time `json:"lastAt"`
	Count     int       `json:"count"`
	PID       int       `json:"pid,omitempty"`
	Stacks    string    `json:"stacks"`
	Log       []string  `json:"log"`
	Core      string    `json:"core,omitempty"` // where the newest core is; it may have had to go since
	Dismissed bool      `json:"dismissed"`
	// Alert identifies the crash where it is alerted: the same from the moment its core begins to be taken, when the
	// fingerprint is not known yet.
	Alert string `json:"alert"`
	// Recording: its core is being taken, and nothing else is known yet. Not kept in the file.
	Recording bool `json:"recording,omitempty"`
}

// The kinds of crash.
const (
	KindSignal = "signal" // ended by a signal, with a core
	KindFatal  = "fatal"  // the program ended itself: a panic, an error nobody caught
	KindKernel = "kernel" // the machine itself, noticed at the next boot
)

const (
	maxRecords = 100
	maxStacks  = 64 << 10
	maxLog     = 30
	// recordingWithin is how long a core may take to be written before the record without it is dropped.
	recordingWithin = 10 * time.Minute
	// coreWithin is how long the journal may take to tell of a core after the process has ended: reading the stacks of a large one
	// takes its time. Then the record is made without.
	coreWithin = 20 * time.Second
	// exitWithin is how long after its core the journal may tell that the process has ended.
	exitWithin = time.Minute
)

// Records keeps the records in a file.
type Records struct {
	Path    string
	Version string

	mu        sync.Mutex
	list      []*Record // the newest last
	recording []*Record // whose cores are being taken
	cursor    string
	changed   chan struct{}
	seq       int64
}

type recordFile struct {
	Cursor  string    `json:"cursor"`
	Crashes []*Record `json:"crashes"`
}

// Open reads what is kept; a file that cannot be read is begun anew, and set aside.
func Open(path, version string) *Records {
	c := &Records{Path: path, Version: version, changed: make(chan struct{})}
	content, err := os.ReadFile(path)
	if err != nil {
		return c
	}
	var f recordFile
	if json.Unmarshal(content, &f) != nil {
		_ = os.Rename(path, path+".unreadable")
		return c
	}
	c.list, c.cursor = slices.DeleteFunc(f.Crashes, func(one *Record) bool { return one == nil }), f.Cursor
	for _, one := range c.list {
		if one.Alert == "" { // written by a version that had no such field
			one.Alert = one.ID
		}
	}
	return c
}

// save needs mu. A full disk costs the record at the next restart, not now.
func (c *Records) save() {
	content, err := json.MarshalIndent(recordFile{c.cursor, c.list}, "", " ")
	if err == nil {
		err = os.WriteFile(c.Path+".new", content, 0o640)
	}
	if err == nil {
		err = os.Rename(c.Path+".new", c.Path)
	}
	if err != nil {
		slog.Error("the crash records could not be written", "error", err)
	}
}

// Note adds a crash, or counts it.
func (c *Records) Note(one Record) {
	if len(one.Stacks) > maxStacks {
		one.Stacks = one.Stacks[:maxStacks] + "\n[the rest was left out]"
	}
	var clean bytes.Buffer
	r := redact.New(&clean, nil)
	_, _ = r.Write([]byte(one.Stacks))
	_ = r.Close()
	one.Stacks = clean.String()
	for i, line := range one.Log {
		one.Log[i] = logs.Clean(line)
	}
	one.Reason = logs.Clean(one.Reason)
	one.ID = fingerprint(&one)
	one.Alert = one.ID
	c.mu.Lock()
	defer c.mu.Unlock()
	if i := slices.IndexFunc(c.recording, func(k *Record) bool {
		return k.Service == one.Service && (k.PID == one.PID || one.PID == 0)
	}); i >= 0 {
		one.Alert = c.recording[i].Alert
		c.recording = slices.Delete(c.recording, i, i+1)
	}
	i := slices.IndexFunc(c.list, func(k *Record) bool { return k.ID == one.ID })
	if i >= 0 {
		known := c.list[i]
		one.FirstAt, one.Count = known.FirstAt, known.Count+1
		if !known.Dismissed {
			one.Alert = known.Alert
		}
		if one.Core == "" {
			one.Core = known.Core
		}
		c.list = slices.Delete(c.list, i, i+1)
	} else {
		one.FirstAt, one.Count = one.LastAt, 1
	}
	c.list = append(c.list, &one)
	if len(c.list) > maxRecords {
		c.list = c.list[len(c.list)-maxRecords:]
	}
	c.save()
	c.tell()
}

// NoteRecording says that the core of a process is being taken, which takes its time when the process was large, so that the
// crash is known at once. Where the same process has a record that nobody has dismissed there is an alert already, and
// its count is about to rise.
func (c *Records) NoteRecording(service, process string, pid int, at time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	same := func(k *Record) bool { return k.Service == service && k.Process == process && !k.Dismissed }
	if slices.ContainsFunc(c.recording, same) || slices.ContainsFunc(c.list, same) {
		return
	}
	id := fmt.Sprintf("recording-%d-%d", pid, at.Unix())
	one := &Record{ID: id, Alert: id, Kind: KindSignal, Service: service, Process: process, Version: c.Version, PID: pid, FirstAt: at, LastAt: at, Count: 1, Log: []string{}, Recording: true}
	c.recording = append(c.recording, one)
	c.tell()
	time.AfterFunc(recordingWithin, func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		if i := slices.Index(c.recording, one); i >= 0 {
			c.recording = slices.Delete(c.recording, i, i+1)
			c.tell()
		}
	})
}

// tell needs mu.
func (c *Records) tell() {
	c.seq++
	close(c.changed)
	c.changed = make(chan struct{})
}

// List is all records, the newest first, with a number that changes when they do, and a channel closed then.
func (c *Records) List() (list []Record, seq int64, changed <-chan struct{}) {
	c.mu.Lock()
	defer c.mu.Unlock()
	list = []Record{}
	for _, kept := range [][]*Record{c.recording, c.list} {
		for _, one := range slices.Backward(kept) {
			list = append(list, *one)
		}
	}
	return list, c.seq, c.changed
}

// Dismiss says that a person has seen it: it is no trouble any more until it happens again.
func (c *Records) Dismiss(id string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, one := range c.list {
		if one.ID == id {
			one.Dismissed = true
			c.save()
			c.tell()
			return true
		}
	}
	return false
}

var (
	coreFrame = regexp.MustCompile(`^\s*#\d+\s+0x[0-9a-f]+\s+(\S+) \((\S+) \+ (0x[0-9a-f]+)\)`)
	goFrame   = regexp.MustCompile(`^([\w./*()\[\]-]+(?:\.[\w*()\[\]-]+)+)\(.*\)$`)
	nodeFrame = regexp.MustCompile(`^\s*at (.+)$`)
	pstack    = regexp.MustCompile(`^\s*[0-9a-f]{8,16} (\S+?)(?:\+0x?[0-9a-f]+)? \(`)
	numbers   = regexp.MustCompile(`0x[0-9a-f]+|\b\d+\b`)
	// What Go says first when it ends; Node's errors begin with their class.
	goEnd   = regexp.MustCompile(`^(?:panic: |fatal error: |SIG[A-Z]+: |runtime: |unexpected fault address)`)
	nodeEnd = regexp.MustCompile(`^(?:\w*Error\b|FATAL ERROR: )`)
)

// frames are the places of the first stack, innermost first, without what differs from one crash to the next.
func frames(stacks string) []string {
	var found []string
	for line := range strings.Lines(stacks) {
		line = strings.TrimRight(line, "\r\n")
		switch {
		case coreFrame.MatchString(line):
			m := coreFrame.FindStringSubmatch(line)
			if m[1] == "n/a" {
				m[1] = m[3]
			}
			found = append(found, m[2]+"!"+m[1])
		case nodeFrame.MatchString(line):
			found = append(found, numbers.ReplaceAllString(nodeFrame.FindStringSubmatch(line)[1], "#"))
		case goFrame.MatchString(line):
			found = append(found, goFrame.FindStringSubmatch(line)[1])
		case pstack.MatchString(line):
			found = append(found, pstack.FindStringSubmatch(line)[1])
		case strings.TrimSpace(line) == "" && len(found) > 0, len(found) >= 8:
			return found
		}
	}
	return found
}

// fingerprint tells one crash from another: by program, kind, signal and the eight innermost frames; by what the program said
// where there are none. A signal that somebody sent (Go says sigcode=0) has no place in the program: where it was just
// then says nothing.
func fingerprint(c *Record) string {
	place := frames(c.Stacks)
	if strings.Contains(c.Stacks, "sigcode=0") {
		place = nil
	}
	if place == nil {
		place = []string{numbers.ReplaceAllString(c.Reason, "#")}
	}
	sum := sha256.Sum256([]byte(strings.Join(append([]string{c.Service, c.Process, c.Kind, c.Signal}, place...), "\n")))
	return hex.EncodeToString(sum[:8])
}

// ownTrace finds in the last lines of a program's log what it said when it ended: its reason, its stacks, and the lines
// before.
func ownTrace(lines []string) (reason, stacks string, before []string) {
	for i, line := range lines {
		// A log in JSON (--log-format json) has the stack in a field.
		if strings.HasPrefix(line, "{") && strings.Contains(line, `\n    at `) {
			var fields map[string]any
			if json.Unmarshal([]byte(line), &fields) == nil {
				if text, ok := fields["error"].(string); ok {
					first, _, _ := strings.Cut(text, "\n")
					return first, text, lines[:i]
				}
			}
		}
		if !goEnd.MatchString(line) && !nodeEnd.MatchString(line) {
			continue
		}
		rest := strings.Join(lines[i:], "\n")
		if strings.Contains(rest, "\ngoroutine ") || strings.Contains(rest, "\n    at ") || strings.HasPrefix(line, "FATAL ERROR") {
			return line, rest, lines[:i]
		}
	}
	return "", "", lines
}

// The journal's message ids: a core was taken; a unit's process has ended; a unit has started.
const (
	coreTaken   = "fc2e22bc6ee647b6b90729ab34a250b1"
	unitExited  = "98e322203f7a4ed290d09fe03c09fe15"
	unitStarted = "39f53479d3a045ac8e11786248231fbf"
)

// coreTaker is the unit by which systemd takes a core: its start is the first that is heard of a crash.
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
		// A journal that was rotated away knows its own cursor no longer.
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
		told, ok := w.taken[e.Unit]
		delete(w.taken, e.Unit)
		if since := micros(e.Time).Sub(told); ok && since > -exitWithin && since < exitWithin {
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

// dumping notes whose core is being taken now: the kernel says so in /proc/PID/status (CoreDumping, proc_pid_status(5)), and
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
		process := logs.ServiceOf(unit)
		if exe, err := os.Readlink(filepath.Join(dir, "exe")); err == nil {
			process = filepath.Base(exe)
		}
		pid, _ := strconv.Atoi(filepath.Base(dir))
		w.c.NoteRecording(logs.ServiceOf(unit), process, pid, now)
	}
}

// fatalSignal: systemd says its number or name. Those by which services are stopped are none.
func fatalSignal(status string) bool {
	return slices.Contains([]string{"3", "4", "6", "7", "8", "11", "31", "QUIT", "ILL", "ABRT", "BUS", "FPE", "SEGV", "SYS"}, status)
}

// settle says whether the end of a unit's process was waiting for its core.
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
		return // it ended with an error and said so: Services shows it, and that is no crash
	}
	w.c.Note(Record{Kind: KindFatal, Service: logs.ServiceOf(e.Unit), Process: logs.ServiceOf(e.Unit), Version: w.c.Version, Reason: reason, Stacks: trace, Log: lastOf(before), LastAt: micros(e.Time)})
}

func (w *watcher) ended(ctx context.Context, e journalEvent, signal string) {
	reason, trace, before := ownTrace(w.journal.Messages(ctx, "_SYSTEMD_INVOCATION_ID="+e.Invocation))
	w.c.Note(Record{Kind: KindSignal, Service: logs.ServiceOf(e.Unit), Process: logs.ServiceOf(e.Unit), Version: w.c.Version, Signal: signal, Reason: reason, Stacks: trace, Log: lastOf(before), LastAt: micros(e.Time)})
}

func lastOf(lines []string) []string { return slices.Clone(lines[max(0, len(lines)-maxLog):]) }

// lastKernel is when the kernel stopped last, of what there are records of.
func (c *Records) lastKernel() (last time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, one := range c.list {
		if one.Kind == KindKernel && one.LastAt.After(last) {
			last = one.LastAt
		}
	}
	return last
}

// NoticeKernel makes records of what the kernel left when the machine itself went down: files of pstore that are newer than
// the last record of their kind.
func (c *Records) NoticeKernel(patterns ...string) {
	last := c.lastKernel()
	for _, pattern := range patterns {
		paths, _ := filepath.Glob(pattern)
		for _, path := range paths {
			info, err := os.Stat(path)
			if err != nil || !info.ModTime().After(last.Add(time.Second)) {
				continue
			}
			var content bytes.Buffer
			if logs.Tail(&content, path, maxStacks) != nil {
				continue
			}
			reason := "The kernel stopped"
			for line := range strings.Lines(content.String()) {
				if at := strings.Index(line, "Kernel panic"); at >= 0 {
					reason = strings.TrimSpace(line[at:])
				}
			}
			c.Note(Record{Kind: KindKernel, Service: "kernel", Process: "kernel", Version: c.Version, Reason: reason, Stacks: content.String(), Core: path, LastAt: info.ModTime().UTC()})
		}
	}
}
