package histogram

// Gathered makes a histogram of bins that come in any order. To put each into its place in a list would cost the square of
// their number; nearly all come in order, and those are put behind each other. The zero value is ready.
type Gathered struct {
	ascending Histogram
	scattered *Dense // all of them, since the first that was out of order
}

// Add counts a bin n times more.
func (g *Gathered) Add(bin Bin, n uint64) {
	if g.scattered == nil {
		if last := len(g.ascending.Bins) - 1; last < 0 || g.ascending.Bins[last] <= bin {
			g.ascending.Add(bin, n)
			return
		}
		g.scattered = &Dense{}
		g.scattered.Merge(&g.ascending)
	}
	g.scattered.Add(bin, n)
}

// Histogram is what was gathered; nothing may be added after it.
func (g *Gathered) Histogram() *Histogram {
	if g.scattered != nil {
		return g.scattered.Histogram()
	}
	return &g.ascending
}
