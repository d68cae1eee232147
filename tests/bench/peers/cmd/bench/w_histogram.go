package main

// histogram-ingest and histogram-query: a week of one histogram a second, and a thousand series for some minutes.

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strings"
	"time"
)

const window = 5400 // seconds: 1h30

// histogramWork is the same histograms for everybody.
type histogramWork struct {
	requests map[string]*bodies
	// tight are the same requests with the samples of a series under its labels once, where a protocol allows that and its
	// senders do not do it; nil for work that has none.
	tight      map[string]*bodies
	histograms int64
	filled     map[string]int64   // bins or buckets that hold something, over all histograms
	held       map[string]float64 // bytes of information in a histogram
}

func (w *histogramWork) close() {
	for system, b := range w.requests {
		b.close()
		if tight := w.tight[system]; tight != nil && tight != b {
			tight.close()
		}
	}
}

func newHistogramWork(folder string, tightToo bool, held map[string]float64) (*histogramWork, error) {
	w := &histogramWork{requests: map[string]*bodies{}, filled: map[string]int64{}, held: held}
	if tightToo {
		w.tight = map[string]*bodies{}
	}
	for _, system := range []string{cistern, victoria, prometheus} {
		path, headers := "/api/v1/write", remoteWriteHeaders
		if system == cistern {
			path, headers = cisternPath, cisternHeaders
		}
		b, err := newBodies(folder, 1, path, headers)
		if err != nil {
			w.close()
			return nil, err
		}
		w.requests[system] = b
		if !tightToo {
			continue
		}
		w.tight[system] = b
		if system != cistern {
			if w.tight[system], err = newBodies(folder, 1, path, headers); err != nil {
				w.close()
				return nil, err
			}
		}
	}
	return w, nil
}

// encodeSeries makes requests of `together` histograms each of one series. A remote writer sends each sample as a series of
// its own, with all its labels (Prometheus' queue manager and vmagent do, so PEERS.md's figures are of that); Cistern's
// import declares a series once.
func (w *histogramWork) encodeSeries(ctx context.Context, g *generator, s *histogramSeries, start int64, every, n, measurements, together int) error {
	var forCistern cisternBatch
	var request, native, message, writes, tight, packed, scratch []byte
	for i := 0; i < n; i += together {
		if err := ctx.Err(); err != nil {
			return err
		}
		forCistern.reset()
		forCistern.begin(s)
		native, message, writes = native[:0], message[:0], writes[:0]
		samples, held := 0, min(together, n-i)
		for k := range held {
			at := start + int64(i+k)*int64(every)
			s.clear()
			g.draw(&s.counts, s.random, at, measurements)
			s.accumulate()
			forCistern.add(s, at*1000)
			before := len(native)
			native, scratch = s.appendNativeAt(native, scratch, at*1000)
			message = appendSeries(message, s.nativeLabels, native[before:])
			samples += s.bufferVM(at * 1000)
			writes = s.appendLatestVM(writes, at*1000)
		}
		request = forCistern.end(request[:0])
		err := w.requests[cistern].add(0, request, held)
		packed = compress(message, packed)
		err = errors.Join(err, w.requests[prometheus].add(0, packed, held))
		packed = compress(writes, packed)
		err = errors.Join(err, w.requests[victoria].add(0, packed, samples))
		tight = s.flushVM(tight[:0])
		if w.tight != nil {
			packed = compress(tight, packed)
			err = errors.Join(err, w.tight[victoria].add(0, packed, samples))
			tight = appendSeries(tight[:0], s.nativeLabels, native)
			packed = compress(tight, packed)
			err = errors.Join(err, w.tight[prometheus].add(0, packed, held))
		}
		if err != nil {
			return err
		}
	}
	w.count(s)
	return nil
}

func (w *histogramWork) count(s *histogramSeries) {
	w.histograms += s.histograms
	w.filled[cistern] += s.populated
	w.filled[prometheus] += s.nativeFilled
	w.filled[victoria] += s.vmFilled
}

