package main

// storaged's own figures: stored once a second like anybody else's, beside the host's, and told on /metrics. One table
// says what there is.

import (
	"bufio"
	"context"
	"maps"
	"net/http"
	"runtime/metrics"
	"slices"
	"strconv"
	"strings"
	"time"

	"cistern/services/ingest/senders"
	"cistern/services/ingest/statsd"
	"cistern/services/journal"
	"cistern/services/outputs"
	"cistern/services/platform/fastclock"
	"cistern/services/platform/hoststats"
	"cistern/services/store/query/budget"
	"cistern/services/store/tsdb"
)

// reading is everything at one moment.
type reading struct {
	store  tsdb.Status
	clock  fastclock.Status
	statsd *statsd.Stats // nil when it is off
	// Of the inputs besides statsd that take datagrams.
	graphite, collectd, influx datagrams
	senders                    map[string]senders.Status // by input, without the addresses
	runtime                    []metrics.Sample
	queries                    budget.Status
	outputs                    []outputs.Status
}

// datagrams is what the kernel holds and dropped of an input's; the zero value is that of one that takes none.
type datagrams struct {
	Buffer int
	Drops  uint64
	Known  bool
}

func datagramsOf(input interface {
	Datagrams() (buffer int, drops uint64, known bool)
}) (d datagrams) {
	d.Buffer, d.Drops, d.Known = input.Datagrams()
	return d
}

func drops(input string, of func(r *reading) datagrams) figure {
	return figure{input + "_kernel_drops_total", tsdb.Counter, "Datagrams of " + input + " that the kernel dropped because the socket's buffer was full.",
		func(r *reading, emit func(float64, ...tsdb.Label)) {
			if d := of(r); d.Known {
				emit(float64(d.Drops))
			}
		}}
}

func buffer(input string, of func(r *reading) datagrams) figure {
	return figure{input + "_buffer_bytes", tsdb.Gauge, "What the kernel granted the socket of " + input + " as a buffer.",
		func(r *reading, emit func(float64, ...tsdb.Label)) {
			if d := of(r); d.Buffer > 0 {
				emit(float64(d.Buffer))
			}
		}}
}

// figure is one name. Its values come with the labels that tell them apart.
type figure struct {
	name string // without the prefix
	kind tsdb.Kind
	help string
	read func(r *reading, emit func(value float64, labels ...tsdb.Label))
}

const figurePrefix = "cistern_storaged_"

// full is the name that it is stored and shown under.
func (f *figure) full() string {
	if strings.HasPrefix(f.name, "output_") {
		return tsdb.OwnPrefix + f.name
	}
	return figurePrefix + f.name
}

// allFigures are storaged's own and those of what it runs.
var allFigures = append(slices.Clone(figures), outputFigures...)

// plain is a figure without labels.
func plain(name string, kind tsdb.Kind, help string, read func(r *reading) float64) figure {
	return figure{name, kind, help, func(r *reading, emit func(float64, ...tsdb.Label)) { emit(read(r)) }}
}

// ofStatsd is one that is there when statsd is on.
func ofStatsd(name string, kind tsdb.Kind, help string, read func(s *statsd.Stats) float64) figure {
	return figure{"statsd_" + name, kind, help, func(r *reading, emit func(float64, ...tsdb.Label)) {
		if r.statsd != nil {
			emit(read(r.statsd))
		}
	}}
}

func one(yes bool) float64 {
	if yes {
		return 1
	}
	return 0
}

