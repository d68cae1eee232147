package main

// GET /api/v1/status/storage.

import (
	"net/http"
	"time"

	"cistern/services/fastclock"
	"cistern/services/ingest"
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
		"durability": map[string]any{"write": ingest.Durability, "import": ingest.Durability, "statsd": s.config.Statsd.Durability},
		"startedAt":  status.Started.UTC().Format(time.RFC3339Nano),
		"damaged":    status.DamagedBlocks, "flushFailures": status.FlushFailures,
		"merges": status.Merges, "deletions": status.Deletions,
		"clock": clockStatus(s.clock.Status()),
	}
	if s.statsd != nil {
		stats := s.statsd.Stats()
		answer["statsd"] = map[string]any{
			"address": s.statsd.Addr(), "packets": stats.Packets, "lines": stats.Lines, "badLines": stats.BadLines,
			"kernelDrops": stats.Drops, "kernelDropsKnown": stats.DropsKnown, "truncated": stats.Truncated,
			"bufferBytes": stats.BufferBytes, "sockets": stats.Sockets, "names": stats.Names, "unstored": stats.Unstored,
			"connections": stats.Connections, "refusedConnections": stats.RefusedConnections,
		}
	}
	writeJSON(w, answer)
}

func clockStatus(c fastclock.Status) map[string]any {
	answer := map[string]any{"counter": c.Counter, "hertz": c.Frequency, "errorSeconds": c.Error.Seconds(), "recalibrations": c.Recalibrations}
	if c.Skew >= 0 {
		answer["skewSeconds"] = c.Skew.Seconds()
	}
	if c.Reason != "" {
		answer["reason"] = c.Reason
	}
	return answer
}
