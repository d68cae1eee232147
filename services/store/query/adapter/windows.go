package adapter

import (
	"context"
	"runtime"
	"sync"
	"sync/atomic"

	"cistern/services/histogram"
	"cistern/services/store/tsdb"
)

// Windows adds the histograms of all series in [from+i*width, from+(i+1)*width) to into[i], as tsdb.Series.Windows does,
// on all processors: each takes a stretch of the time. It returns how many histograms and rollups were merged.
func Windows(ctx context.Context, list []*tsdb.Series, from, width int64, into []*histogram.Dense) (int, error) {
	// Only where there is something: the rest would leave a processor without work.
	minTime, maxTime := tsdb.SpanOf(list)
	if minTime > maxTime {
		return 0, ctx.Err()
	}
	if minTime > from {
		skipped := min((minTime-from)/width, int64(len(into)))
		from, into = from+skipped*width, into[skipped:]
	}
	if behind := maxTime - from; behind >= 0 && behind/width+1 < int64(len(into)) {
		into = into[:behind/width+1]
	}
	workers := min(runtime.GOMAXPROCS(0), len(into)/8)
	if workers < 2 {
		return windowsOf(ctx, list, from, width, into)
	}
	// As many stretches as processors: what lies across their ends, of sums of half an hour a day, is read twice.
	size := (len(into) + workers - 1) / workers
	stretches := (len(into) + size - 1) / size
	var next, merged atomic.Int64
	var failure error
	var once sync.Once
	work := func() {
		for {
			i := int(next.Add(1)) - 1
			if i >= stretches {
				return
			}
			first := i * size
			n, err := windowsOf(ctx, list, from+int64(first)*width, width, into[first:min(first+size, len(into))])
			merged.Add(int64(n))
			if err != nil {
				once.Do(func() { failure = err })
				return
			}
		}
	}
	var others sync.WaitGroup
	for range workers - 1 {
		others.Go(work)
	}
	work()
	others.Wait()
	return int(merged.Load()), failure
}

func windowsOf(ctx context.Context, list []*tsdb.Series, from, width int64, into []*histogram.Dense) (int, error) {
	merged := 0
	for _, s := range list {
		n, err := s.Windows(ctx, from, width, into)
		merged += n
		if err != nil {
			return merged, err
		}
	}
	return merged, ctx.Err()
}