var figures = []figure{
	{"samples_total", tsdb.Counter, "Samples accepted, by input.", func(r *reading, emit func(float64, ...tsdb.Label)) {
		for _, input := range slices.Sorted(maps.Keys(r.store.Accepted)) {
			emit(float64(r.store.Accepted[input]), tsdb.Label{Name: "input", Value: input})
		}
	}},
	{"rejected_total", tsdb.Counter, "Samples, lines and packets refused, by reason.", func(r *reading, emit func(float64, ...tsdb.Label)) {
		for _, reason := range slices.Sorted(maps.Keys(r.store.Rejected)) {
			emit(float64(r.store.Rejected[reason]), tsdb.Label{Name: "reason", Value: string(reason)})
		}
	}},
	{"refused_total", tsdb.Counter, "What was refused of senders, by input and reason: samples, lines, packets and connections. Over HTTP, bodies that cannot be read are in rejected_total alone.", func(r *reading, emit func(float64, ...tsdb.Label)) {
		for _, input := range slices.Sorted(maps.Keys(r.senders)) {
			refused := r.senders[input].Refused
			for _, reason := range slices.Sorted(maps.Keys(refused)) {
				emit(float64(refused[reason]), tsdb.Label{Name: "input", Value: input}, tsdb.Label{Name: "reason", Value: string(reason)})
			}
		}
	}},
	{"new_series_total", tsdb.Counter, "New series that senders made, by input.", func(r *reading, emit func(float64, ...tsdb.Label)) {
		for _, input := range slices.Sorted(maps.Keys(r.senders)) {
			emit(float64(r.senders[input].Created), tsdb.Label{Name: "input", Value: input})
		}
	}},
	plain("replaced_samples_total", tsdb.Counter, "Samples that took the place of another one of their series and time.", func(r *reading) float64 { return float64(r.store.Replaced) }),
	plain("series", tsdb.Gauge, "Series that are in memory, and those that were before the last block.", func(r *reading) float64 { return float64(r.store.Series) }),
	plain("head_samples", tsdb.Gauge, "Samples in memory.", func(r *reading) float64 { return float64(r.store.HeadSamples) }),
	plain("head_bytes", tsdb.Gauge, "Memory of series and samples.", func(r *reading) float64 { return float64(r.store.HeadBytes) }),
	plain("journal_bytes", tsdb.Gauge, "Size of the journal.", func(r *reading) float64 { return float64(r.store.JournalBytes) }),
	plain("journal_entries_total", tsdb.Counter, "Entries written to the journal.", func(r *reading) float64 { return float64(r.store.JournalEntries) }),
	plain("journal_syncs_total", tsdb.Counter, "Times the journal was made durable.", func(r *reading) float64 { return float64(r.store.JournalSyncs) }),
	plain("journal_flushes_total", tsdb.Counter, "Times the journal's pre-commit buffer was written out.", func(r *reading) float64 { return float64(r.store.JournalFlushes) }),
	plain("journal_lag_seconds", tsdb.Gauge, "Age of the oldest sample that is in no block yet.", func(r *reading) float64 { return r.store.LagSeconds }),
	plain("blocks", tsdb.Gauge, "Blocks on disk.", func(r *reading) float64 { return float64(len(r.store.Blocks)) }),
	plain("block_bytes", tsdb.Gauge, "Size of the blocks.", func(r *reading) float64 {
		bytes := int64(0)
		for _, b := range r.store.Blocks {
			bytes += b.Bytes
		}
		return float64(bytes)
	}),
	plain("damaged_blocks", tsdb.Gauge, "Blocks of which not everything can be read.", func(r *reading) float64 { return float64(len(r.store.Damaged)) }),
	plain("flush_failures_total", tsdb.Counter, "Attempts to write a block that failed.", func(r *reading) float64 { return float64(r.store.FlushFailures) }),
	plain("merges_total", tsdb.Counter, "Blocks made of smaller ones.", func(r *reading) float64 { return float64(r.store.Merges) }),
	plain("pending_deletions", tsdb.Gauge, "Deletions that are not carried out in all blocks yet.", func(r *reading) float64 { return float64(r.store.Deletions) }),
	plain("queries_running", tsdb.Gauge, "Queries that are being answered.", func(r *reading) float64 { return float64(r.queries.Running) }),
	plain("queries_waiting", tsdb.Gauge, "Queries that wait for their turn, or for memory that others hold.", func(r *reading) float64 { return float64(r.queries.Waiting) }),
	plain("queries_bytes", tsdb.Gauge, "Memory that queries have of what limits.queries_mib is for all.", func(r *reading) float64 { return float64(r.queries.Bytes) }),
	{"queries_refused_total", tsdb.Counter, "Queries that were not answered, by reason.", func(r *reading, emit func(float64, ...tsdb.Label)) {
		for _, reason := range budget.Reasons {
			emit(float64(r.queries.Refused[reason]), tsdb.Label{Name: "reason", Value: string(reason)})
		}
	}},
	plain("start_time_seconds", tsdb.Gauge, "When storaged started, in seconds since 1970.", func(r *reading) float64 { return float64(r.store.Started.UnixMilli()) / 1000 }),

	ofStatsd("packets_total", tsdb.Counter, "Datagrams of statsd received.", func(s *statsd.Stats) float64 { return float64(s.Packets) }),
	ofStatsd("lines_total", tsdb.Counter, "Good lines of statsd.", func(s *statsd.Stats) float64 { return float64(s.Lines) }),
	ofStatsd("bad_lines_total", tsdb.Counter, "Lines and values of statsd refused; see rejected_total for the reasons.", func(s *statsd.Stats) float64 { return float64(s.BadLines) }),
	{"statsd_kernel_drops_total", tsdb.Counter, "Datagrams that the kernel dropped because the sockets' buffers were full.", func(r *reading, emit func(float64, ...tsdb.Label)) {
		if r.statsd != nil && r.statsd.DropsKnown {
			emit(float64(r.statsd.Drops))
		}
	}},
	ofStatsd("truncated_total", tsdb.Counter, "Datagrams longer than 64 KiB, of which the end is lost.", func(s *statsd.Stats) float64 { return float64(s.Truncated) }),
	ofStatsd("buffer_bytes", tsdb.Gauge, "What the kernel granted each socket as a buffer.", func(s *statsd.Stats) float64 { return float64(s.BufferBytes) }),
	ofStatsd("sockets", tsdb.Gauge, "Sockets that receive datagrams.", func(s *statsd.Stats) float64 { return float64(s.Sockets) }),
	ofStatsd("names", tsdb.Gauge, "Names with their tags that are known.", func(s *statsd.Stats) float64 { return float64(s.Names) }),
	ofStatsd("names_bytes", tsdb.Gauge, "Memory that the names take, about.", func(s *statsd.Stats) float64 { return float64(s.NamesBytes) }),
	ofStatsd("connections", tsdb.Gauge, "TCP connections.", func(s *statsd.Stats) float64 { return float64(s.Connections) }),
	ofStatsd("refused_connections_total", tsdb.Counter, "TCP connections refused because there were too many.", func(s *statsd.Stats) float64 { return float64(s.RefusedConnections) }),
	ofStatsd("unstored_samples", tsdb.Gauge, "Histograms and numbers of sets that the store did not take yet.", func(s *statsd.Stats) float64 { return float64(s.Unstored) }),

	drops("graphite", func(r *reading) datagrams { return r.graphite }),
	buffer("graphite", func(r *reading) datagrams { return r.graphite }),
	drops("collectd", func(r *reading) datagrams { return r.collectd }),
	buffer("collectd", func(r *reading) datagrams { return r.collectd }),
	drops("influx", func(r *reading) datagrams { return r.influx }),
	buffer("influx", func(r *reading) datagrams { return r.influx }),

	plain("clock_counter", tsdb.Gauge, "1 when time is read from the processor's counter, 0 when from the system.", func(r *reading) float64 { return one(r.clock.Counter) }),
	plain("clock_error_seconds", tsdb.Gauge, "Difference from the system's clock at the last comparison.", func(r *reading) float64 { return r.clock.Error.Seconds() }),
	plain("clock_recalibrations_total", tsdb.Counter, "Comparisons with the system's clock.", func(r *reading) float64 { return float64(r.clock.Recalibrations) }),
	plain("memory_bytes", tsdb.Gauge, "Memory of the process.", func(r *reading) float64 {
		return float64(r.runtime[0].Value.Uint64() - r.runtime[1].Value.Uint64())
	}),
	plain("goroutines", tsdb.Gauge, "Goroutines.", func(r *reading) float64 { return float64(r.runtime[2].Value.Uint64()) }),
}