// encodeMany makes requests of one second of many series each.
func (w *histogramWork) encodeMany(ctx context.Context, g *generator, series, seconds int, start int64) error {
	all := make([]*histogramSeries, series)
	for i := range all {
		all[i] = newHistogramSeries("bench_request_seconds", []label{{"instance", fmt.Sprintf("10.0.%d.%d:9100", i/250, i%250)}, {"job", jobs[i%len(jobs)]}, {"service", fmt.Sprintf("service-%d", i%40)}}, uint64(i)+100)
	}
	var forCistern cisternBatch
	var request, native, message, writes, packed, scratch []byte
	for second := range seconds {
		if err := ctx.Err(); err != nil {
			return err
		}
		at := start + int64(second)
		forCistern.reset()
		message, writes = message[:0], writes[:0]
		samples := 0
		for i, s := range all {
			s.clear()
			// A series' own place in the day keeps them from being alike.
			g.draw(&s.counts, s.random, at+int64(i)*1800, perSecond)
			s.accumulate()
			forCistern.begin(s)
			forCistern.add(s, at*1000)
			native, scratch = s.appendNativeAt(native[:0], scratch, at*1000)
			message = appendSeries(message, s.nativeLabels, native)
			samples += s.bufferVM(at * 1000)
			writes = s.flushVM(writes)
		}
		request = forCistern.end(request[:0])
		err := w.requests[cistern].add(0, request, series)
		packed = compress(message, packed)
		err = errors.Join(err, w.requests[prometheus].add(0, packed, series))
		packed = compress(writes, packed)
		if err = errors.Join(err, w.requests[victoria].add(0, packed, samples)); err != nil {
			return err
		}
	}
	for _, s := range all {
		w.count(s)
	}
	return nil
}

// information is how many bytes a histogram of n measurements holds at least, as each system gets it: its bins' counts are all but
// independent. Narrow bins hold more than wide ones, and that has to be stored.
func (g *generator) information(n int) map[string]float64 {
	var logLinear, native, vm [logLinearBins]float64 // the others have fewer
	for _, m := range g.tables[0] {
		logLinear[m.logLinear]++
		native[m.native]++
		vm[m.vm]++
	}
	held := map[string]float64{}
	for system, bins := range map[string]*[logLinearBins]float64{cistern: &logLinear, prometheus: &native, victoria: &vm} {
		for _, drawn := range bins {
			if drawn > 0 {
				held[system] += poissonEntropy(drawn/draws*float64(n)) / 8
			}
		}
	}
	return held
}

