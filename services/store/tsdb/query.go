package tsdb

// What comes out: series by matchers, out of the heads and the blocks, as one.

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sort"
	"strings"
	"sync"

	"cistern/services/histogram"
	"cistern/services/store/tsdb/encoding"
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

// Warnings collects what a query could not read, to be told with its answer; safe for many goroutines.
type Warnings struct {
	mu   sync.Mutex
	list []string
}

func (w *Warnings) add(text string) {
	if w == nil {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if !slices.Contains(w.list, text) && len(w.list) < 20 {
		w.list = append(w.list, text)
	}
}

// List is what was collected so far.
func (w *Warnings) List() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.list)
}

type warningsKey struct{}

// WithWarnings makes queries under the context leave out what is damaged and tell w, also while the samples of what
// Select found are read. Without it they do the same and only the log tells.
func WithWarnings(ctx context.Context, w *Warnings) context.Context {
	return context.WithValue(ctx, warningsKey{}, w)
}

// Series is one series of a query's answer.
type Series struct {
	Key    string
	Labels []Label
	Kind   Kind
	// Where its samples are, from the oldest block to the head.
	numbers    []source[float64]
	histograms []source[histogram.Histogram]
	natives    []source[*nativeHistogram]
}

// Numbers walks through the numbers in [minTime, maxTime]. Where only rollups are left they stand in for the samples.
func (s *Series) Numbers(minTime, maxTime int64) *NumberIterator {
	return s.NumbersAs(minTime, maxTime, Default)
}

// NumbersAs is Numbers and says what stands in for samples that were let go.
func (s *Series) NumbersAs(minTime, maxTime int64, aggregate Aggregate) *NumberIterator {
	return newIterator(s.numbersAs(aggregate), minTime, maxTime, decodeNumbersAs(s.Kind, aggregate), newestNumber)
}

// AppendNumbers appends the numbers in [minTime, maxTime] to times and values: the quickest way to all of them.
func (s *Series) AppendNumbers(minTime, maxTime int64, times []int64, values []float64) ([]int64, []float64, error) {
	it := s.Numbers(minTime, maxTime)
	for t, v, ok := it.NextBatch(); ok; t, v, ok = it.NextBatch() {
		times, values = append(times, t...), append(values, v...)
	}
	return times, values, it.Err()
}

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
}

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
		if err != nil && n == 2 { // the first may be whole
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
	if len(frames) == 2 {
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
		if part := out[from:to]; have != start || from > 0 {
			copy(m.Values[have:have+to-from], part)
		}
		m.addValues(to-from, run.Rising)
		out, start = out[run.N:], start+run.N
	}
	return nil
}

// HasNumbers, HasHistograms and HasNatives say whether there may be any.
func (s *Series) HasNumbers() bool    { return len(s.numbers) > 0 }
func (s *Series) HasHistograms() bool { return len(s.histograms) > 0 }
func (s *Series) HasNatives() bool    { return len(s.natives) > 0 }

// Histograms walks through the histograms in [minTime, maxTime], one per second at most.
func (s *Series) Histograms(minTime, maxTime int64) *HistogramIterator {
	return newIterator(s.histograms, minTime, maxTime, decodeHistograms, sumOfHistograms)
}

// Natives walks through the native histograms in [minTime, maxTime].
func (s *Series) Natives(minTime, maxTime int64) *NativeIterator {
	natives := s.natives
	if groups := overlapping(natives); groups != nil {
		natives = nil
		for _, g := range groups {
			if len(g) == 1 {
				natives = append(natives, s.natives[g[0]])
			} else {
				natives = append(natives, joinedNatives(pick(s.natives, g)))
			}
		}
	}
	return newIterator(natives, minTime, maxTime, decodeNatives, newestNative)
}

// view is what a query sees: heads and blocks at one moment. A sample is in exactly one of them.
type view struct {
	store     *Store
	heads     []*head // older first
	blocks    []*block
	deletions []deletion
	warnings  *Warnings
}

func (s *Store) view(ctx context.Context, minTime, maxTime int64) (view, func(), error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if s.closed {
		return view{}, func() {}, ErrClosed
	}
	v := view{store: s, deletions: s.deletions}
	v.warnings, _ = ctx.Value(warningsKey{}).(*Warnings)
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
	v, release, err := s.view(ctx, minTime, maxTime)
	if err != nil {
		return nil, release, err
	}
	found := selection{byKey: map[string]*Series{}}
	if err := v.collect(ctx, minTime, maxTime, matchers, &found); err != nil {
		release()
		return nil, func() {}, err
	}
	// Those of one block stand in order already, which the sort notices.
	slices.SortFunc(found.list, func(a, b *Series) int { return strings.Compare(a.Key, b.Key) })
	return found.list, release, nil
}

// noteDamage marks a block in which damage was found; it stays in the list and is served as far as it can be.
func (s *Store) noteDamage(b *block, err error) {
	if !errors.Is(err, errDamaged) && !errors.Is(err, errFrame) {
		return
	}
	if !b.damaged.Swap(true) {
		s.counts.damaged.note(Damage{Block: b.ID, MinTime: b.MinTime, MaxTime: b.MaxTime, Detail: err.Error()})
		s.options.Log.Error("a block is damaged: what cannot be read of it is left out; restore it from a snapshot, or run storaged repair",
			"block", b.ID, "error", err)
	}
}

