package main

// cardinality: what questions cost that look at many series, or for few among many. The samples are in memory, as those of
// the last two hours are in every system.

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"time"
)

// cpuQuestion is a query and how much less CPU than the better peer it is to take.
type cpuQuestion struct {
	name  string
	path  string            // the same for every system
	paths map[string]string // instead of path, where they differ
	ratio float64           // ours ÷ the better peer's, at most; 0: no goal
	// How the answers are compared: point by point; loosely with VictoriaMetrics', whose rates are others; without labels,
	// where any of equal series will do; or by a function.
	loose   float64
	anyOf   bool
	compare func(map[string]*asked) error
}

// askCPU asks the questions in turns and writes each one's CPU, and its goal against the better peer.
func askCPU(ctx context.Context, b *bench, s *section, servers map[string]*server, questions []cpuQuestion) {
	for _, q := range questions {
		paths := q.paths
		if paths == nil {
			paths = map[string]string{}
			for _, system := range s.systems {
				paths[system] = q.path
			}
		}
		b.say("%s: %s", s.name, q.name)
		// /proc counts in hundredths of a second: what is quick is asked so often that they say something.
		results := ask(ctx, servers, question{name: q.name, paths: paths}, 1000, 3*time.Second)
		if err := q.agree(results); err != nil {
			s.fail(q.name, err)
		}
		cpu := s.add(q.name+", CPU", "ms")
		if q.ratio > 0 {
			cpu.goals = []goal{{best, 1 / q.ratio, 0}}
		}
		wall, size := s.add("… median", "ms"), s.add("… answer", "kB")
		for system, r := range results {
			if r.failed != nil {
				s.fail(system+", "+q.name, r.failed)
				continue
			}
			cpu.put(system, r.cpu*1000)
			wall.put(system, median(r.times)*1000)
			size.put(system, float64(r.bytes)/1000)
		}
	}
}

// fill starts every system and plays the requests to it. Those that fail are missing.
func (b *bench) fill(ctx context.Context, s *section, requests *bodies, settle bool) map[string]*server {
	servers := map[string]*server{}
	b.each(ctx, s, s.systems, 1, func(ctx context.Context, system string) error {
		server, err := b.run(ctx, system, serverOptions{})
		if err != nil {
			return err
		}
		p, err := requests.play(ctx, server)
		if err == nil && p.refused > 0 {
			err = fmt.Errorf("%d of %d requests were refused, for example: %s", p.refused, p.requests, p.example)
		}
		if err == nil && settle {
			err = server.settle(ctx)
		} else if err == nil {
			// VictoriaMetrics shows what it took within a second or two.
			if system == victoria {
				_, err = server.get(ctx, "/internal/force_flush")
			}
			server.idle(ctx, time.Minute)
		}
		if err != nil {
			server.remove()
			return err
		}
		servers[system] = server
		return nil
	})
	return servers
}

func removeAll(servers map[string]*server) {
	for _, server := range servers {
		server.remove()
	}
}

// instant is the path of an instant query.
func instant(query string, at int64) string {
	return fmt.Sprintf("/api/v1/query?query=%s&time=%d&nocache=1&timeout=120s", url.QueryEscape(query), at)
}

// ranged is the path of a range query; start, end and step are seconds.
func ranged(query string, start, end, step int64) string {
	return fmt.Sprintf("/api/v1/query_range?query=%s&start=%d&end=%d&step=%d&nocache=1&timeout=120s", url.QueryEscape(query), start, end, step)
}

func cardinalityWorkload(ctx context.Context, b *bench, sections map[string]*section) error {
	s := sections["cardinality"]
	f := fleet{pods: 500, ticks: 61, interval: 60_000, request: 10_000, lanes: 2}
	if b.quick {
		f.pods = 50
	}
	s.about = fmt.Sprintf("%s series with a sample a minute for an hour, all in memory; each query again and again over HTTP, warm, caches of whole answers off; asked for is CPU beside the better peer's. Answers are compared: with Prometheus' point by point.", number(float64(f.pods*seriesPerPod)))
	f.start = time.Now().Add(-time.Duration(f.ticks+1) * time.Duration(f.interval) * time.Millisecond).UnixMilli()
	requests, _, _, err := f.encode(b.temp)
	if err != nil {
		return err
	}
	defer requests.close()
	servers := b.fill(ctx, s, requests, false)
	defer func() { removeAll(servers) }()
	end := (f.start + int64(f.ticks)*f.interval) / 1000
	few := podName(7, 0)[strings.LastIndexByte(podName(7, 0), '-')+1:][:3] // of a name's random part: a few pods have it somewhere
	all := "match[]=" + url.QueryEscape(`{__name__=~".+"}`)
	counter := `{__name__=~".+_total",job="production/billing"}`
	askCPU(ctx, b, s, servers, []cpuQuestion{
		{name: "`topk(10, {__name__=~\".+\"})`", path: instant(`topk(10, {__name__=~".+"})`, end), ratio: 0.8, anyOf: true},
		{name: "`{__name__=~\".+\"}`", path: instant(`{__name__=~".+"}`, end), ratio: 0.8},
		{name: "`count({pod=~\".*" + few + ".*\"})`", path: instant(`count({pod=~".*`+few+`.*"})`, end), ratio: 1.1},
		{name: "`/api/v1/series`, all", path: fmt.Sprintf("/api/v1/series?%s&start=%d&end=%d&limit=1000000", all, end-300, end), ratio: 0.8},
		{name: "`/api/v1/status/tsdb`", path: "/api/v1/status/tsdb", ratio: 1, compare: sameNumber(0, largestMetric)},
		{name: "`{instance=~\"10.1.*\"}`", path: instant(`{instance=~"10.1.*"}`, end), ratio: 0.8},
		{name: "`max_over_time(sum by (job) (rate(…[5m]))[1h:1m])`", path: instant(`max_over_time(sum by (job) (rate(`+counter+`[5m]))[1h:1m])`, end), ratio: 0.8, loose: 0.1},
		{name: "`A * on (pod, subsystem) group_left () B`", path: instant(`sum by (pod, subsystem) ({container="billing"}) * on (pod, subsystem) group_right () {container="billing"}`, end), ratio: 0.8},
	})
	return nil
}

// largestMetric is how many series the metric has that has most, as /api/v1/status/tsdb says it.
func largestMetric(_ string, text []byte) (float64, error) {
	var answer struct {
		Data struct {
			SeriesCountByMetricName []struct{ Value float64 }
		}
	}
	if err := json.Unmarshal(text, &answer); err != nil {
		return 0, err
	}
	if len(answer.Data.SeriesCountByMetricName) == 0 {
		return 0, errors.New("no metrics")
	}
	return answer.Data.SeriesCountByMetricName[0].Value, nil
}
