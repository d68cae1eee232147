package main

// seconds: what questions over one sample a second cost, out of files.

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"
)

func secondsWorkload(ctx context.Context, b *bench, sections map[string]*section) error {
	s := sections["seconds"]
	series, hours := 1000, 6
	if b.quick {
		hours = 1
	}
	s.about = fmt.Sprintf("%s counters with a sample a second for %d hours, out of files; over HTTP, warm, caches of whole answers off; asked for is CPU beside the better peer's. Answers are compared: with Prometheus' point by point.", thousands(fmt.Sprint(series)), hours)
	ticks := hours * 3600
	start := time.Now().Unix()/60*60 - int64(ticks) - 60
	requests, err := newBodies(b.temp, 2, "/api/v1/write", remoteWriteHeaders)
	if err != nil {
		return err
	}
	defer requests.close()
	modes := []string{"idle", "user", "system", "iowait", "irq", "softirq", "steal", "nice"}
	const together = 20
	var message, samples, packed []byte
	labels, values := make([][]byte, series), make([]int64, series)
	for i := range labels {
		labels[i] = appendLabels(nil, []label{{"__name__", fmt.Sprintf("bench_cpu_%d_ticks_total", i/100)}, {"cpu", fmt.Sprint(i / 8 % 16)},
			{"instance", fmt.Sprintf("10.1.%d.%d:9100", i/128, i%128)}, {"mode", modes[i%len(modes)]}, {"rack", fmt.Sprint(i / 10)}})
	}
	random := rand.New(rand.NewPCG(9, 9))
	for tick := 0; tick < ticks; tick += together {
		for lane := range 2 {
			message = message[:0]
			count := 0
			for i := lane; i < series; i += 2 {
				samples = samples[:0]
				for k := range together {
					values[i] += poisson(random, float64(i%20)/2)
					samples = appendSample(samples, float64(values[i]), (start+int64(tick+k))*1000)
					count++
				}
				message = appendSeries(message, labels[i], samples)
			}
			packed = compress(message, packed)
			if err := requests.add(lane, packed, count); err != nil {
				return err
			}
		}
	}
	servers := b.fill(ctx, s, requests, true)
	defer func() { removeAll(servers) }()
	end := start + int64(ticks) - 1
	window := func(query string) string { return ranged(query, start+600, end, 60) }
	askCPU(ctx, b, s, servers, []cpuQuestion{
		{name: "`sum by (mode) (rate(x[5m]))`, step 60", path: window(`sum by (mode) (rate({__name__=~"bench_cpu_.+"}[5m]))`), ratio: 0.8, loose: 0.1},
		{name: "`sum(rate({__name__=~\"…\"}[1m]))`, 100 series", path: window(`sum(rate({__name__=~"bench_cpu_3_.*"}[1m]))`), ratio: 0.8, loose: 0.1},
		{name: fmt.Sprintf("`count_over_time(x[%dh])`", hours), path: instant(fmt.Sprintf(`count_over_time({__name__=~"bench_cpu_.+"}[%dh])`, hours), end), ratio: 0.5},
		{name: "`quantile_over_time(0.9, x[10m])`, 10 series", path: window(`quantile_over_time(0.9, {rack="25"}[10m])`), ratio: 0.8, loose: 0.01},
	})
	return nil
}
