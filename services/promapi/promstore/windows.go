package promstore

import (
	"context"
	"runtime"
	"sync"
	"sync/atomic"

	"cistern/services/histogram"
	"cistern/services/tsdb"
)

// Windows adds the histograms of all series in [from+i*width, from+(i+1)*width) to into[i], as tsdb.Series.Windows does,
// on all processors: each takes a stretch of the time. It returns how many histograms and rollups were merged.
func Windows(ctx context.Context, list []*tsdb.Series, from, width int64, into []*histogram.Dense) (int, error) {
	workers := min(runtime.GOMAXPROCS(0), len(into)/8)
	if workers < 2 {
		return windowsOf(ctx, list, from, width, into)
	}
	// Smaller stretches than processors, because some have less in them than others.
	size := (len(into) + 2*workers - 1) / (2 * workers)
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
