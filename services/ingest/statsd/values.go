package statsd

// What one value does to its metric. Counters, timers and distributions are counted in the reader's entry; gauges, sets and
// what counters are counted down by in the metric itself, under its lock.

import (
	"math"

	"cistern/services/histogram"
	"cistern/services/store/tsdb"
)

// take counts one value.
func (s *shard) take(e *entry, value []byte, l *line) tsdb.Reason {
	rate := l.rate
	if e.kind == set {
		return e.metric.join(value)
	}
	v, digits, unit, ok := parseDecimal(value)
	if !ok {
		return BadNumber
	}
	switch e.kind {
	case counter:
		// One with a time counts when it comes: a running total cannot be raised in the past.
		if v < 0 {
			return e.metric.lessen(-v / rate)
		}
		sum := e.sum + v/rate
		if math.IsInf(sum, 0) {
			return BadNumber
		}
		e.sum = sum
	case gauge:
		if l.time != 0 {
			return s.at(tsdb.Sample{Key: e.metric.key(), Kind: tsdb.Gauge, Time: l.time, Value: v})
		}
		return e.metric.set(v, value[0] == '+' || value[0] == '-', s.order)
	default:
		bin, ok := histogram.BinOf(v)
		if !ok {
			return BadNumber
		}
		if e.kind == timer {
			// The bin is shifted, not the number divided: 1.2/1000 is not quite the 0.0012 where its bin begins.
			bin, unit = bin.Shift(-3), unit-3
		}
		n := uint64(1)
		if rate != 1 {
			// What rounding leaves counts at the next one: of 1.43 each, seven are ten.
			exact := 1/rate + e.carry
			whole := math.Round(exact)
			n, e.carry = uint64(whole), exact-whole
		}
		if l.time != 0 && n > 0 {
			one := &histogram.Histogram{}
			one.RecordDecimal(bin, n, digits, unit)
			return s.at(tsdb.Sample{Key: e.metric.key(), Kind: tsdb.Histogram, Time: l.time, Histogram: one})
		}
		if e.spread == nil {
			e.spread = s.accumulator()
		}
		e.spread.RecordDecimal(bin, n, digits, unit)
	}
	return ""
}

// accumulator is an empty one. It takes hundreds of bytes, and most timers have no value in most seconds.
func (s *shard) accumulator() *histogram.Accumulator {
	last := len(s.spare) - 1
	if last < 0 {
		return &histogram.Accumulator{}
	}
	one := s.spare[last]
	s.spare[last], s.spare = nil, s.spare[:last]
	return one
}

// release has other timers use an entry's accumulator, which was just emptied.
func (s *shard) release(e *entry) {
	if e.spread != nil {
		s.spare, e.spread = append(s.spare, e.spread), nil
	}
}

// at keeps a sample that has a time of its own for the end of the second.
func (s *shard) at(sample tsdb.Sample) tsdb.Reason {
	if len(s.timed) >= maxTimed {
		return Unstored
	}
	s.timed = append(s.timed, sample)
	return ""
}

// set sets or changes a gauge. A sign makes it a change: that is statsd's way, and why a gauge is set to 0 before it is
// set to something negative.
func (m *metric) set(v float64, change bool, order int64) tsdb.Reason {
	m.mu.Lock()
	defer m.mu.Unlock()
	switch {
	case order < m.order: // another reader had something newer
	case !change:
		m.level, m.order = v, order
	case math.IsInf(m.level+v, 0):
		return BadNumber
	default:
		m.level += v
	}
	m.known = true
	return ""
}

// lessSuffix ends the name of the counter of what a counter was counted down by: rate would take a total that goes down for
// one that began anew.
const lessSuffix = "_decrements"

// lessen counts a counter down.
func (m *metric) lessen(by float64) tsdb.Reason {
	m.mu.Lock()
	defer m.mu.Unlock()
	less := by
	if m.more != nil {
		less += m.more.less
	}
	if math.IsInf(less, 0) {
		return BadNumber
	}
	more := m.extra()
	if more.lessKey == nil {
		labels, err := tsdb.ParseKey(m.id[1:])
		for i := range labels {
			if labels[i].Name == tsdb.NameLabel {
				labels[i].Value += lessSuffix
			}
		}
		if err == nil {
			more.lessKey, err = tsdb.AppendKey(nil, labels)
		}
		if err != nil {
			m.more = nil
			return tsdb.LabelTooLong
		}
	}
	more.less = less
	return ""
}

func (m *metric) join(member []byte) tsdb.Reason {
	m.mu.Lock()
	defer m.mu.Unlock()
	more := m.extra()
	if more.members == nil {
		more.members = map[string]struct{}{}
	}
	if _, known := more.members[string(member)]; !known {
		if len(more.members) >= maxSetMembers {
			return Members
		}
		more.members[string(member)] = struct{}{}
	}
	return ""
}

// leave empties a set, and says how many members it had.
func (m *metric) leave() (members int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.more != nil {
		members, m.more.members = len(m.more.members), nil
	}
	return members
}
