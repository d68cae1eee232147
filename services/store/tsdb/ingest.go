package tsdb

// The way of a batch: each sample finds its series, all are journalled, then they are in the head. The steps are loops
// over the batch, one after the other, so that the cache misses of many samples run at the same time. Series are looked
// for in the order in which they were created first, and by the hash of their key where that fails.

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"time"
	"unsafe"

	"cistern/services/journal"

	"github.com/cespare/xxhash/v2"
)

// Ingest implements Ingester.
func (s *Store) Ingest(ctx context.Context, input string, samples []Sample, durability journal.Durability) ([]Rejection, error) {
	if err := s.pace(ctx); err != nil {
		return nil, s.refused(len(samples), MemoryLimit, err)
	}
	sender := senderOf(ctx)
	if rejected := notAdmitted(sender, len(samples)); rejected != nil {
		s.counts.reject(rejected[0].Reason, len(rejected))
		for _, r := range rejected {
			sender.Refused(r.Index, r.Reason)
		}
		return rejected, nil
	}
	position, accepted, rejected, err := s.write(input, samples, sender, isHistory(ctx), ForcedLabels(ctx))
	if err != nil {
		return nil, s.refused(len(samples), StorageError, err)
	}
	if durability == journal.Fsync && accepted > 0 {
		if err := s.journal.Sync(position); err != nil {
			return nil, s.refused(accepted, StorageError, err)
		}
	}
	s.counts.accept(input, accepted)
	if sender != nil {
		sender.Sent(len(samples))
	}
	for _, r := range rejected {
		s.counts.reject(r.Reason, 1)
		if sender != nil {
			sender.Refused(r.Index, r.Reason)
		}
		if r.Reason.ours() {
			s.counts.refusals.note(r.Reason, r.Detail, 1, s.options.Now())
		}
	}
	return rejected, nil
}

// notAdmitted refuses all samples of a batch of a sender who sends too much; nil of any other.
func notAdmitted(sender Sender, n int) []Rejection {
	asked, ok := sender.(Admitter)
	if !ok || n == 0 {
		return nil
	}
	reason, detail := asked.Admit(n)
	if reason == "" {
		return nil
	}
	rejected := make([]Rejection, n)
	for i := range rejected {
		rejected[i] = Rejection{i, reason, detail}
	}
	return rejected
}

// Reject implements Ingester.
func (s *Store) Reject(reason Reason, n int) { s.counts.reject(reason, n) }

func (s *Store) write(input string, samples []Sample, sender Sender, history bool, forced []Label) (position journal.Position, accepted int, rejected []Rejection, err error) {
	s.ingesting.Lock()
	defer s.ingesting.Unlock()
	s.mu.RLock()
	live, closed := s.live, s.closed
	s.mu.RUnlock()
	if closed {
		return 0, 0, nil, ErrClosed
	}
	now := s.options.Now()
	s.bucket.refill(now)
	limits := checks{
		oldest: now.Add(-s.Retention().Raw).UnixMilli(), newest: now.Add(maxFuture).UnixMilli(),
		window: s.options.OutOfOrder.Milliseconds(), full: s.full(live),
	}
	if history {
		limits.window = math.MaxInt64 / 2
	}
	var force *forcing
	if len(forced) > 0 {
		force = &forcing{labels: forced}
	} else {
		s.resolve(live, samples)
	}
	fresh := uint64(0)
	repeater, _ := sender.(Repeater)
	seen := sender != nil && (repeater == nil || !repeater.Repeats())
	batch := s.batch[:0]
	s.encoding = s.encoding[:0]
	s.sightings.reset()
	for i := range samples {
		var one *Sample
		var series *memSeries
		var hash uint64
		if force != nil {
			one, hash = force.next(&samples[i])
			series = live.find(one.Key, hash)
		} else {
			one, series, hash = &samples[i], s.found[i], s.hashes[i]
		}
		if series == nil {
			// Also when it was created a moment ago, by a sample of this batch.
			var reason Reason
			var detail string
			if series, reason, detail = s.unknown(live, one, &limits, hash, sender, i); reason != "" {
				rejected = append(rejected, Rejection{i, reason, detail})
				continue
			}
		}
		t := one.Time
		reason, detail := s.check(one, series, t, &limits)
		if series.own && sender != nil {
			reason, detail = ReservedName, reservedDetail(one.Key)
		}
		if reason == TypeConflict { // after a replay there may be another of its name
			if other := live.findKind(series.key, xxhash.Sum64String(series.key), one.Kind); other != nil {
				series = other
				reason, detail = s.check(one, series, t, &limits)
			}
		}
		if reason != "" {
			rejected = append(rejected, Rejection{i, reason, detail})
			continue
		}
		encoded := one.Encoded
		if one.Kind == Histogram {
			t -= ((t % 1000) + 1000) % 1000
			if encoded == nil {
				// A new array when this one is full: what is in the old one stays where it is.
				s.encoding = room(s.encoding, 17+13*len(one.Histogram.Bins), 64<<10)
				start := len(s.encoding)
				s.encoding = one.Histogram.Append(s.encoding)
				encoded = s.encoding[start:]
			}
		}
		if one.Kind == NativeHistogram {
			s.encoding = room(s.encoding, nativeRowRoom(one.Native), 64<<10)
			start := len(s.encoding)
			s.encoding = appendNativeRow(s.encoding, one.Native)
			encoded = s.encoding[start:len(s.encoding):len(s.encoding)]
		}
		if seen {
			number := live.hostOf[series.ref]
			if number == hostUnseen {
				if live.firstOfName(series) {
					fresh++
				}
				number = s.inventory.place(live, series, now.UnixMilli())
			}
			s.sightings.add(number, t, sender, i)
		}
		batch = append(batch, resolved{series, t, one.Value, encoded})
	}
	s.batch = batch
	defer func() {
		clear(batch) // hold no histogram longer than needed
		clear(s.found)
	}()
	if len(batch) == 0 {
		return 0, 0, rejected, nil
	}
	var defines []*memSeries
	var defined int
	s.buffer, defines, defined = appendBatch(s.buffer[:0], live.number, batch)
	position, err = s.journal.Append(s.buffer)
	if len(defines) == 0 && cap(s.buffer) > 1<<20 && len(s.buffer) < cap(s.buffer)/4 {
		s.buffer = nil // what defining many series takes is not needed again
	}
	if cap(s.buffer) > 4<<20 || cap(s.batch) > 1<<17 {
		s.buffer, s.batch, s.found, s.hashes = nil, nil, nil, nil
	}
	if err != nil {
		for _, d := range defines {
			d.defined = false
		}
		return 0, 0, nil, err
	}
	live.coder.tight = live.sampleBytes > s.headBytes()/8
	live.put(batch)
	s.names.Add(fresh)
	heard := now.UnixMilli()
	if history {
		heard = 0
	}
	s.inventory.saw(&s.sightings, input, heard)
	if defined > 0 {
		live.mu.Lock() // due reads it
		live.defined += int64(defined)
		live.mu.Unlock()
	}
	if s.large(live, position) {
		select {
		case s.kick <- struct{}{}:
		default:
		}
	}
	return position, len(batch), rejected, nil
}

