package web

// What was done at supportd's own page, for the audit log. The management plane, which keeps the log, may be away just then: it
// is written to a file of its own, and taken over from there later, each entry once.

import (
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"log/slog"
	"net/http"
	"os"
	"slices"
	"strconv"
	"sync"
	"time"
)

// mostRecorded is how many entries the file holds. Refused sign-ins go first when it is full: they are what somebody else can
// make many of.
const mostRecorded = 500

const actionRefused = "support.refused"

// Entry is something that was done.
type Entry struct {
	Number  int64     `json:"number"`
	Time    time.Time `json:"time"`
	User    string    `json:"user"` // empty: nobody who is known
	Address string    `json:"address"`
	Action  string    `json:"action"`
	Target  string    `json:"target"`
}

// Record is the file. The zero value with Path set is ready.
type Record struct {
	Path string

	mu     sync.Mutex
	loaded bool
	file   recordFile
}

// recordFile is what is written: see docs/FORMATS.md.
type recordFile struct {
	Version int     `json:"version"`
	Log     string  `json:"log"` // random: numbers of another file say nothing of this one
	Next    int64   `json:"next"`
	Dropped int64   `json:"dropped"`
	Entries []Entry `json:"entries"`
}

// load needs mu. What cannot be read is begun anew.
func (r *Record) load() {
	if r.loaded {
		return
	}
	r.loaded = true
	content, err := os.ReadFile(r.Path)
	if err == nil && json.Unmarshal(content, &r.file) == nil && r.file.Version == 1 && r.file.Log != "" {
		return
	}
	random := make([]byte, 8)
	_, _ = rand.Read(random) // it does not fail
	r.file = recordFile{Version: 1, Log: hex.EncodeToString(random), Next: 1}
}

// Add notes an entry. A pool that is full does not keep anybody out: it is in memory then, and in the log.
func (r *Record) Add(e Entry) {
	if r == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.load()
	if len(r.file.Entries) >= mostRecorded {
		at := max(0, slices.IndexFunc(r.file.Entries, func(e Entry) bool { return e.Action == actionRefused }))
		r.file.Entries = slices.Delete(r.file.Entries, at, at+1)
		r.file.Dropped++
	}
	e.Number = r.file.Next
	r.file.Next++
	r.file.Entries = append(r.file.Entries, e)
	content, err := json.Marshal(r.file)
	if err == nil {
		err = os.WriteFile(r.Path+".new", content, 0o600)
	}
	if err == nil {
		err = os.Rename(r.Path+".new", r.Path)
	}
	if err != nil {
		slog.Warn("what was done at the page is not written down", "path", r.Path, "error", err)
	}
}

// ServeHTTP answers the entries behind the one whose number is asked for, if it is one of this file.
func (r *Record) ServeHTTP(w http.ResponseWriter, request *http.Request) {
	query := request.URL.Query()
	after, _ := strconv.ParseInt(query.Get("after"), 10, 64) // none: all
	r.mu.Lock()
	r.load()
	if query.Get("log") != r.file.Log {
		after = 0
	}
	entries := []Entry{}
	for _, e := range r.file.Entries {
		if e.Number > after {
			entries = append(entries, e)
		}
	}
	log, dropped := r.file.Log, r.file.Dropped
	r.mu.Unlock()
	answer(w, http.StatusOK, map[string]any{"log": log, "dropped": dropped, "entries": entries})
}
