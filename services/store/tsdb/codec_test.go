package tsdb

import (
	"math/rand/v2"
	"slices"
	"testing"

	"cistern/services/histogram"

	"github.com/cespare/xxhash/v2"
	promhistogram "github.com/prometheus/prometheus/model/histogram"
)

func someHistograms(r *rand.Rand, n int) (times []int64, hists []histogram.Histogram) {
	at := int64(1_790_000_000_000)
	for range n {
		at += 1000 * int64(1+r.IntN(3)/2)
		h := histogram.Histogram{}
		summed := r.IntN(2) > 0
		for range r.IntN(40) + 1 {
			record(&h, r.NormFloat64(), uint64(1+r.IntN(1000)), summed)
		}
		times, hists = append(times, at), append(hists, h)
	}
	return times, hists
}

func TestFrames(t *testing.T) {
	r := rand.New(rand.NewPCG(33, 34))
	for range 50 {
		times, hists := someHistograms(r, 1+r.IntN(128))
		var rows rowEncoder
		for i := range times {
			rows.append(times[i], hists[i].Append(nil))
		}
		for _, f := range []frame{
			{encoding: encodingRows, count: uint32(len(times)), bytes: rows.bytes},
			histogramFrame(times, hists),
		} {
			var got batch[histogram.Histogram]
			if err := decodeHistograms(f, &got); err != nil || !slices.Equal(got.times, times) {
				t.Fatalf("encoding %d: %v", f.encoding, err)
			}
			for i := range hists {
				if !sameMeasurements(&got.values[i], &hists[i]) {
					t.Fatalf("encoding %d: histogram %d: %v, want %v", f.encoding, i, got.values[i], hists[i])
				}
			}
		}
	}
}

// someNatives is native histograms as clients send them: a running total that grows buckets, and a reset.
func someNatives(r *rand.Rand, n int) (times []int64, hists []*nativeHistogram) {
	at := int64(1_790_000_000_000)
	total := &nativeHistogram{Schema: 3, ZeroThreshold: 1e-128}
	for range n {
		at += 1000
		if r.IntN(40) == 0 {
			total = &nativeHistogram{Schema: 3, ZeroThreshold: 1e-128}
		}
		one := &nativeHistogram{Schema: 3, ZeroThreshold: 1e-128,
			PositiveSpans:   []promhistogram.Span{{Offset: int32(r.IntN(5)) - 2, Length: 2}, {Offset: int32(r.IntN(3)), Length: 1}},
			PositiveBuckets: []float64{float64(r.IntN(9)), 2, 3}, ZeroCount: 1, Sum: r.NormFloat64()}
		if r.IntN(3) == 0 {
			one.NegativeSpans, one.NegativeBuckets = []promhistogram.Span{{Offset: -3, Length: 1}}, []float64{5}
		}
		one.Count = one.ZeroCount
		for _, n := range slices.Concat(one.PositiveBuckets, one.NegativeBuckets) {
			one.Count += n
		}
		total = total.Copy()
		if _, _, _, err := total.Add(one); err != nil {
			panic(err)
		}
		times, hists = append(times, at), append(hists, total)
	}
	return times, hists
}

func TestNativeFrames(t *testing.T) {
	r := rand.New(rand.NewPCG(35, 37))
	for range 20 {
		times, hists := someNatives(r, 1+r.IntN(200))
		at := 0
		for _, f := range nativeFrames(times, hists) {
			var got batch[*nativeHistogram]
			if err := decodeNatives(f, &got); err != nil {
				t.Fatal(err)
			}
			for i, h := range got.values {
				// Buckets that others of the frame have are there, empty.
				if got.times[i] != times[at] || !h.Copy().Compact(0).Equals(hists[at].Copy().Compact(0)) {
					t.Fatalf("%d: %v, want %v", at, h, hists[at])
				}
				// But none on a side of zero on which it has none itself: PromQL takes its zero bucket to reach there then.
				if len(h.NegativeBuckets) > 0 != (len(hists[at].NegativeBuckets) > 0) || len(h.PositiveBuckets) > 0 != (len(hists[at].PositiveBuckets) > 0) {
					t.Fatalf("%d: %v has buckets on other sides of zero than %v", at, h, hists[at])
				}
				at++
			}
		}
		if at != len(times) {
			t.Fatalf("%d of %d", at, len(times))
		}
	}
}

// The decoders take whatever a disk may hold: they end, with an error or without, and do not eat memory.
func FuzzFrames(f *testing.F) {
	r := rand.New(rand.NewPCG(35, 36))
	times, hists := someHistograms(r, 5)
	var rows rowEncoder
	var numbers []float64
	for i := range times {
		rows.append(times[i], hists[i].Append(nil))
		numbers = append(numbers, float64(i)*1.5)
	}
	f.Add(uint8(encodingNumbers), uint16(5), numberFrame(times, numbers).bytes)
	f.Add(uint8(encodingRows), uint16(5), rows.bytes)
	f.Add(uint8(encodingHistograms), uint16(5), histogramFrame(times, hists).bytes)
	nativeTimes, natives := someNatives(r, 4)
	f.Add(uint8(encodingNatives), uint16(4), nativeFrames(nativeTimes, natives)[0].bytes)
	f.Add(uint8(encodingRollup), uint16(1), rollupFrames(rollup(times, numbers, 60_000))[0].bytes)
	f.Add(uint8(9), uint16(1), []byte{})
	f.Fuzz(func(t *testing.T, encoding uint8, count uint16, bytes []byte) {
		one := frame{encoding: encoding, count: uint32(count), bytes: bytes}
		_ = decodeNumbersAs(Gauge, Default)(one, &batch[float64]{})
		_ = decodeNatives(one, &batch[*nativeHistogram]{})
		var got batch[histogram.Histogram]
		_ = decodeHistograms(one, &got)
		for _, h := range got.values {
			h.Count()
			h.Quantile(0.5)
		}
	})
}

