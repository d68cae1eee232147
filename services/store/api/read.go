package api

// Remote read: POST /api/v1/read with a snappy-compressed prometheus.ReadRequest. The answer is samples in one message,
// or a stream of frames of chunks when the client takes that: uvarint length, CRC-32C (big-endian), ChunkedReadResponse.

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"net/http"
	"slices"

	"cistern/services/store/query/adapter"
	"cistern/services/store/query/budget"
	"cistern/services/store/tsdb"

	"github.com/golang/snappy"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/prompb"
	"github.com/prometheus/prometheus/tsdb/chunkenc"
)

const (
	maxReadRequest = 4 << 20 // unpacked
	readFrame      = 512 << 10
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

func (a *API) remoteRead(w http.ResponseWriter, r *http.Request) {
	request, err := readRequest(http.MaxBytesReader(w, r.Body, maxForm))
	if err != nil {
		badRequest(w, "body", err, "Send a snappy-compressed prometheus.ReadRequest.")
		return
	}
	var queries []readQuery
	for i, q := range request.Queries {
		one, err := newReadQuery(q)
		if err != nil {
			badRequest(w, fmt.Sprintf("queries[%d]", i), err, "")
			return
		}
		queries = append(queries, one)
	}
	one, err := a.enter(r)
	if err != nil {
		failed(w, err)
		return
	}
	defer one.end()
	if slices.Contains(request.AcceptedResponseTypes, prompb.ReadRequest_STREAMED_XOR_CHUNKS) {
		a.readChunks(one.ctx, w, queries)
		return
	}
	packed, err := timely(one, func(ctx context.Context) ([]byte, error) { return a.readSamples(ctx, one.budget, queries) }, func([]byte) {})
	if err != nil {
		failed(w, err)
		return
	}
	w.Header().Set("Content-Type", "application/x-protobuf")
	w.Header().Set("Content-Encoding", "snappy")
	_, _ = w.Write(packed)
}

func readRequest(body io.Reader) (*prompb.ReadRequest, error) {
	packed, err := io.ReadAll(body)
	if err != nil {
		return nil, fmt.Errorf("the body cannot be read: %w", err)
	}
	if n, err := snappy.DecodedLen(packed); err != nil || n > maxReadRequest {
		return nil, fmt.Errorf("the body is not snappy, or more than %d bytes", maxReadRequest)
	}
	raw, err := snappy.Decode(nil, packed)
	if err != nil {
		return nil, errors.New("the body is not snappy")
	}
	request := &prompb.ReadRequest{}
	if err := request.Unmarshal(raw); err != nil {
		return nil, fmt.Errorf("the body is not a prometheus.ReadRequest: %w", err)
	}
	if len(request.Queries) > 100 {
		return nil, fmt.Errorf("%d queries are too many, 100 is the limit", len(request.Queries))
	}
	return request, nil
}

type readQuery struct {
	from, to  int64
	matchers  []*labels.Matcher
	aggregate tsdb.Aggregate // what stands in for samples that were let go
}

func newReadQuery(q *prompb.Query) (readQuery, error) {
	if q == nil {
		return readQuery{}, errors.New("it is empty")
	}
	one := readQuery{from: q.StartTimestampMs, to: q.EndTimestampMs}
	if h := q.Hints; h != nil {
		one.aggregate = adapter.AggregateOf(h.Func, h.RangeMs)
	}
	if one.to < one.from {
		return one, errors.New("end_timestamp_ms lies before start_timestamp_ms")
	}
	kinds := map[prompb.LabelMatcher_Type]labels.MatchType{prompb.LabelMatcher_EQ: labels.MatchEqual, prompb.LabelMatcher_NEQ: labels.MatchNotEqual,
		prompb.LabelMatcher_RE: labels.MatchRegexp, prompb.LabelMatcher_NRE: labels.MatchNotRegexp}
	for _, m := range q.Matchers {
		if m == nil {
			return one, errors.New("a matcher is empty")
		}
		kind, ok := kinds[m.Type]
		if !ok {
			return one, fmt.Errorf("%d is no type of a matcher", m.Type)
		}
		matcher, err := labels.NewMatcher(kind, m.Name, m.Value)
		if err != nil {
			return one, fmt.Errorf("the matcher of %q: %w", shorten(m.Name), err)
		}
		one.matchers = append(one.matchers, matcher)
	}
	if matchesAll(one.matchers) {
		return one, errMatchesAll
	}
	return one, nil
}

func protoLabels(list []tsdb.Label) []prompb.Label {
	set := make([]prompb.Label, len(list))
	for i, l := range list {
		set[i] = prompb.Label{Name: l.Name, Value: l.Value}
	}
	return set
}

const (
	// What a sample takes in the lists, which grow, in the message, and in what that is packed to.
	readSampleBytes    = 16*2 + 20 + 20
	readHistogramBytes = 512
	// Samples are charged so many at a time.
	readCharge = 4096
)

// readSamples is the answer in one message, packed.
func (a *API) readSamples(ctx context.Context, b *budget.Budget, queries []readQuery) ([]byte, error) {
	response := &prompb.ReadResponse{}
	pending := int64(0)
	charge := func(bytes, least int64) error {
		if pending += bytes; pending < least {
			return nil
		}
		due := pending
		pending = 0
		return b.Charge(ctx, due, "samples of the answer; STREAMED_XOR_CHUNKS takes no memory")
	}
	for _, q := range queries {
		result := &prompb.QueryResult{}
		err := a.eachSeries(ctx, q, func(s *tsdb.Series, it *adapter.Iterator) error {
			one := &prompb.TimeSeries{Labels: protoLabels(s.Labels())}
			for kind := it.Next(); kind != chunkenc.ValNone; kind = it.Next() {
				if kind == chunkenc.ValFloat {
					t, v := it.At()
					one.Samples = append(one.Samples, prompb.Sample{Timestamp: t, Value: v})
					if err := charge(readSampleBytes, readSampleBytes*readCharge); err != nil {
						return err
					}
				} else {
					t, h := it.AtFloatHistogram(nil)
					one.Histograms = append(one.Histograms, prompb.FromFloatHistogram(t, h))
					// Of Cistern's histograms each takes all the bounds there may be along, in the message and in what it is packed to.
					buckets := int64(len(h.PositiveBuckets) + len(h.NegativeBuckets))
					if err := charge(readHistogramBytes+48*buckets+20*int64(len(h.CustomValues)), readSampleBytes*readCharge); err != nil {
						return err
					}
				}
			}
			if len(one.Samples)+len(one.Histograms) > 0 {
				result.Timeseries = append(result.Timeseries, one)
			}
			return it.Err()
		})
		if err != nil {
			return nil, err
		}
		response.Results = append(response.Results, result)
	}
	if err := charge(0, 0); err != nil {
		return nil, err
	}
	raw, err := response.Marshal()
	if err != nil {
		return nil, err
	}
	return snappy.Encode(nil, raw), nil
}

func (a *API) eachSeries(ctx context.Context, q readQuery, use func(*tsdb.Series, *adapter.Iterator) error) error {
	list, release, err := a.store.Select(ctx, q.from, q.to, q.matchers...)
	defer release()
	if err != nil {
		return err
	}
	slices.SortFunc(list, func(x, y *tsdb.Series) int { return adapter.CompareKeys(x.Key, y.Key) })
	for _, s := range list {
		if err := ctx.Err(); err != nil {
			return context.Cause(ctx)
		}
		if err := use(s, adapter.NewIterator(ctx, s, q.from, q.to, q.aggregate)); err != nil {
			return err
		}
	}
	return nil
}

// readChunks streams. An error after the first frame can only end the connection.
func (a *API) readChunks(ctx context.Context, w http.ResponseWriter, queries []readQuery) {
	w.Header().Set("Content-Type", "application/x-streamed-protobuf; proto=prometheus.ChunkedReadResponse")
	w.Header().Set("X-Accel-Buffering", "no") // nginx would keep what the client has not read yet in a file, up to a gigabyte
	sent := false
	frame := func(response *prompb.ChunkedReadResponse) error {
		raw, err := response.Marshal()
		if err != nil {
			return err
		}
		head := binary.AppendUvarint(nil, uint64(len(raw)))
		head = binary.BigEndian.AppendUint32(head, crc32.Checksum(raw, castagnoli))
		sent = true
		if _, err = w.Write(head); err == nil {
			_, err = w.Write(raw)
		}
		return err
	}
	for i, q := range queries {
		err := a.eachSeries(ctx, q, func(s *tsdb.Series, it *adapter.Iterator) error {
			chunks, size := []prompb.Chunk(nil), 0
			send := func() error {
				if len(chunks) == 0 {
					return nil
				}
				response := &prompb.ChunkedReadResponse{QueryIndex: int64(i),
					ChunkedSeries: []*prompb.ChunkedSeries{{Labels: protoLabels(s.Labels()), Chunks: chunks}}}
				chunks, size = nil, 0
				return frame(response)
			}
			err := eachChunk(it, func(c prompb.Chunk) error {
				chunks, size = append(chunks, c), size+len(c.Data)
				if size >= readFrame {
					return send()
				}
				return nil
			})
			if err != nil {
				return err
			}
			return send()
		})
		if err != nil {
			if !sent {
				failed(w, err)
				return
			}
			panic(http.ErrAbortHandler)
		}
	}
}

// chunkSamples is how many samples a chunk has, as Prometheus' own have.
const chunkSamples = 120

// eachChunk makes chunks of a series' samples.
func eachChunk(it *adapter.Iterator, use func(prompb.Chunk) error) error {
	var chunk chunkenc.Chunk
	var appender chunkenc.Appender
	var kind chunkenc.ValueType
	var from, to int64
	finish := func() error {
		if chunk == nil {
			return nil
		}
		encoding := prompb.Chunk_XOR
		if kind == chunkenc.ValFloatHistogram {
			encoding = prompb.Chunk_FLOAT_HISTOGRAM
		}
		one := prompb.Chunk{MinTimeMs: from, MaxTimeMs: to, Type: encoding, Data: chunk.Bytes()}
		chunk = nil
		return use(one)
	}
	begin := func(next chunkenc.ValueType, t int64) (err error) {
		if err = finish(); err != nil {
			return err
		}
		if kind, from = next, t; next == chunkenc.ValFloat {
			chunk = chunkenc.NewXORChunk()
		} else {
			chunk = chunkenc.NewFloatHistogramChunk()
		}
		appender, err = chunk.Appender()
		return err
	}
	for next := it.Next(); next != chunkenc.ValNone; next = it.Next() {
		t := it.AtT()
		if chunk == nil || next != kind || chunk.NumSamples() >= chunkSamples {
			if err := begin(next, t); err != nil {
				return err
			}
		}
		if next == chunkenc.ValFloat {
			_, v := it.At()
			appender.Append(0, t, v)
		} else {
			_, h := it.AtFloatHistogram(nil)
			// Another layout of buckets needs another chunk; a recoded one replaces the one that is filled.
			other, recoded, a, err := appender.AppendFloatHistogram(nil, 0, t, h, false)
			if err != nil {
				return err
			}
			if other != nil {
				if recoded {
					chunk, appender = other, a
				} else {
					if err := finish(); err != nil {
						return err
					}
					chunk, appender, from = other, a, t
				}
			}
		}
		to = t
	}
	if err := it.Err(); err != nil {
		return err
	}
	return finish()
}
