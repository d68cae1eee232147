package main

// storaged's own figures and the host's, stored once a second like anybody else's.

import (
	"context"
	"runtime/metrics"
	"time"

	"cistern/services/hoststats"
	"cistern/services/journal"
	"cistern/services/tsdb"
)

type statistics struct {
	server  *server
	host    bool
	reader  *hoststats.Collector
	runtime []metrics.Sample
}

func newStatistics(s *server, host bool) *statistics {
	return &statistics{server: s, host: host, reader: hoststats.New(), runtime: []metrics.Sample{
		{Name: "/memory/classes/total:bytes"}, {Name: "/memory/classes/heap/released:bytes"}, {Name: "/sched/goroutines:goroutines"},
	}}
}

func (st *statistics) run(ctx context.Context) {
	failing := false
	for {
		now := time.Now()
		next := now.Truncate(time.Second).Add(time.Second)
		select {
		case <-ctx.Done():
			return
		case <-time.After(next.Sub(now)):
		}
		readings := st.own()
		if st.host {
			readings = append(readings, st.reader.Read()...)
		}
		_, err := st.server.store.Ingest(ctx, "internal", st.reader.Convert(readings, next.UnixMilli()), journal.Interval)
		if err != nil && !failing {
			st.server.log.Error("the appliance's own figures are not stored", "error", err)
		}
		failing = err != nil
	}
}

func (st *statistics) own() []hoststats.Reading {
	var all []hoststats.Reading
	add := func(kind tsdb.Kind, name string, value float64, labels ...tsdb.Label) {
		all = append(all, hoststats.Reading{Name: "cistern_storaged_" + name, Labels: labels, Kind: kind, Value: value})
	}
	status := st.server.store.Status()
	for input, n := range status.Accepted {
		add(tsdb.Counter, "samples_total", float64(n), tsdb.Label{Name: "input", Value: input})
	}
	for reason, n := range status.Rejected {
		add(tsdb.Counter, "rejected_total", float64(n), tsdb.Label{Name: "reason", Value: string(reason)})
	}
	blockBytes := int64(0)
	for _, b := range status.Blocks {
		blockBytes += b.Bytes
	}
	add(tsdb.Gauge, "series", float64(status.Series))
	add(tsdb.Gauge, "head_samples", float64(status.HeadSamples))
	add(tsdb.Gauge, "head_bytes", float64(status.HeadBytes))
	add(tsdb.Gauge, "journal_bytes", float64(status.JournalBytes))
	add(tsdb.Gauge, "blocks", float64(len(status.Blocks)))
	add(tsdb.Gauge, "block_bytes", float64(blockBytes))
	add(tsdb.Gauge, "damaged_blocks", float64(status.DamagedBlocks))
	add(tsdb.Counter, "flush_failures_total", float64(status.FlushFailures))
	if s := st.server.statsd; s != nil {
		add(tsdb.Counter, "statsd_packets_total", float64(s.UDP().Packets()))
		add(tsdb.Counter, "statsd_lines_total", float64(st.server.lines.Lines()))
		if drops, known := s.UDP().Drops(); known {
			add(tsdb.Counter, "statsd_kernel_drops_total", float64(drops))
		}
		add(tsdb.Gauge, "statsd_buffer_bytes", float64(s.UDP().BufferBytes()))
	}
	metrics.Read(st.runtime)
	add(tsdb.Gauge, "memory_bytes", float64(st.runtime[0].Value.Uint64()-st.runtime[1].Value.Uint64()))
	add(tsdb.Gauge, "goroutines", float64(st.runtime[2].Value.Uint64()))
	return all
}
