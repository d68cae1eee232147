package tsdb

// Which series have which labels: lists of numbers (positions in a head or a block), ascending, and the set arithmetic
// by which matchers select from them. A head and a block are both an index.

import (
	"slices"

	"github.com/prometheus/prometheus/model/labels"
)

// Matcher is PromQL's: =, !=, =~ and !~.
type Matcher = labels.Matcher

// index answers which series have a label.
type index interface {
	// all is every series.
	all() ([]uint32, error)
	// postings is the series whose label name has this value.
	postings(name, value string) ([]uint32, error)
	// eachValue calls f with the values of a label and their series, until f returns an error.
	eachValue(name string, f func(value string, series func() ([]uint32, error)) error) error
}

// selectSeries is the series that match all matchers, ascending.
func selectSeries(x index, matchers []*Matcher) ([]uint32, error) {
	var selected []uint32
	narrowed := false
	narrow := func(list []uint32) {
		if narrowed {
			selected = intersect(selected, list)
		} else {
			selected, narrowed = list, true
		}
	}
	// A matcher that the empty string satisfies also takes series without the label: what it refuses is subtracted.
	var refusals []*Matcher
	for _, m := range matchers {
		if m.Matches("") {
			refusals = append(refusals, m)
			continue
		}
		list, err := matching(x, m.Name, m, true)
		if err != nil {
			return nil, err
		}
		narrow(list)
		if len(selected) == 0 {
			return nil, nil
		}
	}
	if !narrowed {
		list, err := x.all()
		if err != nil {
			return nil, err
		}
		narrow(list)
	}
	for _, m := range refusals {
		refused, err := matching(x, m.Name, m, false)
		if err != nil {
			return nil, err
		}
		selected = subtract(selected, refused)
	}
	return selected, nil
}

// matching is the series that have the label with a value for which m says wanted.
func matching(x index, name string, m *Matcher, wanted bool) ([]uint32, error) {
	if m.Type == labels.MatchEqual && wanted {
		return x.postings(name, m.Value)
	}
	if m.Type == labels.MatchNotEqual && !wanted {
		return x.postings(name, m.Value)
	}
	if m.Type == labels.MatchRegexp && wanted {
		if values := m.SetMatches(); len(values) > 0 {
			var lists [][]uint32
			for _, value := range values {
				list, err := x.postings(name, value)
				if err != nil {
					return nil, err
				}
				lists = append(lists, list)
			}
			return union(lists), nil
		}
	}
	var lists [][]uint32
	err := x.eachValue(name, func(value string, series func() ([]uint32, error)) error {
		if m.Matches(value) != wanted {
			return nil
		}
		list, err := series()
		lists = append(lists, list)
		return err
	})
	return union(lists), err
}

func intersect(a, b []uint32) []uint32 {
	if len(a) > len(b) {
		a, b = b, a
	}
	var both []uint32
	if len(b) > 32*len(a) { // looking up beats walking
		for _, n := range a {
			i, found := slices.BinarySearch(b, n)
			if found {
				both = append(both, n)
			}
			b = b[i:]
		}
		return both
	}
	for len(a) > 0 && len(b) > 0 {
		switch {
		case a[0] < b[0]:
			a = a[1:]
		case a[0] > b[0]:
			b = b[1:]
		default:
			both = append(both, a[0])
			a, b = a[1:], b[1:]
		}
	}
	return both
}

func subtract(a, b []uint32) []uint32 {
	if len(b) == 0 {
		return a
	}
	var rest []uint32
	for _, n := range a {
		for len(b) > 0 && b[0] < n {
			b = b[1:]
		}
		if len(b) == 0 || b[0] != n {
			rest = append(rest, n)
		}
	}
	return rest
}

func union(lists [][]uint32) []uint32 {
	if len(lists) == 1 {
		return lists[0]
	}
	var all []uint32
	for _, list := range lists {
		all = append(all, list...)
	}
	slices.Sort(all)
	return slices.Compact(all)
}
