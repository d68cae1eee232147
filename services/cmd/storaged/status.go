package main

// GET /api/v1/status/storage.

import (
	"net/http"
	"time"
)

func (s *server) status(w http.ResponseWriter, _ *http.Request) {
	type block struct {
		ID      string  `json:"id"`
		MinTime float64 `json:"minTime"`
		MaxTime float64 `json:"maxTime"`
		Samples int64   `json:"samples"`
		Bytes   int64   `json:"bytes"`
	}
	status := s.store.Status()
	blocks, dataBytes := []block{}, status.JournalBytes
	for _, b := range status.Blocks {
		blocks = append(blocks, block{b.ID, float64(b.MinTime) / 1000, float64(b.MaxTime) / 1000, b.Samples, b.Bytes})
		dataBytes += b.Bytes
	}
	answer := map[string]any{
		"series": status.Series, "samplesPerSecond": status.SamplesPerSecond,
		"accepted": status.Accepted, "rejected": status.Rejected,
		"journal":    map[string]any{"bytes": status.JournalBytes, "lagSeconds": status.LagSeconds},
		"head":       map[string]any{"samples": status.HeadSamples, "bytes": status.HeadBytes, "minTime": float64(status.HeadMinTime) / 1000},
		"blocks":     blocks,
		"dataBytes":  dataBytes,
		"durability": map[string]any{"write": "fsync", "import": "fsync", "statsd": "interval"},
		"startedAt":  status.Started.UTC().Format(time.RFC3339Nano),
		"damaged":    status.DamagedBlocks, "flushFailures": status.FlushFailures,
	}
	if s.statsd != nil {
		answer["statsd"] = map[string]any{"packets": s.statsd.UDP().Packets(), "bufferBytes": s.statsd.UDP().BufferBytes(), "lines": s.lines.Lines()}
	}
	writeJSON(w, answer)
}
