package httptrap

// Cumulative histograms (_type H): all that was measured since the client began. What is stored is the difference to
// the one before, which is what was measured in between.

import (
	"time"

	"cistern/services/histogram"
	"cistern/services/ingest/seriesstate"
	"cistern/services/store/tsdb"
)

// maxRemembered bounds what is remembered: a histogram of some hundred bins for each series.
const maxRemembered = 20_000

type remembered struct {
	latest *histogram.Histogram
	time   int64 // ms
}

// apply makes a request's cumulative histograms differences. The first one of a series is only remembered: nobody knows
// when it began. One that holds less than the one before it began anew, and is stored whole. commit remembers them,
// which is for when the differences are stored: those that were refused are in the next ones.
func apply(latest *seriesstate.Table[remembered], t *translation, now time.Time) (commit func(refused []tsdb.Rejection)) {
	latest.Sweep(now)
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
			before, known = latest.Get(sample.Key)
		}
		switch {
		case !known && latest.Full(added):
			left[i] = true
			t.reject(t.paths[i], tsdb.SeriesLimit, "there are %d cumulative histograms already, which is the limit", maxRemembered)
			continue
		case known && sample.Time < before.time:
			left[i] = true
			t.reject(t.paths[i], tsdb.OutOfOrder, "a later one was here before")
			continue
		}
		whole := sample.Histogram
		if known && within(before.latest, whole) {
			sample.Histogram = whole.Clone()
			sample.Histogram.Subtract(before.latest)
		}
		if !known {
			added++
		}
		if !known || len(sample.Histogram.Bins) == 0 {
			left[i] = true
		}
		next[key] = remembered{whole, sample.Time}
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
				latest.Set(s.key, s.one, now)
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
