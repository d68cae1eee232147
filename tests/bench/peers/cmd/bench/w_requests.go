package main

// requests: what remote writing costs when the requests are small, or their series come in another order each time.

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"
)

func requestsWorkload(ctx context.Context, b *bench, sections map[string]*section) error {
	s := sections["requests"]
	pods, ticks := 500, 20
	if b.quick {
		pods, ticks = 100, 10
	}
	s.about = fmt.Sprintf("%s series at one sample every 10 s, %s samples over 2 connections: in requests of 500 and of 100 samples, and of 10,000 with the series in a random order in each.",
		number(float64(pods*seriesPerPod)), thousands(fmt.Sprint(pods*seriesPerPod*ticks)))
	s.note("%s: the rows 'as delivered'.", asPeersNote)
	for _, shape := range []struct {
		name    string
		request int
		shuffle bool
		ratio   float64
	}{{"500 a request", 500, false, 3}, {"100 a request", 100, false, 3}, {"random order", 10_000, true, 4}} {
		requests, err := encodeRequests(b.temp, pods, ticks, shape.request, shape.shuffle)
		if err != nil {
			return err
		}
		cpu := s.add(shape.name+": CPU until flushed", "s per M samples", goal{victoria, shape.ratio, 0})
		kernel := s.add("… of it the kernel's", "s per M samples")
		memory := s.add("… peak memory", "MiB")
		synced := s.add("… as delivered, each request synced: CPU until flushed", "s per M samples")
		b.each(ctx, s, s.systems, b.repeats, func(ctx context.Context, system string) error {
			server, err := b.run(ctx, system, asPeers)
			if err != nil {
				return err
			}
			defer server.remove()
			before, kernelBefore := server.cpu(), server.kernel()
			stop := func() {}
			if system == cistern {
				stop = b.takeProfile(ctx, s, server, fmt.Sprintf("requests-%d", shape.request))
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
			n := float64(requests.samples) / 1e6
			all, _ := server.peak()
			cpu.put(system, (server.cpu()-before)/n)
			kernel.put(system, (server.kernel()-kernelBefore)/n)
			memory.put(system, float64(all)/(1<<20))
			return nil
		})
		b.each(ctx, s, []string{cistern}, b.repeats, func(ctx context.Context, system string) error {
			server, err := b.run(ctx, system, serverOptions{})
			if err != nil {
				return err
			}
			defer server.remove()
			before := server.cpu()
			if _, err := requests.play(ctx, server); err != nil {
				return err
			}
			if err := server.settle(ctx); err != nil {
				return err
			}
			synced.put(system, (server.cpu()-before)/float64(requests.samples)*1e6)
			return nil
		})
		requests.close()
	}
	return nil
}

// encodeRequests makes requests of so many samples each, half of the fleet's series on each of two connections.
func encodeRequests(folder string, pods, ticks, request int, shuffle bool) (*bodies, error) {
	requests, err := newBodies(folder, 2, "/api/v1/write", remoteWriteHeaders)
	if err != nil {
		return nil, err
	}
	type one struct {
		labels []byte
		values process
	}
	series := make([]one, 0, pods*seriesPerPod)
	for pod := range pods {
		for i := range seriesPerPod {
			series = append(series, one{fleetLabels(nil, pod, 0, i), newProcess(pod, 0, i)})
		}
	}
	start := time.Now().Add(-time.Duration(ticks+1) * 10 * time.Second).UnixMilli()
	random := rand.New(rand.NewPCG(3, 3))
	half := len(series) / 2
	var message, packed []byte
	for tick := range ticks {
		for lane := range 2 {
			part := series[lane*half : (lane+1)*half]
			if shuffle {
				random.Shuffle(len(part), func(i, j int) { part[i], part[j] = part[j], part[i] })
			}
			for from := 0; from < len(part); from += request {
				message = message[:0]
				to := min(from+request, len(part))
				for i := from; i < to; i++ {
					message = appendOne(message, part[i].labels, part[i].values.next(random), start+int64(tick)*10_000)
				}
				packed = compress(message, packed)
				if err := requests.add(lane, packed, to-from); err != nil {
					requests.close()
					return nil, err
				}
			}
		}
	}
	return requests, nil
}