func histogramWorkload(ctx context.Context, b *bench, sections map[string]*section) error {
	ingest, query := sections["histogram-ingest"], sections["histogram-query"]
	days, seconds := 7, 120
	if b.quick {
		days, seconds = 1, 12
	}
	n := days * 86_400
	start := (time.Now().Unix()/window)*window - int64(n)
	g := newGenerator()
	b.say("histogram: encoding %d histograms", n)
	work, err := newHistogramWork(b.temp, sections["histogram-ingest"] != nil, g.information(perSecond))
	if err != nil {
		return err
	}
	defer work.close()
	labels := []label{{"instance", "10.0.0.1:9100"}, {"job", "production/api-gateway"}, {"service", "login"}}
	if err := work.encodeSeries(ctx, g, newHistogramSeries("bench_latency_seconds", labels, 1), start, 1, n, perSecond, 60); err != nil {
		return err
	}
	servers := map[string]*server{}
	defer func() {
		for _, s := range servers {
			s.remove()
		}
	}()
	repeats := b.repeats
	if ingest == nil {
		repeats, ingest = 1, &section{name: "histogram-ingest", systems: query.systems}
		defer func() { query.failed = append(ingest.failed, query.failed...) }()
	}
	ingest.about = fmt.Sprintf("One histogram of %s log-normal measurements a second for %d days, 60 per request; to Cistern as log-linear bins (binary import), to Prometheus as native histograms, to VictoriaMetrics as vmrange buckets, each sample with its labels as remote writers send them. Then 1,000 series for %d s, one second per request.",
		thousands(fmt.Sprint(perSecond)), days, seconds)
	ingest.note("%s: the rows 'each request synced'.", asPeersNote)
	per := float64(work.histograms)
	ingest.note("'Labels once': Prometheus and VictoriaMetrics get the 60 samples of a series under its labels once, which the protocol allows and saves VictoriaMetrics most of its work, but Prometheus' and vmagent's senders do not do. Cistern's import declares a series once: its requests are the same in both.")
	ingest.note("Populated per histogram: %.0f log-linear bins (the second's own), %.0f native buckets and %.0f vmrange buckets (cumulative). What a histogram has in each of these holds %.1f, %.1f and %.1f bytes of information at least.",
		float64(work.filled[cistern])/per, float64(work.filled[prometheus])/per, float64(work.filled[victoria])/per,
		work.held[cistern], work.held[prometheus], work.held[victoria])
	goals := []goal{{prometheus, 3, 6}, {victoria, 8, 20}} // of either form: the reader sees which one they are met in
	b.each(ctx, ingest, ingest.systems, repeats, func(ctx context.Context, system string) error {
		server, err := b.ingestHistograms(ctx, ingest, work, work.requests, system, "one series", asPeers, goals, true)
		if err != nil {
			return err
		}
		if before := servers[system]; before != nil {
			before.remove()
		}
		servers[system] = server
		return nil
	})
	if sections["histogram-ingest"] != nil {
		b.each(ctx, ingest, ingest.systems, repeats, func(ctx context.Context, system string) error {
			server, err := b.ingestHistograms(ctx, ingest, work, work.tight, system, "one series, labels once", asPeers, goals, false)
			if err == nil {
				server.remove()
			}
			return err
		})
		b.each(ctx, ingest, []string{cistern}, repeats, func(ctx context.Context, system string) error {
			server, err := b.ingestHistograms(ctx, ingest, work, work.requests, system, "one series, each request synced", serverOptions{}, nil, false)
			if err == nil {
				server.remove()
			}
			return err
		})
	}
	work.close()
	if query != nil {
		queryHistograms(ctx, b, query, servers, "one a second", "bench_latency_seconds", start, days, true,
			[]goal{{"", 20, 5}, {victoria, 30, 0}, {prometheus, 100, 0}})
		for system, server := range servers {
			server.remove()
			delete(servers, system)
		}
		// Others again for the week at one minute: a head that has seen the week's end takes nothing from its beginning.
		minute, err := newHistogramWork(b.temp, false, g.information(60*perSecond))
		if err != nil {
			return err
		}
		defer minute.close()
		if err := minute.encodeSeries(ctx, g, newHistogramSeries("bench_latency_minute_seconds", labels, 2), start, 60, n/60, 60*perSecond, 60); err != nil {
			return err
		}
		aside := &section{name: query.name, systems: query.systems}
		b.each(ctx, aside, aside.systems, 1, func(ctx context.Context, system string) (err error) {
			servers[system], err = b.ingestHistograms(ctx, aside, minute, minute.requests, system, "", asPeers, nil, false)
			return err
		})
		query.failed = append(query.failed, aside.failed...)
		queryHistograms(ctx, b, query, servers, "one a minute", "bench_latency_minute_seconds", start, days, false,
			[]goal{{"", 5, 2}, {victoria, 3, 0}, {prometheus, 10, 0}})
	}
	for system, server := range servers {
		server.remove()
		delete(servers, system)
	}
	if sections["histogram-ingest"] == nil {
		return nil
	}
	b.say("histogram: encoding 1,000 series")
	many, err := newHistogramWork(b.temp, false, g.information(perSecond))
	if err != nil {
		return err
	}
	defer many.close()
	if err := many.encodeMany(ctx, g, 1000, seconds, time.Now().Unix()-int64(seconds)-5); err != nil {
		return err
	}
	b.each(ctx, ingest, ingest.systems, repeats, func(ctx context.Context, system string) error {
		server, err := b.ingestHistograms(ctx, ingest, many, many.requests, system, "1,000 series", asPeers, nil, false)
		if err == nil {
			server.remove()
		}
		return err
	})
	return nil
}

