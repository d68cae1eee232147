package tsdb

// What comes out: series by matchers, out of the heads and the blocks, as one.

import (
	"context"
	"slices"
	"sort"

	"cistern/services/histogram"
)

// Querier answers for samples in a range of time: a store, or later several nodes as one.
type Querier interface {
	// Select is the series that match all matchers and have, or may have, samples in [minTime, maxTime], by key. They
	// stay valid until release is called, which must be done also when none was found.
	Select(ctx context.Context, minTime, maxTime int64, matchers ...*Matcher) (series []*Series, release func(), err error)
	// LabelNames is the names of the labels of the series that Select would find, ascending.
	LabelNames(ctx context.Context, minTime, maxTime int64, matchers ...*Matcher) ([]string, error)
	// LabelValues is the values of one label of the series that Select would find, ascending.
	LabelValues(ctx context.Context, name string, minTime, maxTime int64, matchers ...*Matcher) ([]string, error)
}

// Series is one series of a query's answer.
type Series struct {
	Key    string
	Labels []Label
	Kind   Kind
	// Where its samples are, from the oldest block to the head.
	numbers    []source[float64]
	histograms []source[histogram.Histogram]
}

// Numbers walks through the numbers in [minTime, maxTime].
func (s *Series) Numbers(minTime, maxTime int64) *NumberIterator {
	return newIterator(s.numbers, minTime, maxTime, decodeNumbers, newestNumber)
}

// Histograms walks through the histograms in [minTime, maxTime], one per second at most.
func (s *Series) Histograms(minTime, maxTime int64) *HistogramIterator {
	return newIterator(s.histograms, minTime, maxTime, decodeHistograms, sumOfHistograms)
}

// view is what a query sees: heads and blocks at one moment. A sample is in exactly one of them.
type view struct {
	heads  []*head // older first
	blocks []*block
}

func (s *Store) view(minTime, maxTime int64) (view, func(), error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if s.closed {
		return view{}, func() {}, ErrClosed
	}
	var v view
	for _, b := range s.list {
		if b.MaxTime >= minTime && b.MinTime <= maxTime {
			b.acquire()
			v.blocks = append(v.blocks, b)
		}
	}
	if s.frozen != nil {
		v.heads = append(v.heads, s.frozen)
	}
	v.heads = append(v.heads, s.live)
	return v, func() {
		for _, b := range v.blocks {
			b.release()
		}
		v.blocks = nil
	}, nil
}

// Select implements Querier.
func (s *Store) Select(ctx context.Context, minTime, maxTime int64, matchers ...*Matcher) ([]*Series, func(), error) {
	v, release, err := s.view(minTime, maxTime)
	if err != nil {
		return nil, release, err
	}
	found := map[string]*Series{}
	if err := v.collect(ctx, minTime, maxTime, matchers, found); err != nil {
		release()
		return nil, func() {}, err
	}
	list := make([]*Series, 0, len(found))
	for _, one := range found {
		list = append(list, one)
	}
	sort.Slice(list, func(a, b int) bool { return list[a].Key < list[b].Key })
	return list, release, nil
}

func (v view) collect(ctx context.Context, minTime, maxTime int64, matchers []*Matcher, found map[string]*Series) error {
	for _, b := range v.blocks {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := b.collect(minTime, maxTime, matchers, found); err != nil {
			return err
		}
	}
	for _, h := range v.heads {
		if err := h.collect(minTime, maxTime, matchers, found); err != nil {
			return err
		}
	}
	return nil
}

func lookUp(found map[string]*Series, key string, kind Kind) (*Series, error) {
	if one := found[key]; one != nil {
		one.Kind = kind // the newest one's
		return one, nil
	}
	labels, err := ParseKey(key)
	if err != nil {
		return nil, err
	}
	one := &Series{Key: key, Labels: labels, Kind: kind}
	found[key] = one
	return one, nil
}