type statistics struct {
	server *server
	host   bool
	reader *hoststats.Collector
	keys   seriesKeys
}

func newStatistics(s *server, host bool) *statistics {
	return &statistics{server: s, host: host, reader: hoststats.New(), keys: seriesKeys{}}
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
		samples := st.own(next.UnixMilli())
		if st.host {
			samples = st.keys.host(samples, st.reader.Read(), next.UnixMilli())
		}
		samples = append(samples, st.queryTimes(now)...)
		samples = st.ofRules(samples, next.UnixMilli())
		_, err := st.server.store.Ingest(ctx, "internal", samples, journal.Interval)
		if err != nil && !failing {
			st.server.log.Error("the appliance's own figures are not stored", "error", err)
		}
		failing = err != nil
	}
}

// queryTimes is how long the queries took of the second in which they ended, as histograms.
func (st *statistics) queryTimes(second time.Time) []tsdb.Sample {
	var samples []tsdb.Sample
	for kind, h := range st.server.queries.Latencies.Take() {
		key, err := tsdb.AppendKey(nil, []tsdb.Label{{Name: tsdb.NameLabel, Value: figurePrefix + "query_seconds"}, {Name: "kind", Value: kind}})
		if err == nil {
			samples = append(samples, tsdb.Sample{Key: key, Kind: tsdb.Histogram, Time: second.UnixMilli(), Histogram: h})
		}
	}
	return samples
}

