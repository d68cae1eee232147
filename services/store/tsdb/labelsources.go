package tsdb

// Names and values of labels.

import (
	"context"
	"slices"
)

// LabelNames implements Querier.
func (s *Store) LabelNames(ctx context.Context, minTime, maxTime int64, matchers ...*Matcher) ([]string, error) {
	names := map[string]bool{}
	err := s.eachLabelSource(ctx, minTime, maxTime, matchers,
		func(x *blockIndex) error {
			list, err := x.labelNames()
			for _, name := range list {
				names[name] = true
			}
			return err
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
	taken := newMetered(ctx)
	defer taken.release()
	add := func(value string, _ func() ([]uint32, error)) error {
		if !values[value] {
			values[value] = true
			return taken.text(value)
		}
		return nil
	}
	err := s.eachLabelSource(ctx, minTime, maxTime, matchers,
		func(x *blockIndex) error { return x.eachValue(name, "", add) },
		func(h *head) error { return h.eachValue(name, "", add) },
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
	v, release, err := s.view(ctx, minTime, maxTime)
	if err != nil {
		return err
	}
	defer release()
	if matchers = narrow(ctx, matchers); len(matchers) > 0 {
		found := selection{metered: newMetered(ctx), keysOnly: true}
		defer found.metered.release()
		if err := v.collect(ctx, minTime, maxTime, matchers, &found); err != nil {
			return err
		}
		var labels []Label
		for _, key := range found.keys {
			if labels, err = appendLabelsOf(labels[:0], key); err != nil {
				return err
			}
			ofSeries(labels)
		}
		return nil
	}
	for _, b := range v.blocks {
		x, err := b.index()
		if err == nil {
			err = ofBlock(x)
		}
		if err != nil {
			if err := v.spoiled(b, err); err != nil {
				return err
			}
		}
	}
	for _, h := range v.heads {
		h.mu.RLock()
		var err error
		if h.has && h.minTime <= maxTime { // not what ended before minTime, as Prometheus: it is to go on
			err = ofHead(h)
		}
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
