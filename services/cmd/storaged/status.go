package main

// GET /api/v1/status/storage.

import (
	"math"
	"net/http"
	"time"

	"cistern/services/ingest/senders"
	"cistern/services/platform/fastclock"
	"cistern/services/store/tsdb"
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
		"journal": map[string]any{"bytes": status.JournalBytes, "lagSeconds": status.LagSeconds, "blockSeconds": time.Duration(s.config.Store.BlockEvery).Seconds(), "entries": status.JournalEntries,
			"syncs": status.JournalSyncs, "flushes": status.JournalFlushes},
		"head":      map[string]any{"samples": status.HeadSamples, "bytes": status.HeadBytes, "minTime": float64(status.HeadMinTime) / 1000},
		"blocks":    blocks,
		"dataBytes": dataBytes,
		"durability": map[string]any{
			"write": s.config.RemoteWrite.Durability, "import": s.config.Import.Durability, "otlp": s.config.OTLP.Durability,
			"httptrap": s.config.HTTPTrap.Durability, "statsd": s.config.Statsd.Durability, "graphite": s.config.Graphite.Durability,
			"collectd": s.config.Collectd.Durability, "collectd_http": s.config.CollectdHTTP.Durability,
			"influx": s.config.Influx.Durability, "influx_socket": s.config.InfluxSocket.Durability,
		},
		"startedAt": status.Started.UTC().Format(time.RFC3339Nano),
		"replayed": map[string]any{"entries": status.Replayed.Entries, "samples": status.Replayed.Samples, "seconds": status.Replayed.Took.Seconds(),
			"damagedBytes": status.Replayed.DamagedBytes, "damagedEntries": status.Replayed.DamagedEntries},
		"damaged": damaged, "flushFailures": status.FlushFailures,
		"merges": status.Merges, "deletions": status.Deletions,
		"clock": clockStatus(s.clock.Status()),
	}
	if r := status.Refusing; r != nil {
		answer["refusing"] = map[string]any{"since": r.Since.UTC().Format(time.RFC3339Nano), "last": r.Last.UTC().Format(time.RFC3339Nano),
			"reason": r.Reason, "detail": r.Detail, "samples": r.Samples}
	}
	on := s.listening.Load()
	if on.statsd != nil {
		stats := on.statsd.Stats()
		answer["statsd"] = map[string]any{
			"address": on.statsd.Addr(), "packets": stats.Packets, "lines": stats.Lines, "badLines": stats.BadLines,
			"kernelDrops": stats.Drops, "kernelDropsKnown": stats.DropsKnown, "truncated": stats.Truncated,
			"bufferBytes": stats.BufferBytes, "sockets": stats.Sockets, "names": stats.Names, "unstored": stats.Unstored,
			"connections": stats.Connections, "refusedConnections": stats.RefusedConnections,
		}
	}
	if on.graphite != nil {
		d := datagramsOf(on.graphite)
		answer["graphite"] = map[string]any{"address": on.graphite.Addr(), "pickleAddress": on.graphite.PickleAddr(), "lines": on.graphite.Lines(), "badLines": on.graphite.Bad(),
			"kernelDrops": d.Drops, "kernelDropsKnown": d.Known, "bufferBytes": d.Buffer}
	}
	if on.collectd != nil {
		d := datagramsOf(on.collectd)
		answer["collectd"] = map[string]any{"address": on.collectd.Addr(), "packets": on.collectd.Packets(), "values": on.collectd.Values(), "bad": on.collectd.Bad(),
			"kernelDrops": d.Drops, "kernelDropsKnown": d.Known, "bufferBytes": d.Buffer}
	}
	if on.influx != nil {
		d := datagramsOf(on.influx)
		answer["influx_socket"] = map[string]any{"address": on.influx.Addr(), "lines": on.influx.Lines(), "badLines": on.influx.Bad(),
			"kernelDrops": d.Drops, "kernelDropsKnown": d.Known, "bufferBytes": d.Buffer}
	}
	answer["inputs"] = s.inputStatus()
	answer["replaced"] = s.replacedStatus(status.Replaced)
	writeJSON(w, answer)
}

// shownSenders and shownReplaced are how many senders of an input and how many series are listed, the worst first.
const (
	shownSenders  = 20
	shownReplaced = 100
)

// inputStatus is each input's limits, and what its senders did since the start.
func (s *server) inputStatus() map[string]any {
	type sender struct {
		Address   string                 `json:"address"`
		Samples   uint64                 `json:"samples"`
		NewSeries uint64                 `json:"newSeries"`
		Refused   map[tsdb.Reason]uint64 `json:"refused"`
		First     string                 `json:"first"`
		Last      string                 `json:"last"`
	}
	all, on := map[string]any{}, s.listening.Load()
	for _, in := range inputs {
		c, status := (*s.current.Load())[in.name], s.senders[in.name].Status(shownSenders)
		networks, list := c.Networks, []sender{}
		if networks == nil {
			networks = []network{}
		}
		names, refused := append([]hostName{}, c.HostNames...), append([]senders.Place{}, c.RefusedSenders...)
		for _, one := range status.Senders {
			if one.Refused == nil {
				one.Refused = map[tsdb.Reason]uint64{}
			}
			list = append(list, sender{one.Address, one.Sent, one.Created, one.Refused, one.First.UTC().Format(time.RFC3339Nano), one.Last.UTC().Format(time.RFC3339Nano)})
		}
		all[in.name] = map[string]any{
			"enabled": c.Enabled, "listens": on.addresses(in.name), "networks": networks, "newSeries": status.Created, "refused": status.Refused, "senders": list,
			"seriesPerSecond": c.SeriesPerSecond, "seriesBurst": c.SeriesBurst,
			"senderSeriesPerSecond": c.SenderSeriesPerSecond, "senderSeriesBurst": c.SenderSeriesBurst, "senderSamplesPerSecond": c.SenderSamplesPerSecond,
			"port": c.Port, "picklePort": c.PicklePort, "tlsPort": c.TLSPort, "tlsClientCa": c.TLSClientCA,
			"tlsListens": on.tls(in.name), "senderIsHost": c.SenderIsHost, "hostNames": names, "refusedSenders": refused,
		}
	}
	return all
}

// getNames says whether there are names that nobody had sent before: it costs nothing to ask.
func (s *server) getNames(w http.ResponseWriter, _ *http.Request) {
	writeJSON(w, map[string]any{"version": s.store.NamesVersion()})
}

// replacedStatus is the samples that took another one's place: how many, and of which series.
func (s *server) replacedStatus(total uint64) map[string]any {
	type series struct {
		Series  string   `json:"series"`
		Samples uint64   `json:"samples"`
		Last    string   `json:"last"`
		Time    float64  `json:"time"`
		Before  *float64 `json:"before"` // null: no number that JSON has
		After   *float64 `json:"after"`
	}
	number := func(v float64) *float64 {
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return nil
		}
		return &v
	}
	list := []series{}
	for _, one := range s.store.Replaced(shownReplaced) {
		labels, err := tsdb.ParseKey(one.Key)
		if err != nil {
			continue
		}
		list = append(list, series{tsdb.FormatLabels(labels), one.Samples, one.Last.UTC().Format(time.RFC3339Nano), float64(one.Time) / 1000,
			number(one.Before), number(one.After)})
	}
	return map[string]any{"samples": total, "series": list}
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