func (st *statistics) read() *reading {
	s := st.server
	r := &reading{store: s.store.Status(), clock: s.clock.Status(), queries: s.queries.Pool().Status(), runtime: []metrics.Sample{
		{Name: "/memory/classes/total:bytes"}, {Name: "/memory/classes/heap/released:bytes"}, {Name: "/sched/goroutines:goroutines"},
	}}
	metrics.Read(r.runtime)
	on := s.listening.Load()
	if on.statsd != nil {
		stats := on.statsd.Stats()
		r.statsd = &stats
	}
	if on.graphite != nil {
		r.graphite = datagramsOf(on.graphite)
	}
	if on.collectd != nil {
		r.collectd = datagramsOf(on.collectd)
	}
	if on.influx != nil {
		r.influx = datagramsOf(on.influx)
	}
	_, r.outputs = s.outputs.Status()
	r.senders = map[string]senders.Status{}
	for name, one := range s.senders {
		r.senders[name] = one.Status(0)
	}
	return r
}

// own is storaged's figures as samples of time ms.
func (st *statistics) own(ms int64) []tsdb.Sample {
	r := st.read()
	var all []tsdb.Sample
	for _, f := range allFigures {
		f.read(r, func(value float64, labels ...tsdb.Label) {
			all = st.keys.sample(all, f.full(), labels, f.kind, ms, value)
		})
	}
	return all
}

// expose serves them in Prometheus' text format.
func (st *statistics) expose(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "text/plain; version=0.0.4; charset=utf-8")
	r := st.read()
	out := bufio.NewWriter(w)
	defer out.Flush()
	defer st.exposeRules(out)
	escape := strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`)
	for _, f := range allFigures {
		began, name := false, f.full()
		f.read(r, func(value float64, labels ...tsdb.Label) {
			if !began {
				out.WriteString("# HELP " + name + " " + f.help + "\n# TYPE " + name + " " + f.kind.String() + "\n")
				began = true
			}
			out.WriteString(name)
			for i, l := range labels {
				out.WriteString([]string{"{", ","}[min(i, 1)] + l.Name + `="` + escape.Replace(l.Value) + `"`)
			}
			if len(labels) > 0 {
				out.WriteString("}")
			}
			out.WriteString(" " + strconv.FormatFloat(value, 'g', -1, 64) + "\n")
		})
	}
}