// resolve looks the samples' series up: s.found[i] is that of the i-th, nil when it is not known by these bytes, and then
// s.hashes[i] is its key's hash.
func (s *Store) resolve(live *head, samples []Sample) {
	n := len(samples)
	if cap(s.found) < n {
		s.found, s.hashes = make([]*memSeries, n), make([]uint64, n)
	}
	s.found, s.hashes = s.found[:n], s.hashes[:n]
	done := s.resolveInOrder(live, samples)
	s.resolveByHash(live, samples, done)
}

// resolveInOrder is for those who send their series in the order in which they did when these were new, as scrapers do:
// the next one is looked at first, which spares the hash and, with millions of series, the miss of the cache in the table.
// It returns how many samples it has resolved: all, or those before it turned out that the order is another.
func (s *Store) resolveInOrder(live *head, samples []Sample) (done int) {
	next, astray := 0, 0
	for i := range samples {
		key := samples[i].Key
		if next < len(live.series) && live.series[next].key == string(key) {
			s.found[i] = live.series[next]
			next++
			continue
		}
		if i > 0 && s.found[i-1] != nil && s.found[i-1].key == string(key) {
			s.found[i] = s.found[i-1]
			continue
		}
		if astray++; astray > 4+i/8 {
			return i
		}
		s.hashes[i] = xxhash.Sum64(key)
		if s.found[i] = live.find(key, s.hashes[i]); s.found[i] != nil {
			next = int(s.found[i].ref) + 1
		}
	}
	return len(samples)
}

// resolveByHash is for any order, from the sample at start on. Each step is a loop of its own, so that the cache misses of
// many series run at the same time.
func (s *Store) resolveByHash(live *head, samples []Sample, start int) {
	samples, hashes, found := samples[start:], s.hashes[start:], s.found[start:]
	for i := range samples {
		if i > 0 && sameSlice(samples[i].Key, samples[i-1].Key) {
			hashes[i] = hashes[i-1]
			continue
		}
		hashes[i] = xxhash.Sum64(samples[i].Key)
	}
	for i := range samples {
		if ref, ok := live.table.candidate(hashes[i]); ok {
			found[i] = live.series[ref]
		}
	}
	for i := range samples {
		one := found[i]
		if one == nil || one.key == string(samples[i].Key) {
			continue
		}
		found[i] = live.find(samples[i].Key, hashes[i]) // two keys with the same half of a hash
	}
}

func sameSlice(a, b []byte) bool {
	return len(a) == len(b) && unsafe.SliceData(a) == unsafe.SliceData(b)
}

type checks struct {
	oldest, newest, window int64
	full                   bool
}

