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
		"durability": s.durability(),
		"startedAt":  status.Started.UTC().Format(time.RFC3339Nano),
		"damaged":    status.DamagedBlocks, "flushFailures": status.FlushFailures,
	}
	if s.statsd != nil {
		figures := map[string]any{"lines": s.lines.Lines(), "names": s.lines.Names()}
		if d := s.statsd.UDP(); d != nil {
			figures["packets"], figures["bufferBytes"] = d.Packets(), d.BufferBytes()
			if n, known := d.Drops(); known {
				figures["kernelDrops"] = n
			}
		}
		answer["statsd"] = figures
	}
	inputs := []map[string]any{}
	for _, one := range s.sockets() {
		figures := map[string]any{"input": one.input, "transport": one.transport}
		if d := one.datagrams; d != nil {
			figures["address"], figures["packets"], figures["bytes"], figures["bufferBytes"] = d.Addr(), d.Packets(), d.Bytes(), d.BufferBytes()
			if n, known := d.Drops(); known {
				figures["kernelDrops"] = n
			}
		} else {
			figures["address"], figures["connections"] = one.streams.Addr(), one.streams.Open()
		}
		inputs = append(inputs, figures)
	}
	answer["inputs"] = inputs
	writeJSON(w, answer)
}

// durability is what each input promises.
func (s *server) durability() map[string]any {
	c := &s.config
	all := map[string]any{"write": c.HTTP.Durability, "import": c.HTTP.Durability, "otlp": c.HTTP.Durability, "trap": c.HTTP.Durability}
	if s.statsd != nil {
		all["statsd"] = c.Statsd.Durability
	}
	if s.graphite != nil {
		all["graphite"] = c.Graphite.Durability
	}
	return all
}