func (b *block) collect(minTime, maxTime int64, matchers []*Matcher, found map[string]*Series) error {
	x, err := b.index()
	if err != nil {
		return err
	}
	refs, err := selectSeries(x, matchers)
	if err != nil {
		return err
	}
	for _, ref := range refs {
		record, err := x.seriesAt(int(ref))
		if err != nil {
			return err
		}
		if record.maxTime < minTime || record.minTime > maxTime {
			continue
		}
		one, err := lookUp(found, record.key, record.kind)
		if err != nil {
			return err
		}
		if record.kind == Histogram {
			one.histograms = append(one.histograms, source[histogram.Histogram]{record.minTime, record.maxTime,
				func() ([]frame, batch[histogram.Histogram], error) {
					frames, err := b.chunk(record)
					return frames, batch[histogram.Histogram]{}, err
				}})
		} else {
			one.numbers = append(one.numbers, source[float64]{record.minTime, record.maxTime,
				func() ([]frame, batch[float64], error) {
					frames, err := b.chunk(record)
					return frames, batch[float64]{}, err
				}})
		}
	}
	return nil
}

func (h *head) collect(minTime, maxTime int64, matchers []*Matcher, found map[string]*Series) error {
	h.mu.RLock()
	defer h.mu.RUnlock()
	refs, err := selectSeries(h, matchers)
	if err != nil {
		return err
	}
	for _, ref := range refs {
		s := h.series[ref]
		if !s.has || s.maxTime < minTime || s.minTime > maxTime {
			continue
		}
		one, err := lookUp(found, s.key, s.kind)
		if err != nil {
			return err
		}
		if s.kind == Histogram {
			one.histograms = append(one.histograms, s.histogramSources()...)
		} else {
			one.numbers = append(one.numbers, s.numberSources()...)
		}
	}
	return nil
}

// LabelNames implements Querier.
func (s *Store) LabelNames(ctx context.Context, minTime, maxTime int64, matchers ...*Matcher) ([]string, error) {
	names := map[string]bool{}
	err := s.eachLabelSource(ctx, minTime, maxTime, matchers,
		func(x *blockIndex) error {
			for _, name := range x.labelNames() {
				names[name] = true
			}
			return nil
		},
		func(h *head) error {
			for name := range h.labels {
				names[name] = true
			}
			return nil
		},
		func(labels []Label) {
			for _, l := range labels {
				names[l.Name] = true
			}
		})
	return sorted(names), err
}

// LabelValues implements Querier.
func (s *Store) LabelValues(ctx context.Context, name string, minTime, maxTime int64, matchers ...*Matcher) ([]string, error) {
	values := map[string]bool{}
	add := func(value string, _ func() ([]uint32, error)) error { values[value] = true; return nil }
	err := s.eachLabelSource(ctx, minTime, maxTime, matchers,
		func(x *blockIndex) error { return x.eachValue(name, add) },
		func(h *head) error { return h.eachValue(name, add) },
		func(labels []Label) {
			for _, l := range labels {
				if l.Name == name {
					values[l.Value] = true
				}
			}
		})
	return sorted(values), err
}

// eachLabelSource asks the indexes themselves when there is no matcher, and the selected series otherwise.
func (s *Store) eachLabelSource(ctx context.Context, minTime, maxTime int64, matchers []*Matcher,
	ofBlock func(*blockIndex) error, ofHead func(*head) error, ofSeries func([]Label)) error {
	v, release, err := s.view(minTime, maxTime)
	if err != nil {
		return err
	}
	defer release()
	if len(matchers) > 0 {
		found := map[string]*Series{}
		if err := v.collect(ctx, minTime, maxTime, matchers, found); err != nil {
			return err
		}
		for _, one := range found {
			ofSeries(one.Labels)
		}
		return nil
	}
	for _, b := range v.blocks {
		x, err := b.index()
		if err != nil {
			return err
		}
		if err := ofBlock(x); err != nil {
			return err
		}
	}
	for _, h := range v.heads {
		h.mu.RLock()
		err := ofHead(h)
		h.mu.RUnlock()
		if err != nil {
			return err
		}
	}
	return nil
}

func sorted(set map[string]bool) []string {
	list := make([]string, 0, len(set))
	for one := range set {
		list = append(list, one)
	}
	slices.Sort(list)
	return list
}
