package main

// GET /api/v1/status/storage.

import (
	"net/http"
	"time"

	"cistern/services/platform/fastclock"
)

func (s *server) status(w http.ResponseWriter, _ *http.Request) {
	type block struct {
		ID      string  `json:"id"`
		Index   int64   `json:"indexBytes"`
		Rollups int64   `json:"rollupBytes"`
		MinTime float64 `json:"minTime"`
		MaxTime float64 `json:"maxTime"`
		Samples int64   `json:"samples"`
		Bytes   int64   `json:"bytes"`
	}
	status := s.store.Status()
	blocks, dataBytes := []block{}, status.JournalBytes
	for _, b := range status.Blocks {
		blocks = append(blocks, block{b.ID, b.Index, b.Rollups, float64(b.MinTime) / 1000, float64(b.MaxTime) / 1000, b.Samples, b.Bytes})
		dataBytes += b.Bytes
	}
	type damage struct {
		Block    string  `json:"block"`
		SetAside bool    `json:"setAside"`
		MinTime  float64 `json:"minTime"`
		MaxTime  float64 `json:"maxTime"`
		Detail   string  `json:"detail"`
	}
	damaged := []damage{}
	for _, d := range status.Damaged {
		damaged = append(damaged, damage{d.Block, d.SetAside, float64(d.MinTime) / 1000, float64(d.MaxTime) / 1000, d.Detail})
	}
	answer := map[string]any{
		"series": status.Series, "samplesPerSecond": status.SamplesPerSecond,
		"accepted": status.Accepted, "rejected": status.Rejected,
		"journal": map[string]any{"bytes": status.JournalBytes, "lagSeconds": status.LagSeconds, "entries": status.JournalEntries,
			"syncs": status.JournalSyncs, "flushes": status.JournalFlushes},
		"head":      map[string]any{"samples": status.HeadSamples, "bytes": status.HeadBytes, "minTime": float64(status.HeadMinTime) / 1000},
		"blocks":    blocks,
		"dataBytes": dataBytes,
		"durability": map[string]any{
			"write": s.config.RemoteWrite.Durability, "import": s.config.Import.Durability, "otlp": s.config.OTLP.Durability,
			"httptrap": s.config.HTTPTrap.Durability, "statsd": s.config.Statsd.Durability, "graphite": s.config.Graphite.Durability,
			"collectd": s.config.Collectd.Durability,
		},
		"startedAt": status.Started.UTC().Format(time.RFC3339Nano),
		"damaged":   damaged, "flushFailures": status.FlushFailures,
		"merges": status.Merges, "deletions": status.Deletions,
		"clock": clockStatus(s.clock.Status()),
	}
	if r := status.Refusing; r != nil {
		answer["refusing"] = map[string]any{"since": r.Since.UTC().Format(time.RFC3339Nano), "last": r.Last.UTC().Format(time.RFC3339Nano),
			"reason": r.Reason, "detail": r.Detail, "samples": r.Samples}
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
	if s.graphite != nil {
		d := datagramsOf(s.graphite)
		answer["graphite"] = map[string]any{"address": s.graphite.Addr(), "pickleAddress": s.graphite.PickleAddr(), "lines": s.graphite.Lines(), "badLines": s.graphite.Bad(),
			"kernelDrops": d.Drops, "kernelDropsKnown": d.Known, "bufferBytes": d.Buffer}
	}
	if s.collectd != nil {
		d := datagramsOf(s.collectd)
		answer["collectd"] = map[string]any{"address": s.collectd.Addr(), "packets": s.collectd.Packets(), "values": s.collectd.Values(), "bad": s.collectd.Bad(),
			"kernelDrops": d.Drops, "kernelDropsKnown": d.Known, "bufferBytes": d.Buffer}
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
