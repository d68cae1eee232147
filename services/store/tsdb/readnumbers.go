package tsdb

// Reading a series' numbers out of the heads and the blocks into memory that is used again.

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"sort"

	"cistern/services/store/tsdb/encoding"
)

// NumberMemory is what ReadNumbers reads into; it is used again from series to series.
type NumberMemory struct {
	Values []float64
	// The times of the values are in Times; or, when that is empty, First + i·Interval is the i-th one's: AllTimes makes
	// Times of it. Most series are regular, and then nobody has to look at their times one by one.
	Times           []int64
	First, Interval int64
	// Rising says that no value is less than the one before and all are ordinary numbers. False says nothing.
	Rising bool
	chunk  []byte
	order  []int
	runs   [2]encoding.NumberRun
	// timesOnly leaves the values undecoded, and ends with errValues where one of them may be no number.
	timesOnly bool
}

// errValues says that the times alone do not tell how many samples there are.
var errValues = errors.New("a value may be a mark of a series' end")

// AllTimes is the times of the values, as many.
func (m *NumberMemory) AllTimes() []int64 {
	if len(m.Times) < len(m.Values) {
		m.Times = encoding.AppendRegular(m.Times[:0], m.First, m.Interval, len(m.Values))
	}
	return m.Times
}

// addTimes adds the times of n values before these are added: those in times, or regular ones when that is empty.
func (m *NumberMemory) addTimes(first, interval int64, n int, times []int64) {
	have := len(m.Values)
	switch {
	case n == 0:
		return
	case len(times) > 0 || len(m.Times) > 0: // some are not regular
	case have == 0:
		m.First, m.Interval = first, interval
		return
	case have == 1 && (n == 1 || first-m.First == interval):
		m.Interval = first - m.First
		return
	case have > 1 && first == m.First+int64(have)*m.Interval && (n == 1 || interval == m.Interval):
		return
	}
	m.Times = m.AllTimes()
	if len(times) > 0 {
		m.Times = append(m.Times, times...)
	} else {
		m.Times = encoding.AppendRegular(m.Times, first, interval, n)
	}
}

// addValues takes n more values, which were read behind those that are there; rising says that they are.
func (m *NumberMemory) addValues(n int, rising bool) {
	have := len(m.Values)
	m.Values = m.Values[:have+n]
	m.Rising = m.Rising && (n == 0 || rising && (have == 0 || m.Values[have] >= m.Values[have-1]))
}

// ReadNumbers reads the numbers in [minTime, maxTime] into memory, which holds them until it is used again. It ends
// early, with a part of them, when they are more than most. Places that do not overlap in time, which is nearly all, are
// decoded one behind the other, straight to where they belong.
func (s *Series) ReadNumbers(minTime, maxTime int64, aggregate Aggregate, most int, m *NumberMemory) error {
	m.Times, m.Values, m.order = m.Times[:0], m.Values[:0], m.order[:0]
	m.First, m.Interval, m.Rising = 0, 0, true
	apart := aggregate != Count
	for i := range s.numbers {
		if one := &s.numbers[i]; one.maxTime >= minTime && one.minTime <= maxTime {
			m.order = append(m.order, i)
			apart = apart && len(one.deleted) == 0 && (one.record == nil || one.record.lengths[trackRaw] > 0)
		}
	}
	slices.SortStableFunc(m.order, func(a, b int) int { return cmp.Compare(s.numbers[a].minTime, s.numbers[b].minTime) })
	for i := 1; i < len(m.order); i++ {
		apart = apart && s.numbers[m.order[i-1]].maxTime < s.numbers[m.order[i]].minTime
	}
	if !apart {
		m.Rising = false
		it := s.NumbersAs(minTime, maxTime, aggregate)
		for t, v, ok := it.NextBatch(); ok && len(m.Times) <= most; t, v, ok = it.NextBatch() {
			m.Times, m.Values = append(m.Times, t...), append(m.Values, v...)
		}
		return it.Err()
	}
	for _, i := range m.order {
		one := &s.numbers[i]
		err := one.readInto(minTime, maxTime, most, m)
		if err != nil {
			it := iterator[float64]{}
			if it.fail(one, err); it.err != nil {
				return it.err
			}
		}
	}
	return nil
}

