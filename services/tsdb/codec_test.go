package tsdb

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"cistern/services/histogram"
)

func TestXORKeepsEveryBit(t *testing.T) {
	r := rand.New(rand.NewPCG(31, 32))
	for range 300 {
		var e xorEncoder
		var times []int64
		var values []float64
		at, v := r.Int64N(1<<41), r.NormFloat64()
		for range 1 + r.IntN(600) {
			switch r.IntN(10) {
			case 0:
				at += 1 + r.Int64N(1<<r.IntN(40))
			case 1:
				at += 990 + r.Int64N(20)
			default:
				at += 1000
			}
			switch r.IntN(6) {
			case 0:
				v = math.Float64frombits(r.Uint64())
			case 1:
				v += 1
			case 2:
				v = math.Round(v)
			}
			e.append(at, v)
			times, values = append(times, at), append(values, v)
		}
		gotTimes, gotValues, err := decodeXOR(e.bytes, int(e.count), nil, nil)
		if err != nil || !slices.Equal(gotTimes, times) {
			t.Fatalf("%v\n%v\n%v", err, gotTimes, times)
		}
		for i := range values {
			if math.Float64bits(values[i]) != math.Float64bits(gotValues[i]) {
				t.Fatalf("value %d: %x became %x", i, math.Float64bits(values[i]), math.Float64bits(gotValues[i]))
			}
		}
	}
}

func someHistograms(r *rand.Rand, n int) (times []int64, hists []histogram.Histogram) {
	at := int64(1_790_000_000_000)
	for range n {
		at += 1000 * int64(1+r.IntN(3)/2)
		h := histogram.Histogram{}
		for range r.IntN(40) + 1 {
			_ = h.Insert(r.NormFloat64(), uint64(1+r.IntN(1000)))
		}
		times, hists = append(times, at), append(hists, h)
	}
	return times, hists
}

func TestHistogramFrames(t *testing.T) {
	r := rand.New(rand.NewPCG(33, 34))
	for range 50 {
		times, hists := someHistograms(r, 1+r.IntN(128))
		var rows rowEncoder
		for i := range times {
			rows.append(times[i], &hists[i])
		}
		for _, f := range []frame{
			{encoding: encodingRows, count: uint32(len(times)), bytes: rows.bytes},
			{encoding: encodingColumns, count: uint32(len(times)), bytes: encodeColumns(times, hists)},
		} {
			var got batch[histogram.Histogram]
			if err := decodeHistograms(f, &got); err != nil || !slices.Equal(got.times, times) {
				t.Fatalf("encoding %d: %v", f.encoding, err)
			}
			for i := range hists {
				if !got.values[i].Equal(&hists[i]) {
					t.Fatalf("encoding %d: histogram %d: %v, want %v", f.encoding, i, got.values[i], hists[i])
				}
			}
		}
	}
}

// The decoders take whatever a disk may hold: they end, with an error or without, and do not eat memory.
func FuzzFrames(f *testing.F) {
	r := rand.New(rand.NewPCG(35, 36))
	times, hists := someHistograms(r, 5)
	var rows rowEncoder
	var numbers xorEncoder
	for i := range times {
		rows.append(times[i], &hists[i])
		numbers.append(times[i], float64(i)*1.5)
	}
	f.Add(uint8(encodingXOR), uint16(5), numbers.bytes)
	f.Add(uint8(encodingRows), uint16(5), rows.bytes)
	f.Add(uint8(encodingColumns), uint16(5), encodeColumns(times, hists))
	f.Add(uint8(encodingColumns), uint16(9), []byte{1, 0, 1, 255, 0, 0})
	f.Add(uint8(9), uint16(1), []byte{})
	f.Fuzz(func(t *testing.T, encoding uint8, count uint16, bytes []byte) {
		one := frame{encoding: encoding, count: uint32(count), bytes: bytes}
		_ = decodeNumbers(one, &batch[float64]{})
		var got batch[histogram.Histogram]
		_ = decodeHistograms(one, &got)
		for _, h := range got.values {
			h.Count()
			h.Quantile(0.5)
		}
	})
}

func FuzzBlockParts(f *testing.F) {
	w := blockWriter{labels: map[Label][]uint32{{"__name__", "a"}: {0, 3}, {"b", "c"}: {3}}, starts: []uint32{0}, records: []byte{1, 2, 3}}
	f.Add(w.index())
	f.Add([]byte{1, 1, 5, 0, 0, 4, 1, 2, 3, 4})
	f.Add([]byte{0, 0, 0, 0, 0, 0, 0, 0})
	f.Fuzz(func(t *testing.T, bytes []byte) {
		_, _ = parseChunk(bytes)
		x, err := parseIndex(bytes)
		if err != nil {
			return
		}
		if x.seriesCount() > 0 {
			_, _ = x.seriesAt(0)
		}
		_, _ = x.postings("__name__", "a")
		_ = x.eachValue("b", func(_ string, series func() ([]uint32, error)) error { _, err := series(); return err })
		x.labelNames()
	})
}

func FuzzEntry(f *testing.F) {
	one := &memSeries{key: string([]byte{8}) + "__name__" + string([]byte{1}) + "a", kind: Gauge}
	two := &memSeries{key: one.key + string([]byte{1}) + "b" + string([]byte{1}) + "c", ref: 1, kind: Histogram}
	h := &histogram.Histogram{}
	_ = h.Insert(3, 4)
	entry, _ := appendBatch(nil, []resolved{{series: one, time: 1000, value: 2}, {series: two, time: 2000, histogram: h}})
	f.Add(entry)
	f.Add([]byte{1, 0, 1, 0, 0})
	f.Add([]byte{1, 255, 255, 255, 255, 15})
	f.Fuzz(func(t *testing.T, bytes []byte) {
		live := newHead(0)
		d := entryDecoder{byRef: map[uint64]definition{}, define: func(key string, kind Kind) (*memSeries, error) {
			if known := live.byKey[key]; known != nil {
				return known, nil
			}
			return live.create(key, kind)
		}}
		batch, _, _ := d.decode(bytes)
		live.put(batch)
	})
}

func FuzzKey(f *testing.F) {
	f.Add("\x08__name__\x01a\x01b\x01c")
	f.Add("\x01b\x01c\x01a\x01c")
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
