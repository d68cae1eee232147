package tsdb

// Which series have which labels: lists of numbers (positions in a head or a block), ascending, and the set arithmetic
// by which matchers select from them. A head and a block are both an index.

import (
	"math/bits"
	"slices"

	"github.com/prometheus/prometheus/model/labels"
)

// Matcher is PromQL's: =, !=, =~ and !~.
type Matcher = labels.Matcher

// index answers which series have a label.
type index interface {
	// all is every series.
	all() ([]uint32, error)
	// postings is the series whose label name has this value; count is how many they are.
	postings(name, value string) ([]uint32, error)
	count(name, value string) (int, error)
	// eachValue calls f with the values of a label that begin with prefix and their series, until f returns an error.
	eachValue(name, prefix string, f func(value string, series func() ([]uint32, error)) error) error
	// keyOf is a series' key.
	keyOf(ref uint32) (string, error)
}

// fewSeries is up to how many series are looked at one by one instead of reading lists that are this much longer.
const (
	fewSeries = 2000
	muchMore  = 100
)

// selectSeries is the series that match all matchers, ascending.
func selectSeries(x index, matchers []*Matcher) ([]uint32, error) {
	// A matcher that the empty string satisfies also takes series without the label: what it refuses is subtracted.
	var demands, refusals []*Matcher
	least, leastCount := -1, 0
	for _, m := range matchers {
		if m.Matches("") {
			refusals = append(refusals, m)
			continue
		}
		if m.Type == labels.MatchEqual {
			n, err := x.count(m.Name, m.Value)
			if err != nil || n == 0 {
				return nil, err
			}
			if least < 0 || n < leastCount {
				least, leastCount = len(demands), n
			}
		}
		demands = append(demands, m)
	}
	if least > 0 { // the shortest list first
		demands[0], demands[least] = demands[least], demands[0]
	}
	var selected []uint32
	for i, m := range demands {
		if i > 0 {
			long := muchMore * len(selected)
			if m.Type == labels.MatchEqual {
				n, err := x.count(m.Name, m.Value)
				if err != nil {
					return nil, err
				}
				long = n
			}
			// A regular expression has to be matched against every value there is; some series are looked at sooner.
			if len(selected) <= fewSeries && long >= muchMore*len(selected) {
				var err error
				if selected, err = filter(x, selected, m); err != nil || len(selected) == 0 {
					return nil, err
				}
				continue
			}
		}
		list, err := matching(x, m.Name, m, true)
		if err != nil {
			return nil, err
		}
		if i == 0 {
			selected = list
		} else {
			selected = intersect(selected, list)
		}
		if len(selected) == 0 {
			return nil, nil
		}
	}
	if len(demands) == 0 {
		list, err := x.all()
		if err != nil {
			return nil, err
		}
		selected = list
	}
	for _, m := range refusals {
		if len(selected) <= fewSeries && m.Type != labels.MatchNotEqual {
			var err error
			if selected, err = filter(x, selected, m); err != nil {
				return nil, err
			}
			continue
		}
		refused, err := matching(x, m.Name, m, false)
		if err != nil {
			return nil, err
		}
		selected = subtract(selected, refused)
	}
	return selected, nil
}

// filter looks at each series' label.
func filter(x index, refs []uint32, m *Matcher) ([]uint32, error) {
	var kept []uint32
	for _, ref := range refs {
		key, err := x.keyOf(ref)
		if err != nil {
			return nil, err
		}
		if m.Matches(LabelOf(key, m.Name)) {
			kept = append(kept, ref)
		}
	}
	return kept, nil
}

// matching is the series that have the label with a value for which m says wanted.
func matching(x index, name string, m *Matcher, wanted bool) ([]uint32, error) {
	if m.Type == labels.MatchEqual && wanted || m.Type == labels.MatchNotEqual && !wanted {
		return x.postings(name, m.Value)
	}
	prefix := ""
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
		prefix = m.Prefix()
	}
	var lists [][]uint32
	err := x.eachValue(name, prefix, func(value string, series func() ([]uint32, error)) error {
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

// union is what is in any of the lists. Of many numbers that lie close together, as those of series do, a bit each is quicker
// than putting them in order.
func union(lists [][]uint32) []uint32 {
	if len(lists) == 1 {
		return lists[0]
	}
	total, most := 0, uint32(0)
	for _, list := range lists {
		if total += len(list); len(list) > 0 {
			most = max(most, list[len(list)-1])
		}
	}
	all := make([]uint32, 0, total)
	if words := int(most)/64 + 1; words <= total {
		have := make([]uint64, words)
		for _, list := range lists {
			for _, n := range list {
				have[n/64] |= 1 << (n % 64)
			}
		}
		for i, word := range have {
			for ; word != 0; word &= word - 1 {
				all = append(all, uint32(i*64+bits.TrailingZeros64(word)))
			}
		}
		return all
	}
	for _, list := range lists {
		all = append(all, list...)
	}
	slices.Sort(all)
	return slices.Compact(all)
}