func FuzzBlockParts(f *testing.F) {
	page := appendSeries(make([]byte, 8), "", &blockSeries{key: "abc", kind: Gauge, samples: 3, lengths: [tracks]uint32{7}}, 0)
	f.Add(page)
	f.Add(appendLabel(nil, Label{}, &blockLabel{Label: Label{"a", "b"}, count: 1, length: 2, inline: []byte{0, 0}}))
	times := []int64{1000, 2000}
	one := numberFrame(times, []float64{1, 2})
	f.Add(appendChunk(nil, []frame{one}, 1000, trackRaw))
	f.Add(appendChunk(nil, []frame{one, one}, 1000, trackMinute))
	f.Fuzz(func(t *testing.T, bytes []byte) {
		s := &blockSeries{}
		for track := range tracks {
			_, _ = parseChunk(nil, bytes, 0, int64(len(bytes)), s, track)
		}
		for _, has := range tracksOf {
			_, _ = parseSeriesPage(bytes, 0, has)
		}
		_, _ = parseLabelPage(bytes)
		_, _ = parsePostings(bytes, uint32(len(bytes)), 1000)
		_, _ = parseDirectory(&block{}, bytes)
	})
}

func FuzzEntry(f *testing.F) {
	first, _ := AppendKey(nil, []Label{{NameLabel, "a"}})
	second, _ := AppendKey(nil, []Label{{NameLabel, "a"}, {"b", "c"}})
	third, _ := AppendKey(nil, []Label{{NameLabel, "n"}})
	h := &histogram.Histogram{}
	_ = h.Insert(3, 4)
	_, natives := someNatives(rand.New(rand.NewPCG(1, 2)), 1)
	entry, _, _ := appendBatch(nil, 1, []resolved{
		{series: &memSeries{key: string(first), kind: Gauge}, time: 1000, value: 2},
		{series: &memSeries{key: string(second), ref: 1, kind: Histogram}, time: 2000, encoded: h.Append(nil)},
		{series: &memSeries{key: string(third), ref: 2, kind: NativeHistogram}, time: 2000, encoded: appendNativeRow(nil, natives[0])}})
	f.Add(entry)
	f.Add([]byte{4, 1, 0, 1, 0, 0})
	f.Add([]byte{4, 1, 255, 255, 255, 255, 15})
	f.Add(append([]byte{3}, entry[2:]...))
	f.Fuzz(func(t *testing.T, bytes []byte) {
		live := newHead(0)
		d := entryDecoder{define: func(key []byte, kind Kind) (*memSeries, error) {
			hash := xxhash.Sum64(key)
			if known := live.find(key, hash); known != nil {
				return known, nil
			}
			return live.create(key, hash, kind)
		}}
		batch, _, _ := d.decode(bytes)
		live.put(batch)
	})
}

func FuzzKey(f *testing.F) {
	f.Add("\x0a\x0d\x0a\x08__name__\x12\x01a\x0a\x06\x0a\x01b\x12\x01c")
	f.Add("\x0a\x06\x0a\x01b\x12\x01c\x0a\x06\x0a\x01a\x12\x01c")
	f.Add("\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01")
	f.Fuzz(func(t *testing.T, text string) {
		set, err := ParseKey(text)
		if err != nil {
			return
		}
		again, err := AppendKey(nil, set)
		if err != nil {
			return
		}
		if back, err := ParseKey(string(again)); err != nil || len(back) > len(set) {
			t.Fatalf("%q: %v %v", text, back, err)
		}
	})
}

// TestOldEntries: a journal that an older Cistern was killed over is replayed.
func TestOldEntries(t *testing.T) {
	now, _, _ := appendBatch(nil, 300, []resolved{{series: &memSeries{key: string(key(t, "a")), kind: Gauge}, time: 1000, value: 2}})
	old := append([]byte{entryVersionOld}, now[3:]...) // 300 takes two bytes
	for _, entry := range [][]byte{now, old} {
		d := entryDecoder{define: func(key []byte, kind Kind) (*memSeries, error) {
			return &memSeries{key: string(key), kind: kind}, nil
		}}
		batch, lost, err := d.decode(entry)
		if err != nil || lost != 0 || len(batch) != 1 || batch[0].series.key != string(key(t, "a")) || batch[0].time != 1000 || batch[0].value != 2 {
			t.Errorf("version %d: %+v, %d lost, %v", entry[0], batch, lost, err)
		}
	}
}
