package main

// native: histograms that come as Prometheus' own, by remote write, and the questions about them.

import (
	"context"
	"fmt"
	"time"
)

func nativeWorkload(ctx context.Context, b *bench, sections map[string]*section) error {
	s := sections["native"]
	s.note("%s.", asPeersNote)
	s.note("VictoriaMetrics takes no native histograms: it gets the same measurements as its own vmrange buckets, and is asked the same of them.")
	days, series, seconds := 7, 1000, 60
	if b.quick {
		days, seconds = 1, 12
	}
	s.about = fmt.Sprintf("Native histograms of %s measurements by remote write: 1,000 series for %d s, a second a request; and one series a second for %d days, then windows of 1h30 over it.",
		thousands(fmt.Sprint(perSecond)), seconds, days)
	g := newGenerator()
	many, err := newHistogramWork(b.temp, false, g.information(perSecond))
	if err != nil {
		return err
	}
	defer many.close()
	if err := many.encodeMany(ctx, g, series, seconds, time.Now().Unix()-int64(seconds)-5); err != nil {
		return err
	}
	b.nativeIngest(ctx, s, many, "1,000 series", b.repeats, nil)
	many.close()
	start := time.Now().Unix()/window*window - int64(days)*86_400
	labels := []label{{"instance", "10.0.0.1:9100"}, {"job", "production/api-gateway"}, {"service", "login"}}
	week, err := newHistogramWork(b.temp, false, g.information(perSecond))
	if err != nil {
		return err
	}
	defer week.close()
	if err := week.encodeSeries(ctx, g, newHistogramSeries("bench_latency_seconds", labels, 1), start, 1, days*86_400, perSecond, 60); err != nil {
		return err
	}
	servers := map[string]*server{}
	defer func() { removeAll(servers) }()
	b.nativeIngest(ctx, s, week, "one series", 1, servers)
	from, to := start+window, start+int64(days)*86_400
	native := fmt.Sprintf("increase(bench_latency_seconds[%ds])", window)
	ours := fmt.Sprintf("?query=bench_latency_seconds&start=%d&end=%d&step=%d", start, to-1, window)
	theirs := func(query string) string { return ranged(query, from, to, window) }
	buckets := fmt.Sprintf("sum(increase(bench_latency_seconds_bucket[%ds])) by (vmrange)", window)
	const bounds = 0.12 // buckets of different bounds: a tenth is what they may differ by
	askCPU(ctx, b, s, servers, []cpuQuestion{
		{name: "quantiles by the histogram API", ratio: 0.7, compare: sameNumber(bounds, lastQuantile), paths: map[string]string{
			cistern:    "/api/v1/histogram/quantiles" + ours + "&q=0.5&q=0.9&q=0.99",
			victoria:   theirs(`histogram_quantiles("phi", 0.5, 0.9, 0.99, ` + buckets + `)`),
			prometheus: theirs(`histogram_quantiles(` + native + `, "quantile", 0.5, 0.9, 0.99)`)}},
		{name: "share above 0.1 s by the histogram API", ratio: 0.7, compare: sameNumber(bounds, lastShare), paths: map[string]string{
			cistern:    "/api/v1/histogram/over" + ours + "&limit=0.1",
			victoria:   theirs(`1 - histogram_share(0.1, ` + buckets + `)`),
			prometheus: theirs(`1 - histogram_fraction(-Inf, 0.1, ` + native + `)`)}},
		{name: "heatmap by the histogram API", ratio: 0.7, compare: func(map[string]*asked) error { return nil }, paths: map[string]string{
			cistern: "/api/v1/histogram/heatmap" + ours, victoria: theirs(buckets), prometheus: theirs(native)}},
		{name: "`histogram_quantile(0.9, increase(…))`", ratio: 0.7, loose: bounds, anyOf: true, paths: map[string]string{
			cistern:    theirs(`histogram_quantile(0.9, ` + native + `)`),
			victoria:   theirs(`histogram_quantile(0.9, ` + buckets + `)`),
			prometheus: theirs(`histogram_quantile(0.9, ` + native + `)`)}},
	})
	return nil
}

// nativeIngest plays the remote-write form of the work, the one for Prometheus, to Cistern and Prometheus. With servers it leaves them running.
func (b *bench) nativeIngest(ctx context.Context, s *section, w *histogramWork, name string, repeats int, servers map[string]*server) {
	cpu := s.add(name+": CPU until flushed", "µs per histogram", goal{prometheus, 1 / 0.7, 0})
	memory := s.add(name+": peak memory", "MiB", goal{"", 200, 0})
	disk := s.add(name+": disk", "B per histogram")
	b.each(ctx, s, s.systems, repeats, func(ctx context.Context, system string) error {
		requests := w.requests[prometheus]
		if system == victoria {
			requests = w.requests[victoria]
		}
		server, err := b.run(ctx, system, asPeers)
		if err != nil {
			return err
		}
		keep := false
		defer func() {
			if !keep {
				server.remove()
			}
		}()
		before := server.cpu()
		stop := func() {}
		if system == cistern {
			stop = b.takeProfile(ctx, s, server, "native")
		}
		p, err := requests.play(ctx, server)
		stop()
		if err != nil {
			return err
		}
		if p.refused > 0 {
			s.fail(system, fmt.Errorf("%d of %d requests were refused, for example: %s", p.refused, p.requests, p.example))
		}
		if err := server.settle(ctx); err != nil {
			return err
		}
		n := float64(w.histograms)
		all, _ := server.peak()
		cpu.put(system, (server.cpu()-before)/n*1e6)
		memory.put(system, float64(all)/(1<<20))
		parts, err := server.disk(ctx)
		if err != nil {
			return err
		}
		disk.put(system, float64(parts["samples"]+parts["index"])/n)
		if servers != nil {
			servers[system], keep = server, true
		}
		return nil
	})
}
