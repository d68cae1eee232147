package fast

// How many samples there were: their times tell.

import (
	"sort"

	"cistern/services/store/tsdb"
)

// counted fills the scratch's row with how many numbers there are in each window; done is false where the values must be looked
// at, because some may be marks of the series' end.
func (r *run) counted(n *node, s *tsdb.Series, from, to int64, memory *scratch) (found, done bool, err error) {
	m := &memory.numbers
	if done, err = s.ReadTimes(from, to, maxRead, m); err != nil || !done || len(m.Values) > maxRead {
		return false, false, err
	}
	r.read.Add(int64(len(m.Values)))
	if err := r.ready(memory); err != nil {
		return false, false, err
	}
	for i := range memory.row {
		end := r.at.at(i) - n.offset
		count := upTo(m, end) - upTo(m, end-n.window)
		memory.row[i] = absent
		if count > 0 {
			memory.row[i], found = float64(count), true
		}
	}
	return found, true, nil
}

// upTo is how many of the numbers are at t or before.
func upTo(m *tsdb.NumberMemory, t int64) int64 {
	count := int64(len(m.Values))
	switch {
	case count == 0:
		return 0
	case len(m.Times) > 0:
		return int64(sort.Search(len(m.Times), func(i int) bool { return m.Times[i] > t }))
	case t < m.First:
		return 0
	case count == 1:
		return 1
	}
	return min(count, (t-m.First)/m.Interval+1)
}