// spoiled notes damage for a query, or returns the error when it is none.
func (v view) spoiled(b *block, err error) error {
	if !errors.Is(err, errDamaged) && !errors.Is(err, errFrame) {
		return err
	}
	v.store.noteDamage(b, err)
	v.warnings.add(fmt.Sprintf("block %s is damaged: some samples are missing from the answer", b.ID))
	return nil
}

func (v view) collect(ctx context.Context, minTime, maxTime int64, matchers []*Matcher, found *selection) error {
	for _, b := range v.blocks {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := v.collectBlock(b, minTime, maxTime, matchers, found); err != nil {
			if err := v.spoiled(b, err); err != nil {
				return err
			}
		}
	}
	for _, h := range v.heads {
		if err := h.collect(minTime, maxTime, matchers, found); err != nil {
			return err
		}
	}
	return nil
}

// selection is the series of a query, as they are found.
type selection struct {
	byKey map[string]*Series
	list  []*Series
}

// lookUp is the series of a key, which is new when it was not found before.
func (f *selection) lookUp(key string, kind Kind) (*Series, error) {
	if one := f.byKey[key]; one != nil {
		one.Kind = kind // the newest one's
		return one, nil
	}
	labels, err := ParseKey(key)
	if err != nil {
		return nil, err
	}
	one := &Series{Key: key, Labels: labels, Kind: kind}
	f.byKey[key], f.list = one, append(f.list, one)
	return one, nil
}

func (v view) collectBlock(b *block, minTime, maxTime int64, matchers []*Matcher, found *selection) error {
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
		if gone, err := record.deleted(v.deletions, b); err != nil {
			return err
		} else if gone {
			continue
		}
		one, err := found.lookUp(record.key, record.kind)
		if err != nil {
			return err
		}
		damage := func(err error) { _ = v.spoiled(b, err) }
		if err := one.addBlock(v.deletions, b, record, damage); err != nil {
			return err
		}
	}
	return nil
}

// addBlock adds what a block has of the series. Without damage an error ends the iteration. The deletions are those of the
// moment at which the block was in the list: when it is written again without what they are about they are forgotten.
func (s *Series) addBlock(deletions []deletion, b *block, record *blockSeries, damage func(error)) error {
	var deleted []interval
	if len(deletions) > 0 {
		labels, err := ParseKey(record.key)
		if err != nil {
			return errDamaged
		}
		deleted = deletedFrom(deletions, b, labels)
	}
	track := record.finest()
	switch {
	case record.kind == Histogram:
		s.histograms = append(s.histograms, blockSource[histogram.Histogram](b, record, track, deleted, damage))
	case record.kind == NativeHistogram:
		s.natives = append(s.natives, blockSource[*nativeHistogram](b, record, track, deleted, damage))
	default:
		s.numbers = append(s.numbers, blockSource[float64](b, record, track, deleted, damage))
	}
	return nil
}

// finest is the finest track there is.
func (r *blockSeries) finest() int {
	track := trackRaw
	for track < trackHour && r.lengths[track] == 0 {
		track++
	}
	return track
}

// deleted says whether all that a block has of a series is deleted.
func (r *blockSeries) deleted(deletions []deletion, b *block) (bool, error) {
	if len(deletions) == 0 {
		return false, nil
	}
	labels, err := ParseKey(r.key)
	if err != nil {
		return false, errDamaged
	}
	width := max(1, trackWidth[r.finest()])
	from, to := floorTo(r.minTime, width), floorTo(r.maxTime, width)+width-1
	return slices.ContainsFunc(deletedFrom(deletions, b, labels), func(d interval) bool { return d.from <= from && d.to >= to }), nil
}

func (s *Store) deletionsNow() []deletion {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.deletions
}

func blockSource[V any](b *block, record *blockSeries, track int, deleted []interval, damage func(error)) source[V] {
	return source[V]{
		// A record of a rollup is as old as what it stands for began.
		minTime: floorTo(record.minTime, max(1, trackWidth[track])), maxTime: record.maxTime,
		load: func() ([]frame, batch[V], error) {
			frames, err := b.frames(record, track)
			return frames, batch[V]{}, err
		},
		block: b, record: record, width: max(1, trackWidth[track]), deleted: deleted, damage: damage,
	}
}

func (h *head) collect(minTime, maxTime int64, matchers []*Matcher, found *selection) error {
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
		one, err := found.lookUp(s.key, s.kind)
		if err != nil {
			return err
		}
		switch s.kind {
		case Histogram:
			one.histograms = append(one.histograms, s.histogramSources()...)
		case NativeHistogram:
			one.natives = append(one.natives, s.nativeSources()...)
		default:
			one.numbers = append(one.numbers, s.numberSources(&h.pieces)...)
		}
	}
	return nil
}

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
	add := func(value string, _ func() ([]uint32, error)) error { values[value] = true; return nil }
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
	if len(matchers) > 0 {
		found := selection{byKey: map[string]*Series{}}
		if err := v.collect(ctx, minTime, maxTime, matchers, &found); err != nil {
			return err
		}
		for _, one := range found.list {
			ofSeries(one.Labels)
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
