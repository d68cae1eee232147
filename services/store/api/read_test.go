package api

import (
	"encoding/binary"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"cistern/services/store/tsdb"

	"github.com/golang/snappy"
	promhistogram "github.com/prometheus/prometheus/model/histogram"
	"github.com/prometheus/prometheus/model/value"
	"github.com/prometheus/prometheus/prompb"
	"github.com/prometheus/prometheus/tsdb/chunkenc"
)

// Samples and chunks are the same, of all kinds and of those that change, from blocks and the head: and they are those that
// were put in.
func TestRemoteReadOfEverything(t *testing.T) {
	f := newFixture(t)
	r := rand.New(rand.NewPCG(91, 92))
	want := map[string]bool{}
	for i := range 700 {
		number := sample(t, i, "g", float64(r.IntN(5)))
		number.Time += r.Int64N(900)
		switch r.IntN(20) {
		case 0:
			number.Value = math.Float64frombits(value.StaleNaN)
		case 1:
			number.Value = math.Inf(-1)
		}
		want[fmt.Sprintf("g %d %x", number.Time, math.Float64bits(number.Value))] = true
		values := []float64{r.Float64(), 3, 0}
		if r.IntN(50) == 0 {
			values = append(values, -7, 1e-50, 1e100) // buckets of another layout
		}
		hist := sample(t, i, "h", values)
		want[fmt.Sprintf("h %d %d", hist.Time, len(values))] = true
		hint := promhistogram.UnknownCounterReset
		if i/300 == 1 {
			hint = promhistogram.GaugeType
		}
		counts := []float64{float64(i % 200), 2}
		if i%130 > 100 {
			counts = append(counts, float64(r.IntN(9)))
		}
		one := nativeSample(t, i, native(hint, counts...))
		want[fmt.Sprintf("native %d %g", one.Time, one.Native.Count)] = true
		f.put(t, number, hist, one)
		if i == 333 {
			if _, err := f.store.Flush(); err != nil {
				t.Fatal(err)
			}
		}
	}
	query := &prompb.Query{StartTimestampMs: began.UnixMilli() + 5000, EndTimestampMs: began.UnixMilli() + 650_000, Matchers: []*prompb.LabelMatcher{{Type: prompb.LabelMatcher_RE, Name: "__name__", Value: "g|h|native"}}}
	maps.DeleteFunc(want, func(line string, _ bool) bool {
		var name, rest string
		var at int64
		_, _ = fmt.Sscan(line, &name, &at, &rest)
		return at < query.StartTimestampMs || at > query.EndTimestampMs
	})
	line := func(name string, at int64, h *promhistogram.FloatHistogram) string {
		return fmt.Sprintf("%s %d %g", name, at, h.Count)
	}
	samples := map[string]bool{}
	var exact []string
	raw, err := snappy.Decode(nil, f.remoteRead(t, &prompb.ReadRequest{Queries: []*prompb.Query{query}}).Body.Bytes())
	var response prompb.ReadResponse
	if err != nil || response.Unmarshal(raw) != nil || len(response.Results) != 1 {
		t.Fatal(err, len(response.Results))
	}
	for _, s := range response.Results[0].Timeseries {
		name := s.Labels[0].Value
		for _, one := range s.Samples {
			samples[fmt.Sprintf("%s %d %x", name, one.Timestamp, math.Float64bits(one.Value))] = true
		}
		for _, one := range s.Histograms {
			h := one.ToFloatHistogram()
			samples[line(name, one.Timestamp, h)] = true
			exact = append(exact, fmt.Sprint(name, one.Timestamp, h.Copy().Compact(0).String(), h.Sum))
		}
	}
	if !maps.Equal(samples, want) {
		t.Errorf("%d samples, want %d", len(samples), len(want))
	}
	chunks := map[string]bool{}
	var exactChunks []string
	w := f.remoteRead(t, &prompb.ReadRequest{Queries: []*prompb.Query{query}, AcceptedResponseTypes: []prompb.ReadRequest_ResponseType{prompb.ReadRequest_STREAMED_XOR_CHUNKS}})
	for rest := w.Body.Bytes(); len(rest) > 0; {
		size, n := binary.Uvarint(rest)
		var one prompb.ChunkedReadResponse
		if err := one.Unmarshal(rest[n+4 : n+4+int(size)]); err != nil {
			t.Fatal(err)
		}
		rest = rest[n+4+int(size):]
		for _, s := range one.ChunkedSeries {
			name, last := s.Labels[0].Value, int64(math.MinInt64)
			for _, c := range s.Chunks {
				encoding := chunkenc.EncXOR
				if c.Type == prompb.Chunk_FLOAT_HISTOGRAM {
					encoding = chunkenc.EncFloatHistogram
				}
				chunk, err := chunkenc.FromData(encoding, c.Data)
				if err != nil {
					t.Fatal(err)
				}
				var first, at int64
				it := chunk.Iterator(nil)
				for kind := it.Next(); kind != chunkenc.ValNone; kind = it.Next() {
					if at = it.AtT(); first == 0 {
						first = at
					}
					if at <= last {
						t.Errorf("%s: %d after %d", name, at, last)
					}
					last = at
					if kind == chunkenc.ValFloat {
						_, v := it.At()
						chunks[fmt.Sprintf("%s %d %x", name, at, math.Float64bits(v))] = true
						continue
					}
					_, h := it.AtFloatHistogram(nil)
					chunks[line(name, at, h)] = true
					exactChunks = append(exactChunks, fmt.Sprint(name, at, h.Copy().Compact(0).String(), h.Sum))
				}
				if it.Err() != nil || first != c.MinTimeMs || at != c.MaxTimeMs {
					t.Errorf("%s: a chunk of [%d, %d] says [%d, %d], %v", name, first, at, c.MinTimeMs, c.MaxTimeMs, it.Err())
				}
			}
		}
	}
	if !maps.Equal(chunks, want) || !slices.Equal(exact, exactChunks) {
		t.Errorf("%d in chunks, want %d; alike: %v", len(chunks), len(want), slices.Equal(exact, exactChunks))
	}
}

// A histogram is sent with all the bounds it might have: that counts.
func TestRemoteReadOfManyHistograms(t *testing.T) {
	f := newFixture(t)
	var batch []tsdb.Sample
	for series := range 20 {
		for i := range 900 {
			batch = append(batch, sample(t, i, "h", []float64{1}, "s", fmt.Sprint(series)))
		}
	}
	f.put(t, batch...)
	began := time.Now()
	query := &prompb.Query{EndTimestampMs: math.MaxInt64 / 2, Matchers: []*prompb.LabelMatcher{{Name: "__name__", Value: "h"}}}
	w := f.remoteRead(t, &prompb.ReadRequest{Queries: []*prompb.Query{query}})
	if w.Code != 422 || !strings.Contains(w.Body.String(), "STREAMED_XOR_CHUNKS") {
		t.Errorf("%d, %d bytes after %v", w.Code, w.Body.Len(), time.Since(began))
	}
	if w := f.remoteRead(t, &prompb.ReadRequest{Queries: []*prompb.Query{query}, AcceptedResponseTypes: []prompb.ReadRequest_ResponseType{prompb.ReadRequest_STREAMED_XOR_CHUNKS}}); w.Code != 200 {
		t.Errorf("%d %s", w.Code, w.Body)
	}
}
