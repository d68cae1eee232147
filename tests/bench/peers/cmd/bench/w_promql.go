package main

// promql: what PromQL over floats costs.

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"
)

func promqlWorkload(ctx context.Context, b *bench, sections map[string]*section) error {
	s := sections["promql"]
	series, hours := 1000, 24
	if b.quick {
		hours = 3
	}
	s.about = fmt.Sprintf("%s counters, one sample every 10 s for %d hours; queries at a step of 1 min over all of it, over HTTP, warm, caches of whole answers off.", thousands(fmt.Sprint(series)), hours)
	ticks := hours * 360
	start := time.Now().Unix()/60*60 - int64(ticks)*10 - 60
	requests, err := newBodies(b.temp, 2, "/api/v1/write", remoteWriteHeaders)
	if err != nil {
		return err
	}
	defer requests.close()
	// Half of the series on each connection, ten samples of each in a request.
	const together = 10
	var message, samples, packed []byte
	labels, values := make([][]byte, series), make([]int64, series)
	for i := range labels {
		labels[i] = appendLabels(nil, []label{{"__name__", "bench_requests_total"}, {"code", fmt.Sprint(200 + i%5)}, {"instance", fmt.Sprintf("10.1.%d.%d:9100", i/250, i%250)}, {"job", jobs[i%len(jobs)]}})
	}
	random := rand.New(rand.NewPCG(9, 9))
	for tick := 0; tick < ticks; tick += together {
		for lane := range 2 {
			message = message[:0]
			count := 0
			for i := lane; i < series; i += 2 {
				samples = samples[:0]
				for k := range together {
					values[i] += poisson(random, float64(i%200))
					samples = appendSample(samples, float64(values[i]), (start+int64(tick+k)*10)*1000+int64(mix(uint64(i))%10_000))
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
	servers := map[string]*server{}
	defer func() {
		for _, server := range servers {
			server.remove()
		}
	}()
	b.each(ctx, s, s.systems, 1, func(ctx context.Context, system string) error {
		server, err := b.run(ctx, system, serverOptions{})
		if err != nil {
			return err
		}
		servers[system] = server
		if _, err := requests.play(ctx, server); err != nil {
			server.remove()
			delete(servers, system)
			return err
		}
		return server.settle(ctx)
	})
	for _, q := range []struct {
		query string
		goals []goal
	}{
		{"sum by (job) (rate(bench_requests_total[5m]))", []goal{{prometheus, 2, 0}, {victoria, 1, 2}}},
		{"max_over_time(bench_requests_total{job=\"billing\"}[10m])", nil},
		{"topk(5, sum by (instance) (increase(bench_requests_total[1h])))", nil},
	} {
		path := fmt.Sprintf("/api/v1/query_range?query=%s&start=%d&end=%d&step=60&nocache=1&timeout=120s", escape(q.query), start+600, start+int64(ticks)*10)
		question := question{q.query, map[string]string{cistern: path, victoria: path, prometheus: path}, func(_ string, text []byte) (float64, error) { return lastOf(text) }}
		b.say("promql: %s", q.query)
		results := ask(ctx, servers, question, 20, 30*time.Second)
		s.put("`"+q.query+"`", results, q.goals...)
		cpu := s.add("… CPU", "ms")
		for system, r := range results {
			if r.failed == nil {
				cpu.put(system, r.cpu*1000)
			}
		}
	}
	return nil
}