// asPeers makes storaged answer before it has synced, as the peers do.
var asPeers = serverOptions{settings: "[import]\ndurability = \"interval\"\n\n[remote_write]\ndurability = \"interval\"\n"}

// asPeersNote says so.
const asPeersNote = "Cistern's inputs are set to durability = 'interval' where they stand beside peers: requests are answered when the kernel has them, and synced within a second. Prometheus and VictoriaMetrics answer then or before, and sync later. As delivered, Cistern syncs before it answers"

// ingestHistograms plays the work's requests (or its tight ones) to a fresh system, which it returns.
func (b *bench) ingestHistograms(ctx context.Context, s *section, w *histogramWork, requests map[string]*bodies, system, name string, options serverOptions, goals []goal, diskGoal bool) (_ *server, err error) {
	cpu := s.row(name+": CPU until flushed", "µs per histogram", goals...)
	kernel := s.row(name+": … of it the kernel's", "µs per histogram")
	taking := s.row(name+": CPU until acknowledged", "µs per histogram")
	disk := s.row(name+": disk", "B per histogram")
	var diskGoals []goal
	if diskGoal {
		diskGoals = []goal{{victoria, 1, 1 / 0.7}}
	}
	perBin := s.row(name+": disk per populated bin", "B", diskGoals...)
	memory := s.row(name+": peak memory", "MiB")
	var folderGoals, overGoals []goal
	if diskGoal {
		folderGoals, overGoals = []goal{{best, 1 / 1.2, 0}}, []goal{{"", 1.2, 0}}
	}
	folder := s.row(name+": disk, the whole data folder after a flush", "B per histogram", folderGoals...)
	over := s.row(name+": … over its samples and index", "×", overGoals...)
	held := s.row(name+": … over what the system's bins hold", "×")
	server, err := b.run(ctx, system, options)
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			server.remove()
		}
	}()
	before, kernelBefore := server.cpu(), server.kernel()
	stop := func() {}
	if system == cistern && name != "" {
		stop = b.takeProfile(ctx, s, server, strings.ReplaceAll("histograms-"+name, " ", "-"))
	}
	p, err := requests[system].play(ctx, server)
	stop()
	if err != nil {
		return nil, err
	}
	if p.refused > 0 {
		s.fail(system, fmt.Errorf("%d of %d requests were refused, for example: %s", p.refused, p.requests, p.example))
	}
	if err := server.settle(ctx); err != nil {
		return nil, err
	}
	total, inKernel := server.cpu()-before, server.kernel()-kernelBefore
	all, _ := server.peak()
	whole, err := server.weigh()
	if err != nil {
		return nil, err
	}
	n := float64(w.histograms)
	folder.put(system, whole/n)
	if err := server.compact(ctx); err != nil {
		return nil, err
	}
	parts, err := server.disk(ctx)
	if err != nil {
		return nil, err
	}
	size := float64(parts["samples"] + parts["index"])
	over.put(system, whole/size)
	held.put(system, whole/n/w.held[system])
	cpu.put(system, total/n*1e6)
	kernel.put(system, inKernel/n*1e6)
	taking.put(system, p.cpu/n*1e6)
	disk.put(system, size/n)
	perBin.put(system, size/float64(w.filled[system]))
	memory.put(system, float64(all)/(1<<20))
	return server, nil
}

