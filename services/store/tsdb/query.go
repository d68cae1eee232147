package tsdb

// What comes out: series by matchers, out of the heads and the blocks, as one.

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"cistern/services/histogram"
)

// Querier answers for samples in a range of time: a store, or later several nodes as one.
type Querier interface {
	// Select is the series that match all matchers and have, or may have, samples in [minTime, maxTime], in no order. Their
	// samples can be read within that time only. They stay valid until release is called, which must be done also when none
	// was found.
	// All three see only what a selector of the context lets them see: see WithSelector.
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
	Key  string
	Kind Kind
	// Where its samples are, from the oldest block to the head.
	numbers    []source[float64]
	histograms []source[histogram.Histogram]
	natives    []source[*nativeHistogram]
}

// Labels are those of the series, in order. Each call makes them; EachLabel needs no memory.
func (s *Series) Labels() []Label {
	labels, _ := ParseKey(s.Key)
	return labels
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
	found := selection{metered: newMetered(ctx)}
	if err := v.collect(ctx, minTime, maxTime, narrow(ctx, matchers), &found); err != nil {
		found.metered.release()
		release()
		return nil, func() {}, err
	}
	return found.list, func() { found.metered.release(); release() }, nil
}

// Keys is the keys of the series that Select would find, in no order: who wants their labels needs nothing else of them.
func (s *Store) Keys(ctx context.Context, minTime, maxTime int64, matchers ...*Matcher) ([]string, error) {
	v, release, err := s.view(ctx, minTime, maxTime)
	if err != nil {
		return nil, err
	}
	defer release()
	found := selection{metered: newMetered(ctx), keysOnly: true}
	defer found.metered.release()
	err = v.collect(ctx, minTime, maxTime, narrow(ctx, matchers), &found)
	return found.keys, err
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
		if err := v.collectBlock(ctx, b, minTime, maxTime, matchers, found); err != nil {
			if err := v.spoiled(b, err); err != nil {
				return err
			}
		}
		if err := found.metered.settle(); err != nil {
			return err
		}
	}
	for _, h := range v.heads {
		if err := h.collect(ctx, minTime, maxTime, matchers, found); err != nil {
			return err
		}
	}
	return found.metered.settle()
}

// selection is the series of a query, as they are found. Their memory is taken for many at once.
type selection struct {
	list    []*Series
	byKey   map[string]*Series // nil while no series can be found a second time
	slab    []Series
	copies  copies
	metered *metered

	keysOnly bool
	keys     []string
	seen     map[string]struct{} // as byKey
}

// next is called before the series of another place, which has n at most. Within one place no key is there twice, unless it
// says so.
func (f *selection) next(n int, twice bool) {
	if f.keysOnly {
		f.keys = slices.Grow(f.keys, n)
		if f.seen == nil && n > 0 && (len(f.keys) > 0 || twice) {
			f.seen = make(map[string]struct{}, len(f.keys)+n)
			for _, key := range f.keys {
				f.seen[key] = struct{}{}
			}
		}
		return
	}
	f.list = slices.Grow(f.list, n)
	if f.byKey != nil || n == 0 || len(f.list) == 0 && !twice {
		return
	}
	f.byKey = make(map[string]*Series, len(f.list)+n)
	for _, one := range f.list {
		f.byKey[one.Key] = one
	}
}

// take adds a key.
func (f *selection) take(key string) error {
	if f.seen != nil {
		if _, twice := f.seen[key]; twice {
			return nil
		}
		f.seen[key] = struct{}{}
	}
	f.keys = append(f.keys, key)
	return f.metered.take(keyBytes)
}

// lookUp is the series of a key, which is new when it was not found before. within says that its first sample of this place, which is
// not behind the selection's time, is not before it either.
func (f *selection) lookUp(key string, kind Kind, within bool) (*Series, error) {
	if one := f.byKey[key]; one != nil {
		one.Kind = kind // the newest one's
		return one, f.metered.take(againBytes)
	}
	if len(f.slab) == 0 {
		f.slab = make([]Series, min(256, max(8, len(f.list))))
	}
	one := &f.slab[0]
	f.slab = f.slab[1:]
	one.Key, one.Kind = key, kind
	f.list = append(f.list, one)
	if f.byKey != nil {
		f.byKey[key] = one
	}
	if err := f.metered.found(within && kind < Histogram); err != nil {
		return nil, err
	}
	return one, f.metered.take(seriesBytes)
}

func (v view) collectBlock(ctx context.Context, b *block, minTime, maxTime int64, matchers []*Matcher, found *selection) error {
	x, err := b.index()
	if err != nil {
		return err
	}
	refs, err := selectSeries(interrupted(ctx, x, found.metered, matchers, func(ref uint32) bool {
		record, err := x.seriesAt(int(ref))
		return err == nil && len(v.deletions) == 0 && record.kind < Histogram && record.minTime >= minTime && record.minTime <= maxTime
	}), matchers)
	if err != nil {
		return err
	}
	found.next(len(refs), false)
	damage := func(err error) { _ = v.spoiled(b, err) }
	for i, ref := range refs {
		if i%1024 == 0 && ctx.Err() != nil {
			return context.Cause(ctx)
		}
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
		if found.keysOnly {
			if err := found.take(record.key); err != nil {
				return err
			}
			continue
		}
		one, err := found.lookUp(record.key, record.kind, record.minTime >= minTime)
		if err != nil {
			return err
		}
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
		read: func() ([]frame, batch[V], error) {
			frames, err := b.frames(record, track)
			return frames, batch[V]{}, err
		},
		block: b, record: record, width: max(1, trackWidth[track]), deleted: deleted, damage: damage,
	}
}

func (h *head) collect(ctx context.Context, minTime, maxTime int64, matchers []*Matcher, found *selection) error {
	h.mu.RLock()
	defer h.mu.RUnlock()
	refs, err := selectSeries(interrupted(ctx, h, found.metered, matchers, func(ref uint32) bool {
		s := h.series[ref]
		return s.has && s.kind < Histogram && s.minTime >= minTime && s.minTime <= maxTime
	}), matchers)
	if err != nil {
		return err
	}
	found.next(len(refs), h.twins)
	for i, ref := range refs {
		if i%1024 == 0 && ctx.Err() != nil {
			return context.Cause(ctx)
		}
		s := h.series[ref]
		if !s.has || s.maxTime < minTime || s.minTime > maxTime {
			continue
		}
		if found.keysOnly {
			if err := found.take(s.key); err != nil {
				return err
			}
			continue
		}
		one, err := found.lookUp(s.key, s.kind, s.minTime >= minTime)
		if err != nil {
			return err
		}
		switch s.kind {
		case Histogram:
			one.histograms = append(one.histograms, s.histogramSources()...)
		case NativeHistogram:
			one.natives = append(one.natives, s.nativeSources()...)
		default:
			sources := s.numberSources(&h.pieces, minTime, maxTime, &found.copies)
			if one.numbers == nil {
				one.numbers = sources
			} else {
				one.numbers = append(one.numbers, sources...)
			}
		}
	}
	return nil
}
