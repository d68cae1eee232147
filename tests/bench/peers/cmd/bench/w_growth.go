package main

// growth: what more series cost.

import (
	"context"
	"fmt"
	"math"
	"syscall"
	"time"
)

func growthWorkload(ctx context.Context, b *bench, sections map[string]*section) error {
	s := sections["growth"]
	s.systems = []string{cistern, victoria}
	s.about = "Series of one sample every 10 s each, values that rise by one; first one sample of each new series, then two million samples or two of each, whatever is more. Then kill -9 and start, stop and start. VictoriaMetrics for comparison, up to a million and once."
	sizes := []int{10_000, 100_000, 1_000_000, 5_000_000}
	if b.quick {
		sizes = sizes[:3]
	}
	steady := map[int][]float64{}
	for _, size := range sizes {
		if ctx.Err() != nil {
			return nil
		}
		b.say("growth: encoding %d series", size)
		ticks := 1 + max(2, 2_000_000/size)
		f := fleet{pods: size / seriesPerPod, ticks: ticks, interval: 10_000, request: 10_000, lanes: 2, plain: true, lean: true}
		f.start = time.Now().Add(-time.Duration(ticks+1) * 10 * time.Second).UnixMilli()
		requests, _, _, err := f.encode(b.temp)
		if err != nil {
			return err
		}
		compared := size > 1_000_000
		b.each(ctx, s, s.systems, b.repeats, func(ctx context.Context, system string) error {
			if system != cistern {
				if compared {
					return nil
				}
				compared = true
			}
			cpu, err := growthOf(ctx, b, s, &f, requests, system, size)
			if system == cistern && err == nil {
				steady[size] = append(steady[size], cpu)
			}
			return err
		})
		requests.close()
	}
	least, most := math.Inf(1), 0.0
	for _, size := range sizes {
		if len(steady[size]) == 0 {
			return nil
		}
		least, most = min(least, median(steady[size])), max(most, median(steady[size]))
	}
	f := s.add("CPU per sample, most over least of these sizes", "×", goal{"", 1.2, 0})
	f.put(cistern, most/least)
	return nil
}

func growthOf(ctx context.Context, b *bench, s *section, f *fleet, requests *bodies, system string, size int) (steady float64, err error) {
	var options serverOptions
	if system == cistern {
		// More than it should need, as the other has by itself: what it takes is what is measured.
		options.memory = max(1024, size*8>>10)
	}
	server, err := b.run(ctx, system, options)
	if err != nil {
		return 0, err
	}
	defer server.remove()
	name := number(float64(size)) + " series"
	empty, _ := server.status("VmRSS")
	perTick := func(lane int) int { return len(requests.lanes[lane]) / f.ticks }
	first := requests.part(func(int) int { return 0 }, perTick)
	rest := requests.part(perTick, func(lane int) int { return len(requests.lanes[lane]) })
	for _, half := range []struct {
		name     string
		requests *bodies
	}{{"CPU, new series", first}, {"CPU, known series", rest}} {
		warmMemory() // five million series take more than there was before the first half
		p, err := half.requests.play(ctx, server)
		if err != nil {
			return 0, err
		}
		if p.refused > 0 {
			return 0, fmt.Errorf("%s: %d of %d requests were refused, for example: %s", name, p.refused, p.requests, p.example)
		}
		if half.requests == rest {
			// What was begun while they came is theirs; what a flush costs is in the other workloads.
			steady = p.cpu / float64(rest.samples) * 1e6
			s.row(name+": "+half.name, "µs per sample").put(system, steady)
		} else {
			s.row(name+": "+half.name, "µs per sample").put(system, p.cpu/float64(first.samples)*1e6)
		}
	}
	now, _ := server.status("VmRSS")
	peak, _ := server.peak()
	// A small number of series bears the whole process: the goal is about many.
	var memoryGoals []goal
	if size >= 100_000 {
		memoryGoals = []goal{{"", 1024, 0}}
	}
	s.row(name+": memory", "B per active series", memoryGoals...).put(system, float64(now-empty)/float64(size))
	s.row(name+": peak memory", "B per active series").put(system, float64(peak-empty)/float64(size))
	var goals []goal
	if size >= 5_000_000 {
		goals = []goal{{"", 15, 0}}
	}
	_ = server.end(syscall.SIGKILL, time.Minute)
	restart := func(what string) error {
		began := time.Now()
		if err := server.start(ctx, options); err != nil {
			return err
		}
		s.row(name+": start "+what, "s", goals...).put(system, time.Since(began).Seconds())
		stored, err := server.count(ctx, f)
		if err != nil {
			s.fail(system, fmt.Errorf("%s, counting after a start %s: %w", name, what, err))
		} else {
			share := s.row(name+": samples there after a start "+what, "%", goal{"", 100, 0})
			share.higher = true
			share.put(system, 100*float64(stored)/float64(requests.samples))
		}
		return nil
	}
	if err := restart("after kill -9"); err != nil {
		return steady, err
	}
	began := time.Now()
	if err := server.end(syscall.SIGTERM, 2*time.Minute); err != nil {
		s.fail(system, fmt.Errorf("%s: %w", name, err))
	}
	s.row(name+": stop", "s", goal{"", 10, 0}).put(system, time.Since(began).Seconds())
	return steady, restart("after a stop")
}
