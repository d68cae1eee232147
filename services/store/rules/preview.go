package rules

// What a rule would give now, before it is made.

import (
	"context"
	"errors"
	"math"
	"slices"

	"cistern/services/store/tsdb"
)

// shownSeries is how many series a preview lists.
const shownSeries = 50

// PreviewSeries is one series that a rule would write. Of a histogram it has the count and the sum.
type PreviewSeries struct {
	Labels    map[string]string `json:"labels"`
	Value     *float64          `json:"value"` // null: a histogram, or no number that JSON has
	Histogram *HistogramTotals  `json:"histogram"`
}

// HistogramTotals are those of a histogram.
type HistogramTotals struct {
	Count *float64 `json:"count"`
	Sum   *float64 `json:"sum"`
}

// Preview is what a rule would give.
type Preview struct {
	Moment float64         `json:"moment"` // seconds since 1970
	Total  int             `json:"total"`  // series
	Series []PreviewSeries `json:"series"` // the first of them
	// Sent is whether somebody sends measurements of the result's name, which the rule would not write then.
	Sent bool `json:"sent"`
}

// Preview evaluates a rule that need not be one of those that there are. Replaced is the id of the rule whose place it would take,
// "" for none. The error is a *Refused when it cannot be a rule.
func (m *Manager) Preview(ctx context.Context, r Rule, replaced string) (Preview, error) {
	m.mu.Lock()
	var all []Rule
	for _, one := range m.rules {
		if one.ID != replaced {
			all = append(all, one.Rule)
		}
	}
	wrote, owned := m.names[r.Name], m.owned[r.Name]
	m.mu.Unlock()
	r.ID, r.Enabled = "preview", true
	expressions, err := Check(append(all, r), m.queries.Parse)
	if err != nil {
		if refused := (*Refused)(nil); errors.As(err, &refused) {
			refused.Fields = slices.DeleteFunc(refused.Fields, func(f Field) bool { return f.Index < len(all) && f.Name != "expression" })
			for i := range refused.Fields {
				refused.Fields[i].Index = 0
			}
		}
		return Preview{}, err
	}
	at := aligned(m.options.Now().UnixMilli()-milliseconds(m.options.Delay), r.interval())
	p := Preview{Moment: float64(at) / 1000, Series: []PreviewSeries{}}
	if !owned {
		newest, err := m.newest(ctx, r.Name, at)
		if err != nil {
			return Preview{}, err
		}
		p.Sent = newest > wrote && newest > 0
	}
	found, err := m.ask(ctx, "preview of recording rules", &rule{Rule: r, expr: expressions[len(all)]}, at, at, 0)
	if err != nil {
		return Preview{}, err
	}
	p.Total = len(found)
	for _, one := range found[:min(len(found), shownSeries)] {
		list, err := tsdb.ParseKey(string(one.key))
		if err != nil {
			continue
		}
		shown := PreviewSeries{Labels: map[string]string{}}
		for _, l := range list {
			shown.Labels[l.Name] = l.Value
		}
		if len(one.histograms) > 0 {
			h := one.histograms[0].H
			shown.Histogram = &HistogramTotals{finite(h.Count), finite(h.Sum)}
		} else {
			shown.Value = finite(one.numbers[0].F)
		}
		p.Series = append(p.Series, shown)
	}
	return p, nil
}

// finite is a number that JSON has, or null.
func finite(v float64) *float64 {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return nil
	}
	return &v
}
