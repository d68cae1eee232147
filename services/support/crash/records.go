// Package crash keeps crash records: what is known of each process of the appliance that ended by a signal or a fatal
// error. The same crash (the same program, the same way, at the same place) is one record with a count. The oldest go first.
//
// On Linux the kernel hands cores to systemd-coredump, which keeps them under a cap, reads the stacks of all threads and
// writes both into the journal; supportd follows the journal. A handler of our own would have to do the same with the
// same libraries, as root, in the moment of a crash. What Go and Node say themselves when they end is in the journal too.
package crash

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"slices"
	"sync"
	"time"

	"cistern/services/support/logs"
	"cistern/services/support/redact"
)

// Record is one crash: where it happened, when, and how often.
type Record struct {
	ID        string    `json:"id"` // the fingerprint
	Kind      string    `json:"kind"`
	Service   string    `json:"service"`
	Process   string    `json:"process"`
	Version   string    `json:"version"`
	Signal    string    `json:"signal,omitempty"`
	Reason    string    `json:"reason,omitempty"` // what the program wrote of it
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
	// recordingWithin is how long a core may take to be written before the record without it is dropped.
	recordingWithin = 10 * time.Minute
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

// Open reads the records of the file path. A file that is damaged is set aside, and the list begins empty.
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
	c.notify()
}

// noteRecording notes that the core of a process is being taken, which takes long when the process was large, so that the
// crash is known at once. Where the same process has a record that nobody has dismissed there is an alert already, and
// its count is about to rise.
func (c *Records) noteRecording(service, process string, pid int, at time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	same := func(k *Record) bool { return k.Service == service && k.Process == process && !k.Dismissed }
	if slices.ContainsFunc(c.recording, same) || slices.ContainsFunc(c.list, same) {
		return
	}
	id := fmt.Sprintf("recording-%d-%d", pid, at.Unix())
	one := &Record{ID: id, Alert: id, Kind: KindSignal, Service: service, Process: process, Version: c.Version, PID: pid, FirstAt: at, LastAt: at, Count: 1, Log: []string{}, Recording: true}
	c.recording = append(c.recording, one)
	c.notify()
	time.AfterFunc(recordingWithin, func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		if i := slices.Index(c.recording, one); i >= 0 {
			c.recording = slices.Delete(c.recording, i, i+1)
			c.notify()
		}
	})
}

// notify wakes those who wait for a change. It needs mu.
func (c *Records) notify() {
	c.seq++
	close(c.changed)
	c.changed = make(chan struct{})
}

// List returns all records, the newest first, with a number that changes when they do, and a channel that is closed then.
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

// Dismiss marks a record as seen by a person, until the crash happens again; false when there is no such record.
func (c *Records) Dismiss(id string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, one := range c.list {
		if one.ID == id {
			one.Dismissed = true
			c.save()
			c.notify()
			return true
		}
	}
	return false
}