// ReadTimes is ReadNumbers without the values: as many are there as there are times, and mean nothing. It is for those who
// count; done is false where a value may be the mark of a series' end, which is none, or the places of the series overlap.
func (s *Series) ReadTimes(minTime, maxTime int64, most int, m *NumberMemory) (done bool, err error) {
	for i := range s.numbers {
		one := &s.numbers[i]
		if one.maxTime < minTime || one.minTime > maxTime {
			continue
		}
		if len(one.deleted) > 0 || one.rolledUp() {
			return false, nil
		}
		for k := range s.numbers[:i] {
			if other := &s.numbers[k]; other.maxTime >= one.minTime && other.minTime <= one.maxTime {
				return false, nil
			}
		}
	}
	m.timesOnly = true
	err = s.ReadNumbers(minTime, maxTime, Default, most, m)
	m.timesOnly = false
	if errors.Is(err, errValues) {
		return false, nil
	}
	return err == nil, err
}

// readInto appends a place's numbers to memory. On an error all that is there is whole.
func (s *source[V]) readInto(minTime, maxTime int64, most int, m *NumberMemory) (err error) {
	var frames []frame
	if s.block != nil {
		frames, m.chunk, err = s.block.framesInto(m.chunk, nil, s.record, trackRaw)
	} else {
		var loaded batch[V]
		if frames, loaded, err = s.load(); err == nil && len(loaded.times) > 0 {
			values := any(loaded.values).([]float64)
			from := sort.Search(len(loaded.times), func(i int) bool { return loaded.times[i] >= minTime })
			to := sort.Search(len(loaded.times), func(i int) bool { return loaded.times[i] > maxTime })
			if from < to {
				if m.timesOnly && slices.ContainsFunc(values[from:to], func(v float64) bool { return v != v }) {
					return errValues
				}
				m.addTimes(0, 0, to-from, loaded.times[from:to])
				m.Values, m.Rising = append(m.Values, values[from:to]...), false
			}
		}
	}
	if err != nil {
		return err
	}
	for len(frames) > 0 && frames[0].minTime <= maxTime && len(m.Values) <= most {
		if frames[0].maxTime < minTime {
			frames = frames[1:]
			continue
		}
		if frames[0].bytes == nil {
			if err := s.block.fill(frames, maxTime); err != nil {
				return err
			}
		}
		// Two at once, when there is a second and its bytes are here.
		n := 1
		if len(frames) > 1 && frames[1].minTime <= maxTime && frames[1].bytes != nil {
			n = 2
		}
		err := m.readFrames(frames[:n], minTime, maxTime)
		if err != nil && n == 2 && !errors.Is(err, errValues) { // the first may be whole
			n = 1
			err = m.readFrames(frames[:1], minTime, maxTime)
		}
		if err != nil {
			return err
		}
		frames = frames[n:]
	}
	return nil
}

// readFrames appends the numbers of one frame or two.
func (m *NumberMemory) readFrames(frames []frame, minTime, maxTime int64) error {
	room := 0
	for i := range frames {
		f, run := &frames[i], &m.runs[i]
		if f.encoding != encodingNumbers {
			return unknownEncoding(*f, "numbers")
		}
		if err := run.Open(f.bytes, f.minTime); err != nil {
			return fmt.Errorf("%w: %v", errFrame, err)
		}
		last := run.First + int64(max(run.N, 1)-1)*run.Interval
		if len(run.Times) > 0 {
			last = run.Times[run.N-1]
		}
		if run.N == 0 || run.First != f.minTime || last != f.maxTime {
			return errFrame
		}
		room += run.N
	}
	start := len(m.Values)
	m.Values = slices.Grow(m.Values, room)
	out := m.Values[start : start+room]
	one, two := &m.runs[0], &m.runs[1]
	var err error
	if m.timesOnly {
		if one.MayBeNaN() || len(frames) == 2 && two.MayBeNaN() {
			return errValues
		}
	} else if len(frames) == 2 {
		err = encoding.ValuesOfTwo(one, two, out[:one.N], out[one.N:])
	} else {
		err = one.Values(out)
	}
	if err != nil {
		return fmt.Errorf("%w: %v", errFrame, err)
	}
	for i := range frames {
		f, run := &frames[i], &m.runs[i]
		from, to := 0, run.N
		if f.minTime < minTime || f.maxTime > maxTime { // a part of the frame
			at := func(i int) int64 { return run.First + int64(i)*run.Interval }
			if len(run.Times) > 0 {
				at = func(i int) int64 { return run.Times[i] }
			}
			from = sort.Search(run.N, func(i int) bool { return at(i) >= minTime })
			to = max(from, sort.Search(run.N, func(i int) bool { return at(i) > maxTime }))
		}
		times := run.Times
		if len(times) > 0 {
			times = times[from:to]
		}
		m.addTimes(run.First+int64(from)*run.Interval, run.Interval, to-from, times)
		have := len(m.Values)
		if part := out[from:to]; (have != start || from > 0) && !m.timesOnly {
			copy(m.Values[have:have+to-from], part)
		}
		m.addValues(to-from, run.Rising)
		out, start = out[run.N:], start+run.N
	}
	return nil
}
