package main

// remote-write and churn: the same pre-encoded requests to everybody.

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"time"
)

func remoteWriteWorkload(ctx context.Context, b *bench, sections map[string]*section) error {
	f := fleet{pods: 500, ticks: 180, interval: 10_000, request: 10_000, lanes: 2}
	if b.quick {
		f.pods, f.ticks = 100, 90
	}
	s := sections["remote-write"]
	s.about = fmt.Sprintf("%s series at one sample every 10 s, %s samples, 10,000 per request, 2 connections.", number(float64(f.pods*seriesPerPod)), thousands(fmt.Sprint(f.pods*seriesPerPod*f.ticks)))
	return ingestWorkload(ctx, b, s, &f, []goal{{victoria, 2.5, 3.5}, {prometheus, 6, 8}}, true)
}

func churnWorkload(ctx context.Context, b *bench, sections map[string]*section) error {
	f := fleet{pods: 500, ticks: 180, interval: 10_000, request: 10_000, lanes: 2, churn: 0.2}
	if b.quick {
		f.pods, f.ticks = 100, 90
	}
	s := sections["churn"]
	s.about = fmt.Sprintf("The same with 20 %% of the %s series replaced every simulated minute.", number(float64(f.pods*seriesPerPod)))
	return ingestWorkload(ctx, b, s, &f, []goal{{victoria, 2.5, 4}}, false)
}

func ingestWorkload(ctx context.Context, b *bench, s *section, f *fleet, goals []goal, main bool) error {
	f.start = time.Now().Add(-time.Duration(f.ticks+1) * time.Duration(f.interval) * time.Millisecond).UnixMilli()
	requests, entropy, series, err := f.encode(b.temp)
	if err != nil {
		return err
	}
	defer requests.close()
	n := float64(requests.samples)
	labelBytes := float64(requests.size) / n
	s.note("%s series in all; requests of %.1f bytes per sample when compressed; the values' processes hold %.3f bytes per sample of information.", thousands(fmt.Sprint(series)), labelBytes, entropy)
	perMillion := s.add("CPU until flushed", "s per M samples", goals...)
	perCore := s.add("samples per second per core", "M")
	perCore.higher = true
	ingesting := s.add("CPU until acknowledged", "s per M samples")
	var memoryGoals, diskGoals []goal
	if main {
		memoryGoals, diskGoals = []goal{{victoria, 1, 1 / 0.6}}, []goal{{victoria, 1 / 0.9, 0}}
	}
	memory := s.add("peak memory", "MiB", memoryGoals...)
	anonymous := s.add("… of it no mapped files", "MiB")
	disk := s.add("disk, samples and index", "B/sample", diskGoals...)
	var overEntropy *figure
	if main {
		overEntropy = s.add("disk, samples alone, over the information", "×", goal{"", 0, 1.15})
	}
	samplesPart := s.add("disk, samples", "B/sample")
	indexPart := s.add("disk, index", "B/series")
	logPart := s.add("disk, log after flush", "B/sample")
	otherPart := s.add("disk, other", "B/sample")
	var folderGoals []goal
	if main {
		folderGoals = []goal{{"", 1.2, 0}, {best, 1 / 1.2, 0}}
	}
	folder := s.add("disk, the whole data folder after a flush", "B/sample", folderGoals...)
	wall := s.add("wall time until acknowledged", "s")
	measure := func(ctx context.Context, system string) error {
		server, err := b.run(ctx, system, serverOptions{})
		if err != nil {
			return err
		}
		defer server.remove()
		before := server.cpu()
		stop := func() {}
		if main && system == cistern {
			stop = b.takeProfile(ctx, s, server, "storaged")
		}
		p, err := requests.play(ctx, server)
		stop()
		if err != nil {
			return err
		}
		if p.refused > 0 {
			s.fail(system, fmt.Errorf("%d of %d requests were refused, for example: %s", p.refused, p.requests, p.example))
		}
		if p.retries > 0 {
			s.note("%s asked %d times to be sent a request later.", system, p.retries)
		}
		if err := server.settle(ctx); err != nil {
			return err
		}
		total := server.cpu() - before
		all, anon := server.peak()
		whole, err := server.weigh()
		if err != nil {
			return err
		}
		folder.put(system, whole/n)
		if err := server.compact(ctx); err != nil {
			return err
		}
		parts, err := server.disk(ctx)
		if err != nil {
			return err
		}
		if stored, err := server.count(ctx, f); err != nil {
			s.fail(system, fmt.Errorf("counting what is stored: %w", err))
		} else if stored != requests.samples {
			s.fail(system, fmt.Errorf("%d samples are stored of %d", stored, requests.samples))
		}
		perMillion.put(system, total/n*1e6)
		perCore.put(system, n/total/1e6)
		ingesting.put(system, p.cpu/n*1e6)
		memory.put(system, float64(all)/(1<<20))
		anonymous.put(system, float64(anon)/(1<<20))
		wall.put(system, p.wall.Seconds())
		disk.put(system, float64(parts["samples"]+parts["index"])/n)
		if overEntropy != nil {
			overEntropy.put(system, float64(parts["samples"])/n/entropy)
		}
		samplesPart.put(system, float64(parts["samples"])/n)
		indexPart.put(system, float64(parts["index"])/float64(series))
		logPart.put(system, float64(parts["log"])/n)
		otherPart.put(system, float64(parts["other"])/n)
		return nil
	}
	s.note("After the flush VictoriaMetrics merges everything into one part before it is weighed, and Prometheus' head is written to a block by a snapshot; neither's CPU is counted.")
	b.each(ctx, s, s.systems, b.repeats, measure)
	return nil
}

// count is how many samples of the fleet are stored, as queries say it: one for each job, because systems limit how much
// one query may look at.
func (s *server) count(ctx context.Context, f *fleet) (total int64, err error) {
	seconds := int64(f.ticks+1) * f.interval / 1000
	at := (f.start+int64(f.ticks)*f.interval)/1000 + 1
	for _, job := range jobs {
		query := fmt.Sprintf(`sum(count_over_time({job="production/%s",cluster=~"prod-.*"}[%ds]))`, job, seconds)
		n, err := s.scalar(ctx, fmt.Sprintf("/api/v1/query?query=%s&time=%d&nocache=1&timeout=120s", escape(query), at))
		if err != nil {
			return 0, err
		}
		total += int64(n)
	}
	return total, nil
}

// takeProfile takes a CPU profile of storaged until the returned function is called, when profiles are asked for; the
// files' names begin with name.
func (b *bench) takeProfile(ctx context.Context, s *section, server *server, name string) (stop func()) {
	if b.profile == "" {
		return func() {}
	}
	if err := os.MkdirAll(b.profile, 0o755); err != nil {
		s.fail("profile", err)
		return func() {}
	}
	ended := make(chan struct{})
	var group sync.WaitGroup
	group.Go(func() {
		// Short ones in a row: how long the work takes is not known beforehand. The last one is waited for.
		for i := 0; ; i++ {
			text, err := server.do(ctx, "GET", "/debug/pprof/profile?seconds=5", nil, nil)
			if err != nil {
				s.fail("profile", fmt.Errorf("storaged has no /debug/pprof/profile: %w", err))
				return
			}
			if err := os.WriteFile(filepath.Join(b.profile, fmt.Sprintf("%s-%02d.pprof", name, i)), text, 0o644); err != nil {
				s.fail("profile", err)
				return
			}
			select {
			case <-ended:
				return
			default:
			}
		}
	})
	return func() { close(ended); group.Wait() }
}