// queryHistograms asks for quantiles, an inverse quantile and a heatmap in windows of 1h30 at an aligned start, and when
// odd is set at one that is aligned to nothing.
func queryHistograms(ctx context.Context, b *bench, s *section, servers map[string]*server, grain, metric string, start int64, days int, odd bool, goals []goal) {
	s.about = fmt.Sprintf("Over %d days of one histogram a second (and of one a minute with as many measurements): windows of 1h30, over HTTP, warm, caches of whole answers off; in turns, ≥ 20 runs each (≥ 5 for who is slow).", days)
	for system, server := range servers {
		if server == nil {
			delete(servers, system)
		}
	}
	const limit = 0.1
	for _, shift := range []int64{0, 1237} {
		if shift > 0 && !odd {
			continue
		}
		from, to := start+shift, start+int64(days)*86_400
		if shift > 0 {
			to -= window - shift
		}
		when := "aligned"
		if shift > 0 {
			when = "odd start"
		}
		ours := fmt.Sprintf("?query=%s&start=%d&end=%d&step=%d", metric, from, to-1, window)
		theirs := func(query string) string {
			return fmt.Sprintf("/api/v1/query_range?query=%s&start=%d&end=%d&step=%d&nocache=1&timeout=180s", escape(query), from+window, to, window)
		}
		buckets := fmt.Sprintf("sum(increase(%s_bucket[%ds])) by (vmrange)", metric, window)
		native := fmt.Sprintf("increase(%s[%ds])", metric, window)
		for _, q := range []question{
			{"p50, p90, p99", map[string]string{
				cistern:    "/api/v1/histogram/quantiles" + ours + "&q=0.5&q=0.9&q=0.99",
				victoria:   theirs(`histogram_quantiles("phi", 0.5, 0.9, 0.99, ` + buckets + `)`),
				prometheus: theirs(`histogram_quantiles(` + native + `, "quantile", 0.5, 0.9, 0.99)`),
			}, lastQuantile},
			{"share above 0.1 s", map[string]string{
				cistern:    fmt.Sprintf("/api/v1/histogram/over%s&limit=%g", ours, limit),
				victoria:   theirs(fmt.Sprintf(`1 - histogram_share(%g, %s)`, limit, buckets)),
				prometheus: theirs(fmt.Sprintf(`1 - histogram_fraction(-Inf, %g, %s)`, limit, native)),
			}, lastShare},
			{"heatmap", map[string]string{
				cistern:    "/api/v1/histogram/heatmap" + ours,
				victoria:   theirs(buckets),
				prometheus: theirs(native),
			}, nil},
		} {
			b.say("histogram-query: %s, %s, %s", grain, q.name, when)
			results := ask(ctx, servers, q, 20, 30*time.Second)
			name := grain + ", " + q.name + ", " + when
			s.put(name, results, goals...)
			if q.extract == nil || shift > 0 {
				continue
			}
			ours, least, most := results[cistern], math.Inf(1), math.Inf(-1)
			for _, r := range results {
				if r.failed == nil {
					least, most = min(least, r.value), max(most, r.value)
				}
			}
			if ours != nil && ours.failed == nil && most > 0 {
				// Buckets of different bounds: a tenth is what they may differ by.
				if (most-least)/most > 0.12 {
					s.fail(name, fmt.Errorf("the systems' answers differ: %v to %v, Cistern's is %v", least, most, ours.value))
				} else {
					s.note("%s: the answers for the last window are %.4g to %.4g, Cistern's %.4g.", name, least, most, ours.value)
				}
			}
		}
	}
}

// lastColumn reads a number of the last window: of the histogram API's answer, and of the peers' matrices.
func lastColumn(read func(column map[string]any) (float64, bool)) func(string, []byte) (float64, error) {
	return func(system string, text []byte) (float64, error) {
		if system != cistern {
			return lastOf(text)
		}
		var answer struct{ Columns []map[string]any }
		if err := json.Unmarshal(text, &answer); err != nil {
			return 0, err
		}
		if len(answer.Columns) == 0 {
			return 0, errors.New("no columns")
		}
		value, ok := read(answer.Columns[len(answer.Columns)-1])
		if !ok {
			return 0, errors.New("no number")
		}
		return value, nil
	}
}

// lastQuantile is the first quantile that was asked for.
var lastQuantile = lastColumn(func(c map[string]any) (float64, bool) {
	list, _ := c["quantiles"].([]any)
	if len(list) == 0 {
		return 0, false
	}
	value, ok := list[0].(float64)
	return value, ok
})

// lastShare is the share of the measurements above the limit.
var lastShare = lastColumn(func(c map[string]any) (float64, bool) {
	over, ok := c["over"].(float64)
	count, ok2 := c["count"].(float64)
	return over / count, ok && ok2
})
