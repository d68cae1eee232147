package httptrap

// Cumulative histograms (_type H): all that was measured since the client began. What is stored is the difference to
// the one before, which is what was measured in between.

import (
	"context"
	"errors"
	"time"

	"cistern/services/histogram"
	"cistern/services/store/tsdb"
)

// Limits of what is remembered: a histogram of some hundred bins for each series.
const (
	maxRemembered = 20_000
	forgetAfter   = time.Hour
	sweepEvery    = time.Minute
)

type remembered struct {
	latest *histogram.Histogram
	time   int64 // ms
	seen   time.Time
}

// cumulative is the latest of each series. Whoever holds the place in busy may use it.
type cumulative struct {
	busy  chan struct{}
	byKey map[string]remembered
	swept time.Time
}

func newCumulative() *cumulative {
	return &cumulative{busy: make(chan struct{}, 1), byKey: map[string]remembered{}}
}

// enter waits for them; release gives them back.
func (c *cumulative) enter(ctx context.Context) (release func(), err error) {
	select {
	case c.busy <- struct{}{}:
		return func() { <-c.busy }, nil
	case <-ctx.Done():
		return nil, errors.New("the client left")
	}
}

// apply makes a request's cumulative histograms differences. The first one of a series is only remembered: nobody knows
// when it began. One that holds less than the one before it began anew, and is stored whole. commit remembers them,
// which is for when the differences are stored: those that were refused are in the next ones.
func (c *cumulative) apply(t *translation, now time.Time) (commit func(refused []tsdb.Rejection)) {
	c.sweep(now)
	next := map[string]remembered{}
	added := 0
	left := map[int]bool{}
	type seen struct {
		key    string
		one    remembered
		sample int // in t.samples, first as it was and then as it is; left out: -1
	}
	var list []seen
	for _, i := range t.growing {
		sample := &t.samples[i]
		key := string(sample.Key)
		before, known := next[key]
		if !known {
			before, known = c.byKey[key]
		}
		switch {
		case !known && len(c.byKey)+added >= maxRemembered:
			left[i] = true
			t.reject(t.paths[i], tsdb.SeriesLimit, "there are %d cumulative histograms already, which is the limit", maxRemembered)
			continue
		case known && sample.Time < before.time:
			left[i] = true
			t.reject(t.paths[i], tsdb.OutOfOrder, "a later one was here before")
			continue
		}
		latest := sample.Histogram
		if known && within(before.latest, latest) {
			sample.Histogram = latest.Clone()
			sample.Histogram.Subtract(before.latest)
		}
		if !known {
			added++
		}
		if !known || len(sample.Histogram.Bins) == 0 {
			left[i] = true
		}
		next[key] = remembered{latest, sample.Time, now}
		list = append(list, seen{key, next[key], i})
	}
	kept, one := 0, 0
	for i := range t.samples {
		ours := one < len(list) && list[one].sample == i
		if ours {
			list[one].sample = -1
		}
		if !left[i] {
			if ours {
				list[one].sample = kept
			}
			t.samples[kept], t.paths[kept] = t.samples[i], t.paths[i]
			kept++
		}
		if ours {
			one++
		}
	}
	t.samples, t.paths = t.samples[:kept], t.paths[:kept]
	return func(refused []tsdb.Rejection) {
		not := map[int]bool{}
		for _, r := range refused {
			not[r.Index] = true
		}
		for _, s := range list {
			if !not[s.sample] {
				c.byKey[s.key] = s.one
			}
		}
	}
}

// within says whether all that part holds is in whole.
func within(part, whole *histogram.Histogram) bool {
	k := 0
	for i, bin := range part.Bins {
		for k < len(whole.Bins) && whole.Bins[k] < bin {
			k++
		}
		if k == len(whole.Bins) || whole.Bins[k] != bin || whole.Counts[k] < part.Counts[i] {
			return false
		}
	}
	return true
}

// sweep forgets what has ended.
func (c *cumulative) sweep(now time.Time) {
	if now.Sub(c.swept) < sweepEvery {
		return
	}
	c.swept = now
	for key, one := range c.byKey {
		if now.Sub(one.seen) > forgetAfter {
			delete(c.byKey, key)
		}
	}
}