// check says why a sample cannot be taken by its series, or "".
func (s *Store) check(one *Sample, series *memSeries, t int64, limits *checks) (Reason, string) {
	switch {
	case t < limits.oldest:
		return TooOld, fmt.Sprintf("its time, %s, is older than the retention of samples, %s: keep samples longer (retention.raw) before older ones are sent",
			time.UnixMilli(t).UTC().Format(time.RFC3339), daysOf(s.Retention().Raw))
	case t > limits.newest:
		return TooNew, fmt.Sprintf("its time, %s, is more than %s in the future: set the sender's clock",
			time.UnixMilli(t).UTC().Format(time.RFC3339), maxFuture)
	case limits.full:
		return MemoryLimit, "the memory for new samples is full: they come faster than they can be written to disk"
	case !series.kind.together(one.Kind):
		return TypeConflict, fmt.Sprintf("the series is a %s; it cannot hold a %s too", series.kind, one.Kind)
	case one.Kind == Histogram && (one.Histogram == nil || len(one.Histogram.Bins) == 0) && (len(one.Encoded) == 0 || one.Encoded[0] == 0):
		return EmptySample, "the histogram holds nothing"
	case one.Kind == NativeHistogram && one.Native == nil:
		return EmptySample, "the histogram holds nothing"
	case series.has && t < series.maxTime-limits.window:
		return OutOfOrder, fmt.Sprintf("the time %d is more than %s behind the series' latest sample", t, s.options.OutOfOrder)
	}
	return "", ""
}

// unknown is the series of a key that the head did not know when the batch came: that of its i-th sample.
func (s *Store) unknown(live *head, one *Sample, limits *checks, hash uint64, sender Sender, i int) (*memSeries, Reason, string) {
	key := one.Key
	if one.Raw {
		labels, err := parseRaw(s.parsed[:0], key)
		defer clear(labels) // hold no message longer than needed
		if s.parsed = labels; err == nil {
			s.canonical, err = AppendKey(s.canonical[:0], labels)
		}
		var bad *KeyError
		if errors.As(err, &bad) {
			return nil, bad.Reason, bad.Detail
		}
		if !bytes.Equal(s.canonical, key) {
			key, hash = s.canonical, xxhash.Sum64(s.canonical)
		}
	}
	if known := live.find(key, hash); known != nil {
		return known, "", ""
	}
	taken := s.reserved.has(key)
	if sender != nil && (taken || Reserved(key)) {
		return nil, ReservedName, reservedDetail(key)
	}
	// What is refused anyway makes no series.
	fresh := memSeries{kind: one.Kind}
	if reason, detail := s.check(one, &fresh, one.Time, limits); reason != "" {
		return nil, reason, detail
	}
	if _, known := s.recent[hash]; !known {
		switch {
		case len(live.series) >= s.options.MaxSeries:
			return nil, SeriesLimit, fmt.Sprintf("there are %d series already, which is the limit", s.options.MaxSeries)
		case s.seriesFull(live):
			return nil, MemoryLimit, fmt.Sprintf("the %d series fill the memory that is set aside for them", len(live.series))
		}
		if sender != nil {
			if reason, detail := sender.Create(i); reason != "" && !s.stored(key) {
				return nil, reason, detail
			}
		}
		if !s.bucket.take() {
			return nil, SeriesRate, fmt.Sprintf("new series come faster than %d per second", s.options.SeriesPerSecond)
		}
		live.mu.Lock() // Status reads it
		live.fresh++
		live.mu.Unlock()
	}
	kind := one.Kind
	if kind == Guess {
		kind = kindByName(key)
	}
	series, err := live.create(key, hash, kind)
	if err != nil {
		return nil, BadLabel, err.Error()
	}
	series.own = series.own || taken
	return series, "", ""
}

// parseRaw appends labels in the form of a key, in any order; other fields are passed over, as protobuf wants it.
func parseRaw(labels []Label, raw []byte) ([]Label, error) {
	text := unsafe.String(unsafe.SliceData(raw), len(raw))
	for text != "" {
		if len(labels) > MaxLabels {
			return labels, keyError(TooManyLabels, "more than %d labels are too many", MaxLabels)
		}
		body, rest, ok := keyField(text, keyLabel)
		if !ok {
			return labels, keyError(BadLabel, "the labels cannot be read")
		}
		text = rest
		var l Label
		for body != "" {
			tag := body[0]
			value, rest, ok := keyField(body, tag)
			if !ok || tag&7 != 2 {
				return labels, keyError(BadLabel, "the labels cannot be read")
			}
			switch tag {
			case keyName:
				l.Name = value
			case keyValue:
				l.Value = value
			}
			body = rest
		}
		labels = append(labels, l)
	}
	return labels, nil
}

// kindByName: those who do not say what a series is name it by Prometheus' rules.
func kindByName(key []byte) Kind {
	name := LabelOf(unsafe.String(unsafe.SliceData(key), len(key)), NameLabel)
	for _, suffix := range []string{"_total", "_count", "_sum", "_bucket"} {
		if strings.HasSuffix(name, suffix) {
			return Counter
		}
	}
	return Gauge
}
