package main

// storaged's own figures and the host's, stored once a second like anybody else's.

import (
	"context"
	"runtime/metrics"
	"syscall"
	"time"

	"cistern/services/hoststats"
	"cistern/services/journal"
	"cistern/services/tsdb"
)

type statistics struct {
	server *server
	host   bool
	reader *hoststats.Collector
}

func newStatistics(s *server, host bool) *statistics {
	return &statistics{server: s, host: host, reader: hoststats.New()}
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

// figure is one of storaged's own figures.
type figure struct {
	hoststats.Reading
	help string
}

func (st *statistics) own() []hoststats.Reading {
	var all []hoststats.Reading
	for _, f := range st.server.figures() {
		all = append(all, f.Reading)
	}
	return all
}

// figures is everything that storaged says of itself.
func (s *server) figures() (all []figure) {
	add := func(kind tsdb.Kind, name, help string, value float64, labels ...tsdb.Label) {
		all = append(all, figure{hoststats.Reading{Name: "cistern_storaged_" + name, Labels: labels, Kind: kind, Value: value}, help})
	}
	label := func(name, value string) tsdb.Label { return tsdb.Label{Name: name, Value: value} }
	status := s.store.Status()
	for input, n := range status.Accepted {
		add(tsdb.Counter, "samples_total", "Samples that were stored, by input.", whole(n), label("input", input))
	}
	for reason, n := range status.Rejected {
		add(tsdb.Counter, "rejected_total", "Samples and lines that were refused, by reason.", whole(n), label("reason", string(reason)))
	}
	blockBytes := int64(0)
	for _, b := range status.Blocks {
		blockBytes += b.Bytes
	}
	add(tsdb.Gauge, "series", "Series that had a sample lately.", whole(status.Series))
	add(tsdb.Gauge, "head_samples", "Samples in memory, in no block yet.", whole(status.HeadSamples))
	add(tsdb.Gauge, "head_bytes", "Memory that series and samples take.", whole(status.HeadBytes))
	add(tsdb.Gauge, "head_lag_seconds", "Age of the oldest sample that is in no block yet.", status.LagSeconds)
	add(tsdb.Gauge, "journal_bytes", "Size of the journal.", whole(status.JournalBytes))
	add(tsdb.Gauge, "blocks", "Number of blocks.", whole(len(status.Blocks)))
	add(tsdb.Gauge, "block_bytes", "Size of all blocks.", whole(blockBytes))
	add(tsdb.Gauge, "damaged_blocks", "Blocks that were set aside because they are damaged.", whole(status.DamagedBlocks))
	add(tsdb.Gauge, "deletions", "Deletions that are not carried out in all blocks yet.", whole(status.Deletions))
	add(tsdb.Counter, "flush_failures_total", "Attempts to write a block that failed.", whole(status.FlushFailures))
	add(tsdb.Counter, "merges_total", "Merges of blocks.", whole(status.Merges))
	for _, one := range s.sockets() {
		of := []tsdb.Label{label("input", one.input), label("transport", one.transport)}
		if d := one.datagrams; d != nil {
			add(tsdb.Counter, "packets_total", "Packets that were received.", whole(d.Packets()), of...)
			add(tsdb.Counter, "packet_bytes_total", "Bytes of the packets that were received.", whole(d.Bytes()), of...)
			add(tsdb.Counter, "packets_cut_total", "Packets longer than 64 KiB, of which the front was taken.", whole(d.Cut()), of...)
			if n, known := d.Drops(); known {
				add(tsdb.Counter, "kernel_drops_total", "Packets that the kernel dropped because the receive buffer was full.", whole(n), of...)
			}
			add(tsdb.Gauge, "receive_buffer_bytes", "Receive buffer that the kernel granted each socket.", whole(d.BufferBytes()), of...)
			add(tsdb.Gauge, "receive_sockets", "Sockets of this address.", whole(d.Sockets()), of...)
		}
		if t := one.streams; t != nil {
			add(tsdb.Gauge, "connections", "Open connections.", whole(t.Open()), of...)
			add(tsdb.Counter, "connections_refused_total", "Connections that were too many.", whole(t.Refused()), of...)
		}
	}
	if s.lines != nil {
		add(tsdb.Counter, "statsd_lines_total", "Good lines of statsd.", whole(s.lines.Lines()))
		add(tsdb.Gauge, "statsd_names", "Names with tags that statsd keeps.", whole(s.lines.Names()))
	}
	s.requests.figures(add)
	samples := []metrics.Sample{
		{Name: "/memory/classes/total:bytes"}, {Name: "/memory/classes/heap/released:bytes"}, {Name: "/sched/goroutines:goroutines"},
		{Name: "/gc/cycles/total:gc-cycles"}, {Name: "/memory/classes/heap/objects:bytes"},
	}
	metrics.Read(samples)
	add(tsdb.Gauge, "memory_bytes", "Memory that the process has from the system.", whole(samples[0].Value.Uint64()-samples[1].Value.Uint64()))
	add(tsdb.Gauge, "goroutines", "Goroutines.", whole(samples[2].Value.Uint64()))
	add(tsdb.Counter, "garbage_collections_total", "Runs of the garbage collector.", whole(samples[3].Value.Uint64()))
	add(tsdb.Gauge, "heap_bytes", "Memory of objects in the heap.", whole(samples[4].Value.Uint64()))
	var usage syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &usage) == nil {
		seconds := func(t syscall.Timeval) float64 { return float64(t.Sec) + float64(t.Usec)/1e6 }
		add(tsdb.Counter, "cpu_seconds_total", "Processor time that the process has used, by mode.", seconds(usage.Utime), label("mode", "user"))
		add(tsdb.Counter, "cpu_seconds_total", "Processor time that the process has used, by mode.", seconds(usage.Stime), label("mode", "system"))
	}
	add(tsdb.Gauge, "start_time_seconds", "When the process started, in seconds since 1970.", float64(status.Started.UnixMilli())/1000)
	add(tsdb.Gauge, "info", "1, with the version.", 1, label("version", version))
	return all
}
