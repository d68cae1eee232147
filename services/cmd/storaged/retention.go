package main

// GET and PUT /admin/retention: how long measurements are kept.

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"time"

	"cistern/services/daemon/problem"
	"cistern/services/store/tsdb"
)

type retentionSeconds struct {
	Raw    int64 `json:"rawSeconds"`
	Minute int64 `json:"minuteSeconds"`
	Hour   int64 `json:"hourSeconds"`
}

// getRetention answers with what holds, and what is stored by it: the samples' and the rollups' bytes on disk, and the oldest
// time (seconds since the epoch) there is a sample, or a rollup, of; null when nothing is on disk yet.
func (s *server) getRetention(w http.ResponseWriter, _ *http.Request) {
	r := s.store.Retention()
	var rawBytes, rollupBytes int64
	var oldest *float64
	for _, b := range s.store.Status().Blocks {
		rollupBytes += b.Rollups
		rawBytes += b.Bytes - b.Rollups
		if at := float64(b.MinTime) / 1000; oldest == nil || at < *oldest {
			oldest = &at
		}
	}
	writeJSON(w, map[string]any{
		"rawSeconds": int64(r.Raw / time.Second), "minuteSeconds": int64(r.Minute / time.Second), "hourSeconds": int64(r.Hour / time.Second),
		"stored": map[string]any{"rawBytes": rawBytes, "rollupBytes": rollupBytes, "oldest": oldest},
	})
}

func (s *server) putRetention(w http.ResponseWriter, r *http.Request) {
	var wanted retentionSeconds
	decoder := json.NewDecoder(io.LimitReader(r.Body, 4<<10))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&wanted); err != nil {
		problem.Write(w, http.StatusBadRequest, "invalid", "The body is not {\"rawSeconds\", \"minuteSeconds\", \"hourSeconds\"}: "+err.Error()+".", "")
		return
	}
	const most = int64(1<<63-1) / int64(time.Second)
	seconds := func(n int64) time.Duration { return time.Duration(min(n, most)) * time.Second }
	err := s.store.SetRetention(tsdb.Retention{Raw: seconds(wanted.Raw), Minute: seconds(wanted.Minute), Hour: seconds(wanted.Hour)})
	var cannot *tsdb.RetentionError
	switch {
	case errors.As(err, &cannot):
		problem.Write(w, http.StatusUnprocessableEntity, "invalid", "It cannot be kept so: "+cannot.Detail+".", "Nothing was changed.")
	case err != nil:
		problem.Write(w, http.StatusServiceUnavailable, "service_unavailable", "It could not be saved: "+err.Error()+".", "Nothing was changed. Look whether the pool is full or suspended.")
	default:
		s.getRetention(w, r)
	}
}
